"""The offsets that groups have committed, and those that open transactions have pending (OffsetMetadataManager).

Pending offsets belong to a producer id, whatever its epoch; the marker of its transaction decides all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reference.broker.group_record import OffsetKey, OffsetValue
from spec.vocabulary import Offset, ProducerId


@dataclass(frozen=True, slots=True)
class RecordedOffset:
    """A committed or pending offset, and the offset of its record in the offsets partition."""

    value: OffsetValue
    at: Offset


class GroupOffsets:
    """The offsets of the groups of one offsets partition.

    Attributes:
        committed: by group and partition.
        pending: likewise, by producer id.
    """

    __slots__ = ("committed", "pending")

    def __init__(self) -> None:
        """No offsets yet."""
        self.committed: dict[OffsetKey, RecordedOffset] = {}
        self.pending: dict[ProducerId, dict[OffsetKey, RecordedOffset]] = {}

    def commit(self, key: OffsetKey, recorded: RecordedOffset) -> None:
        """Set an offset outside transactions."""
        self.committed[key] = recorded

    def pend(self, producer_id: ProducerId, key: OffsetKey, recorded: RecordedOffset) -> None:
        """Set an offset that waits for the end of the producer's transaction."""
        self.pending.setdefault(producer_id, {})[key] = recorded

    def drop_pending(self, producer_id: ProducerId, keys: Iterable[OffsetKey]) -> None:
        """Drop the pending offsets of the producer's transaction for these keys."""
        waiting = self.pending.get(producer_id, {})
        for key in keys:
            waiting.pop(key, None)
        if not waiting:
            self.pending.pop(producer_id, None)

    def bury(self, key: OffsetKey, with_pending: bool) -> None:
        """Remove a committed offset, and its pending ones where they go with it."""
        self.committed.pop(key, None)
        if with_pending:
            for producer_id in tuple(self.pending):
                self.drop_pending(producer_id, (key,))

    def complete(self, producer_id: ProducerId, committed: bool) -> None:
        """End the producer's transaction: its offsets become committed, or are dropped.

        An offset whose key was committed by a later record in the meantime is dropped.
        """
        for key, recorded in self.pending.pop(producer_id, {}).items():
            # [offsets.atomic]
            if committed and not self.is_overtaken(key, recorded):
                self.committed[key] = recorded

    def is_overtaken(self, key: OffsetKey, recorded: RecordedOffset) -> bool:
        """Whether the committed offset of the key has the higher record offset."""
        current = self.committed.get(key)
        return current is not None and current.at >= recorded.at

    def is_unstable(self, key: OffsetKey) -> bool:
        """Whether an open transaction may still change the offset."""
        return any(key in waiting for waiting in self.pending.values())

    def of_group(self, group: str) -> Mapping[OffsetKey, RecordedOffset]:
        """The committed offsets of a group."""
        return {key: recorded for key, recorded in self.committed.items() if key.group == group}

    def known_keys(self) -> tuple[OffsetKey, ...]:
        """The keys with a committed or a pending offset, each once."""
        waiting = (key for pending in self.pending.values() for key in pending)
        return tuple(dict.fromkeys((*self.committed, *waiting)))

    def groups(self) -> set[str]:
        """The groups with a committed or a pending offset."""
        return {key.group for key in self.known_keys()}

    def pending_of(self, group: str) -> Iterator[tuple[ProducerId, OffsetKey]]:
        """The pending offsets of a group."""
        for producer_id, waiting in self.pending.items():
            yield from ((producer_id, key) for key in waiting if key.group == group)
