"""The partitions of transactions: which marker ended which batch, and whether it was the right one."""

from collections.abc import Callable, Iterator, Sequence

from model_tests.machines.ghost_state import CoordinatedTransaction, CurrentEvent, LoggedBatch, LoggedMarker, Owner
from model_tests.machines.transaction_coordinator_log import CoordinatorLog
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch
from reference.world.messages import WriteMarker
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ControlType

Decided = Callable[[LoggedBatch], None]
"""Called with each batch that a marker has ended."""


def owner_in(batch: RecordBatch) -> Owner | None:
    """The transaction that the values of a batch name."""
    value = batch.records()[0].value
    if value is None:
        return None
    instance, ordinal, _ = value.decode().split("/")
    return Owner(int(instance), int(ordinal))


class LoggedPartition:
    """One partition's log, batch by batch.

    Attributes:
        written: transactional batches, in log order.
        markers: likewise.
    """

    def __init__(
        self, name: TopicPartition, watch: TransactionWatch, coordinators: CoordinatorLog, decided: Decided
    ) -> None:
        """An empty log."""
        self.name = name
        self.watch = watch
        self.coordinators = coordinators
        self.written: list[LoggedBatch] = []
        self.markers: list[LoggedMarker] = []
        self._decided = decided
        self._batches: list[RecordBatch] = []

    @property
    def is_of_offsets(self) -> bool:
        """Whether it has the offsets of groups."""
        return self.name.topic == OFFSETS_TOPIC

    def open(self) -> Iterator[LoggedBatch]:
        """What no marker has ended."""
        return (written for written in self.written if written.ended_by is None)

    # --- what is new ------------------------------------------------------------------------------------------

    def looks(
        self, batches: Sequence[RecordBatch], cause: CurrentEvent, decided: CoordinatedTransaction | None
    ) -> list[LoggedBatch]:
        """Follow the leader's log; what was written now.

        Args:
            batches: all that is in the log.
            cause: what is happening.
            decided: the transaction that an arriving marker was sent for.
        """
        self._forgets(batches)
        new = batches[len(self._batches) :]
        self._batches += new
        appended = []
        for batch in new:
            if batch.is_control:
                self._marks(batch, decided)
            elif batch.is_transactional:
                owner = cause.owner_of(self._id_of(batch)) if self.is_of_offsets else owner_in(batch)
                appended.append(LoggedBatch(self.name, batch, owner, self.watch.step))
                self.written.append(appended[-1])
        return appended

    def _id_of(self, batch: RecordBatch) -> str | None:
        history = self.coordinators.of_producer(batch.producer_id)
        return None if history is None else history.transactional_id

    def _forgets(self, batches: Sequence[RecordBatch]) -> None:
        """A new leader has not copied the end of the log."""
        kept = min(len(self._batches), len(batches))
        while kept and self._batches[kept - 1] != batches[kept - 1]:
            kept -= 1
        if kept == len(self._batches):
            return
        end = 0 if not kept else self._batches[kept - 1].last_offset + 1
        del self._batches[kept:]
        self.written = [written for written in self.written if written.batch.base_offset < end]
        for marker in self.markers:
            if marker.batch.base_offset >= end and marker.decided is not None:
                marker.decided.loses_marker(self.name, marker.batch.base_offset)
        self.markers = [marker for marker in self.markers if marker.batch.base_offset < end]
        for written in self.written:
            if written.ended_by is not None and written.ended_by.batch.base_offset >= end:
                written.ended_by = None

    def _marks(self, batch: RecordBatch, decided: CoordinatedTransaction | None) -> None:
        reported = batch.marker()
        if reported is None:
            return
        commits = reported.control_type == ControlType.COMMIT
        marker = LoggedMarker(self.name, batch, commits, reported.coordinator_epoch, decided, self.watch.step)
        self.epochs_rise(marker)
        ended = [written for written in self.open() if written.batch.producer_id == batch.producer_id]
        self.markers.append(marker)
        for written in ended:
            written.ended_by = marker
        if decided is not None:
            decided.marked.add(self.name)
            self.marked_once(marker, decided, bool(ended))
        for written in ended:
            self.its_own(written, marker)
            self._decided(written)

    # --- invariants -------------------------------------------------------------------------------------------

    @evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.STATEFUL)
    def registered(self, written: LoggedBatch) -> None:
        """Data is in a transaction that has the partition, and has not marked it yet."""
        history = self.coordinators.of_producer(written.batch.producer_id)
        current = None if history is None else history.current
        holds = (
            current is not None
            and not current.completed
            and self.name in current.registered
            and self.name not in current.marked
        )
        message = f"{written} is appended while the coordinator has {current}"
        self.watch.expect(rules.TXN_REGISTERED_BEFORE_DATA, holds, message)

    @evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.STATEFUL)
    def epochs_rise(self, marker: LoggedMarker) -> None:
        """The markers of a producer come from coordinators of ever higher epochs."""
        before = [each for each in self.markers if each.batch.producer_id == marker.batch.producer_id]
        if before:
            highest = max(each.coordinator_epoch for each in before)
            message = f"a marker of coordinator {marker.coordinator_epoch} follows one of {highest} on {self.name}"
            self.watch.expect(rules.FENCE_COORDINATOR_EPOCH, marker.coordinator_epoch >= highest, message)

    @evidences(rules.TXN_MARKER_ONCE, Layer.STATEFUL)
    def marked_once(self, marker: LoggedMarker, decided: CoordinatedTransaction, ends: bool) -> None:
        """A partition of a transaction is ended by its markers once, and as it was decided."""
        if ends:
            decided.effective.setdefault(self.name, set()).add(marker.batch.base_offset)
        times = len(decided.effective.get(self.name, ()))
        message = f"{self.name} has {times} markers with an effect of {decided}, now with COMMIT {marker.commits}"
        self.watch.expect(rules.TXN_MARKER_ONCE, times <= 1 and self.name in decided.registered, message)
        message = f"{self.name} gets a marker with COMMIT {marker.commits}, of {decided}"
        self.watch.expect(rules.TXN_ONE_OUTCOME, marker.commits == decided.commits, message)

    @evidences(rules.TXN_NO_CROSSTALK, Layer.STATEFUL)
    def its_own(self, written: LoggedBatch, marker: LoggedMarker) -> None:
        """A batch is ended with the transaction that it was sent in."""
        decided = marker.decided
        holds = decided is not None and decided.owner == written.owner
        self.watch.expect(rules.TXN_NO_CROSSTALK, holds, f"{written} is ended by a marker of {decided}")


def stale(history: LoggedPartition, request: WriteMarker) -> bool:
    """Whether a marker comes from a coordinator before one whose marker for the producer is in the log."""
    epochs = [m.coordinator_epoch for m in history.markers if m.batch.producer_id == request.marker.producer_id]
    return bool(epochs) and request.marker.coordinator_epoch < max(epochs)
