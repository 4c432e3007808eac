"""The last stable offset, the aborted index, and what a reader sees."""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.guards import PASSED, Guard, branch, error_of
from spec.vocabulary import ABSENT, ErrorCode


@dataclass(frozen=True, slots=True)
class LogOffsets:
    """The offsets that bound a partition's log, and its first undecided one."""

    log_start: Term
    first_ongoing: Term  # first offset of the oldest open transaction, -1 none
    first_unreplicated: Term  # first offset of the oldest decided one whose marker is not below the high watermark
    high_watermark: Term
    log_end: Term


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """One entry of the aborted index."""

    first_offset: Term  # of the transaction's data in the partition
    last_offset: Term  # of its ABORT marker
    last_stable: Term  # when the marker was appended


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """How a fetch is answered: an error, or data from the offset up to `bound` (not included)."""

    branch: Term
    error: Term
    bound: Term


def smaller(left: Term, right: Term) -> Term:
    """The smaller of two offsets, of which either may be absent."""
    return choose(any_of(right < 0, all_of(left >= 0, left < right)), left, right)


def first_unstable(offsets: LogOffsets) -> Term:
    """First offset that a read_committed reader may not pass; -1 where there is none. Never below the log start."""
    oldest = smaller(offsets.first_ongoing, offsets.first_unreplicated)
    return choose(all_of(oldest >= 0, oldest < offsets.log_start), offsets.log_start, oldest)


def last_stable(offsets: LogOffsets) -> Term:
    """The first unstable offset where it is below the high watermark, else the high watermark."""
    unstable = first_unstable(offsets)
    return choose(all_of(unstable >= 0, unstable < offsets.high_watermark), unstable, offsets.high_watermark)


def is_replicated(marker_offset: Term, high_watermark: Term) -> Term:
    """The marker is below the high watermark: its transaction is decided and cannot be lost."""
    return marker_offset < high_watermark


def bounds(offsets: LogOffsets, stable: Term) -> Term:
    """Log start <= last stable offset <= high watermark <= log end."""
    return all_of(
        offsets.log_start <= stable, stable <= offsets.high_watermark, offsets.high_watermark <= offsets.log_end
    )


def indexed(first_offset: Term, marker_offset: Term, other_first_ongoing: Term) -> AbortedTransaction:
    """The entry that an ABORT marker adds to the index.

    Its last stable offset is the start of the oldest transaction still open, else the offset after the marker;
    the high watermark plays no part.
    """
    stable = choose(other_first_ongoing >= 0, other_first_ongoing, marker_offset + 1)
    return AbortedTransaction(first_offset, marker_offset, stable)


def is_listed(entry: AbortedTransaction, fetch_offset: Term, upper: Term) -> Term:
    """A fetch of [fetch_offset, upper) needs this aborted transaction."""
    return all_of(entry.last_offset >= fetch_offset, entry.first_offset < upper)


def ends_the_list(entry: AbortedTransaction, upper: Term) -> Term:
    """No later entry of the index can begin below `upper`, so that the search may stop here."""
    return entry.last_stable >= upper


def fetch_guards(offsets: LogOffsets, fetch_offset: Term) -> tuple[Guard, ...]:
    """The errors of a fetch, in Kafka's order.

    Between the high watermark and the log end a reader waits: a new leader's high watermark can be below what its
    consumers have read (LocalLog.read).
    """
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE.value
    return (
        Guard("below_log_start", rules.LSO_BOUNDS, fetch_offset < offsets.log_start, out_of_range),
        Guard("beyond_log_end", rules.LSO_BOUNDS, fetch_offset > offsets.log_end, out_of_range),
    )


def fetch(offsets: LogOffsets, fetch_offset: Term, read_committed: Term) -> FetchAnswer:
    """A reader gets data below the last stable offset, or below the high watermark if it is read_uncommitted."""
    checks = fetch_guards(offsets, fetch_offset)
    decided = branch(checks)
    bound = choose(read_committed, last_stable(offsets), offsets.high_watermark)
    return FetchAnswer(decided, error_of(checks, decided), choose(decided == PASSED, bound, ABSENT))


def is_delivered(*, control: Term, transactional: Term, aborted: Term, read_committed: Term) -> Term:
    """A reader is given the records of a batch: never control records, nor aborted ones under read_committed.

    Args:
        control: the batch is a control batch.
        transactional: it is of a transaction.
        aborted: that transaction was aborted.
        read_committed: the reader's isolation level is read_committed.
    """
    hidden = all_of(read_committed, transactional, aborted)
    return all_of(negate(control), negate(hidden))


def is_decided_below(first_offset: Term, stable: Term, decided: Term) -> Term:
    """A transaction that begins below the last stable offset is decided."""
    return implies(first_offset < stable, decided)
