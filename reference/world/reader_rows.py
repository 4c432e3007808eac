"""What readers are answered, as rows: a fetch at its leader, and each batch that a reader takes from the answer."""

from reference.broker.partition import FetchResult
from reference.log.batch import RecordBatch
from reference.recorder import Row, batch_columns
from reference.world.history import NOBODYS, origin_of
from spec.vocabulary import ABSENT, ErrorCode


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
