"""A session on the specification: a state of entries and batches, whose every change is one of its decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from model_tests.conformance.answers import (
    Answer,
    Appended,
    Fetched,
    Initialized,
    Produced,
    Seen,
    SeenBatch,
    SeenPartition,
    SeenProducer,
    Silence,
)
from model_tests.conformance.requests import Batch, Fetch, InitProducerId, Produce, Request, Restart
from spec.protocol import append as appending
from spec.protocol import produce as producing
from spec.protocol.append import Append
from spec.protocol.produce import Admission, ProduceReply, ProduceRequest
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ErrorCode

LOG_START = 0
"""Nothing is ever deleted from the log of a session."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision of the specification on one batch, with everything that it saw.

    Attributes:
        partition: where the batch was to go.
        admission: whether the log was asked.
        before: the producer's entry; None where the log was not asked.
        outcome: the append's decision; None likewise.
    """

    partition: str
    request: AppendRequest
    admission: Admission
    before: ProducerEntry | None = None
    outcome: Append | None = None


@dataclass(slots=True)
class Partition:
    """A partition's log and what is known of its producers."""

    entries: dict[int, ProducerEntry] = field(default_factory=dict)
    batches: list[SeenBatch] = field(default_factory=list)
    end: int = 0

    @property
    def stable(self) -> int:
        """The last stable offset: the first offset of the oldest open transaction, else the end."""
        return min(
            (entry.txn_first_offset for entry in self.entries.values() if entry.in_transaction), default=self.end
        )

    def take(self, batch: Batch, outcome: Append) -> None:
        """Make true what was decided: an accepted batch is in the log, and its producer is known by it."""
        if not outcome.reply.appended:
            return
        self.batches.append(_in_log(batch, outcome.reply.first_offset, outcome.reply.last_offset))
        self.end = outcome.reply.last_offset + 1
        producer = _number(batch)
        if producer >= 0:
            self.entries[producer] = outcome.entry

    def seen(self) -> SeenPartition:
        """What DescribeProducers and ListOffsets show."""
        producers = tuple(_described(producer, entry) for producer, entry in self.entries.items())
        return SeenPartition(producers, self.end, self.stable)


class OnSpecification:
    """A broker that does what the specification decides.

    Attributes:
        decided: the decisions on the last request.
    """

    def __init__(self, profile: Profile, partitions: Sequence[str], _segment_bytes: int = 2**30) -> None:
        """Fresh partitions under a profile."""
        self.profile = profile
        self.decided: tuple[Decided, ...] = ()
        self._partitions = {name: Partition() for name in partitions}
        self._next_producer = 0

    def answer(self, request: Request) -> Answer:
        """Answer a request."""
        match request:
            case Produce():
                return self.produce(request)
            case Fetch():
                return self.fetch(request)
            case InitProducerId() if request.transactional_id is None:
                return self.init_producer_id(request)
            case Restart():
                return self.restart(request)
        raise NotImplementedError(f"{type(request).__name__} is not answered yet")

    def produce(self, request: Produce) -> Produced:
        """Admit each batch, ask its partition, and word the answer."""
        self.decided = ()
        answers = {batch.partition: self._produce(request, batch) for batch in request.batches}
        return Produced(answers, request.several)

    def _produce(self, request: Produce, batch: Batch) -> Appended:
        asked = _asked(request, batch, exists=batch.partition in self._partitions)
        admission = producing.admit(asked)
        if not producing.is_admitted(admission):
            self.decided += (Decided(batch.partition, _to_append(batch, base_offset=0), admission),)
            return _worded(producing.refused(admission))
        partition = self._partitions[batch.partition]
        before = partition.entries.get(_number(batch), ProducerEntry())
        to_append = _to_append(batch, partition.end)
        outcome = appending.append(before, to_append, self.profile)
        self.decided += (Decided(batch.partition, to_append, admission, before, outcome),)
        partition.take(batch, outcome)
        return _worded(producing.answered(asked, outcome.reply, LOG_START))

    def fetch(self, request: Fetch) -> Fetched:
        """Everything from an offset up to the bound of the isolation level."""
        self.decided = ()
        partition = self._partitions.get(request.partition)
        if partition is None:
            return Fetched(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not LOG_START <= request.offset <= partition.end:
            return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
        bound = partition.stable if request.committed_only else partition.end
        batches = tuple(b for b in partition.batches if b.last_offset >= request.offset and b.base_offset < bound)
        return Fetched(
            ErrorCode.NONE,
            partition.end,
            partition.stable,
            LOG_START,
            () if request.committed_only else None,
            batches,
            tuple(_delivered(batches, request.offset)),
        )

    def init_producer_id(self, _request: InitProducerId) -> Initialized:
        """Without a transactional id: a producer id never seen before, at epoch 0."""
        self.decided = ()
        self._next_producer += 1
        return Initialized(ErrorCode.NONE, self._next_producer - 1, 0)

    def restart(self, _request: Restart) -> Silence:
        """Every partition is loaded from its log again."""
        self.decided = ()
        for partition in self._partitions.values():
            for producer, entry in partition.entries.items():
                partition.entries[producer] = producing.recovered(entry, self.profile)
        return Silence()

    def seen(self) -> Seen:
        """What is observable of every partition now."""
        return Seen({name: partition.seen() for name, partition in self._partitions.items()})


def branch_name(decided: Decided, profile: Profile) -> str:
    """Name of the guard that decided, or how the batch was let through."""
    if decided.outcome is None:
        return producing.names()[decided.admission.branch]
    return appending.names(profile)[decided.outcome.branch]


def _asked(request: Produce, batch: Batch, *, exists: bool) -> ProduceRequest:
    return ProduceRequest(
        version=request.version,
        acks=request.acks,
        names_transaction=request.transactional_id is not None,
        any_transactional=any(other.transactional for other in request.batches),
        partition_exists=exists,
        batch_count=batch.batch_count,
    )


def _to_append(batch: Batch, base_offset: int) -> AppendRequest:
    return AppendRequest(
        base_offset=base_offset,
        batch_count=batch.batch_count,
        producer_id=_number(batch),
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        last_offset_delta=batch.last_offset_delta,
        record_count=batch.record_count,
        transactional=batch.transactional,
        control=bool(batch.control),
        coordinator_epoch=batch.coordinator_epoch,
    )


def _worded(reply: ProduceReply) -> Appended:
    return Appended(ErrorCode(reply.error), reply.base_offset, reply.append_time_told, reply.log_start_offset)


def _in_log(batch: Batch, first: int, last: int) -> SeenBatch:
    return SeenBatch(
        first,
        last,
        _number(batch),
        batch.producer_epoch,
        batch.base_sequence,
        batch.transactional,
        bool(batch.control),
        batch.values,
    )


def _described(producer: int, entry: ProducerEntry) -> SeenProducer:
    return SeenProducer(
        producer, entry.epoch, entry.cached[0].last_sequence, entry.coordinator_epoch, entry.txn_first_offset
    )


def _delivered(batches: Sequence[SeenBatch], offset: int) -> Iterator[tuple[int, str]]:
    records = ((batch.base_offset + delta, value) for batch in batches for delta, value in enumerate(batch.values))
    return (record for record in records if record[0] >= offset)


def _number(batch: Batch) -> int:
    return int(batch.producer_id)
