"""The filter with one aborted range for each producer id, beside Kafka's own."""

from collections.abc import Iterable

from model_tests.scenarios.readers import kept_by_one_range
from reference.client.consumer import delivered
from reference.log.batch import RecordBatch, marker_batch, value_batch
from reference.log.partition import FetchResult
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import ControlType, Offset, ProducerId


def data(offset: int, value: bytes, producer_id: int = 7) -> RecordBatch:
    """A record of a transaction."""
    batch = value_batch([value], producer_id=producer_id, epoch=0, base_sequence=0, transactional=True)
    return batch._replace(base_offset=Offset(offset))


def abort(offset: int, producer_id: int = 7) -> RecordBatch:
    """An ABORT marker."""
    return marker_batch(producer_id, 0, ControlType.ABORT, 0)._replace(base_offset=Offset(offset))


def answer(batches: Iterable[RecordBatch], *aborted: tuple[int, int, int]) -> FetchResult:
    """An answer to Fetch; aborted transactions by producer id, first and last offset."""
    listed = tuple(AbortedTxn(ProducerId(at), Offset(first), Offset(last), Offset(last)) for at, first, last in aborted)
    return FetchResult(Offset(9), Offset(9), Offset(0), listed, tuple(batches))


def both(result: FetchResult) -> tuple[list[bytes | None], list[bytes | None]]:
    """What Kafka's consumer returns, and what the other one does."""
    kept = kept_by_one_range(result)
    return [record.value for _, record in delivered(result, 0)], [record.value for _, record in kept]


def test_one_aborted_transaction_is_filtered_by_both() -> None:
    """With its marker in the answer there is nothing between them."""
    assert ([], []) == both(answer([data(0, b"a"), abort(1)], (7, 0, 1)))


def test_of_two_of_one_producer_the_first_is_returned() -> None:
    """The second range has taken its place."""
    batches = [data(0, b"a"), abort(1), data(2, b"b"), abort(3)]

    assert ([], [b"a"]) == both(answer(batches, (7, 0, 1), (7, 2, 3)))


def test_two_producers_have_a_range_each() -> None:
    """The map is by producer id."""
    batches = [data(0, b"a"), data(1, b"b", 8), abort(2), abort(3, 8)]

    assert ([], []) == both(answer(batches, (7, 0, 2), (8, 1, 3)))


def test_without_its_marker_a_range_is_not_filtered() -> None:
    """An answer may end before the marker: what is aborted is known, and returned all the same."""
    assert ([], [b"a"]) == both(answer([data(0, b"a")], (7, 0, 1)))
