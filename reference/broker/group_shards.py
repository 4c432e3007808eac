"""The groups of those offsets partitions that a node leads; it loads them when it is elected (GroupMetadataManager)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reference.broker.coordinator_errors import CoordinatorLoadInProgress, NotCoordinator, reported
from reference.broker.group_log import NOT_TRANSACTIONAL, LoadedGroups, OffsetsTopic, records_batch, replay
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import GroupOffsets
from reference.broker.group_record import GroupKey, Key
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_log import Skipped
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from spec.versions import Profile
from spec.vocabulary import GroupState, Offset, Origin


@dataclass(slots=True)
class Shard:
    """One offsets partition that this node leads: its log, and what was taken over from it.

    Attributes:
        groups: as they are in memory.
        is_loading: whether the partition is still being read.
    """

    partition: Partition
    profile: Profile
    clock: Clock
    known: LoadedGroups = field(default_factory=LoadedGroups)
    groups: dict[str, ClassicGroup] = field(default_factory=dict)
    is_loading: bool = True

    @property
    def offsets(self) -> GroupOffsets:
        """What is committed and pending."""
        return self.known.offsets

    def take_over(self, known: LoadedGroups) -> None:
        """Know what was read; a group of which there are offsets alone has no members."""
        self.known = known
        without_members = known.met if self.profile.read_offsets_create_group else known.offsets.groups()
        self.groups = {group: ClassicGroup(group) for group in sorted(without_members)}
        for group, value in known.groups.items():
            self.groups[group] = ClassicGroup.loaded(group, value, self.clock.now)
        self.is_loading = False

    def create(self, group: str) -> ClassicGroup:
        """A group without members, in memory alone; the present one if there is one."""
        return self.groups.setdefault(group, ClassicGroup(group))

    def write(
        self,
        records: Iterable[tuple[Key, bytes | None]],
        producer: ProducerIdentity = NOT_TRANSACTIONAL,
        guard: int = NO_GUARD,
    ) -> None:
        """Append records as one batch, and take them over.

        Raises:
            Refusal: the partition refuses; nothing is taken over.
        """
        batch = records_batch(records, self.clock.now, producer)
        try:
            placed = self.partition.append(batch, Origin.COORDINATOR, guard)
        except Refusal as refusal:
            raise reported(refusal, self.profile) from refusal
        self.follow(batch, placed.first_offset)

    def follow(self, batch: RecordBatch, offset: Offset) -> None:
        """Take over what was appended at an offset."""
        replay(batch.at(offset, self.partition.leader_epoch), self.known, self.profile)

    def store(self, group: ClassicGroup) -> None:
        """Write down a generation of a group.

        Raises:
            Refusal: the partition refuses.
        """
        self.write([(GroupKey(group.group), group.recorded().encode())])

    def bury(self, group: ClassicGroup) -> None:
        """Have the log and the memory forget a group.

        Raises:
            Refusal: the partition refuses.
        """
        if group.group in self.known.groups:
            self.write([(GroupKey(group.group), None)])
        group.enter(GroupState.DEAD, self.clock.now)
        del self.groups[group.group]


class GroupShards:
    """The offsets partitions that this node leads."""

    __slots__ = ("_clock", "_led", "_profile", "topic")

    def __init__(self, profile: Profile, topic: OffsetsTopic, clock: Clock) -> None:
        """A node that leads none."""
        self._profile = profile
        self._clock = clock
        self._led: dict[int, Shard] = {}
        self.topic = topic

    def begin_loading(self, number: int) -> None:
        """Become leader of a partition; until it is read, its groups are answered for with "loading"."""
        self._led[number] = Shard(self.topic.partitions[number], self._profile, self._clock)

    def load(self, number: int) -> list[Skipped]:
        """Read the partition; what could not be read."""
        known = self.topic.load(number)
        self._led[number].take_over(known)
        return known.skipped

    def resign(self, number: int) -> Shard | None:
        """Forget a partition that another node leads now; what was known of it."""
        return self._led.pop(number, None)

    def read(self) -> Iterator[Shard]:
        """The partitions that are led and read."""
        return (shard for shard in tuple(self._led.values()) if not shard.is_loading)

    def of_group(self, group: str) -> Shard:
        """The shard of a group.

        Raises:
            NotCoordinator: another node coordinates the group.
            CoordinatorLoadInProgress: its partition is still being read.
        """
        return self.numbered(self.topic.number_of(group))

    def numbered(self, number: int) -> Shard:
        """The shard of a partition; raises as `of_group`."""
        shard = self._led.get(number)
        if shard is None:
            raise NotCoordinator(partition=number)
        if shard.is_loading:
            raise CoordinatorLoadInProgress(partition=number)
        return shard
