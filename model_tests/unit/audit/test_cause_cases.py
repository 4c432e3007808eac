"""Which finding explains which other, where no row of the table of cases has such findings."""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.transactions_causes import diagnose_causes
from model_tests.audit.transactions_summary import DataRun
from model_tests.histories.severity import Severity
from spec import rules
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api

SUSPICIOUS, UNDECIDED = Severity.SUSPICIOUS, Severity.UNDECIDED
MARKER: Final = Api.WRITE_TXN_MARKERS
DATA: Final = Api.PRODUCE
EPOCHS: Final = (rules.FENCE_STALE_EPOCH, rules.FENCE_EPOCH_MONOTONE, rules.SEQ_EPOCH_RESET)
SEQUENCES: Final = (rules.SEQ_SUCCESSOR, rules.SEQ_EXACTLY_ONCE)


def finding(
    rule: Rule,
    offset: int,
    epoch: int = 0,
    *,
    producer: int = 7,
    severity: Severity = Severity.VIOLATION,
    guard: str = "",
    whose: str = "",
    step: str = "",
    remedy: str = "",
    found_at: tuple[int, ...] = (),
    follows: tuple[int, ...] = (),
    until: int = ABSENT,
) -> Finding:
    """A finding of producer 7."""
    further = (guard, whose, step, remedy, found_at, follows, (), until)
    return Finding(rule, severity, offset, producer, epoch, f"{rule.id} at {offset}", *further)


def run(offset: int, marker: int) -> DataRun:
    """Data that a marker ends."""
    return DataRun(7, 0, offset, offset, 1, 0, 0, marker, 0)


@dataclass(frozen=True, slots=True)
class CauseCase:
    """Findings of one log.

    Attributes:
        own: those of the partition.
        joined: those of the join.
        explained: offsets of findings that another one has caused.
        runs: the data of transactions.
    """

    name: str
    own: tuple[Finding, ...]
    joined: tuple[Finding, ...] = ()
    explained: tuple[int, ...] = ()
    runs: tuple[DataRun, ...] = ()

    def __str__(self) -> str:
        return self.name


def pair(name: str, own: Finding, joined: Finding, *explained: int) -> CauseCase:
    """One finding of the partition and one of the join; at most one of them explains the other."""
    return CauseCase(name, (own,), (joined,), explained)


REGISTERED: Final = finding(rules.TXN_REGISTERED_BEFORE_DATA, 4, 2, step=DATA)
STALE: Final = finding(rules.FENCE_STALE_EPOCH, 4, 1, step=DATA)
UNMARKED: Final = finding(rules.TXN_MARKER_ONCE, 4, 3, step=MARKER)
OTHER: Final = finding(rules.OFFSETS_ATOMIC, 4, 1, step=DATA)

OF_ONE_BATCH: Final = (
    pair(
        "data that another producer lacks",
        finding(rules.SEQ_SUCCESSOR, 9, producer=8, found_at=(4,)),
        REGISTERED,
        9,
    ),
    pair(
        "a marker where another producer lacks data",
        finding(rules.SEQ_SUCCESSOR, 9, producer=8, found_at=(4,)),
        UNMARKED,
    ),
    pair(
        "a suspicious finding of another rule at the same place",
        finding(rules.SEQ_SUCCESSOR, 4, severity=SUSPICIOUS),
        OTHER,
    ),
    pair("a first sequence, and what it lacks later", finding(rules.SEQ_FIRST, 1, found_at=(4,)), OTHER, 4),
    pair("what a batch lacks stands before it", finding(rules.SEQ_SUCCESSOR, 9, found_at=(4,)), OTHER, 4),
    pair("another rule twice, refused", finding(rules.FENCE_STALE_EPOCH, 9, 2, guard="epoch"), STALE),
    *(pair(f"a lower epoch before a marker, {rule.id}", finding(rule, 9, 1), UNMARKED, 9) for rule in EPOCHS),
    pair("the epoch of the marker", finding(rules.FENCE_EPOCH_MONOTONE, 9, 3), UNMARKED),
    pair("a sequence before a marker", finding(rules.SEQ_SUCCESSOR, 9, 1), UNMARKED),
    pair(
        "a lower epoch before a marker of the other outcome",
        finding(rules.FENCE_EPOCH_MONOTONE, 9, 1),
        finding(rules.TXN_ONE_OUTCOME, 4, 3, step=MARKER),
    ),
    *(pair(f"a lower epoch than that of data, {rule.id}", finding(rule, 9, 1), REGISTERED, 9) for rule in EPOCHS),
    pair("the epoch of the data", finding(rules.FENCE_EPOCH_MONOTONE, 9, 2), REGISTERED),
    pair("a lower epoch, and a rule about bounds", finding(rules.LSO_BOUNDS, 9, 1), REGISTERED),
    *(pair(f"data repeats, {rule.id}", finding(rule, 9, 2), REGISTERED, 9) for rule in SEQUENCES),
    pair("sequences of another epoch", finding(rules.SEQ_SUCCESSOR, 9, 1), REGISTERED),
    pair("the same epoch, and a rule about bounds", finding(rules.LSO_BOUNDS, 9, 2), REGISTERED),
    pair(
        "a lower epoch than that of a partition that is not registered",
        finding(rules.FENCE_EPOCH_MONOTONE, 9, 1),
        finding(rules.TXN_REGISTERED_BEFORE_DATA, 4, 2, step=Api.ADD_PARTITIONS_TO_TXN),
    ),
    *(pair(f"data of too low an epoch, {rule.id}", finding(rule, 9, 2), STALE, 9) for rule in SEQUENCES),
    pair("data of too low an epoch, seq.epoch_reset", finding(rules.SEQ_EPOCH_RESET, 9, 2), STALE, 9),
    pair("sequences of the same epoch as stale data", finding(rules.SEQ_SUCCESSOR, 9, 1), STALE),
    pair("a later epoch, and a rule about bounds", finding(rules.LSO_BOUNDS, 9, 2), STALE),
    pair("sequences, and consumed offsets", finding(rules.SEQ_SUCCESSOR, 9, 2), OTHER),
)

NO_BATCH: Final = finding(rules.SEQ_WELL_FORMED, 8)


def lacking(offset: int, severity: Severity = Severity.VIOLATION) -> Finding:
    """A marker is missing from here to offset 10."""
    return finding(rules.TXN_MARKER_ONCE, offset, severity=severity, until=10)


NOT_MARKED: Final = (
    CauseCase("a batch where the marker is missing from itself on", (NO_BATCH, lacking(8))),
    CauseCase("a batch where a marker may be missing", (NO_BATCH, lacking(4, severity=UNDECIDED))),
    CauseCase("a batch that may be broken", (finding(rules.SEQ_WELL_FORMED, 8, severity=UNDECIDED), lacking(4))),
    CauseCase(
        "a batch that may be broken, where a marker may be missing",
        (finding(rules.SEQ_WELL_FORMED, 8, severity=UNDECIDED), lacking(4, severity=UNDECIDED)),
    ),
)

BROKEN: Final = finding(rules.SEQ_SUCCESSOR, 5)


def snapshot(*follows: int, producer: int = 7, at: int = 20) -> Finding:
    """A snapshot that differs from the log."""
    return finding(rules.SEQ_STATE_RECOVERABLE, at, producer=producer, follows=follows)


def entry(*follows: int, at: int = 20) -> Finding:
    """An entry of the aborted index that differs from the log."""
    return finding(rules.LSO_ABORTED_INDEX, at, follows=follows)


BESIDE: Final = (
    CauseCase(
        "a snapshot behind a later batch of the transaction", (BROKEN, snapshot(8)), (), (20,), (run(5, 0), run(9, 0))
    ),
    CauseCase(
        "a snapshot behind a batch that may be broken",
        (finding(rules.SEQ_SUCCESSOR, 5, severity=UNDECIDED), snapshot(5)),
    ),
    CauseCase(
        "a snapshot of another, at what the batch lacks",
        (finding(rules.SEQ_SUCCESSOR, 5, found_at=(6,)), snapshot(6, producer=9)),
        explained=(20,),
    ),
    CauseCase("two snapshots about one transaction", (snapshot(1), snapshot(1, at=21))),
    CauseCase(
        "a broken batch, a marker that is missing because of it, and a snapshot behind that",
        (BROKEN, finding(rules.TXN_MARKER_ONCE, 19, until=30, follows=(5,)), snapshot(19)),
        explained=(19, 20),
    ),
    CauseCase(
        "two findings that would each follow from the other",
        tuple(finding(rules.TXN_MARKER_ONCE, at, until=9, follows=(of,)) for at, of in ((5, 6), (6, 5))),
        explained=(6,),
    ),
)


@pytest.mark.parametrize("case", [*OF_ONE_BATCH, *NOT_MARKED, *BESIDE], ids=str)
def test_a_finding_explains_others(case: CauseCase) -> None:
    """What is explained is a consequence of one finding, once; all others are left."""
    given = (*case.own, *case.joined)

    left = diagnose_causes(case.own, case.joined, case.runs, 100)

    explained = [one.message for each in left for one in each.consequences]
    assert sorted(explained) == sorted(one.message for one in given if one.offset in case.explained)
    assert len(left) == len(given) - len(case.explained)


HERE: Final = finding(rules.SEQ_SUCCESSOR, 4)
DOUBT: Final = finding(rules.SEQ_FIRST, 4, severity=SUSPICIOUS)


@pytest.mark.parametrize(
    ("own", "cause", "explained"), [(HERE, HERE, OTHER), (DOUBT, OTHER, DOUBT)], ids=["a violation", "a doubt"]
)
def test_of_one_batch_the_surer_finding_is_the_cause(own: Finding, cause: Finding, explained: Finding) -> None:
    """The join knows more of a first sequence than the partition."""
    (left,) = diagnose_causes((own,), (OTHER,), (), 100)

    assert left.message == cause.message
    assert [one.message for one in left.consequences] == [explained.message]


LATER: Final = finding(rules.FENCE_STALE_EPOCH, 9, 1)
MISNAMED: Final = UNMARKED.causes([finding(rules.TXN_MARKER_ONCE, 2, until=12)])


@pytest.mark.parametrize(
    ("own", "cause"),
    [((LATER,), MISNAMED), ((finding(rules.SEQ_FIRST, 4, 2, severity=SUSPICIOUS), LATER), REGISTERED)],
    ids=["a marker that another producer lacks", "the first data of its producer"],
)
def test_what_seems_stale_behind_too_high_an_epoch_is_explained(own: tuple[Finding, ...], cause: Finding) -> None:
    """Also where the batch with that epoch explains something else already, or is itself in doubt."""
    (left,) = diagnose_causes(own, (cause,), (), 100)

    assert left.message == cause.message
    assert {one.message for one in left.consequences} >= {one.message for one in own}


def test_an_index_that_differs_is_no_cause_of_a_missing_marker() -> None:
    """Both are about the same offset, and the index was made of the log."""
    missing = replace(UNMARKED, until=10)

    (left,) = diagnose_causes((entry(4, at=4),), (missing,), (run(4, 0),), 100)

    assert left.message == missing.message
    assert [one.rule for one in left.consequences] == [rules.LSO_ABORTED_INDEX]


OF_JOIN: Final = finding(rules.TXN_MARKER_ONCE, 20, whose="tx", step=MARKER, remedy="abort it", follows=(5,))


@pytest.mark.parametrize(
    ("own", "joined", "expected"),
    [
        ((BROKEN,), (OF_JOIN,), ("tx", MARKER, "abort it")),
        ((finding(rules.SEQ_SUCCESSOR, 5, remedy="look"),), (OF_JOIN,), ("tx", MARKER, "abort it")),
        ((), (finding(rules.TXN_ONE_OUTCOME, 5), OF_JOIN), ("tx", MARKER, "abort it")),
        (
            (),
            (finding(rules.TXN_ONE_OUTCOME, 5, whose="own", step=DATA, remedy="look"), OF_JOIN),
            ("own", DATA, "look"),
        ),
        ((BROKEN, finding(rules.LSO_ABORTED_INDEX, 20, remedy="delete it", follows=(5,))), (), ("", "", "")),
        ((finding(rules.SEQ_SUCCESSOR, 5, remedy="look"), snapshot(5)), (), ("", "", "look")),
    ],
    ids=["the join's", "the join's first", "of the one explained", "its own first", "a file's is not", "its own"],
)
def test_a_cause_takes_over_what_the_join_says(
    own: tuple[Finding, ...], joined: tuple[Finding, ...], expected: tuple[str, str, str]
) -> None:
    """Of the transaction, of the step that failed, and of what to do."""
    (left,) = diagnose_causes(own, joined, (), 100)

    assert (left.transactional_id, left.step, left.remedy) == expected
