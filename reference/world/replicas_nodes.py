"""The nodes of a world of replicas: broker processes with their disks and clocks."""

from enum import Enum, unique

from reference.broker.ids import ProducerIdManager
from reference.clock import Clock
from reference.replication.broker import BrokerProcess
from spec.vocabulary import ABSENT, Timestamp


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
        asked_ms: when it last asked the leader of a partition something that has not been answered, by partition.
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
        """Whether it does anything."""
        return self.status is ProcessStatus.UP

    def may_ask(self, partition: int, timeout_ms: int) -> bool:
        """Whether it may ask the leader of a partition: it follows, and waits for no answer, or for too long."""
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
