import numpy as np
import pytest

from model_tests.audit.holes import Surroundings
from model_tests.audit.partition import audit_batches
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written import data, log_of, marker
from reference.log.batch import RecordBatch, emptied
from spec.vocabulary import MAX_SEQUENCE, ControlType, Sequence

DAY = 24 * 3600 * 1000


def found(*batches: RecordBatch, around: Surroundings | None = None) -> list[tuple[str, str, int]]:
    """Rule, severity and offset of every finding."""
    start = around.first_base if around else 0
    verdict = audit_batches(log_of(*batches, start=start), around or Surroundings())
    return [(finding.rule.id, str(finding.severity), finding.offset) for finding in verdict.findings]


@pytest.mark.parametrize(
    "batches",
    [
        [data(0, 3), data(3, 2), data(5)],
        [data(MAX_SEQUENCE, 1), data(0)],
        [data(MAX_SEQUENCE - 1, 4), data(2)],
        [data(0), data(1, epoch=0), data(0, epoch=1), data(0, epoch=4)],
        [data(0, transactional=True), marker(), data(1, transactional=True), marker()],
        [data(0, transactional=True), marker(epoch=1), data(0, epoch=1)],
        [marker(epoch=3), data(0, epoch=3)],
    ],
    ids=["successor", "wrap", "wrap inside", "epochs", "one epoch", "bumped marker", "marker first"],
)
def test_a_legal_history_breaks_nothing(batches: list[RecordBatch]) -> None:
    """What brokers accept is not reported, besides a first sequence that is not 0."""
    assert [rule for rule, severity, _ in found(*batches) if severity == Severity.VIOLATION] == []


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([data(0), data(2), data(3)], [("seq.successor", 1)]),
        ([data(0), data(1), data(1), data(2)], [("seq.exactly_once", 2)]),
        ([*(data(n) for n in range(9)), data(1), data(9)], [("seq.exactly_once", 9)]),
        ([*(data(n) for n in range(9)), data(1), data(2), data(3), data(9)], [("seq.exactly_once", 9)]),
        ([data(0), data(2), data(1), data(3)], [("seq.successor", 1)]),
        ([data(0), data(3), data(1), data(2), data(4)], [("seq.successor", 1)]),
        ([data(0), data(5, epoch=1), data(6, epoch=1)], [("seq.epoch_reset", 1)]),
        ([data(0), data(0, epoch=1), data(1), data(1, epoch=1)], [("fence.stale_epoch", 2)]),
        ([data(0), data(0, epoch=1), data(1), data(2), data(1, epoch=1)], [("fence.stale_epoch", 2)]),
        ([data(0), data(2), data(3), data(5)], [("seq.successor", 1), ("seq.successor", 3)]),
        ([data(0, 4), data(2, 4), data(6)], [("seq.successor", 4)]),
        ([data(0, epoch=1), marker(epoch=0), data(1, epoch=1)], [("fence.stale_epoch", 1)]),
        ([marker(coordinator=5), marker(coordinator=4), marker(coordinator=5)], [("fence.coordinator_epoch", 1)]),
        (
            [marker(), marker(coordinator=5), data(0), marker(), data(1), marker(), marker()],
            [("fence.coordinator_epoch", 3)],
        ),
        ([data(0), data(2), data(2), data(3)], [("seq.successor", 1)]),
        ([data(0), data(0), data(2), data(3)], [("seq.exactly_once", 1)]),
        ([data(7), data(1), data(2), data(3)], [("seq.successor", 1)]),
        ([data(0), data(7, epoch=1), data(1, epoch=1), data(2, epoch=1)], [("seq.epoch_reset", 1)]),
        ([data(0, epoch=1), data(1), data(2, epoch=1), data(3, epoch=1)], [("fence.stale_epoch", 1)]),
        ([data(0), data(1, epoch=1), marker(epoch=1), data(0, epoch=1)], [("seq.epoch_reset", 1)]),
        ([data(0), data(1)._replace(base_sequence=Sequence(-1)), data(2)], [("seq.well_formed", 1)]),
        ([data(0)._replace(base_sequence=Sequence(-1)), data(1), data(2)], [("seq.well_formed", 0)]),
        ([data(0), data(1)._replace(base_sequence=Sequence(-1)), marker(), data(2)], [("seq.well_formed", 1)]),
        ([data(0), data(1), marker(epoch=-1), data(2), marker(), data(3)], [("fence.stale_epoch", 2)]),
        ([data(0), marker(epoch=-1), marker(epoch=-1), data(1), data(2)], [("fence.stale_epoch", 1)]),
        ([marker(epoch=-1), data(5), data(6)], [("seq.first", 1)]),
    ],
)
def test_one_defect_is_one_finding(batches: list[RecordBatch], expected: list[tuple[str, int]]) -> None:
    """A broken batch is named at its offset, and what follows it is judged as if it had not happened."""
    assert [(rule, offset) for rule, _, offset in found(*batches)] == expected


def test_a_first_sequence_is_suspicious_on_a_whole_log_only() -> None:
    """A retained tail begins in the middle of its producers' histories."""
    tail = Surroundings(first_base=100, active_base=100)

    assert found(data(5)) == [("seq.first", "suspicious", 0)]
    assert found(data(5), data(6), around=tail) == []
    assert found(data(5), data(7), around=tail) == [("seq.successor", "violation", 101)]


def test_a_tail_that_begins_with_a_marker_does_not_know_the_sequence() -> None:
    """Under versions 0 and 1 the next transaction continues in the same epoch, whatever the sequence was."""
    tail = Surroundings(first_base=100, active_base=100)

    assert found(marker(), data(41), data(42), around=tail) == []
    assert found(marker(), marker(epoch=1), data(41, epoch=1), around=tail) == [("seq.successor", "violation", 102)]


def test_a_producer_may_be_forgotten_when_it_was_idle() -> None:
    """After `producer.id.expiration.ms` any sequence is legal; whether the broker forgot is not in the log."""
    assert found(data(0, at=0), data(7, at=DAY)) == [("seq.successor", "undecided", 1)]
    assert found(data(0, at=0), data(7, at=DAY - 1)) == [("seq.successor", "violation", 1)]


def test_what_the_cleaner_may_have_removed_is_undecided() -> None:
    """A rewritten batch shows that the cleaner was here; a gap of offsets after it is no violation."""
    log = log_of(data(0), emptied(data(1)), data(2), data(3), data(4))
    kept = log.take(np.array([True, True, True, False, True]))

    verdict = audit_batches(kept)

    assert verdict.cleaned
    assert [(finding.rule.id, finding.severity) for finding in verdict.findings] == [
        ("seq.successor", Severity.UNDECIDED)
    ]


def test_a_gap_in_the_active_segment_is_not_the_cleaners() -> None:
    """The cleaner never touches the active segment."""
    kept = log_of(data(0), data(1), data(2)).take(np.array([True, False, True]))

    assert [finding.severity for finding in audit_batches(kept).findings] == [Severity.VIOLATION]
    cleaned = audit_batches(kept, Surroundings(active_base=3))
    assert [finding.severity for finding in cleaned.findings] == [Severity.UNDECIDED]
    never = audit_batches(kept, Surroundings(active_base=3, cleaner_known=True))
    assert [finding.severity for finding in never.findings] == [Severity.VIOLATION]


def test_coordinators_data_has_no_sequences() -> None:
    """Offset commits are appended by the coordinator, each with sequence 0."""
    commits = [data(0, transactional=True), marker(), data(0, transactional=True), marker()]

    assert found(*commits, around=Surroundings(by_coordinator=True)) == []


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    """What a read_committed reader is given ends before the first undecided batch."""
    verdict = audit_batches(
        log_of(data(0, 2), data(2, 3, transactional=True), marker(kind=ControlType.ABORT), data(5, transactional=True))
    )

    assert (verdict.offsets.last_stable, verdict.offsets.log_end, verdict.visible_records) == (6, 7, 2)
    assert [opened.first_offset for opened in verdict.open_transactions] == [6]


def test_a_transaction_with_its_marker_above_the_high_watermark_is_undecided() -> None:
    """The last stable offset is where the unreplicated transaction begins."""
    log = log_of(data(0), data(1, transactional=True), marker(), data(2))

    assert audit_batches(log, Surroundings(high_watermark=2)).offsets.last_stable == 1
    assert audit_batches(log, Surroundings(high_watermark=3)).offsets.last_stable == 3


def test_a_log_start_above_the_log_end_breaks_the_bounds() -> None:
    """The broker's checkpoint is compared with the log."""
    verdict = audit_batches(log_of(data(0)), Surroundings(log_start=9))

    assert [finding.rule.id for finding in verdict.findings] == ["lso.bounds"]


@pytest.mark.parametrize(
    ("guard", "batches"),
    [
        ("duplicate", [data(0), data(0)]),
        ("successor", [data(0), data(2)]),
        ("epoch_reset", [data(0), data(2, epoch=1)]),
        ("stale_coordinator", [marker(coordinator=5), marker(coordinator=4)]),
    ],
)
def test_the_decisions_guard_is_what_finds(guard: str, batches: list[RecordBatch]) -> None:
    """The audit restates no rule: without the guard of the decision it does not name that guard."""
    log = log_of(*batches)

    assert [finding.guard for finding in audit_batches(log).findings] == [guard]
    assert guard not in {finding.guard for finding in audit_batches(log, without=frozenset({guard})).findings}


def test_without_its_guard_a_falling_epoch_is_still_seen_to_fall() -> None:
    """`fence.epoch_monotone` looks at the state after, not at the guard."""
    log = log_of(data(0, epoch=1), data(0), data(1, epoch=1))
    dropped = frozenset({"stale_epoch", "stale_epoch_of_transaction", "epoch_reset"})

    assert [finding.rule.id for finding in audit_batches(log, without=dropped).findings] == ["fence.epoch_monotone"]


def test_no_batches_are_a_verdict_too() -> None:
    """An empty partition is bounded by its segment's name."""
    verdict = audit_batches(log_of(), Surroundings(first_base=5, active_base=5))

    assert (verdict.batches, verdict.offsets.log_start, verdict.offsets.last_stable) == (0, 5, 5)


@pytest.mark.parametrize("goes_on", [2, 3], ids=["without it", "after it"])
def test_one_batch_of_a_raised_epoch_is_one_finding(goes_on: int) -> None:
    """The producer continues in its own epoch: what follows is not stale, the one batch is wrong."""
    batches = data(0), data(1), data(2, epoch=1), *(data(goes_on + more) for more in range(3))

    assert found(*batches) == [("seq.epoch_reset", "violation", 2)]


@pytest.mark.parametrize("goes_on", [2, 3, 9], ids=["without it", "after it", "with a gap"])
def test_a_transaction_of_a_raised_epoch_is_one_finding(goes_on: int) -> None:
    """Its marker has the raised epoch, too, and then the producer continues in its own."""
    wrong = data(2, epoch=1, transactional=True), marker(epoch=1)
    batches = data(0), data(1), *wrong, *(data(goes_on + more) for more in range(3))
    verdict = audit_batches(log_of(*batches))

    (finding,) = verdict.findings
    assert (finding.rule.id, finding.offset) == ("seq.epoch_reset", 2)
    (back,) = finding.consequences
    assert (back.rule.id, back.offset, back.producer_epoch) == ("fence.epoch_monotone", 4, 0)


def test_a_zombie_behind_a_raised_epoch_is_a_finding_of_its_own() -> None:
    """The producer stays in the raised epoch, and one batch of the old one comes in between."""
    batches = data(0), data(1, epoch=1), data(2, epoch=1), data(1), data(3, epoch=1), data(4, epoch=1)

    assert [(rule, offset) for rule, _, offset in found(*batches)] == [("seq.epoch_reset", 1), ("fence.stale_epoch", 3)]


def test_a_zombie_at_the_end_of_a_log_is_a_finding_of_its_own_unless_it_continues() -> None:
    """Nothing follows that would say whether the producer came back: its sequences do."""
    old, wrong = [data(number) for number in range(3)], [data(number, epoch=1) for number in (7, 8, 9)]

    two = audit_batches(log_of(*old, *wrong, data(3))).findings
    one = audit_batches(log_of(*old, *wrong, data(10))).findings

    assert [(each.rule.id, each.offset) for each in two] == [("seq.epoch_reset", 3), ("fence.stale_epoch", 6)]
    assert [(each.rule.id, each.offset) for each in one] == [("seq.epoch_reset", 3)]


@pytest.mark.parametrize("later", ["lost", "turned round", "wrong"])
def test_a_wrong_sequence_far_ahead_hides_no_later_defect(later: str) -> None:
    """What follows does not come late into the gap that the one batch seems to leave: it is judged as ever."""
    batches = [data(number) for number in range(20)]
    batches[6] = data(56)
    if later == "lost":
        del batches[10]
    elif later == "wrong":
        batches[10] = data(11)
    else:
        batches[10:12] = batches[11], batches[10]

    findings = audit_batches(log_of(*batches)).findings

    assert [(one.rule.id, one.offset) for one in findings] == [("seq.successor", 6), ("seq.successor", 10)]


@pytest.mark.parametrize("order", [(3, 1, 2), (3, 2, 1), (4, 1, 2, 3), (4, 3, 2, 1)])
def test_batches_that_come_late_one_after_the_other_are_one_finding(order: tuple[int, ...]) -> None:
    """In their order or against it: the finding is at the first that was sent too early."""
    batches = [data(0), *(data(number) for number in order), data(max(order) + 1)]

    (finding,) = audit_batches(log_of(*batches)).findings

    assert finding.offset == 1
    (late,) = finding.consequences
    assert (late.rule.id, late.offset) == ("seq.successor", 2)
    assert f"up to offset {len(order)}" in late.message


def test_batches_that_are_broken_for_the_same_reason_are_consequences_of_the_first() -> None:
    """Three that come again are one finding, at the first."""
    numbers = 0, 1, 2, 0, 1, 2, 3

    (finding,) = audit_batches(log_of(*map(data, numbers))).findings

    (more,) = finding.consequences
    assert (finding.offset, more.rule.id, more.offset) == (3, "seq.exactly_once", 4)
    assert more.message.startswith("2 batches")


@pytest.mark.parametrize(("recovery_point", "severity"), [(9, "undecided"), (2, "violation")])
def test_a_log_start_above_the_end_is_a_doubt_where_the_tail_is_missing(recovery_point: int, severity: str) -> None:
    """Records below 8 were deleted, and the tail after it was lost: a broker begins anew at the log start."""
    around = Surroundings(log_start=8, recovery_point=recovery_point)

    assert ("lso.bounds", severity, 2) in found(data(0), data(1), around=around)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"base_sequence": -1}, "the batch has sequence -1, expected 1: a producer numbers its data"),
        (
            {"record_count": 5},
            "the batch has 5 records at 1 offsets (last offset delta 0), expected one for each",
        ),
    ],
)
def test_a_malformed_batch_is_reported_by_its_values(changed: dict[str, int], expected: str) -> None:
    """In the words of a log dump, not as what the audit holds in memory."""
    batches = log_of(data(0), data(1), data(2))
    for column, value in changed.items():
        getattr(batches, column)[1] = value

    findings = audit_batches(batches).findings

    assert [(one.rule.id, one.offset, one.message) for one in findings] == [("seq.well_formed", 1, expected)]


def test_a_log_start_above_the_end_is_a_doubt_where_nothing_could_be_read() -> None:
    """Its segments are there, and its end is not known."""
    (finding,) = audit_batches(log_of(), Surroundings(log_start=8)).findings

    assert (finding.rule.id, finding.severity) == ("lso.bounds", "undecided")
    assert "the end of the log is missing" in finding.message
