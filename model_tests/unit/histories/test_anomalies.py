"""Each class of anomalies is found under its name in the smallest history that has it, and not in its clean twin."""

from typing import Final

import pytest

from model_tests.histories.anomalies import MEANINGS, AnomalyKind
from model_tests.histories.report import ClientsReport
from model_tests.histories.severity import Severity
from model_tests.unit.support.audited_histories import HISTORIES, found, judged

LEGAL: Final = (
    AnomalyKind.INT_SEND_SKIP,
    AnomalyKind.WRITE_CYCLE,
    AnomalyKind.CONSUMED_TWICE,
    AnomalyKind.OFFSETS_OF_ABORTED,
)
OPEN: Final = (AnomalyKind.UNSEEN,)

FOLLOWS: Final = {
    AnomalyKind.TORN: {AnomalyKind.LOST_WRITE},
    AnomalyKind.OFFSETS_WITHOUT_OUTPUTS: {AnomalyKind.LOST_WRITE},
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


CONSUMED = (
    "{:type :ok, :f :send, :value [[:send 1 [0 10]] [:send 1 [1 11]] [:send 1 [2 12]] [:send 1 [3 13]]], "
    ":process 0, :index 0}\n"
    "{:type :ok, :f :subscribe, :value [1], :process 1, :index 1}\n"
    "{:type :ok, :f :txn, :value [[:poll {1 [[0 10]]}] [:send 2 [0 20]]], :process 1, :index 2}\n"
    "{:type :fail, :f :txn, :value [[:poll {1 [[1 11]]}] [:send 2 21]], :process 1, :index 3}\n"
)
"""A group consumes a record, and another one in a transaction that is aborted."""

ONWARD = "{:type :ok, :f :txn, :value [[:poll {1 [[3 13]]}] [:send 2 [2 22]]], :process 1, :index 4}\n"


def test_what_a_group_passed_over_after_an_abort_is_one_case() -> None:
    """With what no operation was given at all; nothing of it is lost, skipped or unseen as well."""
    reported = judged(CONSUMED + ONWARD)

    assert {AnomalyKind.OFFSETS_OF_ABORTED: {Severity.SUSPICIOUS: 1}} == {
        kind: counts for kind, counts in found(reported).items() if kind is not AnomalyKind.UNSEEN
    }
    (case,) = next(one.cases for one in reported.classes if one.kind is AnomalyKind.OFFSETS_OF_ABORTED)
    assert (case.key, case.offsets) == ("1", (1, 2))
    assert "1 offsets 1..2 (2 records)" in case.message
    assert "went on at offset 3" in case.message


def test_a_group_that_goes_back_after_an_abort_passes_over_nothing() -> None:
    """Whatever a reader outside of the group was given counts for the group as nothing."""
    back = ONWARD.replace("[[3 13]]", "[[1 11] [2 12] [3 13]]")
    outside = "{:type :ok, :f :assign, :value [1], :process 2, :index 5}\n" + ONWARD.replace(
        "[[3 13]]", "[[1 11] [2 12] [3 13]]"
    ).replace("[2 22]", "[3 23]").replace(":process 1, :index 4", ":process 2, :index 6")

    assert AnomalyKind.OFFSETS_OF_ABORTED not in found(judged(CONSUMED + back))
    assert AnomalyKind.OFFSETS_OF_ABORTED in found(judged(CONSUMED + ONWARD + outside))


def test_a_reader_outside_the_group_shows_that_a_record_is_lost_all_the_same() -> None:
    """It was given what is before and behind what the group passed over."""
    outside = (
        "{:type :ok, :f :assign, :value [1], :process 2, :index 5}\n"
        "{:type :ok, :f :poll, :value [[:poll {1 [[0 10] [1 11] [3 13]]}]], :process 2, :index 6}\n"
    )

    kinds = found(judged(CONSUMED + ONWARD + outside))

    assert kinds[AnomalyKind.OFFSETS_OF_ABORTED] == {Severity.SUSPICIOUS: 1}
    assert kinds[AnomalyKind.LOST_WRITE] == {Severity.VIOLATION: 1}


def test_an_acknowledgement_that_reads_contradict_is_one_finding() -> None:
    """No duplicate, and no order of sends is concluded from it; without the read that contradicts it, it counts."""
    sends = (
        "{:type :ok, :f :send, :value [[:send 1 [0 10]]], :process 0, :index 0}\n"
        "{:type :ok, :f :send, :value [[:send 1 [0 11]]], :process 0, :index 1}\n"
    )
    read = "{{:type :ok, :f :poll, :value [[:poll {{1 [{}]}}]], :process 1, :index 2}}\n"

    reported = judged(sends + read.format("[0 10] [1 11]"))
    unread = found(judged(sends + read.format("[0 10]")))

    assert {AnomalyKind.INCONSISTENT_OFFSETS: {Severity.VIOLATION: 1}} == found(reported)
    (case,) = next(one.cases for one in reported.classes if one.kind is AnomalyKind.INCONSISTENT_OFFSETS)
    assert case.message.startswith("value 11 was acknowledged at offset 0, where readers were given value 10 (:poll 2")
    assert unread[AnomalyKind.INCONSISTENT_OFFSETS] == {Severity.VIOLATION: 1}
