"""A read_committed consumer beside the log: it has received all that is committed below the last stable offset."""

from model_tests.machines.transaction_logs import LoggedPartition
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.log.partition import Partition
from spec import rules
from spec.evidence import Layer, evidences


def stable_below(history: LoggedPartition, high_watermark: int) -> int:
    """The last stable offset, by the log alone: up to the first batch whose end is not replicated."""
    undecided = [
        written.batch.base_offset
        for written in history.written
        if written.ended_by is None or written.ended_by.batch.base_offset >= high_watermark
    ]
    return min([high_watermark, *undecided])


def committed_below(history: LoggedPartition, end: int) -> list[bytes]:
    """The values of committed batches below an offset, in log order."""
    return [
        record.value or b""
        for written in history.written
        if written.is_committed and written.batch.base_offset < end
        for record in written.batch.records()
    ]


@evidences(rules.LSO_READ_COMMITTED, Layer.STATEFUL)
def reads_what_is_committed(
    consumer: Consumer, name: TopicPartition, leader: Partition, history: LoggedPartition, watch: TransactionWatch
) -> None:
    """After a fetch without limits the consumer has exactly what is committed below the last stable offset.

    Args:
        consumer: that fetches.
        name: of the partition.
        leader: of the partition.
        history: what was done to the partition.
        watch: where rules at stake are counted.
    """
    end = stable_below(history, leader.high_watermark)
    wanted = committed_below(history, end)
    received = [each.record.value for each in consumer.received if each.partition == name]
    said = f"a consumer of {name} has {received} instead of {wanted}; its last stable offset should be {end}"
    watch.expect(rules.LSO_READ_COMMITTED, received == wanted, said)
