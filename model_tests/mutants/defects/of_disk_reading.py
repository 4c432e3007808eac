"""Defects of reading from the disk log: aborted index, segments of an answer, cleaner."""

from collections.abc import Iterator
from typing import Final

from model_tests.mutants.defects.planted import defect
from reference.log import cleaner
from reference.log.batch import RecordBatch
from reference.log.cleaner import BatchCleaner, CleanedTransactions, LastRecord
from reference.log.disk_log import DiskLog
from reference.log.disk_partition import DiskPartition, DiskTransactionIndex
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult, Partition
from reference.log.producer_append import CompletedTxn, ProducerAppend
from reference.log.reading import WITHOUT_LIMIT
from reference.log.record import EndTransactionMarker, Record
from reference.log.segment import Segment
from reference.log.txn_index import AbortedTxn, TransactionIndex
from spec import rules
from spec.vocabulary import Offset, Timestamp

_between, _fetch = TransactionIndex.between, Partition.fetch
_is_discarded, _walk = CleanedTransactions.is_discarded, DiskLog.walk


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


def read_less(log: DiskLog, offset: int, below: int) -> Iterator[RecordBatch]:
    """The last batch below the bound is left out."""
    return iter(tuple(_walk(log, offset, below))[:-1])


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


def keep_no_producer(part: BatchCleaner, batch: RecordBatch) -> bool:
    """The cleaner drops the last batch of an active producer."""
    return batch.last_offset + 1 == part.keys.end


def keep_no_marker(last: LastRecord, batch: RecordBatch) -> bool:
    """The cleaner drops the last marker of a producer of which no data is left."""
    return batch.last_offset == last.last_data_offset


def clean_and_forget(partition: DiskPartition, now: Timestamp, first_dirty: int = 0) -> cleaner.Cleaning:
    """The index of aborted transactions in memory stays as before cleaning."""
    producers, stable = partition.state.producers, partition.last_stable
    return cleaner.clean_log(partition.disk, producers, first_dirty=first_dirty, last_stable=stable, now=now)


def read_past_stable(
    partition: Partition, offset: int, isolation: int = READ_UNCOMMITTED, max_bytes: int = WITHOUT_LIMIT
) -> FetchResult:
    """Readers of committed data get all below the high watermark."""
    result = _fetch(partition, offset, READ_UNCOMMITTED, max_bytes)
    listed = partition.aborted.between(offset, partition.log_end) if isolation == READ_COMMITTED else None
    return result._replace(aborted=listed)


def answer_to_the_end(log: DiskLog, offset: int) -> Offset | None:
    """An answer may come from many segments."""
    return None


def answer_from_one_base(log: DiskLog, offset: int) -> Offset | None:
    """An answer ends with the segment of the offset, also where cleaning has left nothing there."""
    return next((segment.base_offset for segment in log.segments if segment.base_offset > offset), None)


STATE, COMMITTED, ABORTED = rules.SEQ_STATE_RECOVERABLE, rules.LSO_READ_COMMITTED, rules.LSO_ABORTED_INDEX

OF_READING: Final = (
    defect("aborted not noted", ABORTED, DiskTransactionIndex, "append", no_entry),
    defect("aborted not noted in the file", ABORTED, DiskLog, "append_aborted", in_memory_only),
    defect("all aborted listed", ABORTED, TransactionIndex, "between", list_all),
    defect("aborted from before the fetch not listed", ABORTED, TransactionIndex, "between", list_from_begin),
    defect("one aborted listed", ABORTED, TransactionIndex, "between", list_first),
    defect("search for aborted ends early", ABORTED, TransactionIndex, "between", list_past_marker),
    defect("truncated marker stays in the index", ABORTED, TransactionIndex, "truncate", index_not_truncated),
    defect("committed noted as aborted", ABORTED, ProducerAppend, "complete_transaction", complete_as_aborted),
    defect("readers get less", COMMITTED, DiskLog, "walk", read_less),
    defect("cleaner keeps aborted keys", COMMITTED, CleanedTransactions, "is_discarded", none_discarded),
    defect("cleaner drops committed data", COMMITTED, CleanedTransactions, "is_discarded", all_discarded),
    defect("cleaner keeps the older record", COMMITTED, BatchCleaner, "is_kept", keep_older),
    defect("tombstones go at once", COMMITTED, BatchCleaner, "is_past_horizon", tombstones_go),
    defect("marker in a later segment unseen", COMMITTED, cleaner, "_transactions", one_segment_only),
    defect("cleaner drops the last batch of a producer", STATE, BatchCleaner, "must_stay", keep_no_producer),
    defect("cleaner drops the last marker of a producer", STATE, LastRecord, "is_in", keep_no_marker),
    defect("cleaner does not stop at what is undecided", COMMITTED, cleaner, "_cleanable", clean_everything),
    defect("readers pass the last stable offset", COMMITTED, Partition, "fetch", read_past_stable),
    defect("answer from many segments", ABORTED, DiskLog, "base_after", answer_to_the_end),
    defect("answer ends in an emptied segment", COMMITTED, DiskLog, "base_after", answer_from_one_base),
    defect("index not read anew after cleaning", ABORTED, DiskPartition, "clean", clean_and_forget),
)
