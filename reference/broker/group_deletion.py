"""What a group's coordinator forgets: offsets that have expired, and groups and offsets that administrators delete.

Up to 3.9 a coordinator changes its memory and then writes tombstones, of committed offsets alone, and whether the log
takes them has no effect (`GroupCoordinator`, `GroupMetadataManager.cleanupGroupMetadata`). Since 4.0 a coordinator
writes tombstones, and its memory follows the log (`GroupCoordinatorShard`, `OffsetMetadataManager`).
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import IntEnum, unique
from typing import NamedTuple

from reference.broker.coordinator_errors import GroupIdNotFound
from reference.broker.group_coordinator import GroupCoordinator, check_group_id
from reference.broker.group_metadata import CONSUMER, ClassicGroup
from reference.broker.group_record import GroupKey, Key, OffsetKey, OffsetValue
from reference.broker.group_shards import Shard
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from spec.vocabulary import NO_TIMESTAMP, ErrorCode, GroupState, Timestamp


def expire_offsets(coordinator: GroupCoordinator) -> tuple[OffsetKey, ...]:
    """Remove expired offsets of groups without members, and groups without offsets; returns the removed offsets."""
    expired: list[OffsetKey] = []
    for shard in coordinator.shards.read():
        for group in tuple(shard.groups.values()):
            if group.state is GroupState.EMPTY:
                expired += _expire(shard, group, coordinator.clock.now, coordinator.config.retention_ms)
    return tuple(expired)


def _expire(shard: Shard, group: ClassicGroup, now: Timestamp, retention_ms: int) -> list[OffsetKey]:
    """Write tombstones; if the log refuses them, the next attempt finds the same offsets again.

    A tombstone that would drop a pending offset waits for its transaction.
    """
    waits = shard.profile.tombstone_drops_pending
    committed = shard.offsets.of_group(group.group)
    expired = [
        key
        for key, recorded in committed.items()
        if is_expired(recorded.value, group, now, retention_ms) and not (waits and shard.offsets.is_unstable(key))
    ]
    try:
        if expired:
            shard.write([(key, None) for key in expired])
        if not shard.offsets.of_group(group.group) and not any(shard.offsets.pending_of(group.group)):
            shard.bury(group)
    except Refusal:
        return []
    return expired


def delete_offsets(coordinator: GroupCoordinator, deleted: Collection[TopicPartition]) -> tuple[OffsetKey, ...]:
    """Remove the committed and the pending offsets of partitions that are gone.

    A group without offsets is removed when offsets expire next.

    Args:
        coordinator: of the groups.
        deleted: partitions of topics that are gone.

    Returns:
        the removed offsets, committed or pending.
    """
    forgotten: list[OffsetKey] = []
    for shard in coordinator.shards.read():
        with suppress(Refusal):
            forgotten += delete_keys(shard, [key for key in shard.offsets.known_keys() if key.partition in deleted])
    return tuple(forgotten)


def delete_keys(shard: Shard, keys: list[OffsetKey]) -> list[OffsetKey]:
    """Forget committed or pending offsets; returns those that are forgotten.

    Raises:
        Refusal: the log refuses the tombstones; a classic coordinator forgets the offsets all the same.
    """
    follows_log = shard.profile.tombstone_drops_pending
    buried = [key for key in keys if follows_log or key in shard.offsets.committed]
    if not follows_log:
        for key in keys:
            shard.offsets.bury(key, with_pending=True)
    try:
        if buried:
            shard.write([(key, None) for key in buried])
    except Refusal:
        if follows_log:
            raise
    return keys


def is_expired(value: OffsetValue, group: ClassicGroup, now: Timestamp, retention_ms: int) -> bool:
    """Whether an offset has expired since its group lost the last member, or, if there was none, since its commit.

    Args:
        value: the committed offset.
        group: its group.
        now: the broker's clock, in milliseconds.
        retention_ms: offsets.retention.minutes, in milliseconds.
    """
    if value.expires_ms != NO_TIMESTAMP:
        return now >= value.expires_ms
    since = max(value.committed_ms, group.changed_ms) if group.protocol_type else value.committed_ms
    return now - since >= retention_ms


# --- what administrators delete ---------------------------------------------------------------------------------------


@unique
class DeletionError(IntEnum):
    """Kafka's error codes that no rule of exactly-once is about."""

    NON_EMPTY_GROUP = 68
    GROUP_SUBSCRIBED_TO_TOPIC = 86


class Deleted(NamedTuple):
    """The result of a deletion.

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
        partitions: those that exist.
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
    """Before 4.0 a group without members is deleted together with its last offset."""
    if group.state is GroupState.EMPTY and group.group not in shard.offsets.groups():
        _bury(shard, group)
