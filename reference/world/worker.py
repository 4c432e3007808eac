"""One worker of a pipeline: a consumer in a group, a transactional producer, and how far it has come."""

from dataclasses import dataclass, field
from enum import Enum, auto, unique

from reference.broker.group_requests import Offsets
from reference.client.consumer import Delivered
from reference.client.coordinator_channel import PendingResult
from reference.client.group_consumer import CommitCall, GroupConsumer
from reference.client.record_producer import RecordProducer
from reference.world.instances import ApplicationRun
from spec.vocabulary import ErrorCode


@unique
class Order(Enum):
    """When a worker commits the offsets of what it has read."""

    IN_TRANSACTION = auto()  # with its output, in one transaction: exactly once
    OFFSETS_FIRST = auto()  # before its output, outside of it: at most once
    OUTPUT_FIRST = auto()  # after its output, outside of it: at least once
    AUTOMATIC = auto()  # its consumer does, where it asks for more and is done with what it has: at least once
    AUTOMATIC_AHEAD = auto()  # the same, but it asks for more while it works on what it has: words may be lost

    @property
    def is_automatic(self) -> bool:
        """Whether its consumer commits by itself (enable.auto.commit)."""
        return self in (Order.AUTOMATIC, Order.AUTOMATIC_AHEAD)


@unique
class WorkerPhase(Enum):
    """What a worker does next."""

    INITIALIZING = auto()  # it waits for its producer id
    READING = auto()
    PROCESSING = auto()  # it has records, and has written nothing
    COMMITTING_FIRST = auto()  # it waits for its offsets to be committed, before it writes
    SENDING_OFFSETS = auto()  # it has written, and waits for its offsets to be in the transaction
    ENDING = auto()  # it waits for the end of the transaction
    COMMITTING_LAST = auto()  # it waits for its offsets to be committed, after its output was


@dataclass(slots=True, eq=False)
class SourceRun:
    """One run of an application that writes words in transactions."""

    instance: ApplicationRun
    output: RecordProducer

    @property
    def is_blocked(self) -> bool:
        """Whether it waits for the end of its transaction."""
        return is_ending(self.instance)


@dataclass(slots=True, eq=False)
class WorkerRun:
    """One run of a worker.

    Attributes:
        number: among all workers of the world.
        instance: its run of a transactional id.
        consumer: of the input.
        output: records that it makes.
        order: in which it commits offsets and output.
        phase: what it does next.
        records: that it has read and not finished.
        offsets: that it commits for them.
        sent: what sending offsets into the transaction comes to.
        commit: its commit of offsets outside of a transaction.
        will_fail: its program fails in the middle of the next transaction.
        paused: it does nothing and receives nothing, and does not know it.
    """

    number: int
    instance: ApplicationRun
    consumer: GroupConsumer
    output: RecordProducer
    order: Order
    phase: WorkerPhase = WorkerPhase.INITIALIZING
    records: tuple[Delivered, ...] = ()
    offsets: Offsets = field(default_factory=dict)
    sent: PendingResult | None = None
    commit: CommitCall | None = None
    will_fail: bool = False
    paused: bool = False

    @property
    def works(self) -> bool:
        """Whether it runs, and is not paused."""
        return self.instance.alive and not self.paused

    @property
    def is_blocked(self) -> bool:
        """Whether the application's thread waits for a call of the producer."""
        match self.phase:
            case WorkerPhase.SENDING_OFFSETS:
                return self.sent is not None and not self.sent.is_done
            case WorkerPhase.ENDING:
                return is_ending(self.instance)
            case _:
                return False

    @property
    def has_committed(self) -> bool:
        """Whether its transaction is committed."""
        result, transaction = self.instance.transaction.result, self.instance.transaction
        return transaction.commits is True and result is not None and result.error is ErrorCode.NONE


def is_ending(instance: ApplicationRun) -> bool:
    """Whether the end of an application's newest transaction is not answered."""
    result = instance.transaction.result if instance.transactions else None
    return result is not None and not result.is_done
