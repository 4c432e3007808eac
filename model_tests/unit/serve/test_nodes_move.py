"""Leaders and coordinators that move, and what comes of transactions between nodes that fail."""

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.serve.failing import (
    GROUP,
    ID,
    TOPIC,
    Transaction,
    bench,
    coordinator,
    errors,
    initialized,
    partition_reported,
    produced,
)
from reference.server.faults import PROFILES
from reference.server.node_events import NODES, LongestTimes, NodeEvents
from reference.server.nodes import FaultKind, ImpossibleFault, NodeFault
from reference.tape import Tape
from spec.vocabulary import ErrorCode


def test_a_marker_is_written_when_enough_replicas_are_in_sync() -> None:
    """It is refused until then, and sent again, by a coordinator that runs."""
    txn = Transaction(min_insync=3)
    txn.made.suffer(FaultKind.RESTART, txn.third, away_ms=1_000)
    txn.ends()
    assert (0, "PrepareCommit") == (txn.markers, txn.state)
    txn.made.suffer(FaultKind.PAUSE, txn.coordinator, away_ms=2_000)
    txn.made.wait(1_000)
    assert 0 == txn.markers
    txn.made.wait(1_000)

    assert (1, "CompleteCommit", []) == (txn.markers, txn.state, txn.made.violations)


@pytest.mark.parametrize("kind", [FaultKind.CRASH, FaultKind.PAUSE])
def test_a_marker_for_a_node_that_is_away_is_written_when_it_is_back(kind: FaultKind) -> None:
    """By that node, or by the one that leads then."""
    txn = Transaction()
    txn.made.suffer(kind, txn.leader, away_ms=300)
    txn.ends()
    txn.made.wait(299)
    assert (0, "PrepareCommit") == (txn.markers, txn.state)
    txn.made.wait(1)

    assert (1, "CompleteCommit", []) == (txn.markers, txn.state, txn.made.violations)


def test_an_answer_to_a_coordinator_that_was_killed_is_lost() -> None:
    """The one after it sends the marker again."""
    txn = Transaction()
    txn.made.suffer(FaultKind.PAUSE, txn.third, away_ms=200)
    txn.ends()
    txn.made.suffer(FaultKind.CRASH, txn.coordinator, away_ms=400)
    txn.made.wait(200)
    assert 1 == txn.markers
    txn.made.wait(200)

    txn.coordinator = coordinator(txn.made)
    assert (2, "CompleteCommit", []) == (txn.markers, txn.state, txn.made.violations)


def test_an_answer_to_a_coordinator_that_stands_still_waits() -> None:
    """The transaction is complete when the coordinator goes on."""
    txn = Transaction()
    txn.made.suffer(FaultKind.PAUSE, txn.third, away_ms=200)
    txn.ends()
    txn.made.suffer(FaultKind.PAUSE, txn.coordinator, away_ms=400)
    txn.made.wait(399)
    assert (1, "PrepareCommit") == (txn.markers, txn.state)
    txn.made.wait(1)

    assert (1, "CompleteCommit", []) == (txn.markers, txn.state, txn.made.violations)


# --- leaders and coordinators move ----------------------------------------------------------------------------


def test_a_follower_in_sync_takes_over() -> None:
    """The one before refuses; a batch is answered by the new one."""
    made = bench()
    made.suffer(FaultKind.LEADER, 2, topic=TOPIC, partition=0)

    assert 2 == partition_reported(made, 0).leader_id
    assert [ErrorCode.NOT_LEADER_OR_FOLLOWER] == errors(produced(made, 0))
    assert [ErrorCode.NONE] == errors(produced(made, 2))


def test_a_new_transaction_coordinator_loads_its_log() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS until it has, NOT_COORDINATOR at the one before; it knows the id then."""
    made = bench()
    owner = coordinator(made)
    initialized(made, owner)
    new, number = (owner + 1) % 3, made.service.world.brokers.log.partition_of(ID)
    made.suffer(FaultKind.TRANSACTIONS, new, partition=number, loading_ms=200)

    assert {new} == {coordinator(made, node=node) for node in range(3)}
    assert [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] == [
        initialized(made, node) for node in (owner, new)
    ]
    made.wait(200)
    assert ErrorCode.NONE is initialized(made, new)
    assert [] == made.violations


def test_a_coordinator_that_stands_still_does_not_load() -> None:
    """It goes on with it when it is back."""
    made = bench()
    owner = coordinator(made)
    initialized(made, owner)
    new, number = (owner + 1) % 3, made.service.world.brokers.log.partition_of(ID)
    made.suffer(FaultKind.TRANSACTIONS, new, partition=number, loading_ms=200)
    made.suffer(FaultKind.PAUSE, new, away_ms=500)
    made.wait(499)

    described = made.ask("DescribeTransactions", 0, {"transactional_ids": [ID]}, new)
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS == described.transaction_states[0].error_code
    made.wait(1)
    assert ErrorCode.NONE is initialized(made, new)


def test_a_former_transaction_coordinator_is_a_zombie_for_a_while() -> None:
    """It takes itself for the coordinator, and what it writes is refused: NOT_COORDINATOR."""
    made = bench()
    owner = coordinator(made)
    initialized(made, owner)
    new, number = (owner + 1) % 3, made.service.world.brokers.log.partition_of(ID)
    made.suffer(FaultKind.TRANSACTIONS, new, partition=number, zombie_ms=200)

    assert (owner, new) == (coordinator(made, node=owner), coordinator(made, node=new))
    assert ErrorCode.NOT_COORDINATOR is initialized(made, owner)
    made.wait(200)
    assert new == coordinator(made, node=owner)
    assert [] == made.violations


def test_a_transaction_coordinator_that_stands_still_for_too_long_comes_back_as_a_zombie() -> None:
    """Another coordinates what it did; for a while it takes itself for the coordinator when it goes on."""
    made = bench()
    owner = coordinator(made)
    initialized(made, owner)
    made.suffer(FaultKind.PAUSE, owner, away_ms=20_000, zombie_ms=200)
    made.wait(9_000)
    new = coordinator(made, node=(owner + 1) % 3)
    assert new != owner
    assert ErrorCode.NONE is initialized(made, new)
    made.wait(11_000)

    assert (owner, ErrorCode.NOT_COORDINATOR) == (coordinator(made, node=owner), initialized(made, owner))
    made.wait(200)
    assert (new, []) == (coordinator(made, node=owner), made.violations)


def test_a_group_coordinator_that_stands_still_for_too_long_is_replaced() -> None:
    """At once and for good."""
    made = bench()
    owner = coordinator(made, 0, GROUP)
    made.suffer(FaultKind.PAUSE, owner, away_ms=20_000)
    made.wait(9_000)

    assert owner != coordinator(made, 0, GROUP, (owner + 1) % 3)


def test_a_new_group_coordinator_loads_its_log() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS until it has, NOT_COORDINATOR at the one before; offsets are still there."""
    made = bench()
    owner = coordinator(made, 0, GROUP)
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"name": TOPIC, "partitions": [partition]}]
    commit = {"group_id": GROUP, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    made.ask("OffsetCommit", 7, commit, owner)
    new, number = (owner + 1) % 3, made.service.world.brokers.offsets.number_of(GROUP)
    made.suffer(FaultKind.GROUPS, new, partition=number, loading_ms=200)

    request = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    reported = [made.ask("OffsetFetch", 5, request, node).error_code for node in (owner, new)]
    assert [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] == reported
    leaving = {"group_id": GROUP, "members": [{"member_id": "a", "group_instance_id": None}]}
    left = [made.ask("LeaveGroup", 3, leaving, node).error_code for node in (owner, new)]
    assert [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] == left
    made.wait(200)
    assert 7 == made.ask("OffsetFetch", 5, request, new).topics[0].partitions[0].committed_offset


# --- what can happen, and what cannot ------------------------------------------------------------------------


def test_a_fault_that_cannot_happen_is_refused() -> None:
    """There is no such node or partition; the node is away; it is no follower in sync."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 2, away_ms=100)
    for kind, node, fields in (
        (FaultKind.RESTART, 3, {}),
        (FaultKind.CRASH, 2, {}),
        (FaultKind.LEADER, 1, {"topic": "nothing", "partition": 0}),
        (FaultKind.LEADER, 0, {"topic": TOPIC, "partition": 0}),
        (FaultKind.TRANSACTIONS, 1, {"partition": 50}),
        (FaultKind.GROUPS, 1, {"partition": -1}),
    ):
        with pytest.raises(ImpossibleFault):
            made.suffer(kind, node, **fields)


def possible(made: Bench, kind: FaultKind) -> list[NodeFault]:
    """The faults of a kind that may happen by chance now, as often as all of their times can be drawn."""
    drawn: list[NodeFault] = []
    events = NodeEvents(made.service.nodes, LongestTimes(away_ms=1, loading_ms=0, zombie_ms=0), drawn.append)
    for number in range(12):
        for event in NODES:
            if event.ready(events):
                event.act(events, Tape.recorded([number]))
    return sorted({fault for fault in drawn if fault.kind is kind})


def test_at_most_half_of_the_nodes_are_taken_away_by_chance() -> None:
    """Of three one; a single node may be away too."""
    made, single = bench(), bench(nodes=1)
    assert [0, 1, 2] == [fault.node for fault in possible(made, FaultKind.CRASH)]
    assert [0] == [fault.node for fault in possible(single, FaultKind.CRASH)]

    made.suffer(FaultKind.PAUSE, 1, away_ms=100)

    assert [] == possible(made, FaultKind.RESTART)
    assert [2] == [fault.node for fault in possible(made, FaultKind.LEADER)]


def test_coordinators_move_where_there_is_something_to_coordinate() -> None:
    """To every node that runs and is not the coordinator."""
    made = bench()
    assert [] == possible(made, FaultKind.TRANSACTIONS)
    owner = coordinator(made)
    initialized(made, owner)

    moves = possible(made, FaultKind.TRANSACTIONS)

    assert [each for each in range(3) if each != owner] == [fault.node for fault in moves]
    assert {made.service.world.brokers.log.partition_of(ID)} == {fault.partition for fault in moves}


def test_each_event_has_a_rate_and_each_kind_of_fault_an_event() -> None:
    """`eos serve --faults` reads the rates by these names, and a recorded fault names its kind."""
    rates = PROFILES["gentle"].nodes

    assert all(getattr(rates, event.fault) > 0 for event in NODES)
    assert len({event.fault for event in NODES}) == len(NODES) == len(FaultKind)
