"""The coordinator's memory of transactional ids beside its log (TransactionStateManager).

A node coordinates the ids of those partitions of `__transaction_state` that it leads; it loads them when it is elected.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reference.broker.coordinator_errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    NotCoordinator,
    UnknownServerError,
)
from reference.broker.transaction_log import Loaded, TransactionLog
from reference.broker.transaction_metadata import TransactionEntry, TransactionMetadata, as_recorded, taken_over
from reference.errors import Impossible, InvalidRequest, Refusal, UnsupportedVersion
from spec.vocabulary import CoordinatorEpoch, ErrorCode, Timestamp

APPEND_ERRORS: Final[Mapping[ErrorCode, type[Refusal]]] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: CoordinatorNotAvailable,
        ErrorCode.NOT_ENOUGH_REPLICAS: CoordinatorNotAvailable,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: CoordinatorNotAvailable,
        ErrorCode.REQUEST_TIMED_OUT: CoordinatorNotAvailable,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: NotCoordinator,
        ErrorCode.KAFKA_STORAGE_ERROR: NotCoordinator,
        ErrorCode.MESSAGE_TOO_LARGE: UnknownServerError,
        ErrorCode.RECORD_LIST_TOO_LARGE: UnknownServerError,
    }
)
"""The client's error when the log refuses a record; any other error is passed on unchanged."""


@dataclass(slots=True)
class LedIds:
    """A partition of the log that this node leads: the ids in it, None while they are being read."""

    epoch: CoordinatorEpoch
    entries: dict[str, TransactionEntry] | None = None


class TransactionStateManager:
    """The ids that this node coordinates, and how their changes get into the log."""

    __slots__ = ("_led", "log")

    def __init__(self, log: TransactionLog) -> None:
        """A node that leads no partition of the log."""
        self.log = log
        self._led: dict[int, LedIds] = {}

    def begin_loading(self, partition: int, epoch: CoordinatorEpoch) -> None:
        """Become leader of a partition; until it is read, its ids get COORDINATOR_LOAD_IN_PROGRESS.

        Raises:
            Impossible: it is led already with this coordinator epoch or a newer one.
        """
        if partition in self._led and self._led[partition].epoch >= epoch:
            raise Impossible(f"partition {partition} is led with epoch {self._led[partition].epoch} already")
        self._led[partition] = LedIds(epoch)

    def load(self, partition: int) -> Loaded:
        """Read the partition; its ids are known from now on."""
        loaded = self.log.load(partition)
        self._led[partition].entries = {
            transactional_id: TransactionEntry(transactional_id, metadata)
            for transactional_id, metadata in loaded.ids.items()
        }
        return loaded

    def resign(self, partition: int) -> None:
        """Drop a partition that another node leads now."""
        self._led.pop(partition, None)

    def entries(self) -> Iterator[TransactionEntry]:
        """Every id of the partitions that are read."""
        for led in tuple(self._led.values()):
            if led.entries:
                yield from tuple(led.entries.values())

    @property
    def is_loading(self) -> bool:
        """Whether a partition that is led has not been read yet."""
        return any(led.entries is None for led in self._led.values())

    def remembered(self, transactional_id: str) -> TransactionEntry | None:
        """The entry of an id, None if it is unknown, coordinated elsewhere or still being read."""
        led = self._led.get(self.log.partition_of(transactional_id))
        return None if led is None or led.entries is None else led.entries.get(transactional_id)

    def epoch_of(self, transactional_id: str) -> CoordinatorEpoch:
        """The coordinator epoch under which an id is coordinated.

        Raises:
            NotCoordinator: it is coordinated elsewhere.
        """
        return self._coordinated(transactional_id).epoch

    def find(self, transactional_id: str) -> TransactionEntry | None:
        """The entry of an id, None if it is unknown.

        Raises:
            InvalidRequest: the id is the empty string.
            NotCoordinator: it is coordinated elsewhere.
            CoordinatorLoadInProgress: its partition is still being read.
        """
        if not transactional_id:
            raise InvalidRequest(transactional_id=transactional_id)
        entries = self._coordinated(transactional_id).entries
        if entries is None:
            raise CoordinatorLoadInProgress(transactional_id=transactional_id)
        return entries.get(transactional_id)

    def known(self, transactional_id: str) -> TransactionEntry:
        """The entry of an id.

        Raises:
            InvalidProducerIdMapping: the id is unknown.
            Refusal: as `find`.
        """
        entry = self.find(transactional_id)
        if entry is None:
            raise InvalidProducerIdMapping(transactional_id=transactional_id)
        return entry

    def add(self, transactional_id: str, metadata: TransactionMetadata) -> TransactionEntry:
        """Add a new id, in memory alone.

        Raises:
            NotCoordinator: another node coordinates the id.
            Impossible: the partition of the id is still being read.
        """
        entry = TransactionEntry(transactional_id, metadata)
        entries = self._coordinated(transactional_id).entries
        if entries is None:
            raise Impossible(f"{transactional_id} is added while its partition is being read")
        entries[transactional_id] = entry
        return entry

    def write(self, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp) -> None:
        """Append a prepared change to the log, then complete it; a failure of the log cancels it.

        Raises:
            UnsupportedVersion: the record cannot hold the change; it is never cancelled, so that the id stays pending.
            Refusal: the log did not take it; it may be in the log all the same.
        """
        change = as_recorded(change, self.log.profile)
        try:
            self.log.write(entry.transactional_id, change, now)
        except UnsupportedVersion:
            raise
        except Refusal as refusal:
            entry.cancel()
            raise append_refusal(refusal) from refusal.with_traceback(None)
        entry.complete(taken_over(entry.metadata, change, self.log.profile))

    def bury(self, entry: TransactionEntry, now: Timestamp) -> None:
        """Remove an id from the log, then from memory.

        Raises:
            Refusal: the log did not take the tombstone.
        """
        try:
            self.log.bury(entry.transactional_id, now)
        except Refusal as refusal:
            entry.cancel()
            raise append_refusal(refusal) from refusal.with_traceback(None)
        (self._coordinated(entry.transactional_id).entries or {}).pop(entry.transactional_id, None)

    def _coordinated(self, transactional_id: str) -> LedIds:
        partition = self.log.partition_of(transactional_id)
        led = self._led.get(partition)
        if led is None:
            raise NotCoordinator(transactional_id=transactional_id, partition=partition)
        return led


def append_refusal(refusal: Refusal) -> Refusal:
    """The client's error for a refusal of the log."""
    named = APPEND_ERRORS.get(refusal.code)
    return refusal if named is None else named(log=refusal.code.name)
