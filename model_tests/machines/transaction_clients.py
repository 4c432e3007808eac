"""What a transactional client must do by itself, whatever brokers answer: wait before it ends, and number on."""

from model_tests.machines.memory import SEQUENCES
from model_tests.machines.transaction_watch import TransactionWatch
from reference.client.coordinator_requests import EndTxn
from reference.client.partition_queue import PartitionQueue
from reference.world.instances import ApplicationRun
from reference.world.messages import CoordinatorCall, Request
from spec import rules
from spec.evidence import Layer, evidences


@evidences(rules.TXN_CLIENT_VERDICT, Layer.STATEFUL)
def end_waits(instance: ApplicationRun, request: Request, watch: TransactionWatch) -> None:
    """The end of a transaction is asked for once each of its batches is acknowledged, or given up for good."""
    if isinstance(request.body, CoordinatorCall) and isinstance(request.body.request, EndTxn):
        undecided = [sent.batch.values for sent in instance.transaction.batches if sent.batch.outcome is None]
        message = f"instance {instance.number} asks for the end of its transaction while it waits for {undecided}"
        watch.expect(rules.TXN_CLIENT_VERDICT, not undecided, message)


def numbers_follow(instance: ApplicationRun, watch: TransactionWatch) -> None:
    """What a client has in flight can be appended: no sequence before it is missing for ever."""
    for partition, queue in zip(instance.producer.partitions, instance.producer.queues, strict=True):
        if queue.in_flight and not queue.is_unresolved:
            message = f"instance {instance.number} leaves a gap on partition {partition.partition}: {_numbers(queue)}"
            watch.expect(rules.SEQ_SUCCESSOR, _is_gapless(queue), message)


def _is_gapless(queue: PartitionQueue) -> bool:
    """Every batch in flight follows the one before it, or what was acknowledged."""
    last = queue.last_acked
    for batch in queue.in_flight:
        if batch.identity == queue.identity:
            distance = (batch.base_sequence - (last + 1)) % SEQUENCES
            if 0 < distance < SEQUENCES // 2:
                return False
            last = max(last, batch.last_sequence) if batch.last_sequence >= batch.base_sequence else batch.last_sequence
    return True


def _numbers(queue: PartitionQueue) -> str:
    flying = ", ".join(f"{batch.base_sequence} to {batch.last_sequence}" for batch in queue.in_flight)
    return f"in flight {flying}, last acknowledged {queue.last_acked}"
