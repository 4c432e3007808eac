"""A read_committed reader that keeps one aborted range for each producer id: wrong, and found in a client.

`@platformatic/kafka` filters an answer like this (`#filterUncommittedMessages` of its consumer). Kafka's own consumer
takes the aborted transactions of an answer one after the other.
"""

from collections.abc import Iterator

from reference.client.completed_fetch import ends_aborted
from reference.log.partition import FetchResult
from reference.log.record import Record
from spec.vocabulary import ProducerId


def kept_by_one_range(result: FetchResult) -> Iterator[Record]:
    """The records that such a reader returns of one answer.

    The range goes from the first offset of the last transaction that the answer lists for a producer id to the last
    ABORT marker of that producer in the answer; where there is none, nothing is left out.
    """
    first = {each.producer_id: int(each.first_offset) for each in result.aborted or ()}
    end: dict[ProducerId, int] = {
        batch.producer_id: batch.base_offset for batch in result.batches if ends_aborted(batch)
    }
    for batch in result.batches:
        since, until = first.get(batch.producer_id), end.get(batch.producer_id)
        left_out = since is not None and until is not None and since <= batch.base_offset < until
        if not batch.is_control and not left_out:
            yield from batch.records()
