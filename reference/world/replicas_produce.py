"""A client's batch at a broker: admitted, written, and answered when it is replicated."""

from collections.abc import Callable
from typing import Final

from reference.broker.produce import PartitionAnswer
from reference.client.producer import AttemptReply
from reference.network import NetworkMessage
from reference.recording.recorder import Row, batch_columns, reply_columns
from reference.replication.replica import Delayed, Replica
from reference.world.producer_history import made_by
from reference.world.replica_rows import TOPIC
from reference.world.replicas_messages import BatchAnswer, Body, DelayedAnswer, ReplicaMessage, ReplicaProduce
from reference.world.replicas_nodes import BrokerNode
from reference.world.replicas_shape import ACKS_ALL
from spec.vocabulary import Api, ErrorCode, Offset, Origin, Timestamp

PRODUCE_VERSION: Final = 11  # the newest version of Produce before partitions join a transaction by it (12)

Send = Callable[[str, str, int, Body], object]
"""Sends a message: from whom, to whom, of which partition, what."""


class ProduceHandling:
    """What brokers do with Produce.

    Attributes:
        timeout_ms: how long an answer to acks=all waits.
    """

    __slots__ = ("_send", "timeout_ms")

    def __init__(self, timeout_ms: int, send: Send) -> None:
        """Brokers that answer by `send`."""
        self.timeout_ms = timeout_ms
        self._send = send

    def receive(self, node: BrokerNode, message: NetworkMessage[ReplicaMessage], request: ReplicaProduce) -> None:
        """Write a batch; answer at once, later, or (acks=0) not at all."""
        sent = message.payload
        replica = node.broker.replicas[sent.partition]
        answer = self._append(replica, message, request)
        if answer.error is ErrorCode.NONE and replica.leadership is not None:
            replica.leadership.raise_high_watermark(node.now)
        if answer.error is ErrorCode.NONE and request.acks == ACKS_ALL:
            deadline = Timestamp(node.now + self.timeout_ms)
            replica.wait(Delayed(Offset(answer.last_offset + 1), deadline, DelayedAnswer(sent, answer)))
        elif request.acks != 0:
            self._answer(sent, request, answer, answer.error)

    def _append(
        self, replica: Replica, message: NetworkMessage[ReplicaMessage], request: ReplicaProduce
    ) -> PartitionAnswer:
        sent, batch, leadership = message.payload, request.attempt.records, replica.leadership
        before = replica.watch.before(batch.producer_id)
        insync = 0 if leadership is None else len(leadership.insync)
        answer = replica.append(sent.partition, batch, request.acks, PRODUCE_VERSION)
        replica.watch.decided(
            Api.PRODUCE,
            before,
            **produce_columns(sent.sender, request),
            **reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate),
            message=message.number,
            api_version=PRODUCE_VERSION,
            acks=request.acks,
            batch_count=1,
            leads=leadership is not None,
            leader_epoch=replica.leader_epoch,
            insync_size=insync,
            min_insync=replica.min_insync,
        )
        return answer

    def release(self, node: BrokerNode) -> None:
        """Answer whatever waits no longer."""
        now = node.now
        for partition in node.broker.replicas.values():
            for waiting, error in partition.release(now):
                if isinstance(waiting, DelayedAnswer) and isinstance(waiting.sent.body, ReplicaProduce):
                    self._answer(waiting.sent, waiting.sent.body, waiting.answer, error)

    def _answer(self, sent: ReplicaMessage, request: ReplicaProduce, answer: PartitionAnswer, error: ErrorCode) -> None:
        reply = (
            AttemptReply(error, answer.base_offset, answer.log_start) if error is answer.error else AttemptReply(error)
        )
        self._send(sent.receiver, sent.sender, sent.partition, BatchAnswer(request, reply))


def produce_columns(client: str, request: ReplicaProduce) -> Row:
    """Who produces, and what."""
    return {
        "client": client,
        "batch": request.attempt.batch.ordinal,
        "origin": int(Origin.CLIENT),
        **made_by(request.attempt.batch),
        **batch_columns(request.attempt.records),
    }


def message_columns(sent: ReplicaMessage, body: ReplicaProduce | BatchAnswer) -> Row:
    """A Produce, or the answer to one, from whom to whom."""
    where: Row = {"topic": TOPIC, "partition": sent.partition}
    if isinstance(body, ReplicaProduce):
        return where | {"node": sent.receiver} | produce_columns(sent.sender, body)
    reply: Row = {"node": sent.sender, "error": int(body.reply.error), "first_offset": body.reply.offset}
    return where | produce_columns(sent.receiver, body.request) | reply
