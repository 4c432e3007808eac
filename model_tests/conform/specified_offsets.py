"""The group coordinator of the specification's broker: joins, commits, and the effect of markers.

Each group has its members, its offsets as memory and as the log have them, and a partition of its own.

Arguments:
    profile: the recorded build.
    producer: its id.
    entries: the offsets, by partition.
    appended: whether the log took them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from model_tests.conform.answers import (
    FetchedOffsetAnswer,
    OffsetsAdded,
    OffsetsCommitted,
    OffsetsFetched,
    RecordedJoin,
    SeenGroup,
    SeenOffset,
)
from model_tests.conform.decision_log import Ruled, SpecifiedDecision, offsets_ruled
from model_tests.conform.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    JoinSync,
    KnownProducer,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedTxnOffsetCommit,
)
from model_tests.conform.sessions import DEFAULT_SEGMENT_BYTES
from model_tests.conform.specified_coordinator import Coordinator
from model_tests.conform.specified_partition import SpecifiedPartition
from spec import rules
from spec.protocol import committing, coordinator, groups, offsets, registering
from spec.protocol.append import NONE_DROPPED
from spec.protocol.committing import CommitDecision, CommitRequest
from spec.protocol.completing import MarkerRequest
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.guards import PASSED, Guard
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, OffsetReply
from spec.protocol.records import AppendRequest
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ErrorCode, GroupState

# --- one group --------------------------------------------------------------------------------------------------------


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


TOPIC: Final = "__consumer_offsets"


# --- the coordinator of all groups ------------------------------------------------------------------------------------


JOIN_VERSION: Final = 5
"""Version of JoinGroup with which the recorded members joined."""


class SpecifiedGroups:
    """What is known of every group.

    Attributes:
        ruled: the decisions on the last request.
    """

    def __init__(
        self,
        profile: Profile,
        topics: Collection[str],
        transactions: Coordinator,
        without: frozenset[str] = NONE_DROPPED,
    ) -> None:
        """A coordinator that knows no group, of a broker with these partitions; guards that never apply."""
        self.ruled: tuple[Ruled, ...] = ()
        self._profile = profile
        self._topics = topics
        self._transactions = transactions
        self._without = without
        self._groups: dict[str, Group] = {}
        self._behind: tuple[tuple[str, int, bool], ...] = ()
        self._joined = 0

    def add(self, request: AddOffsetsToTxn) -> OffsetsAdded:
        """Have the partition of a group's offsets join a transaction."""
        error = self._registered(request, registering.BY_BROKERS_SINCE - 1, verify_only=False)
        return OffsetsAdded(ErrorCode(coordinator.worded(error, request.version, committing.FENCED_SINCE)))

    def join(self, request: JoinSync) -> RecordedJoin:
        """Let the only member of a group in, by the second JoinGroup where the first one only gives it an id."""
        group = self._group(request.group)
        self._joined += 1
        member = f"{request.group_instance_id or 'member'}-{self._joined}"
        joined = groups.join(group.entry, group.claim(-1, "", request.group_instance_id), JOIN_VERSION, self._profile)
        if joined.error == ErrorCode.MEMBER_ID_REQUIRED:
            group.let_in(member, None)
            joined = groups.join(group.entry, group.claim(-1, member, None), JOIN_VERSION, self._profile)
        group.let_in(member, request.group_instance_id)
        generation = joined.entry.generation
        synced = groups.sync(joined.entry, group.claim(generation, member, request.group_instance_id), self._profile)
        group.entry = synced.entry
        self.ruled += (Ruled(request.group, "joined", (rules.OFFSETS_GENERATION_FENCE,), _reported(group)),)
        return RecordedJoin(ErrorCode(synced.error), member, generation)

    def commit_in_transaction(self, request: RecordedTxnOffsetCommit) -> OffsetsCommitted:
        """Hold offsets until their transaction ends."""
        exist = [(partition, offset) for partition, offset in request.offsets if partition in self._topics]
        error = self._hold(request, exist) if exist else ErrorCode.NONE.value
        return self._committed(request.offsets, error)

    def commit(self, request: RecordedOffsetCommit) -> OffsetsCommitted:
        """Commit offsets at once."""
        exist = [(partition, offset) for partition, offset in request.offsets if partition in self._topics]
        error = self._take(request, exist) if exist else ErrorCode.NONE.value
        return self._committed(request.offsets, error)

    def fetch(self, request: RecordedOffsetFetch) -> OffsetsFetched:
        """Return offsets of a group."""
        group = self._group(request.group)
        stable = offsets.asks_stable(request.version, request.require_stable)
        reported = {name: group.fetch(name, stable=stable, without=self._without) for name in request.partitions}
        about = (rules.OFFSETS_STABLE_FETCH,) if stable else ()
        for name, reply in reported.items():
            guard = "undecided" if reply.error else "reported"
            self.ruled += (Ruled(f"{request.group} {name}", guard, about),)
        return OffsetsFetched(ErrorCode.NONE, {name: fetched(reply) for name, reply in reported.items()})

    def mark(self, name: str, marker: MarkerRequest, *, commits: bool, caught_up: bool = True) -> SpecifiedDecision:
        """Append a marker to an offsets partition, and end what its producer has pending there, now or later.

        Args:
            name: of the partition.
            marker: as the coordinator sends it.
            commits: the outcome.
            caught_up: whether the group has applied it when it is answered.
        """
        decided = self._group(_group_of(name)).partition.mark(name, marker, commits=commits)
        appended = decided.reply.appended
        if offsets.is_applied(self._profile, appended=appended, caught_up=caught_up):
            self._end(name, int(marker.producer_id), commits)
        elif offsets.is_applied(self._profile, appended=appended, caught_up=True):
            self._behind += ((name, int(marker.producer_id), commits),)
        return decided

    def catch_up(self) -> None:
        """The coordinator comes to the markers that its partitions have already."""
        behind, self._behind = self._behind, ()
        for name, producer, commits in behind:
            self._end(name, producer, commits)

    def _end(self, name: str, producer: int, commits: bool) -> None:
        ended = self._group(_group_of(name)).end(producer, commits=commits, without=self._without)
        about = (rules.OFFSETS_ATOMIC, rules.OFFSETS_STABLE_FETCH)
        self.ruled += tuple(Ruled(f"{name} {each}", f"offset {guard}", about) for each, guard in ended.items())

    def restart(self) -> None:
        """Everything is loaded from the log again."""
        self.catch_up()
        for group in self._groups.values():
            group.restart()

    def forget(self, kept: frozenset[KnownProducer]) -> None:
        """So much time has passed that producers are forgotten."""
        for name, group in self._groups.items():
            group.partition.forget({int(producer) for where, producer in kept if where == partition_of(name)})

    def seen(self) -> dict[str, SeenGroup]:
        """What OffsetFetch and DescribeProducers show."""
        return {name: group.seen(self._without) for name, group in self._groups.items()}

    def _group(self, name: str) -> Group:
        if name not in self._groups:
            self._groups[name] = Group(SpecifiedPartition(self._profile, DEFAULT_SEGMENT_BYTES))
        return self._groups[name]

    def _committed(self, offsets: Sequence[tuple[str, int]], error: int) -> OffsetsCommitted:
        errors = {name: committing.of_partition(error, name in self._topics) for name, _ in offsets}
        return OffsetsCommitted({name: ErrorCode(each) for name, each in errors.items()})

    def _hold(self, request: RecordedTxnOffsetCommit, offsets: Sequence[tuple[str, int]]) -> int:
        group = self._group(request.group)
        producer = int(request.producer_id)
        batch = committing.to_append(producer, request.producer_epoch, len(offsets), group.partition.log.end)
        verified = self._verify(group, request, batch)
        refused = ErrorCode.NONE.value if verified is None else verified
        claim = group.claim(request.generation, request.member, request.group_instance_id)
        requested = CommitRequest(request.version, refused, claim, group_unnamed=not request.group)
        decided = committing.commit_in_transaction(group.entry, requested, self._profile, self._without)
        checks = committing.transactional_guards(group.entry, requested, self._profile)
        named = groups.is_checked(group.entry, claim)
        self._rule(request.group, decided, checks, _accepting(named=named, verified=verified is not None))
        error, appended = decided.error, False
        if decided.branch == PASSED:
            logged = self._append(request.group, batch, guarded=verified is not None)
            appended = logged.reply.appended
            error = committing.reported(logged.reply.error, request.version, self._profile)
            group.hold(producer, _entries(offsets, batch), self._profile, appended=appended)
        group.entry = groups.after_commit(group.entry, self._profile, recorded=appended, transactional=True)
        return int(error)

    def _take(self, request: RecordedOffsetCommit, offsets: Sequence[tuple[str, int]]) -> int:
        group = self._group(request.group)
        claim = group.claim(request.generation, request.member, None)
        requested = CommitRequest(request.version, claim=claim)
        decided = committing.commit(group.entry, requested, self._profile, self._without)
        self._rule(request.group, decided, committing.plain_guards(group.entry, requested, self._profile), _MEMBERS)
        if decided.branch == PASSED:
            batch = committing.to_append_plain(len(offsets), group.partition.log.end)
            self._append(request.group, batch, guarded=False)
            group.take(_entries(offsets, batch))
            group.entry = groups.after_commit(group.entry, self._profile, recorded=True, transactional=False)
        return int(decided.error)

    def _append(self, group: str, batch: AppendRequest, *, guarded: bool) -> SpecifiedDecision:
        name, values = partition_of(group), ("",) * int(batch.record_count)
        logged = self._group(group).partition.take(name, batch, values, guarded=guarded)
        self.ruled += (offsets_ruled(logged, self._profile),)
        return logged

    def _verify(self, group: Group, request: RecordedTxnOffsetCommit, batch: AppendRequest) -> int | None:
        """What the coordinator of the transaction says, None where it is not asked."""
        version = committing.as_produce(request.version)
        if group.partition.refuses_unasked(batch, version):
            return ErrorCode.INVALID_PRODUCER_EPOCH.value
        if not request.group or not group.partition.must_ask(batch, version):
            return None
        verify_only = request.version < committing.ADDS_SINCE
        return self._registered(request, registering.BY_BROKERS_SINCE, verify_only=verify_only)

    def _registered(
        self, request: AddOffsetsToTxn | RecordedTxnOffsetCommit, version: int, *, verify_only: bool
    ) -> int:
        """The coordinator's answer about the partition of a group's offsets."""
        partition = partition_of(request.group)
        question = AddPartitionsToTxn(
            version,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            (partition,),
            verify_only,
        )
        return self._transactions.register(question)[partition]

    def _rule(
        self, group: str, decided: CommitDecision, checks: tuple[Guard, ...], accepting: tuple[Rule, ...]
    ) -> None:
        guard = coordinator.names_of(checks)[decided.branch]
        about = accepting if decided.branch == PASSED else (checks[decided.branch - 1].rule,)
        self.ruled += (Ruled(group, f"commit {guard}", about, _reported(self._group(group))),)


_MEMBERS: Final = (rules.OFFSETS_GENERATION_FENCE,)


def partition_of(group: str) -> str:
    """Name of a group's offsets partition; every recorded group has one of its own."""
    return f"{TOPIC}[{group}]"


def _group_of(partition: str) -> str:
    return partition.removeprefix(f"{TOPIC}[").removesuffix("]")


def _accepting(*, named: bool, verified: bool) -> tuple[Rule, ...]:
    """What says that offsets of a transaction may be held."""
    members = _MEMBERS if named else ()
    return (*members, rules.TXN_REGISTERED_BEFORE_DATA) if verified else members


def _entries(offsets: Sequence[tuple[str, int]], batch: AppendRequest) -> dict[str, OffsetEntry]:
    """Each offset with the place of its record, in the order of the request."""
    return {name: OffsetEntry(offset, batch.base_offset + place) for place, (name, offset) in enumerate(offsets)}


def _reported(group: Group) -> str:
    state = GroupState(group.entry.state).name.title().replace("_", "")
    return f"{state} at generation {group.entry.generation}" if group.entry.known else "no group"
