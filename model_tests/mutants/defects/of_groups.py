"""Defects of the group coordinator: commits, markers on offsets, fetches, and loading.

Recorded sessions of real brokers see them; what the machines of transactions see is in `of_verification`. Left out,
because no session has two members of one group: whatever is wrong in a rebalance.
"""

from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import group_coordinator, group_log, group_offsets
from reference.broker.coordinator_errors import UnknownMemberId
from reference.broker.group_coordinator import GroupCoordinator, TransactionalCommit
from reference.broker.group_log import LoadedGroups
from reference.broker.group_metadata import ClassicGroup, Member
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import MemberClaim
from reference.broker.group_shards import Shard
from reference.log.batch import RecordBatch
from spec import rules
from spec.versions import Profile
from spec.vocabulary import NO_PRODUCER_ID, ProducerId

_complete = GroupOffsets.complete
_pend = GroupOffsets.pend
_check_commit = group_offsets.check_commit
_replay = group_log.replay
_take_over = Shard.take_over


def never_unstable(offsets: GroupOffsets, key: OffsetKey) -> bool:
    """No transaction is waited for."""
    return False


def unstable_by_oldest(offsets: GroupOffsets, key: OffsetKey) -> bool:
    """Only the producer that came first is looked at."""
    return key in next(iter(offsets.pending.values()), {})


def pend_as_committed(offsets: GroupOffsets, producer_id: ProducerId, key: OffsetKey, recorded: RecordedOffset) -> None:
    """Offsets count before their transaction has ended."""
    _pend(offsets, producer_id, key, recorded)
    offsets.commit(key, recorded)


def complete_as_committed(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """An abort commits as well."""
    _complete(offsets, producer_id, committed=True)


def complete_as_aborted(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """The offsets of a committed transaction are lost."""
    _complete(offsets, producer_id, committed=False)


def complete_everyone(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """One marker decides about the offsets of every producer."""
    for each in tuple(offsets.pending):
        _complete(offsets, each, committed)


def never_overtaken(offsets: GroupOffsets, key: OffsetKey, recorded: RecordedOffset) -> bool:
    """The transaction's offset counts, whatever was committed after it."""
    return False


def check_no_generation(group: ClassicGroup, claim: MemberClaim, profile: Profile) -> Member:
    """A member may commit in any generation."""
    return group.current(claim.member_id, claim.group_instance_id)


def check_nobody_in_transactions(
    group: ClassicGroup, claim: MemberClaim, transactional: bool, profile: Profile
) -> None:
    """Any member of a transaction commits, without a check of the group."""
    if not transactional:
        _check_commit(group, claim, transactional, profile)


def any_member(group: ClassicGroup, member_id: str, group_instance_id: str | None) -> Member:
    """A static instance is known by its name alone."""
    static = None if group_instance_id is None else group.static_member(group_instance_id)
    found = static or group.members.get(member_id)
    if found is None:
        raise UnknownMemberId(member=member_id)
    return found


def anybody_while_empty(group: ClassicGroup, claim: MemberClaim, transactional: bool, profile: Profile) -> None:
    """A group without members takes whatever generation a commit names."""
    if group.members:
        _check_commit(group, claim, transactional, profile)


def created_for_any(coordinator: GroupCoordinator, shard: Shard, requested: TransactionalCommit) -> ClassicGroup:
    """A commit of some generation creates the group that it misses."""
    return shard.create(requested.group)


def load_as_committed(batch: RecordBatch, loaded: LoadedGroups, profile: Profile) -> None:
    """A loading coordinator takes pending offsets for committed ones."""
    _replay(batch if batch.is_control else batch._replace(attributes=0, producer_id=NO_PRODUCER_ID), loaded, profile)


def take_over_without_pending(shard: Shard, known: LoadedGroups) -> None:
    """A loading coordinator forgets the offsets of open transactions."""
    known.offsets.pending.clear()
    _take_over(shard, known)


def take_over_without_members(shard: Shard, known: LoadedGroups) -> None:
    """A loading coordinator forgets the members of the groups."""
    _take_over(shard, known)
    shard.groups = {group: ClassicGroup(group) for group in shard.groups}


OF_GROUPS: Final = (
    Planted(
        "a stable fetch waits for no transaction",
        rules.OFFSETS_STABLE_FETCH,
        (Patch(GroupOffsets, "is_unstable", never_unstable),),
    ),
    Planted(
        "a stable fetch waits for the oldest transaction alone",
        rules.OFFSETS_STABLE_FETCH,
        (Patch(GroupOffsets, "is_unstable", unstable_by_oldest),),
    ),
    Planted(
        "offsets count before their transaction has ended",
        rules.OFFSETS_ATOMIC,
        (Patch(GroupOffsets, "pend", pend_as_committed),),
    ),
    Planted(
        "offsets of an aborted transaction count",
        rules.OFFSETS_ATOMIC,
        (Patch(GroupOffsets, "complete", complete_as_committed),),
    ),
    Planted(
        "offsets of a committed transaction are lost",
        rules.OFFSETS_ATOMIC,
        (Patch(GroupOffsets, "complete", complete_as_aborted),),
    ),
    Planted(
        "a marker decides about the offsets of every producer",
        rules.OFFSETS_ATOMIC,
        (Patch(GroupOffsets, "complete", complete_everyone),),
    ),
    Planted(
        "a transaction's offset wins over a later one",
        rules.OFFSETS_ATOMIC,
        (Patch(GroupOffsets, "is_overtaken", never_overtaken),),
    ),
    Planted(
        "pending offsets are loaded as committed",
        rules.OFFSETS_ATOMIC,
        (Patch(group_log, "replay", load_as_committed),),
    ),
    Planted(
        "a coordinator that loads forgets pending offsets",
        rules.OFFSETS_ATOMIC,
        (Patch(Shard, "take_over", take_over_without_pending),),
    ),
    Planted(
        "a past generation commits",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(group_offsets, "check_member", check_no_generation),),
    ),
    Planted(
        "whoever has a transaction commits offsets",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(group_coordinator, "check_commit", check_nobody_in_transactions),),
    ),
    Planted(
        "a replaced static member commits",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(ClassicGroup, "current", any_member),),
    ),
    Planted(
        "a group without members takes every generation",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(group_coordinator, "check_commit", anybody_while_empty),),
    ),
    Planted(
        "a commit creates the group of its generation",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(GroupCoordinator, "_created", created_for_any),),
    ),
    Planted(
        "a coordinator that loads forgets the members",
        rules.OFFSETS_GENERATION_FENCE,
        (Patch(Shard, "take_over", take_over_without_members),),
    ),
)
"""Every mutant of the group coordinator."""
