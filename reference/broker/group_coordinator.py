"""The group coordinator: offsets of groups, plain and in transactions, and the commits allowed (GroupCoordinator).

The offsets partition of a group takes part in transactions like any other. Appended offsets are taken over from the
records themselves, so that a coordinator that loads them later has the same state.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from reference.broker.coordinator_errors import (
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    IllegalGeneration,
    InvalidGroupId,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
    UnstableOffsetCommit,
)
from reference.broker.group_log import OffsetsTopic
from reference.broker.group_membership import INITIAL_DELAY_MS, Membership
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import GroupOffsets, RecordedOffset, check_commit
from reference.broker.group_record import Key, OffsetKey, OffsetValue
from reference.broker.group_requests import (
    NO_CLAIM,
    NO_GENERATION,
    NO_MEMBER,
    FetchedOffset,
    JoinAnswer,
    JoinReply,
    JoinRequest,
    MemberClaim,
    Offsets,
    SyncAnswer,
    SyncReply,
    SyncRequest,
)
from reference.broker.group_shards import GroupShards, Shard
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker, reported_transaction_version
from reference.broker.transaction_log import Skipped
from reference.broker.transaction_metadata import TopicPartition
from reference.clock import Clock
from reference.errors import NotLeaderOrFollower, Refusal
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin, ProducerId

NOT_FOUND_IN_TRANSACTIONS_SINCE: Final = 6
"""First version of TxnOffsetCommit whose clients know GROUP_ID_NOT_FOUND (KIP-1319)."""

NOT_FOUND_SINCE: Final = 9
"""First version of OffsetCommit whose clients know it (KIP-848)."""

RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Default of offsets.retention.minutes: seven days."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """A broker's settings: bounds of session timeouts, delay of a first generation, retention of offsets."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_delay_ms: int = INITIAL_DELAY_MS
    retention_ms: int = RETENTION_MS


@dataclass(frozen=True, slots=True)
class TransactionalCommit:
    """TxnOffsetCommit: offsets whose commit depends on the producer's transaction."""

    version: int
    group: str
    producer: ProducerIdentity
    offsets: Offsets
    claim: MemberClaim = NO_CLAIM


class PendingOffsets(NamedTuple):
    """A transaction whose marker is on the offsets partition, and whose offsets are not applied yet."""

    offsets: GroupOffsets
    producer_id: ProducerId
    committed: bool


class GroupCoordinator:
    """One node's coordinator of groups; the offsets partitions outlive it.

    A limit: its groups are of the classic protocol. Groups of KIP-848, whose members commit with member epochs
    (`old_member_epoch_commits` of a profile), are not implemented.

    Attributes:
        shards: its offsets partitions.
        members: the membership of its groups.
        decided: transactions whose offsets are applied some time after their markers (KAFKA-17507).
    """

    __slots__ = ("_profile", "clock", "config", "decided", "members", "shards")

    def __init__(self, profile: Profile, topic: OffsetsTopic, clock: Clock, config: GroupConfig | None = None) -> None:
        """A coordinator that leads no offsets partition yet."""
        self._profile = profile
        self.clock = clock
        self.config = config or GroupConfig()
        self.shards = GroupShards(profile, topic, clock)
        self.members = Membership(profile, clock, self._store, topic.new_member_id, self.config.initial_delay_ms)
        self.decided: list[PendingOffsets] = []

    # --- election ---------------------------------------------------------------------------------------------

    def elect(self, number: int) -> list[Skipped]:
        """Lead an offsets partition, and read it; returns what could not be read."""
        self.shards.begin_loading(number)
        return self.shards.load(number)

    def resign(self, number: int) -> None:
        """Another node leads the partition now; waiting members get an error that sends them there."""
        shard = self.shards.resign(number)
        for group in () if shard is None else shard.groups.values():
            self.members.dismiss(group, ErrorCode.NOT_COORDINATOR)

    # --- offsets ----------------------------------------------------------------------------------------------

    def commit_offsets(
        self, group: str, offsets: Offsets, claim: MemberClaim, version: int = NOT_FOUND_SINCE - 1
    ) -> None:
        """Commit offsets at once.

        Args:
            group: its name, which may be empty.
            offsets: what is committed, by partition.
            claim: the member and generation in the request.
            version: of OffsetCommit; its client's error codes depend on it.

        Raises:
            Refusal: the claim is not a member's, or the coordinator cannot answer now; nothing is committed.
        """
        shard = self.shards.of_group(group)
        found = shard.groups.get(group)
        if found is None:
            self._check_may_create(group, claim, version >= NOT_FOUND_SINCE)
            found = shard.create(group)
        check_commit(found, claim, False, self._profile)
        self._heard_of(found, claim)
        shard.write(self._records(group, offsets))

    def begin_commit(self, request: TransactionalCommit) -> None:
        """Look at a transactional commit before the transaction's coordinator is asked about the offsets partition.

        Raises:
            Refusal: the group refuses, or the coordinator cannot answer now.
        """
        self._check_group_id(request.group)
        shard = self.shards.of_group(request.group)
        if self._profile.commit_creates_group:
            shard.create(request.group)
        if not self._profile.offsets_verified_first:
            self._check_transactional(shard, request)

    def finish_commit(self, request: TransactionalCommit, guard: int) -> None:
        """Add offsets to the producer's transaction, whose coordinator has verified the offsets partition.

        Args:
            request: that `begin_commit` has taken.
            guard: of the verification.

        Raises:
            Refusal: the transaction or the group refuses; nothing is pending then.
        """
        shard = self.shards.of_group(request.group)
        if self._profile.offsets_verified_first:
            self._check_transactional(shard, request)
        self._write_pending(shard, request, guard)

    def _check_transactional(self, shard: Shard, request: TransactionalCommit) -> None:
        group = shard.groups.get(request.group) or self._created(shard, request)
        check_commit(group, request.claim, True, self._profile)  # it keeps no session alive

    def _created(self, shard: Shard, request: TransactionalCommit) -> ClassicGroup:
        """The group of a commit that names no generation."""
        self._check_may_create(request.group, request.claim, request.version >= NOT_FOUND_IN_TRANSACTIONS_SINCE)
        return shard.create(request.group)

    def _check_may_create(self, group: str, claim: MemberClaim, not_found_known: bool) -> None:
        """A group that does not exist has no generation that a commit could name.

        Raises:
            GroupIdNotFound: it names one, and its client knows this error.
            IllegalGeneration: it names one.
        """
        # [offsets.generation_fence]
        if claim.generation > NO_GENERATION:
            if not_found_known and self._profile.group_not_found_has_code:
                raise GroupIdNotFound(group=group)
            raise IllegalGeneration(group=group, got=claim.generation)

    def _write_pending(self, shard: Shard, request: TransactionalCommit, guard: int) -> None:
        records = self._records(request.group, request.offsets)
        try:
            shard.write(records, request.producer, guard)
        except Refusal:
            if self._profile.refused_commit_drops_pending:
                keys = [OffsetKey(request.group, partition) for partition in request.offsets]
                shard.offsets.drop_pending(request.producer.producer_id, keys)
            raise

    def _records(self, group: str, offsets: Offsets) -> list[tuple[Key, bytes | None]]:
        now = self.clock.now
        return [
            (
                OffsetKey(group, partition),
                OffsetValue(reported.offset, reported.metadata, now, reported.leader_epoch).encode(),
            )
            for partition, reported in offsets.items()
        ]

    def _heard_of(self, group: ClassicGroup, claim: MemberClaim) -> None:
        member = group.members.get(claim.member_id)
        if member is not None:
            member.note_heartbeat(self.clock.now)

    def fetch_offsets(
        self, group: str, partitions: Iterable[TopicPartition], require_stable: bool
    ) -> dict[TopicPartition, FetchedOffset]:
        """The committed offsets of a group.

        Args:
            group: its name.
            partitions: the requested ones.
            require_stable: return none that an open transaction may still change.

        Raises:
            Refusal: the coordinator cannot answer now.
        """
        offsets = self.shards.of_group(group).offsets
        return {partition: fetched(offsets, OffsetKey(group, partition), require_stable) for partition in partitions}

    # --- markers ----------------------------------------------------------------------------------------------

    def write_marker(self, number: int, marker: TxnMarker, version: int) -> None:
        """Append one marker to an offsets partition as WriteTxnMarkers of `version` asks, and end the transaction.

        Raises:
            Refusal: the marker is stale, or another node leads the partition; nothing has changed.
        """
        shard = self._led(number)
        batch = marker.batch(self.clock.now)
        transaction_version = reported_transaction_version(marker, version)
        placed = shard.partition.append(batch, Origin.COORDINATOR, marker_version=transaction_version)
        if self._profile.offsets_lag_marker:
            self.decided.append(PendingOffsets(shard.offsets, marker.producer_id, marker.committed))
        else:
            shard.follow(batch, placed.first_offset)

    def committed_by(self, number: int, marker: TxnMarker) -> dict[OffsetKey, RecordedOffset]:
        """The offsets that a marker would make those of their groups.

        Raises:
            Refusal: another node leads the partition.
        """
        offsets = self._led(number).offsets
        pending = offsets.pending.get(marker.producer_id, {}) if marker.committed else {}
        return {key: recorded for key, recorded in pending.items() if not offsets.is_overtaken(key, recorded)}

    def _led(self, number: int) -> Shard:
        try:
            return self.shards.numbered(number)
        except Refusal as refusal:
            raise NotLeaderOrFollower(partition=number) from refusal

    def take_over_decided(self) -> None:
        """Apply or drop the offsets of transactions whose markers were answered already."""
        decided, self.decided = self.decided, []
        for each in decided:
            each.offsets.complete(each.producer_id, each.committed)

    # --- members ----------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, reply: JoinReply) -> None:
        """JoinGroup; the answer comes when the generation is complete."""
        try:
            self.members.join(self._group_to_join(request), request, reply)
        except MemberIdRequired as refusal:
            reply(JoinAnswer(refusal.code, str(refusal.values["member_id"])))
        except Refusal as refusal:
            reply(JoinAnswer(refusal.code, request.member_id))

    def _group_to_join(self, request: JoinRequest) -> ClassicGroup:
        check_group_id(request.group)
        if not self.config.min_session_timeout_ms <= request.session_timeout_ms <= self.config.max_session_timeout_ms:
            raise InvalidSessionTimeout(timeout_ms=request.session_timeout_ms)
        shard = self.shards.of_group(request.group)
        if request.group not in shard.groups and request.member_id != NO_MEMBER:
            raise UnknownMemberId(group=request.group, member=request.member_id)
        return shard.create(request.group)

    def sync(self, request: SyncRequest, reply: SyncReply) -> None:
        """SyncGroup; the answer comes when the leader has assigned."""
        try:
            self.members.sync(self._known(request.group, request.claim.member_id), request, reply)
        except CoordinatorLoadInProgress:
            reply(SyncAnswer(RebalanceInProgress.code))  # the rebalance under way is lost
        except Refusal as refusal:
            reply(SyncAnswer(refusal.code))

    def heartbeat(self, group: str, claim: MemberClaim) -> None:
        """Heartbeat; a coordinator that is loading accepts it without a check.

        Raises:
            Refusal: the claim is not a member's of the current generation, or a rebalance is under way.
        """
        with suppress(CoordinatorLoadInProgress):
            self.members.heartbeat(self._known(group, claim.member_id), claim)

    def leave(self, group: str, member_id: str, group_instance_id: str | None = None) -> None:
        """LeaveGroup of one member.

        Raises:
            Refusal: there is no such member.
        """
        self.members.leave(self._known(group, member_id), member_id, group_instance_id)

    def _known(self, group: str, member_id: str) -> ClassicGroup:
        self._check_group_id(group)
        found = self.shards.of_group(group).groups.get(group)
        if found is None:
            raise UnknownMemberId(group=group, member=member_id)
        return found

    def _check_group_id(self, group: str) -> None:
        if self._profile.empty_group_id_refused:
            check_group_id(group)

    def _store(self, group: ClassicGroup) -> None:
        self.shards.of_group(group.group).store(group)

    def pass_time(self) -> None:
        """Do what is due by now in every group."""
        for shard in self.shards.read():
            for group in tuple(shard.groups.values()):
                self.members.pass_time(group)


def check_group_id(group: str) -> None:
    """Only plain offsets may belong to a group without a name.

    Raises:
        InvalidGroupId: the name is empty.
    """
    if not group:
        raise InvalidGroupId(group=group)


def fetched(offsets: GroupOffsets, key: OffsetKey, require_stable: bool) -> FetchedOffset:
    """The answer about one offset."""
    # [offsets.stable_fetch]
    if require_stable and offsets.is_unstable(key):
        return FetchedOffset(UnstableOffsetCommit.code)
    recorded = offsets.committed.get(key)
    if recorded is None:
        return FetchedOffset()
    value = recorded.value
    return FetchedOffset(ErrorCode.NONE, value.offset, value.metadata, value.leader_epoch)
