"""The state that a pipeline's logs show: which records are committed, and which generation a group is in."""

from collections.abc import Sequence

from reference.broker.group_record import GroupKey, decode_group, decode_key
from reference.log.batch import RecordBatch
from spec.vocabulary import ControlType, ProducerId


class Outcomes:
    """One data partition, record by record.

    Attributes:
        order: offset and value of every record, in log order.
        committed: the fate of a value: None while it is undecided.
        keys: of the values.
    """

    def __init__(self) -> None:
        """An empty log."""
        self._begin([])

    def _begin(self, batches: list[RecordBatch]) -> None:
        self._batches = batches
        self._open: dict[ProducerId, list[bytes]] = {}
        self.order: list[tuple[int, bytes]] = []
        self.committed: dict[bytes, bool | None] = {}
        self.keys: dict[bytes, bytes] = {}

    def looks(self, batches: Sequence[RecordBatch]) -> bool:
        """Follow the leader's log, which a new leader may have cut; whether there was something new."""
        seen = len(self._batches)
        if len(batches) < seen or (seen and batches[seen - 1] is not self._batches[-1]):
            self._begin([])
            seen = 0
        for batch in batches[seen:]:
            self._batches.append(batch)
            self._takes(batch)
        return len(batches) > seen

    def _takes(self, batch: RecordBatch) -> None:
        marker = batch.marker() if batch.is_control else None
        if marker is not None:
            for value in self._open.pop(batch.producer_id, ()):
                self.committed[value] = marker.control_type is ControlType.COMMIT
            return
        for record in batch.records():
            value = record.value or b""
            self.order.append((batch.base_offset + record.offset_delta, value))
            self.keys[value] = record.key or b""
            self.committed[value] = None if batch.is_transactional else True
            if batch.is_transactional:
                self._open.setdefault(batch.producer_id, []).append(value)

    def committed_below(self, end: int) -> list[bytes]:
        """The values of committed records below an offset, in log order."""
        return [value for offset, value in self.order if offset < end and self.committed[value]]

    @property
    def undecided(self) -> list[bytes]:
        """The undecided values."""
        return [value for value, outcome in self.committed.items() if outcome is None]


class Generations:
    """The generations of one group, by what its coordinator has answered and written down.

    Attributes:
        members: ids of each generation's members.
        reported: the newest generation that members have learned since the present coordinator was elected.
        recorded: the newest one in the log.
    """

    def __init__(self) -> None:
        """A group without members so far."""
        self.members: dict[int, set[str]] = {}
        self.answered = self.recorded = -1
        self._static: dict[str, str] = {}
        self._read = 0

    @property
    def current(self) -> int:
        """The present generation."""
        return max(self.answered, self.recorded)

    def joined(self, generation: int, member_id: str, instance: str | None = None) -> None:
        """A member got an answer with its generation; a static instance belongs to it alone."""
        members = self.members.setdefault(generation, set())
        if instance is not None:
            members.discard(self._static.get(instance, ""))
            self._static[instance] = member_id
        members.add(member_id)
        self.answered = max(self.answered, generation)

    def elected(self) -> None:
        """A coordinator that reads the log knows nothing of a generation that was not written down."""
        self.answered = -1
        self.members = {number: ids for number, ids in self.members.items() if number <= self.recorded}

    def looks(self, batches: Sequence[RecordBatch]) -> None:
        """Follow the log of the group's partition."""
        for batch in batches[self._read :]:
            for record in () if batch.is_control else batch.records():
                if record.value is not None and isinstance(decode_key(record.key or b""), GroupKey):
                    self._recorded(record.value)
        self._read = len(batches)

    def _recorded(self, value: bytes) -> None:
        group = decode_group(value)
        self.recorded = group.generation
        self.members[group.generation] = {member.member_id for member in group.members}
