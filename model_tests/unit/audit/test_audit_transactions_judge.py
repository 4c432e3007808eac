from dataclasses import replace

import pytest

from model_tests.audit.transactions_clusters import places_of
from model_tests.audit.transactions_join import Gap, JoinedTransaction, LogIndex
from model_tests.audit.transactions_judge import judge_transaction
from model_tests.audit.transactions_summary import DataRun, PartitionTransactions
from model_tests.unit.support.judged_transactions import KNOWN, RUN, WHOLE


def without_marker(summary: PartitionTransactions, *runs: DataRun, behind: bool = False) -> JoinedTransaction:
    """A committed transaction that has no marker at offsets 10 to 20, where the log ends."""
    place = LogIndex(0, "a", 0, summary, behind)
    return JoinedTransaction(KNOWN, gaps=[Gap(place, after=10, before=20, first=False, last=True, runs=runs)])


@pytest.mark.parametrize(
    ("summary", "missing"),
    [
        (replace(WHOLE, leader_changes=(15,)), "the leader changed there"),
        (replace(WHOLE, cleaned_to=15), "the log cleaner was there"),
        (replace(WHOLE, unreadable=(15,)), "unreadable bytes"),
        (replace(WHOLE, tail_lost=True), "the end of its log is missing"),
    ],
    ids=["leader", "cleaner", "damage", "tail"],
)
def test_what_can_have_removed_a_marker_makes_it_a_doubt(summary: PartitionTransactions, missing: str) -> None:
    """The missing piece is named, and no rule is."""
    judged = judge_transaction(without_marker(summary))

    assert judged.findings == ()
    assert missing in judged.missing[0]


@pytest.mark.parametrize(
    "summary",
    [
        WHOLE,
        replace(WHOLE, leader_changes=(5, 25), cleaned_to=5, unreadable=(5,)),
        replace(WHOLE, leader_changes=(15,), gone=(14,)),
    ],
    ids=["nothing", "elsewhere", "batches gone"],
)
def test_where_nothing_can_have_removed_it_the_marker_is_missing(summary: PartitionTransactions) -> None:
    """Also where something happened, but elsewhere, or where batches are gone that nothing removes."""
    judged = judge_transaction(without_marker(summary))

    assert [finding.rule.id for _, finding in judged.findings] == ["txn.marker_once"]


def test_data_without_its_marker_hangs_whatever_became_of_the_marker() -> None:
    """An unclean election that lost the marker and not the data is no excuse."""
    judged = judge_transaction(without_marker(replace(WHOLE, leader_changes=(15,)), RUN))

    ((_, finding),) = judged.findings
    assert (finding.rule.id, finding.offset) == ("txn.marker_once", 12)
    assert "--start-offset 12" in finding.remedy


def test_a_replica_that_is_behind_is_not_asked_for_its_last_marker() -> None:
    """Another replica has it, or not."""
    judged = judge_transaction(without_marker(WHOLE, RUN, behind=True))

    assert judged.findings == ()


def test_replicas_that_have_the_same_are_behind_only_together() -> None:
    """Whichever was given first: what the newest leader had, too, is not going to be cut off."""
    summary = replace(WHOLE, runs=(RUN,))

    (place,) = places_of([(0, "a", 0, summary), (1, "a", 0, summary)], behind=frozenset({0}))

    (left,) = places_of([(0, "a", 0, summary), (1, "a", 0, summary)], behind=frozenset({0, 1}))

    assert (place.log, place.behind) == (0, False)
    assert (left.log, left.behind) == (0, True)
