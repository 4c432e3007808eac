"""Nodes that restart, are killed or stand still: what clients are answered, and what is still there."""

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.failing import (
    TOPIC,
    bench,
    coordinator,
    errors,
    fetched,
    initialized,
    partition_reported,
    produced,
    read,
    registered,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.server.nodes import FaultKind, session_ms
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode

# --- nodes that are away --------------------------------------------------------------------------------------


def test_a_node_that_shuts_down_hands_over_first() -> None:
    """Another leads at once, nothing is lost, and the node is in sync again when it is back."""
    made = bench()
    assert [ErrorCode.NONE] == errors(produced(made))

    made.suffer(FaultKind.RESTART, 0, away_ms=500)
    reported = partition_reported(made, 1)
    assert (1, [1, 2], [1, 2]) == (reported.leader_id, sorted(reported.isr_nodes), registered(made, 1))
    assert [ErrorCode.NONE] == errors(produced(made, 1))
    made.wait(500)

    reported = partition_reported(made, 0)
    assert (1, [0, 1, 2], [0, 1, 2]) == (reported.leader_id, sorted(reported.isr_nodes), registered(made, 0))
    assert [ErrorCode.NOT_LEADER_OR_FOLLOWER] == errors(produced(made, 0))
    assert (2, []) == (read(made, 1), made.violations)


def test_a_node_that_is_killed_leads_until_its_session_has_expired() -> None:
    """Clients are sent to it until then; what it coordinated has another coordinator from then on."""
    made = bench()
    produced(made)
    owner = coordinator(made)
    initialized(made, owner)
    other = (owner + 1) % 3

    made.suffer(FaultKind.CRASH, owner, away_ms=60_000)
    made.wait(session_ms(PROFILES["4.3"]) - 1)
    assert (owner, [0, 1, 2]) == (coordinator(made, node=other), registered(made, other))
    made.wait(1)

    assert owner not in registered(made, other)
    elected = coordinator(made, node=other)
    assert elected != owner
    assert ErrorCode.NONE is initialized(made, elected)
    assert [] == made.violations


def test_sessions_last_as_long_as_in_the_release() -> None:
    """With a quorum controller 9 s; with ZooKeeper 18 s, before 2.5 only 6 s (KIP-537)."""
    assert [9_000, 18_000, 6_000] == [session_ms(PROFILES[name]) for name in ("4.3", "2.7", "2.4")]


def test_a_node_that_is_killed_and_soon_back_was_never_missed() -> None:
    """Others lead when it is back, as it has to copy what it may lack."""
    made = bench()
    produced(made)

    made.suffer(FaultKind.CRASH, 0, away_ms=300)
    made.wait(299)
    assert 0 == partition_reported(made, 1).leader_id
    made.wait(1)

    assert 1 == partition_reported(made, 1).leader_id
    assert [ErrorCode.NONE] == errors(produced(made, 1))
    assert [0, 1, 2] == sorted(partition_reported(made, 1).isr_nodes)
    assert [] == made.violations


def test_a_single_node_comes_back_with_all_that_it_had() -> None:
    """Under a new leader epoch; it coordinates what it coordinated."""
    made = bench(nodes=1)
    produced(made)
    initialized(made, 0)

    made.suffer(FaultKind.CRASH, 0, away_ms=300)
    made.wait(300)

    assert (0, 1, 1) == (partition_reported(made, 0).leader_id, partition_reported(made, 0).leader_epoch, read(made, 0))
    assert ErrorCode.NONE is initialized(made, 0)
    assert [ErrorCode.NONE] == errors(produced(made))
    assert [] == made.violations


def test_a_partition_whose_replicas_are_away_has_no_leader() -> None:
    """LEADER_NOT_AVAILABLE, until the last one that was in sync is back."""
    made = bench()
    produced(made)
    for node in (1, 2):
        made.suffer(FaultKind.RESTART, node, away_ms=60_000)
    assert [ErrorCode.NONE] == errors(produced(made))

    made.suffer(FaultKind.CRASH, 0, away_ms=70_000)
    made.wait(60_000)
    reported = partition_reported(made, 1)
    assert (ErrorCode.LEADER_NOT_AVAILABLE, -1, [0]) == (
        reported.error_code,
        reported.leader_id,
        reported.offline_replicas,
    )
    made.wait(10_000)

    assert (0, 2, []) == (partition_reported(made, 1).leader_id, read(made, 0), made.violations)


def test_acks_all_waits_for_a_follower_that_stands_still() -> None:
    """Until it goes on; nothing is answered before."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 1, away_ms=500)

    waiting = produced(made)
    made.wait(499)
    assert ([], [ErrorCode.NONE]) == (waiting, errors(produced(made, acks=1)))
    made.wait(1)

    assert [ErrorCode.NONE] == errors(waiting)


def test_acks_all_waits_no_longer_than_the_request_says() -> None:
    """REQUEST_TIMED_OUT; the batch is in the log all the same."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 1, away_ms=5_000)

    waiting = produced(made, timeout_ms=1_000)
    made.wait(1_000)

    assert [ErrorCode.REQUEST_TIMED_OUT] == errors(waiting)
    made.wait(4_000)
    assert 1 == read(made, 0)


def test_a_follower_that_stands_still_for_longer_than_its_session_is_not_waited_for() -> None:
    """It leaves the in-sync set, and joins it again when it goes on."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 1, away_ms=20_000)
    waiting = produced(made)
    made.wait(9_000)

    assert ([ErrorCode.NONE], [0, 2]) == (errors(waiting), sorted(partition_reported(made, 0).isr_nodes))
    made.wait(11_000)
    assert [0, 1, 2] == sorted(partition_reported(made, 0).isr_nodes)


@pytest.mark.parametrize("number", [0, 1])
def test_a_follower_that_restarts_changes_nothing_for_what_waits(number: int) -> None:
    """A batch at a leader that runs waits for the other follower, and is not refused."""
    made = bench()
    leader, slow, restarts = number, (number + 1) % 3, (number + 2) % 3
    made.suffer(FaultKind.PAUSE, slow, away_ms=500)
    waiting = produced(made, leader, number=number)
    made.suffer(FaultKind.RESTART, restarts, away_ms=1_000)
    later = produced(made, leader, number=number)
    assert [] == waiting == later
    made.wait(500)

    assert [ErrorCode.NONE] == errors(waiting) == errors(later)


def test_nobody_copies_from_a_leader_that_stands_still() -> None:
    """Followers have its batch when it goes on."""
    made = bench()
    for node in (1, 2):
        made.suffer(FaultKind.PAUSE, node, away_ms=100)
    assert [ErrorCode.NONE] == errors(produced(made, acks=1))
    made.suffer(FaultKind.PAUSE, 0, away_ms=500)
    replicas = made.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].replicas
    made.wait(499)
    assert [1, 0, 0] == [replica.log_end for replica in replicas]
    made.wait(1)

    assert [1, 1, 1] == [replica.log_end for replica in replicas]


def test_a_fetch_waits_for_a_node_that_stands_still() -> None:
    """Longer than it says, as nobody can answer it."""
    made = bench()
    waiting = fetched(made, max_wait_ms=100)
    made.suffer(FaultKind.PAUSE, 0, away_ms=500)
    made.wait(499)
    assert [] == waiting
    made.wait(1)

    assert 1 == len(waiting)


def test_a_leader_that_stands_still_for_longer_than_its_session_is_replaced() -> None:
    """What waits there is refused when it goes on; the other leads."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 0, away_ms=20_000)
    made.wait(9_000)

    assert 1 == partition_reported(made, 1).leader_id
    assert 1 == made.ask("Metadata", 9, {"topics": []}, 1).controller_id
    assert [ErrorCode.NONE] == errors(produced(made, 1))
    made.wait(11_000)
    assert [ErrorCode.NOT_LEADER_OR_FOLLOWER] == errors(produced(made, 0))
    assert [] == made.violations


@pytest.mark.parametrize(("kind", "expected"), [(FaultKind.RESTART, 1), (FaultKind.CRASH, 0)])
def test_a_fetch_that_waits_is_lost_with_its_node(kind: FaultKind, expected: int) -> None:
    """Nobody answers it later; the next node to lead is asked anew."""
    made = bench()
    waiting = fetched(made, max_wait_ms=100)

    made.suffer(kind, 0, away_ms=500)
    made.wait(500)

    assert ([], 1) == (waiting, partition_reported(made, 1).leader_id)


# --- min.insync.replicas --------------------------------------------------------------------------------------


def test_too_few_replicas_in_sync_refuse_a_batch() -> None:
    """NOT_ENOUGH_REPLICAS with acks=all while two of three nodes are down; with acks=1 it is taken."""
    made = bench(min_insync=2)
    made.suffer(FaultKind.RESTART, 1, away_ms=1_000)
    assert [ErrorCode.NONE] == errors(produced(made))
    made.suffer(FaultKind.RESTART, 2, away_ms=1_000)

    assert [ErrorCode.NOT_ENOUGH_REPLICAS] == errors(produced(made))
    assert [ErrorCode.NONE] == errors(produced(made, acks=1))
    made.wait(1_000)
    assert [ErrorCode.NONE] == errors(produced(made))
    assert [] == made.violations


def test_too_few_replicas_in_sync_are_found_out_after_the_append() -> None:
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND: the sessions of the followers expire while the batch waits for them."""
    made = bench(min_insync=2)
    for node in (1, 2):
        made.suffer(FaultKind.PAUSE, node, away_ms=20_000)
    waiting = produced(made)
    made.wait(9_000)

    assert [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND] == errors(waiting)
