"""The last stable offset, the aborted index and the reader's view, in the Python reading."""

import itertools

import pytest

from spec.protocol.lso import (
    AbortedTransaction,
    LogOffsets,
    bounds,
    ends_the_list,
    fetch,
    first_unstable,
    indexed,
    is_delivered,
    is_listed,
    is_replicated,
    last_stable,
    smaller,
)
from spec.vocabulary import ErrorCode

LOG = LogOffsets(log_start=10, first_ongoing=-1, first_unreplicated=-1, high_watermark=50, log_end=60)


def offsets(ongoing: int = -1, unreplicated: int = -1, high_watermark: int = 50) -> LogOffsets:
    return LogOffsets(10, ongoing, unreplicated, high_watermark, 60)


@pytest.mark.parametrize(
    ("log", "stable"),
    [
        (offsets(), 50),
        (offsets(ongoing=30), 30),
        (offsets(unreplicated=30), 30),
        (offsets(ongoing=30, unreplicated=20), 20),
        (offsets(ongoing=20, unreplicated=30), 20),
        (offsets(ongoing=55), 50),
        (offsets(ongoing=5), 10),
    ],
    ids=["nothing open", "open", "unreplicated", "both", "both", "open above the high watermark", "below log start"],
)
def test_last_stable(log: LogOffsets, stable: int) -> None:
    """The first undecided offset holds it, within log start and high watermark."""
    assert stable == last_stable(log)
    assert bounds(log, last_stable(log))


@pytest.mark.parametrize(("left", "right"), list(itertools.product((-1, 0, 3, 7), repeat=2)))
def test_smaller_of_offsets_that_may_be_absent(left: int, right: int) -> None:
    """Absent gives way to anything present."""
    present = [offset for offset in (left, right) if offset >= 0]

    assert min(present, default=-1) == smaller(left, right)


def test_nothing_is_unstable_in_a_quiet_log() -> None:
    """Without open and unreplicated transactions there is no first unstable offset."""
    assert first_unstable(LOG) == -1


def test_a_marker_at_the_high_watermark_is_not_replicated() -> None:
    """The high watermark is the first offset that is not replicated."""
    assert (True, False) == (is_replicated(49, 50), is_replicated(50, 50))


@pytest.mark.parametrize(
    ("offset", "committed", "error", "bound"),
    [
        (9, True, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (61, True, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (60, True, ErrorCode.NONE, 30),
        (51, True, ErrorCode.NONE, 30),
        (51, False, ErrorCode.NONE, 50),
        (10, True, ErrorCode.NONE, 30),
        (50, True, ErrorCode.NONE, 30),
        (10, False, ErrorCode.NONE, 50),
    ],
    ids=[
        "below start",
        "beyond the log end",
        "at the log end",
        "above high watermark",
        "all above high watermark",
        "committed",
        "at the high watermark",
        "all",
    ],
)
def test_fetch(offset: int, committed: bool, error: ErrorCode, bound: int) -> None:
    """Readers get what is between log start and their bound, and wait between that and the log end."""
    answer = fetch(offsets(ongoing=30), offset, committed)

    assert (error, bound) == (answer.error, answer.bound)


@pytest.mark.parametrize(("start", "upper", "listed"), [(0, 10, False), (0, 11, True), (20, 99, True), (21, 99, False)])
def test_listed_where_the_ranges_overlap(start: int, upper: int, listed: bool) -> None:
    """A fetch lists every aborted transaction that overlaps it."""
    entry = AbortedTransaction(first_offset=10, last_offset=20, last_stable=21)

    assert listed is is_listed(entry, start, upper)


def test_the_index_notes_the_oldest_other_transaction() -> None:
    """Its last stable offset ignores the high watermark, and ends a search whose range lies below it."""
    assert [5, 21] == [indexed(10, 20, other).last_stable for other in (5, -1)]
    assert (True, False) == (ends_the_list(indexed(10, 20, -1), 21), ends_the_list(indexed(10, 20, 5), 21))


@pytest.mark.parametrize(
    ("control", "transactional", "aborted", "committed"), list(itertools.product([0, 1], repeat=4))
)
def test_delivered(control: int, transactional: int, aborted: int, committed: int) -> None:
    """Control records never, aborted ones only to readers of everything."""
    seen = is_delivered(
        control=bool(control),
        transactional=bool(transactional),
        aborted=bool(aborted),
        read_committed=bool(committed),
    )

    assert seen is (not control and not (committed and transactional and aborted))
