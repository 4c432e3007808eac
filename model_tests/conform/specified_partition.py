"""A partition of the specification's broker: every change of it is one of the protocol's decisions."""

from collections.abc import Collection
from dataclasses import replace

from model_tests.conform.answers import SeenBatch, SeenPartition, SeenProducer
from model_tests.conform.decision_log import SpecifiedDecision
from model_tests.conform.requests import RecordedBatch, RecordedMarker
from model_tests.conform.specified_log import MARKER_SIZE, Aborted, SizedBatch, SpecifiedLog, size_of
from spec.protocol import append as appending
from spec.protocol import completing, lso, seq, verification
from spec.protocol import produce as producing
from spec.protocol.append import Append
from spec.protocol.completing import MarkerRequest, to_append
from spec.protocol.lso import LogOffsets
from spec.protocol.produce import ProduceAdmission
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.verification import NO_VERIFICATION, VerificationEntry
from spec.versions import Profile
from spec.vocabulary import ABSENT

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
