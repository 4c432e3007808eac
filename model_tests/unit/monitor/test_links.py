"""What a step is linked to: the state that the step before left, the last batch accepted, identities handed out."""

from typing import Any

from model_tests.monitor.monitor import Monitor
from model_tests.traces.schema import Row, complete


def a_step(**columns: Any) -> Row:
    """A step of no decision on the newest release, in which nothing applies but what is given."""
    return complete({"profile": "4.3", "transaction_version": 2, "node": "broker-0", "error": 0, **columns})


def of_id(left: int, found: int, node: str = "broker-0", identifier: str = "payments") -> Row:
    """A step of a transactional id that finds one epoch and leaves another."""
    known = {"txn_state": 0, "txn_producer_id": 4000}
    states = {f"{moment}_{name}": value for moment in ("before", "after") for name, value in known.items()}
    return a_step(transactional_id=identifier, node=node, before_txn_epoch=found, after_txn_epoch=left, **states)


def at_log(found: int, left: int, **columns: Any) -> Row:
    """A step that finds one end of a log and leaves another; all of it is stable and replicated."""
    names = ("log_end", "high_watermark", "last_stable")
    offsets = {f"before_{name}": found for name in names} | {f"after_{name}": left for name in names}
    where = {"topic": "t", "partition": 0, "before_log_start": 0, "after_log_start": 0}
    return a_step(**{**where, **offsets, **columns})


def of_producer(found: int, left: int, **columns: Any) -> Row:
    """A fault that finds one epoch of a producer and leaves another, in a log that stays as it is."""
    return at_log(9, 9, **{"producer_id": 1000, "before_epoch": found, "after_epoch": left, **columns})


def handed_out(epoch: int, node: str, identifier: str = "payments") -> Row:
    """A step that hands out an identity which the id has not yet."""
    return a_step(transactional_id=identifier, node=node, reply_producer_id=4000, reply_epoch=epoch)


def guards(*rows: Row) -> list[list[str]]:
    """The links that each step breaks, with its rule."""
    monitor = Monitor()
    return [[f"{violation.rule} {violation.guard}" for violation in monitor.judge(row)] for row in rows]


def test_a_coordinator_knows_of_an_id_what_the_step_before_left() -> None:
    """A change without a step of its own is seen at the next one."""
    broken = guards(of_id(found=3, left=4), of_id(found=4, left=4), of_id(found=7, left=7))

    assert [[], [], ["txn.legal_transition previous_id_state"]] == broken


def test_each_node_and_each_id_has_its_own_steps() -> None:
    """What another coordinator knew, or what is known of another id, is no state before."""
    first = of_id(found=3, left=4)

    broken = guards(first, of_id(found=7, left=7, node="broker-1"), of_id(found=9, left=9, identifier="refunds"))

    assert [[], [], []] == broken


def test_what_an_application_is_reported_of_an_id_is_no_state_of_it() -> None:
    """Rows of clients are at no node, and say nothing of what a coordinator knows."""
    reported = a_step(api="ClientBeginTransaction", node="", transactional_id="payments", client="instance-0")

    monitor = Monitor()

    for row in (reported, reported):
        monitor.judge(row)

    assert not monitor.findings


def test_an_identity_is_handed_out_once_by_whichever_node() -> None:
    """The same producer id and epoch a second time; another id may have the same."""
    repeated = "ids.identity_never_repeats identity"

    broken = guards(
        handed_out(0, "broker-0"),
        handed_out(1, "broker-1"),
        handed_out(0, "broker-2", identifier="refunds"),
        handed_out(0, "broker-1"),
    )

    assert [[], [], [], [repeated]] == broken


def given(producer_id: int, **columns: Any) -> Row:
    """A broker answers InitProducerId with a producer id, to a producer without a name if none is said."""
    return a_step(**{"api": "InitProducerId", "reply_producer_id": producer_id, "reply_epoch": 0, **columns})


def test_a_producer_id_is_handed_out_once_with_a_name_or_without() -> None:
    """By whichever node; an id that keeps its own, a refusal, and an answer that an application gets are no new id."""
    named = {"transactional_id": "payments"}
    first = [given(4000), given(4001, node="broker-1"), given(4002, **named)]
    again = [given(4000, node="broker-1"), given(4001, **named), given(4002)]
    others = [given(4002, before_txn_producer_id=4002, **named), given(4000, error=51), given(4001, node="")]

    broken = ["ids.unique producer_id" in found for found in guards(*first, *others, *again)]

    assert [*[False] * 6, *[True] * 3] == broken


def test_a_partition_knows_of_a_producer_what_the_step_before_left() -> None:
    """A change without a step of its own is seen at the next one on the same replica."""
    first = of_producer(found=0, left=1)

    broken = guards(first, of_producer(found=5, left=5, node="broker-1"), of_producer(found=2, left=2))

    assert [[], [], ["seq.state_recoverable previous_state"]] == broken


def test_a_log_ends_where_the_step_before_left_it() -> None:
    """A batch without a step of its own is seen at the next step of the replica, and only there."""
    broken = guards(at_log(0, 3), at_log(9, 9, node="broker-1"), at_log(9, 9, partition=1), at_log(5, 6))

    assert [[], [], [], ["seq.state_recoverable previous_log"]] == broken


def test_the_bounds_of_a_log_stand_in_order() -> None:
    """No high watermark is past the end, and no stable offset past the high watermark."""
    past_the_end = at_log(3, 3, before_high_watermark=4, after_high_watermark=4)

    ((broken, *others),) = guards(past_the_end)

    assert ("lso.bounds bounds", []) == (broken, others)


def test_a_violation_of_a_link_has_the_values_of_both_steps() -> None:
    """What was left and what was found stand beside each other."""
    monitor = Monitor()
    monitor.judge(of_id(found=3, left=4))

    (violation,) = monitor.judge(of_id(found=7, left=7))

    values = violation.values
    assert (4, 7, True) == (values["previous_after_txn_epoch"], values["before_txn_epoch"], values["has_previous"])


def of_replica(found: int, left: int, **columns: Any) -> Row:
    """A step of a replica that has the leader epoch it knew, with one high watermark before and another after."""
    marks = {f"before_{name}": found for name in ("high_watermark", "last_stable")}
    marks |= {f"after_{name}": left for name in ("high_watermark", "last_stable")}
    return at_log(9, 9, **{"leader_epoch": 3, **marks, **columns})


def test_a_replica_moves_its_watermarks_in_steps() -> None:
    """One that has moved between two steps is seen, where both are of replicas, and at that node alone."""
    broken = guards(
        of_replica(2, 5), of_replica(5, 5), of_replica(4, 4, node="broker-1"), of_replica(6, 6), at_log(9, 9)
    )

    assert [[], [], [], ["repl.hw_bounds watermarks"], []] == broken


def test_a_replica_knows_the_leader_epoch_that_it_has_heard() -> None:
    """From a step by which it learns of one on it is that one."""
    learned = of_replica(2, 2, leader_epoch_after=4)

    broken = guards(of_replica(2, 2), learned, of_replica(2, 2, leader_epoch=4), of_replica(2, 2, leader_epoch=5))

    assert [[], [], [], ["repl.prefix_agreement leader_epoch"]] == broken


def of_follower(end: int, fetched: int, **columns: Any) -> Row:
    """A Fetch of a follower, by what its leader knew of it: its end, and when it fetched last."""
    known = {"follower_end": end, "follower_fetch_ms": fetched, "follower_leader_end": 9, "follower_caught_up_ms": 100}
    request = {"broker": 1, "leader_epoch": 3, "offset": 7, "time_ms": 300, "caught_up_ms": 100}
    return at_log(9, 9, **{**request, **known, **columns})


def test_a_leader_knows_of_a_follower_what_its_last_fetch_has_reported() -> None:
    """A Fetch that is there twice, or not at all, is seen at the next; where logs diverge none counts."""
    first, second = of_follower(5, 200), of_follower(7, 300, time_ms=400, offset=9, caught_up_ms=400)
    parted = of_follower(5, 200, answered_end=4, answered_epoch=2)
    progress = "repl.hw_bounds previous_progress"

    assert [[], []] == guards(first, second)
    assert [[], [progress]] == guards(first, first)
    assert [[], [], [progress]] == guards(parted, first, first)
    assert [[], []] == guards(first, of_follower(5, 200, broker=2))
    assert [[], []] == guards({**first, "leader_epoch_after": 4}, of_follower(0, 0, leader_epoch=4))


def at_place(node: str = "broker-0", **columns: Any) -> Row:
    """A batch that a node has appended at offset 4 of its log, or that a reader takes from there."""
    batch = {"producer_id": -1, "last_offset_delta": 0, "first_offset": 4, "last_offset": 4}
    return a_step(**{"topic": "t", "partition": 0, "node": node, "appended": True, **batch, **columns})


def test_what_is_copied_and_read_is_what_was_written() -> None:
    """Of the same place, and under one leader: a past one may go on writing other batches there."""
    written = at_place(producer_id=1000, producer_epoch=2, base_sequence=7)
    taken = at_place("", producer_id=1000, producer_epoch=2, base_sequence=7, api="ClientFetched", appended=False)
    led = {**written, "leader_epoch": 3}
    copy = {**led, "node": "broker-1", "origin": 2}

    assert [[], [], []] == guards(written, taken, at_place("", api="ClientFetched", appended=False, first_offset=5))
    assert ["repl.committed_survives read"] == guards(written, {**taken, "producer_epoch": 3})[1]
    assert "repl.prefix_agreement copied" in guards(led, {**copy, "base_sequence": 8})[1]
    assert "repl.prefix_agreement copied" not in guards(led, copy)[1]
    for other in (2, 4):
        assert (
            "repl.prefix_agreement copied" not in guards({**led, "leader_epoch": other}, {**copy, "control": True})[1]
        )


def heard(found: int, left: int) -> Row:
    """A replica learns of a leader epoch, knowing one."""
    return at_log(9, 9, leader_epoch=found, leader_epoch_after=left)


def test_a_replica_that_learns_of_a_leader_knows_the_epoch_that_the_step_before_left() -> None:
    """Also the first that it heard of; one that it has forgotten is missed."""
    forgotten = "repl.prefix_agreement leader_epoch"

    broken = guards(heard(-1, 3), heard(3, 4), heard(-1, 5), at_log(9, 9, leader_epoch=4))

    assert [[], [], [forgotten], [forgotten]] == broken
