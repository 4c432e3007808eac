"""The records of an application, the result of each, and their counts."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from reference.client.partition_queue import ProducerBatch
from reference.log.batch import HEADER_SIZE
from reference.log.record import Record, encode_records
from spec.vocabulary import NO_OFFSET, ErrorCode, Offset, Timestamp

NO_MEMORY: Final = "BUFFER_EXHAUSTED"
"""Why a record failed for which there was no memory in max.block.ms."""

DROPPED: Final = "TRANSACTION_ABORTED"
"""Why a record failed that was never sent, since its transaction ended without it."""

TOO_LARGE: Final = "RECORD_TOO_LARGE"
"""Why a record failed that no request or no buffer can hold."""


@dataclass(slots=True, eq=False)
class SentRecord:
    """One record, from the call of `send` on.

    Attributes:
        partition: to which it goes, by the number of the queue.
        sent_ms: when `send` was called.
        accepted: whether it is in a batch; else the application waits for memory.
        outcome: None while undecided, else whether the application got a success.
        offset: of the record, -1 where it is not known.
        failure: why it has failed, by the error's name.
    """

    key: bytes | None
    value: bytes
    partition: int
    sent_ms: Timestamp
    accepted: bool = False
    outcome: bool | None = None
    offset: Offset = NO_OFFSET
    failure: str = ""

    def size_at(self, delta: int) -> int:
        """Bytes that it takes as the record at a place of its batch."""
        return len(encode_records((Record(delta, 0, self.key, self.value),)))

    @property
    def size_alone(self) -> int:
        """Bytes of a batch that has nothing else."""
        return HEADER_SIZE + self.size_at(0)

    def fail(self, failure: str) -> None:
        """The application gets a failure."""
        self.outcome, self.failure = False, failure

    def settle(self, batch: ProducerBatch, delta: int) -> None:
        """Its batch has come to an end, and the record was at this place of it."""
        if batch.outcome:
            self.outcome = True
            self.offset = Offset(batch.offset + delta) if batch.offset != NO_OFFSET else batch.offset
        else:
            self.fail(failure_of(batch))


def failure_of(batch: ProducerBatch) -> str:
    """Why a batch has failed, by name."""
    return DROPPED if batch.error is None else batch.error.name


@dataclass(slots=True)
class ProducerCounts:
    """What a producer has counted.

    Attributes:
        sent: records that were acknowledged.
        failed: records that were not, by why.
        retried: batches that were put back to be sent again, by the error that they were answered with.
        errors: answers that were errors, each batch for itself; lost ones as NETWORK_EXCEPTION.
        split: batches that were too large as a whole.
    """

    sent: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    retried: Counter[ErrorCode] = field(default_factory=Counter)
    errors: Counter[ErrorCode] = field(default_factory=Counter)
    split: int = 0

    def settled(self, record: SentRecord) -> None:
        """A record has come to an end."""
        if record.outcome:
            self.sent += 1
        else:
            self.failed[record.failure] += 1
