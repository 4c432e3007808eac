"""Transactions that a log leaves open or prepared: from when on the log should have their end."""

import pytest

from spec import rules
from spec.judging.judge_overdue import MARKERS_TAKE, REAPER_INTERVAL, judge_data, judge_ongoing, judge_prepared
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.ids import LARGEST_TIMEOUT, WITHOUT_LIMIT
from spec.vocabulary import TransactionState

ONGOING = TransactionState.ONGOING.value
DUE = 1_000 + 60_000 + REAPER_INTERVAL


def entry(state: int, timeout: int = 60_000) -> TransactionEntry:
    return TransactionEntry(known=True, state=state, start_time=1_000, update_time=1_000, timeout=timeout)


@pytest.mark.parametrize(
    ("known", "until", "holds"),
    [
        (entry(ONGOING), DUE, True),
        (entry(ONGOING), DUE + 1, False),
        (entry(ONGOING, WITHOUT_LIMIT), 10 * WITHOUT_LIMIT, True),
        (entry(TransactionState.PREPARE_COMMIT.value), DUE + 1, True),
        (entry(TransactionState.COMPLETE_ABORT.value), DUE + 1, True),
    ],
    ids=["the reaper may still come", "late", "in two phases", "decided", "ended"],
)
def test_an_open_transaction_has_its_timeout_and_one_search_of_the_reaper(
    known: TransactionEntry, until: int, holds: bool
) -> None:
    """One in two phases may stay open for ever, and one that is decided is no longer aborted."""
    check = judge_ongoing(known, until)

    assert (check.rule, bool(check.at_stake), bool(check.holds)) == (rules.TXN_TIMEOUT, True, holds)


@pytest.mark.parametrize(
    ("state", "until", "holds"),
    [
        (TransactionState.PREPARE_COMMIT, 1_000 + MARKERS_TAKE, True),
        (TransactionState.PREPARE_COMMIT, 1_001 + MARKERS_TAKE, False),
        (TransactionState.PREPARE_ABORT, 1_001 + MARKERS_TAKE, False),
        (TransactionState.COMPLETE_COMMIT, 1_001 + MARKERS_TAKE, True),
        (TransactionState.ONGOING, 1_001 + MARKERS_TAKE, True),
    ],
)
def test_a_prepared_transaction_is_completed_soon(state: TransactionState, until: int, holds: bool) -> None:
    """Whatever its outcome; one that is open is no concern of it."""
    check = judge_prepared(entry(state.value), until)

    assert (check.rule, bool(check.at_stake), bool(check.holds)) == (rules.TXN_COMPLETES, True, holds)


def test_data_of_which_nothing_else_is_known_has_the_longest_timeout() -> None:
    """And one search of the reaper."""
    longest = LARGEST_TIMEOUT + REAPER_INTERVAL

    assert judge_data(1_000, 1_000 + longest).holds
    assert not judge_data(1_000, 1_001 + longest).holds
    assert not judge_ongoing(TransactionEntry(), 0).at_stake
