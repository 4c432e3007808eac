"""The rules of a log on disk, each in plain words over the machine's own memory and what the log shows."""

from collections.abc import Iterable
from dataclasses import dataclass

from model_tests.machines.disk_history import (
    NOTHING,
    EndedTransaction,
    Header,
    LoggedProducer,
    Producers,
    last_reported_by,
)
from model_tests.machines.rule_counts import Ledger
from reference.log.batch import RecordBatch
from reference.log.partition import FetchResult
from spec import rules
from spec.evidence import Layer, evidences
from spec.protocol import lso
from spec.rules import Circumstances, Rule
from spec.vocabulary import ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetsSnapshot:
    """The offsets of a partition, as it shows them, and what happened before.

    Attributes:
        floor: the last stable offset before, since the last restart or truncation.
        lowest: what the last stable offset is if every transaction counts whose marker is not replicated.
        highest: what it is if those do not count that ended before the last restart or truncation.
        undecided: in the log, first offsets of data that no marker decides.
    """

    message: str
    start: int
    stable: int
    watermark: int
    end: int
    floor: int
    lowest: int
    highest: int
    undecided: int
    opened: int
    unreplicated: int
    circumstances: Circumstances

    def __str__(self) -> str:
        """All of them, and what led to it."""
        return (
            f"log {self.start}..{self.end}, high watermark {self.watermark}, last stable {self.stable} (before "
            f"{self.floor}, expected {self.lowest}..{self.highest}); after {self.message}"
        )


@evidences(rules.LSO_BOUNDS, Layer.STATEFUL)
def lso_bounds(seen: OffsetsSnapshot, ledger: Ledger) -> None:
    """Log start, last stable offset, high watermark and log end ascend."""
    ledger.expect(rules.LSO_BOUNDS, seen.start <= seen.stable <= seen.watermark <= seen.end, str(seen))


@evidences(rules.LSO_MONOTONE, Layer.STATEFUL)
def lso_monotone(seen: OffsetsSnapshot, ledger: Ledger) -> None:
    """Without truncation and restart the last stable offset does not fall."""
    if seen.floor != NOTHING:
        ledger.expect(rules.LSO_MONOTONE, seen.stable >= seen.floor, str(seen), seen.circumstances)


@evidences(rules.LSO_DECIDED_BELOW, Layer.STATEFUL)
def lso_decided_below(seen: OffsetsSnapshot, ledger: Ledger) -> None:
    """No data below the last stable offset is undecided, nor is its marker above the high watermark."""
    bound = seen.highest if seen.undecided == NOTHING else min(seen.highest, max(seen.undecided, seen.start))
    if min(bound, seen.lowest) < seen.watermark or seen.stable > bound:
        ledger.expect(rules.LSO_DECIDED_BELOW, seen.stable <= bound, str(seen), seen.circumstances)


def decision_agrees(seen: OffsetsSnapshot, ledger: Ledger) -> None:
    """The specification computes the same last stable offset, and says of it what is said here."""
    if not ledger.asks_decision or seen.lowest != seen.highest:
        return
    offsets = lso.LogOffsets(seen.start, seen.opened, seen.unreplicated, seen.watermark, seen.end)
    ledger.decide(rules.LSO_DECIDED_BELOW, bool(lso.last_stable(offsets) == seen.stable), str(seen))
    ledger.decide(rules.LSO_BOUNDS, bool(lso.bounds(offsets, seen.stable)), str(seen))


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """A reader went through the log from an offset to its end.

    Attributes:
        got: offsets and values, as they came.
        wanted: what the memory says is visible there.
    """

    message: str
    got: tuple[tuple[int, bytes | None], ...]
    wanted: tuple[tuple[int, bytes | None], ...]
    circumstances: Circumstances


@evidences(rules.LSO_READ_COMMITTED, Layer.STATEFUL)
def lso_read_committed(read: ReadThrough, ledger: Ledger) -> None:
    """What came is what is committed or in no transaction below the last stable offset, in offset order."""
    if read.got or read.wanted:
        missing, extra = sorted({*read.wanted} - {*read.got}), sorted({*read.got} - {*read.wanted})
        message = f"missing {missing}, too much {extra}; {read.message}"
        ledger.expect(rules.LSO_READ_COMMITTED, read.got == read.wanted, message, read.circumstances)


@dataclass(frozen=True, slots=True)
class CommittedFetch:
    """One fetch of a read_committed reader, the aborted transactions that were, and the log's markers.

    Attributes:
        upper: where the segment ends that answered.
    """

    message: str
    offset: int
    upper: int
    result: FetchResult
    ended: tuple[EndedTransaction, ...]
    markers: frozenset[int]
    circumstances: Circumstances


@evidences(rules.LSO_ABORTED_INDEX, Layer.STATEFUL)
def lso_aborted_index(fetched: CommittedFetch, ledger: Ledger) -> None:
    """Listed are the aborted transactions with data in the answer, and none that did not abort or does not reach it."""
    listed = fetched.result.aborted or ()
    aborted = {(txn.producer_id, txn.marker): txn for txn in fetched.ended if txn.aborted}
    batches = fetched.result.batches
    needed = {key for key, txn in aborted.items() if any(_is_of(txn, batch) for batch in batches)}
    found = [(int(entry.producer_id), int(entry.last_offset)) for entry in listed]
    wrong = [
        entry
        for entry, key in zip(listed, found, strict=True)
        if key not in aborted
        or entry.first_offset < aborted[key].began
        or entry.last_offset not in fetched.markers
        or not (entry.last_offset >= fetched.offset and entry.first_offset < fetched.upper)
    ]
    late = [
        entry
        for entry, key in zip(listed, found, strict=True)
        if any(key in aborted and _is_of(aborted[key], b) and b.base_offset < entry.first_offset for b in batches)
    ]
    holds = needed <= set(found) and len(set(found)) == len(found) and not wrong and not late
    if listed or needed:
        message = f"fetch {fetched.offset}..{fetched.upper} needs {sorted(needed)}, listed {listed}; {fetched.message}"
        ledger.expect(rules.LSO_ABORTED_INDEX, holds, message, fetched.circumstances)
    for txn in aborted.values() if ledger.asks_decision and holds else ():
        entry = lso.AbortedTransaction(txn.began, txn.marker, txn.marker + 1)
        agreed = bool(lso.is_listed(entry, fetched.offset, fetched.upper)) or (txn.producer_id, txn.marker) not in found
        ledger.decide(rules.LSO_ABORTED_INDEX, agreed, f"{txn} in {fetched.offset}..{fetched.upper}")


def _is_of(txn: EndedTransaction, batch: RecordBatch) -> bool:
    inside = txn.began <= batch.last_offset < txn.marker
    return inside and batch.is_transactional and batch.producer_id == txn.producer_id and batch.record_count > 0


@dataclass(frozen=True, slots=True)
class MarkerAppend:
    """A coordinator's marker, what was known of the producer, and how it was answered (None: written)."""

    message: str
    known: LoggedProducer
    stale_epoch: bool
    coordinator_epoch: int
    error: ErrorCode | None
    circumstances: Circumstances


@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.STATEFUL)
def fence_coordinator_epoch(marked: MarkerAppend, ledger: Ledger) -> None:
    """A marker of an older coordinator is refused as fenced, one of the same or a newer one is written."""
    if marked.stale_epoch:
        return
    stale = marked.coordinator_epoch < marked.known.coordinator_epoch
    wanted = ErrorCode.TRANSACTION_COORDINATOR_FENCED if stale else None
    if marked.known.coordinator_epoch != NOTHING or marked.error:
        message = f"coordinator epoch {marked.coordinator_epoch} with {marked.known}: {marked.error}; {marked.message}"
        ledger.expect(rules.FENCE_COORDINATOR_EPOCH, marked.error == wanted, message, marked.circumstances)


@dataclass(frozen=True, slots=True)
class RecoveredState:
    """A partition's state after it was read from disk, and the states that snapshots and log imply.

    Attributes:
        reported: what may be known, one for each trusted snapshot, or one for the log alone.
        warned: that nothing is known was said.
        expected_warning: no message and no snapshot is left, but some were.
    """

    message: str
    producers: Producers
    reported: tuple[Producers, ...]
    warned: bool
    expected_warning: bool
    circumstances: Circumstances


@evidences(rules.SEQ_STATE_RECOVERABLE, Layer.STATEFUL)
def seq_state_recoverable(derived: RecoveredState, ledger: Ledger) -> None:
    """The state is the one of a snapshot and the log behind it; the window may be smaller."""
    agrees = any(is_shrunk(derived.producers, reported) for reported in derived.reported)
    holds = agrees and (derived.warned or not derived.expected_warning)
    message = f"known {derived.producers}, expected {derived.reported}, warned {derived.warned}; {derived.message}"
    if derived.producers or derived.expected_warning or derived.reported != ({},):
        ledger.expect(rules.SEQ_STATE_RECOVERABLE, holds, message, derived.circumstances)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A pass of the cleaner, and the headers of the log before and after; all that is known is active."""

    message: str
    known: Producers
    before: frozenset[Header]
    after: frozenset[Header]
    circumstances: Circumstances


@evidences(rules.SEQ_STATE_RECOVERABLE, Layer.STATEFUL)
def cleaning_keeps_producers(cleaned: Cleaned, ledger: Ledger) -> None:
    """Cleaning does not undo fencing, nor does it forget the last sequence of an active producer."""
    wanted = {last_reported_by(producer_id, known) for producer_id, known in cleaned.known.items()} & cleaned.before
    if wanted:
        message = f"the log has lost {sorted(wanted - cleaned.after)}; {cleaned.message}"
        ledger.expect(rules.SEQ_STATE_RECOVERABLE, wanted <= cleaned.after, message, cleaned.circumstances)


def is_shrunk(producers: Producers, reported: Producers) -> bool:
    """Whether the states agree, except for older batches of windows."""
    return producers.keys() == reported.keys() and all(
        _shrunk(known, reported[pid]) for pid, known in producers.items()
    )


def _shrunk(known: LoggedProducer, reported: LoggedProducer) -> bool:
    if known._replace(window=()) != reported._replace(window=()):
        return False
    return known.window[-1:] == reported.window[-1:] and is_part(known.window, reported.window)


def is_part(some: Iterable[object], whole: Iterable[object]) -> bool:
    """Whether all of `some` come in `whole`, in that order."""
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in some)


DISK_RULES: tuple[Rule, ...] = (
    rules.SEQ_STATE_RECOVERABLE,
    rules.LSO_BOUNDS,
    rules.LSO_MONOTONE,
    rules.LSO_DECIDED_BELOW,
    rules.LSO_READ_COMMITTED,
    rules.LSO_ABORTED_INDEX,
    rules.FENCE_COORDINATOR_EPOCH,
)
"""The rules that the machine over the disk log has invariants for."""
