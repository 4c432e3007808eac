"""A partition of the specification's broker: every change of it is one of the protocol's decisions.

Its log is what readers can see: batches, their sizes on disk, segments, the aborted index. A fetch returns the data up
to its bound and the aborted transactions, and the client filters what it delivers.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from model_tests.conform.answers import RecordedFetchAnswer, SeenBatch, SeenPartition, SeenProducer
from model_tests.conform.decision_log import SpecifiedDecision
from model_tests.conform.requests import RecordedBatch, RecordedFetch, RecordedMarker
from spec.protocol import append as appending
from spec.protocol import completing, lso, seq, verification
from spec.protocol import produce as producing
from spec.protocol.append import Append
from spec.protocol.completing import MarkerRequest, to_append
from spec.protocol.lso import AbortedTransaction, FetchAnswer, LogOffsets
from spec.protocol.produce import ProduceAdmission
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.verification import NO_VERIFICATION, VerificationEntry
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

BATCH_OVERHEAD: Final = 61  # the header of a batch
MARKER_SIZE: Final = 78  # a batch with one control record
RECORD_FIELDS: Final = 4  # attributes, time, no key, no headers: one byte each


# --- the log ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SizedBatch:
    """A batch in the log and how many bytes it takes."""

    seen: SeenBatch
    size: int


@dataclass(frozen=True, slots=True)
class Aborted:
    """An entry of the aborted index, with its producer id."""

    producer_id: int
    entry: AbortedTransaction


@dataclass(slots=True)
class SpecifiedSegment:
    """A part of the log with its own part of the aborted index."""

    base_offset: int
    batches: list[SizedBatch] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of its batches."""
        return sum(batch.size for batch in self.batches)


class SpecifiedLog:
    """Segments of bounded size; a batch that does not fit begins a new one."""

    def __init__(self, segment_bytes: int) -> None:
        """An empty log."""
        self.end = 0
        self._segment_bytes = segment_bytes
        self._segments = [SpecifiedSegment(0)]

    def make_room(self, size: int) -> None:
        """Begin a new segment if so many bytes do not fit into the last one."""
        last = self._segments[-1]
        if last.batches and last.size + size > self._segment_bytes:
            self._segments.append(SpecifiedSegment(self.end))

    def add(self, batch: SizedBatch) -> None:
        """Append a batch to the last segment."""
        self._segments[-1].batches.append(batch)
        self.end = batch.seen.last_offset + 1

    def index(self, aborted: Aborted) -> None:
        """Add an aborted transaction, whose marker is in the last segment."""
        self._segments[-1].aborted.append(aborted)

    def since(self, offset: int) -> Sequence[SpecifiedSegment]:
        """The segments from the one that holds an offset."""
        first = max(n for n, segment in enumerate(self._segments) if segment.base_offset <= offset)
        return self._segments[first:]

    def batches(self) -> Iterator[SeenBatch]:
        """Every batch, in order."""
        return (batch.seen for segment in self._segments for batch in segment.batches)


def size_of(values: Sequence[str]) -> int:
    """Bytes of an uncompressed batch of records with these values, no keys and one time."""
    return BATCH_OVERHEAD + sum(_record(delta, value) for delta, value in enumerate(values))


def _record(delta: int, value: str) -> int:
    length = len(value.encode())
    body = RECORD_FIELDS + _varint(delta) + _varint(length) + length
    return _varint(body) + body


def _varint(number: int) -> int:
    """Bytes of a number that is not negative: seven bits each, one of which is the sign."""
    return max(1, -(-(number << 1).bit_length() // 7))


# --- the partition ----------------------------------------------------------------------------------------------------


LOG_START = 0
"""Nothing is ever deleted from the log of a session."""

ADMITTED = ProduceAdmission(0, 0)
NOTHING_KNOWN = ProducerEntry()


class SpecifiedPartition:
    """A partition's log and what is known of its producers."""

    def __init__(self, profile: Profile, segment_bytes: int) -> None:
        """An empty partition under a profile."""
        self.log = SpecifiedLog(segment_bytes)
        self._profile = profile
        self._entries: dict[int, ProducerEntry] = {}
        self._verifications: dict[int, VerificationEntry] = {}

    @property
    def offsets(self) -> LogOffsets:
        """The offsets that bound the log; what one broker has appended is replicated at once."""
        return LogOffsets(LOG_START, self._first_ongoing(), ABSENT, self.log.end, self.log.end)

    def must_ask(self, request: AppendRequest, version: int) -> bool:
        """Whether the coordinator has to be asked about a batch; then the question is remembered."""
        producer = request.producer_id
        entry = self._entries.get(producer, NOTHING_KNOWN)
        if not verification.needs_verification(entry, request, version, self._profile):
            return False
        known = self._verifications.get(producer, NO_VERIFICATION)
        self._verifications[producer] = verification.started(known, request, version)
        return True

    def refuses_unasked(self, request: AppendRequest, version: int) -> bool:
        """Whether a batch that the coordinator would be asked about is refused before that."""
        entry = self._entries.get(request.producer_id, NOTHING_KNOWN)
        would_ask = verification.needs_verification(entry, request, version, self._profile)
        return bool(would_ask and verification.is_refused_unasked(entry, request, self._profile))

    def append(self, name: str, batch: RecordedBatch, *, guarded: bool) -> SpecifiedDecision:
        """Ask for a client's batch to be appended, and make true what is decided."""
        return self.take(name, data_request(batch, self.log.end), batch.values, guarded=guarded)

    def take(self, name: str, request: AppendRequest, values: tuple[str, ...], *, guarded: bool) -> SpecifiedDecision:
        """Ask for a batch of these values to be appended, and make true what is decided.

        Args:
            name: of the partition.
            request: the batch, as the decision takes it.
            values: of its records.
            guarded: whether the coordinator has agreed to it.
        """
        before = self._entries.get(request.producer_id, NOTHING_KNOWN)
        met = verification.met(self._verifications.get(request.producer_id, NO_VERIFICATION), guarded)
        outcome = appending.append(before, request, self._profile, met)
        size = size_of(values)
        if outcome.reply.error != seq.malformed_error(self._profile):
            self.log.make_room(size)
        self._take(request, outcome, SizedBatch(_in_log(request, values, outcome.reply.first_offset), size))
        return SpecifiedDecision(name, request, ADMITTED, before, outcome, met)

    def mark(self, name: str, marker: MarkerRequest, *, commits: bool) -> SpecifiedDecision:
        """Ask for a marker to be appended, and make true what is decided."""
        request = to_append(marker, self.log.end)
        before = self._entries.get(request.producer_id, NOTHING_KNOWN)
        outcome = appending.append(before, request, self._profile)
        self.log.make_room(MARKER_SIZE)
        aborts = outcome.reply.appended and before.in_transaction and not commits
        self._take(request, outcome, SizedBatch(_marker(request, commits=commits), MARKER_SIZE))
        if aborts:
            self._index(request, before)
        return SpecifiedDecision(name, request, ADMITTED, before, outcome)

    def restart(self) -> None:
        """Everything is loaded from the log again."""
        self._verifications.clear()
        for producer, entry in self._entries.items():
            self._entries[producer] = producing.recovered(entry, self._profile)

    def known(self) -> frozenset[int]:
        """The producers that the partition knows."""
        return frozenset(self._entries)

    def forget(self, kept: Collection[int]) -> None:
        """So much time has passed that producers are forgotten, but none with an open transaction."""
        for producer, entry in list(self._entries.items()):
            if producer not in kept and completing.may_be_forgotten(entry):
                del self._entries[producer]

    def seen(self) -> SeenPartition:
        """What DescribeProducers and ListOffsets show."""
        producers = tuple(_described(producer, entry) for producer, entry in self._entries.items())
        return SeenPartition(producers, self.log.end, lso.last_stable(self.offsets))

    def _take(self, request: AppendRequest, outcome: Append, logged: SizedBatch) -> None:
        producer, appended = request.producer_id, outcome.reply.appended
        if appended:
            self.log.add(logged)
        if producer >= 0 and appended:
            self._entries[producer] = outcome.entry
        if producer in self._verifications:
            known = self._verifications[producer]
            self._verifications[producer] = verification.after_append(known, request, appended, self._profile)

    def _index(self, request: AppendRequest, before: ProducerEntry) -> None:
        entry = lso.indexed(before.txn_first_offset, request.base_offset, self._first_ongoing())
        self.log.index(Aborted(request.producer_id, entry))

    def _first_ongoing(self) -> int:
        return min((e.txn_first_offset for e in self._entries.values() if e.in_transaction), default=ABSENT)


def data_request(batch: RecordedBatch, log_end: int) -> AppendRequest:
    """A client's batch, as the partition's leader gets it."""
    return AppendRequest(
        base_offset=log_end,
        batch_count=batch.batch_count,
        producer_id=int(batch.producer_id),
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        last_offset_delta=batch.last_offset_delta,
        record_count=batch.record_count,
        transactional=batch.transactional,
        control=bool(batch.control),
        coordinator_epoch=batch.coordinator_epoch,
    )


def marker_request(marker: RecordedMarker) -> MarkerRequest:
    """A marker of WriteTxnMarkers, in its sender's form."""
    return MarkerRequest(
        int(marker.producer_id), marker.producer_epoch, marker.coordinator_epoch, marker.transaction_version
    )


def _in_log(batch: AppendRequest, values: tuple[str, ...], first: int) -> SeenBatch:
    return SeenBatch(
        first,
        first + batch.last_offset_delta,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.transactional,
        batch.control,
        values,
    )


def _marker(request: AppendRequest, *, commits: bool) -> SeenBatch:
    marker = SeenBatch(
        request.base_offset,
        request.base_offset,
        request.producer_id,
        request.producer_epoch,
        ABSENT,
        transactional=True,
        control=True,
    )
    return replace(marker, marker="COMMIT" if commits else "ABORT", coordinator_epoch=request.coordinator_epoch)


def _described(producer: int, entry: ProducerEntry) -> SeenProducer:
    return SeenProducer(
        producer, entry.epoch, entry.cached[0].last_sequence, entry.coordinator_epoch, entry.txn_first_offset
    )


# --- a fetch ----------------------------------------------------------------------------------------------------------


def fetched(partition: SpecifiedPartition, request: RecordedFetch) -> tuple[FetchAnswer, RecordedFetchAnswer]:
    """Answer a fetch; a single segment is read, that which holds the offset."""
    offsets = partition.offsets
    decided = lso.fetch(offsets, request.offset, request.committed_only)
    if decided.error != ErrorCode.NONE:
        return decided, RecordedFetchAnswer(ErrorCode(decided.error))
    batches: tuple[SeenBatch, ...] = ()
    aborted: tuple[Aborted, ...] = ()
    if request.offset < decided.bound:
        segments = partition.log.since(request.offset)
        batches = tuple(_within(segments[0].batches, request, decided.bound))
        aborted = tuple(_aborted(segments, request.offset, offsets.log_end))
    listed = tuple((each.producer_id, each.entry.first_offset) for each in aborted)
    return decided, RecordedFetchAnswer(
        ErrorCode.NONE,
        offsets.high_watermark,
        lso.last_stable(offsets),
        LOG_START,
        listed if request.committed_only else None,
        batches,
        tuple(_delivered(batches, listed, request)),
    )


def _within(batches: Sequence[SizedBatch], request: RecordedFetch, bound: int) -> Iterator[SeenBatch]:
    """The batches from the fetch offset to the bound, as many as fit, but at least one."""
    readable = [b for b in batches if b.seen.last_offset >= request.offset and b.seen.base_offset < bound]
    for number, size in enumerate(accumulate(batch.size for batch in readable)):
        if number == 0 or size <= request.max_bytes:
            yield readable[number].seen


def _aborted(segments: Sequence[SpecifiedSegment], offset: int, log_end: int) -> Iterator[Aborted]:
    """What the aborted index lists up to the end of the segment that is read; the index itself may continue."""
    upper = segments[1].base_offset if len(segments) > 1 else log_end
    for each in (each for segment in segments for each in segment.aborted):
        if lso.is_listed(each.entry, offset, upper):
            yield each
        if lso.ends_the_list(each.entry, upper):
            return


def _delivered(
    batches: Sequence[SeenBatch], aborted: Sequence[tuple[int, int]], request: RecordedFetch
) -> Iterator[tuple[int, str]]:
    """The client's filter: it hides a producer's batches from the start of an aborted transaction to its marker."""
    waiting = sorted(aborted, key=lambda listed: listed[1])
    hidden: set[int] = set()
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last_offset:
            hidden.add(waiting.pop(0)[0])
        if batch.marker == "ABORT":
            hidden.discard(batch.producer_id)
        if lso.is_delivered(
            control=batch.control,
            transactional=batch.transactional,
            aborted=batch.producer_id in hidden,
            read_committed=request.committed_only,
        ):
            records = ((batch.base_offset + delta, value) for delta, value in enumerate(batch.values))
            yield from (record for record in records if record[0] >= request.offset)
