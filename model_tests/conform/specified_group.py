"""One group of the specification's broker: its members, its offsets as memory and log have them, its partition.

Arguments:
    profile: the recorded build.
    producer: its id.
    entries: the offsets, by partition.
    appended: whether the log took them.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from model_tests.conform.answers import FetchedOffsetAnswer, SeenGroup, SeenOffset
from model_tests.conform.specified_partition import SpecifiedPartition
from spec.protocol import coordinator, groups, offsets
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, OffsetReply
from spec.versions import Profile
from spec.vocabulary import ErrorCode


@dataclass(slots=True)
class SpecifiedOffsets:
    """Offsets of a group: the true ones by partition, and what each producer has pending."""

    committed: dict[str, OffsetEntry] = field(default_factory=dict)
    pending: dict[int, dict[str, OffsetEntry]] = field(default_factory=dict)

    def is_pending(self, partition: str) -> bool:
        """Whether some producer has an offset of the partition pending."""
        return any(pending.get(partition, NO_OFFSET).present for pending in self.pending.values())

    def take(self, entries: Mapping[str, OffsetEntry]) -> None:
        """Offsets that belong to no transaction are in the log."""
        for partition, entry in entries.items():
            known = self.committed.get(partition, NO_OFFSET)
            self.committed[partition] = offsets.committed_after(known, entry)

    def hold(self, producer: int, entries: Mapping[str, OffsetEntry], profile: Profile, *, appended: bool) -> None:
        """The log took offsets of a transaction, or refused them."""
        pending = self.pending.setdefault(producer, {})
        for partition, entry in entries.items():
            known = pending.get(partition, NO_OFFSET)
            pending[partition] = offsets.pending_after(known, entry, profile, appended=appended)

    def end(self, producer: int, *, commits: bool, without: frozenset[str]) -> Iterator[tuple[str, str]]:
        """A marker ends what a producer has pending; each partition, and the name of the guard that decided."""
        for partition, pending in self.pending.pop(producer, {}).items():
            known = self.committed.get(partition, NO_OFFSET)
            checks = offsets.application_guards(known, pending, commits)
            applied = offsets.apply(known, pending, commits=commits, without=without)
            self.committed[partition] = applied.committed
            if pending.present:
                yield partition, coordinator.names_of(checks)[applied.branch]


@dataclass(slots=True)
class Group:
    """A group, its members, its offsets in memory and as its log has them, and its partition."""

    partition: SpecifiedPartition
    entry: GroupEntry = field(default_factory=GroupEntry)
    members: dict[str, str | None] = field(default_factory=dict)  # instance id by member id
    memory: SpecifiedOffsets = field(default_factory=SpecifiedOffsets)
    log: SpecifiedOffsets = field(default_factory=SpecifiedOffsets)

    def claim(self, generation: int, member: str, instance: str | None) -> KnownClaim:
        """As whom a request comes, and what of it the group knows."""
        known = {named: each for each, named in self.members.items() if named is not None}
        owner = None if instance is None else known.get(instance)
        return KnownClaim(
            generation=generation,
            member_given=bool(member),
            instance_given=instance is not None,
            member_known=member in self.members,
            instance_known=owner is not None,
            instance_matches=owner == member,
        )

    def let_in(self, member: str, instance: str | None) -> None:
        """A member has joined; a static one takes the place of the one before it."""
        others = {each: named for each, named in self.members.items() if instance is None or named != instance}
        self.members = {**others, member: instance}

    def take(self, entries: Mapping[str, OffsetEntry]) -> None:
        """Offsets that belong to no transaction are in the log."""
        self.memory.take(entries)
        self.log.take(entries)

    def hold(self, producer: int, entries: Mapping[str, OffsetEntry], profile: Profile, *, appended: bool) -> None:
        """The log took offsets of a transaction, or refused them."""
        self.memory.hold(producer, entries, profile, appended=appended)
        if appended:
            self.log.hold(producer, entries, profile, appended=True)

    def end(self, producer: int, *, commits: bool, without: frozenset[str]) -> dict[str, str]:
        """A marker ends what a producer has pending; by partition the name of the guard that decided."""
        dict(self.log.end(producer, commits=commits, without=without))
        return dict(self.memory.end(producer, commits=commits, without=without))

    def fetch(self, partition: str, *, stable: bool, without: frozenset[str]) -> OffsetReply:
        """The decision on one partition of an OffsetFetch."""
        committed = self.memory.committed.get(partition, NO_OFFSET)
        return offsets.fetch(committed, self.memory.is_pending(partition), stable=stable, without=without)

    def restart(self) -> None:
        """Everything is loaded from the log again."""
        self.partition.restart()
        self.memory = deepcopy(self.log)
        recorded = bool(self.members or self.log.committed or self.log.pending)
        self.entry = groups.reloaded(self.entry, recorded)

    def seen(self, without: frozenset[str]) -> SeenGroup:
        """What OffsetFetch and DescribeProducers show."""
        pending = (partition for held in self.memory.pending.values() for partition in held)
        shown = dict.fromkeys((*self.memory.committed, *pending))
        reported = {partition: self._seen(partition, without) for partition in shown}
        return SeenGroup(reported, self.partition.seen().producers)

    def _seen(self, partition: str, without: frozenset[str]) -> SeenOffset:
        committed = self.fetch(partition, stable=False, without=without)
        return SeenOffset(committed.offset, fetched(self.fetch(partition, stable=True, without=without)))


def fetched(reply: OffsetReply) -> FetchedOffsetAnswer:
    """The answer about one partition."""
    return FetchedOffsetAnswer(ErrorCode(reply.error), reply.offset)
