"""Each class of anomalies is found under its name in the smallest history that has it, and not in its clean twin."""

from typing import Final

import pytest

from model_tests.histories.anomalies import MEANINGS, AnomalyKind
from model_tests.histories.report import ClientsReport
from model_tests.histories.severity import Severity
from model_tests.unit.support.histories_judged import HISTORIES, found, judged

LEGAL: Final = (AnomalyKind.INT_SEND_SKIP, AnomalyKind.WRITE_CYCLE, AnomalyKind.CONSUMED_TWICE)
OPEN: Final = (AnomalyKind.UNSEEN, AnomalyKind.OFFSETS_OF_ABORTED)

FOLLOWS: Final = {
    AnomalyKind.TORN: {AnomalyKind.LOST_WRITE},
    AnomalyKind.OFFSETS_WITHOUT_OUTPUTS: {AnomalyKind.LOST_WRITE},
    AnomalyKind.OFFSETS_OF_ABORTED: {AnomalyKind.LOST_WRITE},
    AnomalyKind.INT_SEND_SKIP: {AnomalyKind.WRITE_CYCLE},
}
"""Classes that are never alone."""


def report(name: str, *, read_committed: bool = True) -> ClientsReport:
    """The report on one of the histories."""
    return judged((HISTORIES / f"{name}.edn").read_text(), read_committed=read_committed)


@pytest.mark.parametrize("kind", AnomalyKind)
def test_a_class_is_found_under_its_name(kind: AnomalyKind) -> None:
    """With the severity that it has where nothing excuses it."""
    severity = Severity.SUSPICIOUS if kind in LEGAL else Severity.UNDECIDED if kind in OPEN else Severity.VIOLATION

    reported = report(kind.value)

    assert set(found(reported)) == {kind} | FOLLOWS.get(kind, set())
    assert found(reported)[kind] == {severity: 1}
    assert reported.is_violated == (severity is Severity.VIOLATION)


@pytest.mark.parametrize("kind", AnomalyKind)
def test_its_clean_twin_has_none(kind: AnomalyKind) -> None:
    """The same history but for what is wrong in it; it was looked at, too."""
    reported = report(f"{kind.value}.clean")

    assert found(reported) == {}
    assert next(one.judged for one in reported.classes if one.kind is kind) > 0


def test_there_is_a_history_of_every_class_and_no_other() -> None:
    """A file without a class would not be judged."""
    assert {file.name.split(".")[0] for file in HISTORIES.iterdir()} == {kind.value for kind in MEANINGS}


def test_a_case_names_what_it_is_about() -> None:
    """Partition, offsets, values, and the operations by index and process."""
    (case,) = next(one.cases for one in report("lost-write").classes if one.kind is AnomalyKind.LOST_WRITE)

    assert (case.key, case.offsets, case.values) == ("1", (1, 2), ("11",))
    assert [(each.index, each.process, each.name) for each in case.operations] == [
        (3, "0", ":send"),
        (13, "2", ":poll"),
    ]


SENT = """
{:type :invoke, :f :send, :value [[:send 1 10]], :process 0, :index 0}
{:type :ok, :f :send, :value [[:send 1 [0 10]]], :process 0, :index 1}
{:type :invoke, :f :send, :value [[:send 1 11]], :process 0, :index 2}
{:type :ok, :f :send, :value [[:send 1 [1 11]]], :process 0, :index 3}
{:type :invoke, :f :send, :value [[:send 1 12]], :process 0, :index 4}
{:type :ok, :f :send, :value [[:send 1 [2 12]]], :process 0, :index 5}
"""
SKIPPED = """
{:type :ok, :f :poll, :value [[:poll {1 [[0 10]]}]], :process 1, :index 7}
{:type :ok, :f :poll, :value [[:poll {1 [[2 12]]}]], :process 1, :index 8}
{:type :ok, :f :poll, :value [[:poll {1 [[0 10] [1 11]]}]], :process 2, :index 9}
"""


@pytest.mark.parametrize(
    ("placing", "expected"),
    [
        ("{:type :ok, :f :assign, :value [1], :process 1, :index 6}", {Severity.VIOLATION: 1}),
        ("{:type :ok, :f :subscribe, :value [1], :process 1, :index 6}", {Severity.SUSPICIOUS: 1}),
        ("{:type :info, :f :crash, :value nil, :process 3, :index 6}", {Severity.UNDECIDED: 1}),
    ],
    ids=["assigned", "subscribed", "unknown"],
)
def test_what_a_skip_means_depends_on_how_the_reader_got_its_partitions(
    placing: str, expected: dict[Severity, int]
) -> None:
    """A group may move a partition between two polls; what a process assigned itself stays its own."""
    assert found(judged(SENT + placing + SKIPPED)) == {AnomalyKind.POLL_SKIP: expected}


def test_an_operation_that_was_rebalanced_may_skip() -> None:
    """Within an operation, and from it to the next."""
    placing = "{:type :ok, :f :assign, :value [1], :process 1, :index 6}"
    moved = SKIPPED.replace("[[2 12]]}]],", "[[2 12]]}]], :rebalance-log [{:keys [1]}],")
    within = """
{:type :ok, :f :txn, :value [[:poll {1 [[0 10]]}] [:poll {1 [[2 12]]}]], :rebalance-log [{:keys [1]}],
 :process 3, :index 10}
"""

    assert found(judged(SENT + placing + moved + within)) == {}


def test_where_operations_are_missing_nothing_is_lost() -> None:
    """What is absent from a history with gaps may have been there."""
    history = (HISTORIES / "lost-write.edn").read_text()
    without_first = "".join(history.splitlines(keepends=True)[2:])

    assert found(judged(without_first)) == {AnomalyKind.LOST_WRITE: {Severity.UNDECIDED: 1}}
    assert judged(without_first).partial == ("operations are missing: the indices have gaps",)


def test_values_that_are_sent_twice_decide_nothing() -> None:
    """Two sends of one value may lie at two offsets; the report counts them."""
    again = SENT.replace("11", "10")
    read = "{:type :ok, :f :poll, :value [[:poll {1 [[0 10] [1 10] [2 12]]}]], :process 1, :index 6}"

    reported = judged(again + read)

    assert found(reported) == {AnomalyKind.DUPLICATE: {Severity.UNDECIDED: 1}}
    assert reported.undecidable == {"records whose value was sent more than once": 2}


@pytest.mark.parametrize("kind", [AnomalyKind.ABORTED_READ, AnomalyKind.PRECOMMITTED_READ, AnomalyKind.READ_CYCLE])
def test_a_read_uncommitted_reader_may_be_given_anything(kind: AnomalyKind) -> None:
    """What is aborted, and what is not decided."""
    assert found(report(kind.value, read_committed=False)) == {kind: {Severity.SUSPICIOUS: 1}}


def test_a_transaction_of_unknown_outcome_counts_once_it_is_read() -> None:
    """A part of it was read, and readers went on behind the rest: it is torn."""
    history = (HISTORIES / "torn-transaction.edn").read_text().replace("{:type :ok, :f :txn", "{:type :info, :f :txn")

    assert found(judged(history))[AnomalyKind.TORN] == {Severity.VIOLATION: 1}


def test_a_part_of_an_aborted_transaction_is_torn_too() -> None:
    """Beside the aborted read."""
    history = """
{:type :fail, :f :txn, :value [[:send 1 10] [:send 2 20]], :process 0, :index 0}
{:type :ok, :f :assign, :value [1 2], :process 1, :index 1}
{:type :ok, :f :poll, :value [[:poll {1 [[0 10]]}]], :process 1, :index 2}
"""

    assert found(judged(history)) == {
        AnomalyKind.ABORTED_READ: {Severity.VIOLATION: 1},
        AnomalyKind.TORN: {Severity.VIOLATION: 1},
    }


def test_offsets_may_be_as_large_as_they_can_be() -> None:
    """Neighbours are neighbours however far apart."""
    last = 2**63 - 1
    history = (HISTORIES / "poll-skip.edn").read_text().replace("[2 12]", f"[{last} 12]").replace("[1 11]", "[4096 11]")

    (case,) = next(one.cases for one in judged(history).classes if one.kind is AnomalyKind.POLL_SKIP)

    assert case.offsets == (0, last)
    assert found(judged(history)) == {AnomalyKind.POLL_SKIP: {Severity.VIOLATION: 1}}


@pytest.mark.parametrize(
    ("start", "severity"), [("", Severity.UNDECIDED), (":seek-to-beginning? true, ", Severity.VIOLATION)]
)
def test_what_lies_before_all_that_was_read_is_lost_only_to_who_began_there(start: str, severity: Severity) -> None:
    """A reader may have begun behind it, unless it was configured to begin at the start."""
    placing = f"{{:type :ok, :f :assign, :value [1], {start}:process 1, :index 6}}\n"
    read = "{:type :ok, :f :poll, :value [[:poll {1 [[1 11] [2 12]]}]], :process 1, :index 7}"

    assert found(judged(SENT + placing + read)) == {AnomalyKind.LOST_WRITE: {severity: 1}}
