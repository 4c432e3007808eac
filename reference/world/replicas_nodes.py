"""The nodes of a world of replicas: their disks and clocks, and how a broker handles a client's batch."""

from collections.abc import Callable
from enum import Enum, unique
from typing import Final

from reference.broker.ids import ProducerIdManager
from reference.broker.produce import PartitionAnswer
from reference.client.producer import AttemptReply
from reference.clock import Clock
from reference.network import NetworkMessage
from reference.recording.recorder import Row, batch_columns, reply_columns
from reference.replication.broker import BrokerProcess
from reference.replication.replica import Delayed, Replica
from reference.world.history import made_by
from reference.world.replica_rows import TOPIC
from reference.world.replicas_messages import BatchAnswer, Body, DelayedAnswer, ReplicaMessage, ReplicaProduce
from reference.world.replicas_shape import ACKS_ALL
from spec.vocabulary import ABSENT, Api, ErrorCode, Offset, Origin, Timestamp

# --- the machines -----------------------------------------------------------------------------------------------------


@unique
class ProcessStatus(Enum):
    """Whether a process runs."""

    UP = "runs"
    PAUSED = "stands still, and does not know it"
    DOWN = "is gone; its disk is not"


class BrokerNode:
    """A broker's machine.

    Attributes:
        broker: its process, replicas on disk included.
        producer_ids: the block of producer ids that it hands out.
        status: whether the process runs.
        skew_ms: how far its clock is ahead of the world's.
        shuts_down: it is to shut down in order.
        asked_ms: by partition, when it sent the leader its last request that has no answer yet.
    """

    __slots__ = ("_clock", "asked_ms", "broker", "producer_ids", "shuts_down", "skew_ms", "status")

    def __init__(self, broker: BrokerProcess, producer_ids: ProducerIdManager, clock: Clock) -> None:
        """A machine that runs."""
        self.broker = broker
        self.producer_ids = producer_ids
        self.status = ProcessStatus.UP
        self.skew_ms = 0
        self.shuts_down = False
        self.asked_ms: dict[int, Timestamp] = {}
        self._clock = clock

    @property
    def number(self) -> int:
        """Of the broker."""
        return self.broker.number

    @property
    def now(self) -> Timestamp:
        """The time by its own clock, which is not behind the beginning of the world's."""
        return Timestamp(max(0, self._clock.now + self.skew_ms))

    @property
    def is_up(self) -> bool:
        """Whether its process is up."""
        return self.status is ProcessStatus.UP

    def may_ask(self, partition: int, timeout_ms: int) -> bool:
        """Whether it may send the leader a request: it follows, and waits for no answer, or has waited for too long."""
        if not self.is_up or self.broker.replicas[partition].following is None:
            return False
        since = self.asked_ms.get(partition)
        return since is None or not 0 <= self.now - since < timeout_ms

    def stop(self) -> None:
        """The process is gone, with all that it had in memory."""
        self.status = ProcessStatus.DOWN
        self.shuts_down = False
        self.asked_ms.clear()
        self.broker.forget()
        for replica in self.broker.replicas.values():
            replica.forget()

    def start(self, lost_batches: int) -> None:
        """The process is back: of each log the last `lost_batches` never reached the disk."""
        for replica in self.broker.replicas.values():
            batches = replica.log.log.batches
            lost = batches[len(batches) - lost_batches :] if lost_batches else ()
            replica.restart(lost[0].base_offset if lost else replica.log.log_end, self.now)
        self.producer_ids.restart()
        self.status = ProcessStatus.UP
        self.broker.epoch = ABSENT


# --- Produce at a broker ----------------------------------------------------------------------------------------------


PRODUCE_VERSION: Final = 11  # the newest version of Produce before partitions join a transaction by it (12)

Send = Callable[[str, str, int, Body], object]
"""Sends a message, by its sender, receiver, partition and body."""


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
        """Answer every request that need not wait any longer."""
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
    """The producer and its batch."""
    return {
        "client": client,
        "batch": request.attempt.batch.ordinal,
        "origin": int(Origin.CLIENT),
        **made_by(request.attempt.batch),
        **batch_columns(request.attempt.records),
    }


def message_columns(sent: ReplicaMessage, body: ReplicaProduce | BatchAnswer) -> Row:
    """A Produce or its answer, with sender and receiver."""
    where: Row = {"topic": TOPIC, "partition": sent.partition}
    if isinstance(body, ReplicaProduce):
        return where | {"node": sent.receiver} | produce_columns(sent.sender, body)
    reply: Row = {"node": sent.sender, "error": int(body.reply.error), "first_offset": body.reply.offset}
    return where | produce_columns(sent.receiver, body.request) | reply
