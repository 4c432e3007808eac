"""Defects of the log on disk: recovery, snapshots, last stable offset, aborted index, cleaner."""

from collections.abc import Iterable
from typing import Final

from model_tests.mutants.planted import Patch, Planted
from reference.broker.partition import Partition
from reference.broker.producer_append import CompletedTxn, ProducerAppend
from reference.broker.producer_entry import ProducerEntry
from reference.broker.producer_state import ProducerState
from reference.broker.txn_index import AbortedTxn, TransactionIndex
from reference.log import clean_log, snapshot_file
from reference.log.batch import RecordBatch
from reference.log.cleaned_transactions import CleanedTransactions
from reference.log.cleaner import BatchCleaner
from reference.log.disk_log import DiskLog
from reference.log.disk_partition import DiskPartition, DiskTransactionIndex
from reference.log.reader import Placed
from reference.log.record import EndTransactionMarker, Record
from reference.log.recovery import _Recovery
from reference.log.segment import Segment
from reference.log.snapshots import Snapshots
from reference.log.state_loading import StateLoader
from spec import rules
from spec.rules import Rule
from spec.vocabulary import NO_OFFSET, Offset, ProducerId, Timestamp

_restore, _encode_entry = ProducerState.restore, snapshot_file._encode_entry
_decode_entry, _replay, _update = snapshot_file._decode_entry, ProducerState.replay, ProducerState.update
_start, _between, _adopt = StateLoader.start, TransactionIndex.between, ProducerAppend.adopt_marker
_is_discarded, _last_stable = CleanedTransactions.is_discarded, vars(Partition)["last_stable"].fget


# --- state ----------------------------------------------------------------------------------------------------


def forget_open(part: ProducerState, snapshot: dict[ProducerId, ProducerEntry], now: Timestamp) -> None:
    """The open transactions of a snapshot do not hold the last stable offset."""
    _restore(part, snapshot, now)
    part.ongoing = {}


def restore_without(field: str, value: object) -> object:
    """A field of the entries is not in the snapshot."""

    def decoded(*fields: int) -> tuple[ProducerId, ProducerEntry]:
        producer_id, entry = _decode_entry(*fields)
        return producer_id, ProducerEntry._make({**entry._asdict(), field: value}.values())

    return decoded


def no_snapshot(loader: StateLoader, offset: Offset) -> bool:
    """No snapshot is read."""
    return False


def oldest_snapshot(loader: StateLoader, log_start: Offset, offset: int) -> None:
    """The oldest snapshot is taken for the newest, and nothing replayed behind it."""
    _start(loader, log_start, offset)
    loader.reached = Offset(max(loader.reached, min(offset, loader.reached + 3)))


def snapshot_of_nothing(snapshots: Snapshots, offset: int, producers: object) -> None:
    """A snapshot without producers."""
    snapshots.path(offset).write_bytes(snapshot_file.encode({}))


def replay_data_only(state: ProducerState, batch: RecordBatch) -> tuple[CompletedTxn, ...]:
    """Markers are not replayed."""
    return () if batch.is_control else _replay(state, batch)


def replay_whole_batches_only(loader: StateLoader, placed: Iterable[Placed], below: int) -> None:
    """A batch with the log start inside is not replayed."""
    for found in placed:
        if loader.reached <= found.batch.base_offset < below:
            loader.state.replay(found.batch)
            loader.reached = Offset(found.batch.last_offset + 1)


def no_warning(recovery: _Recovery, log: DiskLog, lost: bool, why: str) -> None:
    """That nothing is known is not said."""


def cut_nothing(segment: Segment, position: int) -> int:
    """What is damaged stays in the file."""
    return 0


def forgets_window(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """Every marker empties the window."""
    _adopt(part, batch, marker)
    part.entry = part.entry._replace(batches=())


# --- the last stable offset -----------------------------------------------------------------------------------


def unstable_ongoing_only(state: ProducerState) -> Offset:
    """A transaction is stable as soon as its marker is written."""
    return min(state.ongoing, default=NO_OFFSET)


def unstable_newest(state: ProducerState) -> Offset:
    """The newest open transaction holds the last stable offset, not the oldest."""
    return max((*state.ongoing, *state.unreplicated), default=NO_OFFSET)


def unstable_never(state: ProducerState) -> Offset:
    """No transaction holds the last stable offset."""
    return NO_OFFSET


def stable_beyond_watermark(partition: Partition) -> Offset:
    """The high watermark does not bound the last stable offset."""
    unstable = partition.state.first_unstable()
    return partition.log_end if unstable == NO_OFFSET else max(unstable, partition.log_start)


def stable_below_start(partition: Partition) -> Offset:
    """The log start does not bound the last stable offset."""
    unstable = partition.state.first_unstable()
    return partition.high_watermark if unstable == NO_OFFSET else min(unstable, partition.high_watermark)


def stable_falls(partition: Partition) -> Offset:
    """As soon as no transaction is open the last stable offset goes back."""
    stable: Offset = _last_stable(partition)
    return stable if partition.state.ongoing else Offset(max(partition.log_start, stable - 1))


def replicated_too_early(state: ProducerState, high_watermark: Offset) -> None:
    """A marker at the high watermark counts as replicated."""
    state.unreplicated = {f: txn for f, txn in state.unreplicated.items() if txn.marker_offset > high_watermark}


def complete_all(state: ProducerState, txn: CompletedTxn) -> None:
    """One marker ends the transactions of all producers."""
    state.ongoing = {}


def never_complete(state: ProducerState, txn: CompletedTxn) -> None:
    """A marker ends no transaction."""


# --- the aborted index ----------------------------------------------------------------------------------------


def no_entry(index: TransactionIndex, entry: AbortedTxn) -> None:
    """Aborted transactions are not noted."""


def in_memory_only(log: DiskLog, txn: AbortedTxn) -> None:
    """Aborted transactions are not noted in the file."""


def list_all(index: TransactionIndex, fetch_offset: int, upper: int) -> tuple[AbortedTxn, ...]:
    """Every aborted transaction is listed, whatever is fetched."""
    return tuple(index)


def list_from_begin(index: TransactionIndex, fetch_offset: int, upper: int) -> tuple[AbortedTxn, ...]:
    """A transaction that began before the fetch is not listed."""
    return tuple(txn for txn in _between(index, fetch_offset, upper) if txn.first_offset >= fetch_offset)


def list_first(index: TransactionIndex, fetch_offset: int, upper: int) -> tuple[AbortedTxn, ...]:
    """Only one aborted transaction is listed."""
    return _between(index, fetch_offset, upper)[:1]


def list_past_marker(index: TransactionIndex, fetch_offset: int, upper: int) -> tuple[AbortedTxn, ...]:
    """The search ends at the first transaction that is noted with an earlier open one."""
    found = []
    for txn in _between(index, fetch_offset, upper):
        found.append(txn)
        if txn.last_stable_offset <= txn.last_offset:
            break
    return tuple(found)


def index_not_truncated(index: TransactionIndex, offset: int) -> None:
    """A truncated ABORT marker stays in the index."""


def complete_as_aborted(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """A committed transaction is noted as aborted too."""
    if part.entry.in_transaction:
        part.completed.append(CompletedTxn(part.producer_id, part.entry.txn_first_offset, batch.base_offset, True))


# --- readers and cleaner --------------------------------------------------------------------------------------


def read_less(log: DiskLog, offset: int, below: int) -> tuple[RecordBatch, ...]:
    """The last batch below the bound is left out."""
    return tuple(log.walk(offset, below))[:-1]


def none_discarded(part: CleanedTransactions, batch: RecordBatch) -> bool:
    """The cleaner takes aborted data for committed."""
    _is_discarded(part, batch)
    return False


def all_discarded(part: CleanedTransactions, batch: RecordBatch) -> bool:
    """The cleaner takes committed data of transactions for aborted."""
    return _is_discarded(part, batch) or (batch.is_transactional and not batch.is_control)


def keep_older(part: BatchCleaner, batch: RecordBatch, record: Record) -> bool:
    """The newest record of a key goes, older ones stay."""
    newest = part.keys.offsets.get(record.key or b"", -1)
    return batch.base_offset + record.offset_delta < newest


def tombstones_go(part: BatchCleaner, batch: RecordBatch) -> bool:
    """The delete horizon has always come."""
    return True


def one_segment_only(log: DiskLog, start: int) -> CleanedTransactions:
    """Markers in later segments are not seen when data is cleaned."""
    transactions = CleanedTransactions()
    transactions.expect(log.segments[0].aborted)
    return transactions


def clean_everything(log: DiskLog, last_stable: int) -> list[Segment]:
    """The cleaner does not stop at the last stable offset."""
    return log.segments[:-1]


def clean_and_forget(partition: DiskPartition, now: Timestamp, first_dirty: int = 0) -> clean_log.Cleaning:
    """The index of aborted transactions in memory stays as before cleaning."""
    producers, stable = partition.state.producers, partition.last_stable
    return clean_log.clean_log(partition.disk, producers, first_dirty=first_dirty, last_stable=stable, now=now)


def _of(name: str, rule: Rule, owner: object, method: str, instead: object) -> Planted:
    return Planted(name, rule, (Patch(owner, method, instead),))


def no_check(part: ProducerAppend, marker: EndTransactionMarker) -> None:
    """Any coordinator may write."""


STATE, BOUNDS, MONOTONE = rules.SEQ_STATE_RECOVERABLE, rules.LSO_BOUNDS, rules.LSO_MONOTONE
DECIDED, COMMITTED, ABORTED = rules.LSO_DECIDED_BELOW, rules.LSO_READ_COMMITTED, rules.LSO_ABORTED_INDEX
FENCED = rules.FENCE_COORDINATOR_EPOCH

OF_DISK: Final = (
    _of("open transactions of a snapshot forgotten", DECIDED, ProducerState, "restore", forget_open),
    _of("snapshot without sequences", STATE, snapshot_file, "_decode_entry", restore_without("batches", ())),
    _of(
        "snapshot without coordinator epochs",
        STATE,
        snapshot_file,
        "_decode_entry",
        restore_without("coordinator_epoch", -1),
    ),
    _of(
        "snapshot without open transactions",
        STATE,
        snapshot_file,
        "_decode_entry",
        restore_without("txn_first_offset", -1),
    ),
    _of("snapshot without epochs", STATE, snapshot_file, "_decode_entry", restore_without("epoch", 0)),
    _of("snapshots not read", STATE, StateLoader, "_restore", no_snapshot),
    _of("batches behind a snapshot skipped", STATE, StateLoader, "start", oldest_snapshot),
    _of("snapshot of nothing", STATE, Snapshots, "take", snapshot_of_nothing),
    _of("markers not replayed", STATE, ProducerState, "replay", replay_data_only),
    _of("batch around the log start not replayed", STATE, StateLoader, "replay", replay_whole_batches_only),
    _of("lost state not told", STATE, _Recovery, "warn", no_warning),
    _of("marker empties the window", STATE, ProducerAppend, "adopt_marker", forgets_window),
    _of("unreplicated markers decide", DECIDED, ProducerState, "first_unstable", unstable_ongoing_only),
    _of("newest transaction bounds", DECIDED, ProducerState, "first_unstable", unstable_newest),
    _of("no transaction bounds", DECIDED, ProducerState, "first_unstable", unstable_never),
    _of("high watermark does not bound", BOUNDS, Partition, "last_stable", property(stable_beyond_watermark)),
    _of("log start does not bound", BOUNDS, Partition, "last_stable", property(stable_below_start)),
    _of("stable offset falls", MONOTONE, Partition, "last_stable", property(stable_falls)),
    _of("marker at the watermark is replicated", DECIDED, ProducerState, "on_high_watermark", replicated_too_early),
    _of("marker ends all transactions", DECIDED, ProducerState, "complete", complete_all),
    _of("marker ends nothing", COMMITTED, ProducerState, "complete", never_complete),
    _of("aborted not noted", ABORTED, DiskTransactionIndex, "append", no_entry),
    _of("aborted not noted in the file", ABORTED, DiskLog, "append_aborted", in_memory_only),
    _of("all aborted listed", ABORTED, TransactionIndex, "between", list_all),
    _of("aborted from before the fetch not listed", ABORTED, TransactionIndex, "between", list_from_begin),
    _of("one aborted listed", ABORTED, TransactionIndex, "between", list_first),
    _of("search for aborted ends early", ABORTED, TransactionIndex, "between", list_past_marker),
    _of("truncated marker stays in the index", ABORTED, TransactionIndex, "truncate", index_not_truncated),
    _of("committed noted as aborted", ABORTED, ProducerAppend, "complete_transaction", complete_as_aborted),
    _of("readers get less", COMMITTED, DiskLog, "read", read_less),
    _of("cleaner keeps aborted keys", COMMITTED, CleanedTransactions, "is_discarded", none_discarded),
    _of("cleaner drops committed data", COMMITTED, CleanedTransactions, "is_discarded", all_discarded),
    _of("cleaner keeps the older record", COMMITTED, BatchCleaner, "is_kept", keep_older),
    _of("tombstones go at once", COMMITTED, BatchCleaner, "is_past_horizon", tombstones_go),
    _of("marker in a later segment unseen", COMMITTED, clean_log, "_transactions", one_segment_only),
    _of("index not read anew after cleaning", ABORTED, DiskPartition, "clean", clean_and_forget),
    _of("any coordinator writes", FENCED, ProducerAppend, "check_coordinator_epoch", no_check),
)
