"""DeleteGroups and OffsetDelete: what administrators have a group's coordinator forget.

Kafka up to 3.9 changes its memory and then writes tombstones, whatever becomes of them (`GroupCoordinator`,
`GroupMetadataManager.cleanupGroupMetadata`); since 4.0 the memory follows the log (`GroupCoordinatorShard`,
`OffsetMetadataManager`).
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import IntEnum, unique
from typing import NamedTuple

from reference.broker.group_coordinator import GroupCoordinator, check_group_id
from reference.broker.group_errors import GroupIdNotFound
from reference.broker.group_expiration import delete_keys
from reference.broker.group_metadata import CONSUMER, ClassicGroup
from reference.broker.group_record import GroupKey, Key, OffsetKey
from reference.broker.group_shards import Shard
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from spec.vocabulary import ErrorCode, GroupState


@unique
class DeletionError(IntEnum):
    """Kafka's codes that no rule of exactly-once is about."""

    NON_EMPTY_GROUP = 68
    GROUP_SUBSCRIBED_TO_TOPIC = 86


class Deleted(NamedTuple):
    """What came of a deletion.

    Attributes:
        error: of the whole group, 0 if there is none.
        forgotten: offsets that are gone, committed or pending.
        subscribed: partitions whose offsets stay, because members have subscribed to their topics.
    """

    error: int = ErrorCode.NONE
    forgotten: tuple[OffsetKey, ...] = ()
    subscribed: frozenset[TopicPartition] = frozenset()


def delete_group(coordinator: GroupCoordinator, group: str) -> Deleted:
    """Forget a group without members, and all its offsets.

    Args:
        coordinator: of the group.
        group: its name, which may be empty.
    """
    try:
        shard = coordinator.shards.of_group(group)
        found = _known(shard, group)
        if found.state is not GroupState.EMPTY:
            return Deleted(DeletionError.NON_EMPTY_GROUP)
        return Deleted(forgotten=_bury(shard, found))
    except Refusal as refusal:
        return Deleted(refusal.code)


def _known(shard: Shard, group: str) -> ClassicGroup:
    found = shard.groups.get(group)
    if found is None:
        raise GroupIdNotFound(group=group)
    return found


def _bury(shard: Shard, group: ClassicGroup) -> tuple[OffsetKey, ...]:
    """Forget a group; its log gets one batch.

    Raises:
        Refusal: the partition refuses, and nothing has changed (since 4.0).
    """
    keys = tuple(key for key in shard.offsets.known_keys() if key.group == group.group)
    if shard.profile.tombstone_drops_pending:
        _write(shard, (*keys, GroupKey(group.group)))
    else:
        committed = [key for key in keys if key in shard.offsets.committed]
        for key in keys:
            shard.offsets.bury(key, with_pending=True)
        with suppress(Refusal):
            _write(shard, (*committed, GroupKey(group.group)) if group.generation > 0 else committed)
    group.enter(GroupState.DEAD, shard.clock.now)
    del shard.groups[group.group]
    return keys


def _write(shard: Shard, keys: Collection[Key]) -> None:
    if keys:
        shard.write([(key, None) for key in keys])


def delete_group_offsets(coordinator: GroupCoordinator, group: str, partitions: Iterable[TopicPartition]) -> Deleted:
    """Forget offsets of a group, of partitions to whose topics no member has subscribed.

    Args:
        coordinator: of the group.
        group: its name.
        partitions: that there are.
    """
    try:
        check_group_id(group)
        shard = coordinator.shards.of_group(group)
        found = _known(shard, group)
        if found.state is not GroupState.EMPTY and found.protocol_type != CONSUMER:
            return Deleted(DeletionError.NON_EMPTY_GROUP)
    except Refusal as refusal:
        return Deleted(refusal.code)
    requested = tuple(dict.fromkeys(partitions))
    subscribed = frozenset(each for each in requested if found.is_subscribed_to(each.topic))
    wanted = {OffsetKey(group, each) for each in requested if each not in subscribed}
    keys = [key for key in shard.offsets.known_keys() if key in wanted]
    try:
        forgotten = delete_keys(shard, keys)
        if not shard.profile.tombstone_drops_pending and wanted:
            _bury_if_empty(shard, found)
    except Refusal as refusal:
        return Deleted(refusal.code)
    return Deleted(ErrorCode.NONE, tuple(forgotten), subscribed)


def _bury_if_empty(shard: Shard, group: ClassicGroup) -> None:
    """A group without members and offsets goes with its last offset (before 4.0)."""
    if group.state is GroupState.EMPTY and group.group not in shard.offsets.groups():
        _bury(shard, group)
