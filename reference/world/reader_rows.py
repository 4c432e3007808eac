"""What readers are answered, as rows: a fetch at its leader, and each batch that a reader takes from the answer."""

from collections.abc import Iterator, Sequence

from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Delivered
from reference.log.batch import RecordBatch
from reference.log.partition import READ_COMMITTED, FetchResult, Partition
from reference.recording.recorder import NOWHERE, ObservedState, Recorder, Row, batch_columns
from reference.world.history import NOBODYS, origin_of
from reference.world.replica_rows import node_name
from spec.vocabulary import ABSENT, ErrorCode, Offset, Timestamp


def record_fetch(
    recorder: Recorder,
    now: Timestamp,
    node: int,
    request: Row,
    seen: ObservedState,
    error: ErrorCode,
    result: FetchResult | None,
) -> None:
    """A node has answered a reader: one row, and one for each aborted transaction that the answer lists.

    Args:
        recorder: of the trace.
        now: by the clock of the node, milliseconds.
        node: that answers.
        request: who asks, of which partition, from which offset, under which isolation level.
        seen: the replica, which a fetch does not change.
        error: of the answer.
        result: the answer, None where it is refused.
    """
    where: Row = {"node": node_name(node), **request}
    recorder.record("ConsumerFetch", now, seen, seen, **where, **answered_columns(error, result))
    listed = (result.aborted if result is not None else None) or ()
    for left, aborted in zip(reversed(range(len(listed))), listed, strict=True):
        named: Row = {"producer_id": aborted.producer_id, "first_offset": aborted.first_offset, "error": 0}
        named["aborted_count"] = left
        named |= {"before_last_stable": seen.last_stable, "after_last_stable": seen.last_stable}
        recorder.record("ConsumerFetchAborted", now, NOWHERE, NOWHERE, **where, **named)


def answered_columns(error: ErrorCode, result: FetchResult | None) -> Row:
    """What a leader answers to a fetch: from which batch to which, and how many aborted transactions beside them."""
    if result is None or not result.batches:
        return {"error": int(error), "batch_count": 0, "aborted_count": aborted_count(result)}
    return {
        "error": int(error),
        "first_offset": result.batches[0].base_offset,
        "last_offset": result.batches[-1].last_offset,
        "batch_count": len(result.batches),
        "aborted_count": aborted_count(result),
    }


def aborted_count(result: FetchResult | None) -> int:
    """Aborted transactions in the answer, absent where there is no list of them."""
    return ABSENT if result is None or result.aborted is None else len(result.aborted)


def consumer_fetch_columns(partition: TopicPartition, offset: Offset, isolation: int) -> Row:
    """What a reader asks for."""
    return {"topic": partition.topic, "partition": partition.partition, "offset": offset, "isolation": isolation}


def taken(batches: Sequence[RecordBatch], received: Sequence[Delivered]) -> Iterator[Row]:
    """Each batch of an answer as the reader takes it, and whether it was `received` by the application."""
    offsets = [each.offset for each in received]
    for batch in batches:
        yield fetched_columns(batch, any(batch.base_offset <= offset <= batch.last_offset for offset in offsets))


def fetched_columns(batch: RecordBatch, delivered: bool) -> Row:
    """A batch as a reader takes it, and whether the application was given its records."""
    made_by = NOBODYS if batch.is_control or not batch.record_count else origin_of(batch.records()[0].value)
    return {
        **batch_columns(batch),
        **made_by._asdict(),
        "first_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "delivered": delivered,
        "error": int(ErrorCode.NONE),
    }


def readable_end(leader: Partition, isolation: int) -> Offset:
    """The offset up to which an isolation level may read."""
    return leader.last_stable if isolation == READ_COMMITTED else leader.high_watermark
