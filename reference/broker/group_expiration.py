"""Offsets that have expired or whose topics are gone, and groups that have none left.

A coordinator of the classic kind (before 4.0) changes its memory and then writes tombstones, of committed offsets
alone; one of the new kind writes tombstones, and its memory follows the log.
"""

from collections.abc import Collection
from contextlib import suppress

from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_record import OffsetKey, OffsetValue
from reference.broker.group_shards import Shard
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from spec.vocabulary import NO_TIMESTAMP, GroupState, Timestamp


def expire_offsets(coordinator: GroupCoordinator) -> tuple[OffsetKey, ...]:
    """Remove expired offsets of groups without members, and groups without offsets; returns the removed offsets."""
    expired: list[OffsetKey] = []
    for shard in coordinator.shards.read():
        for group in tuple(shard.groups.values()):
            if group.state is GroupState.EMPTY:
                expired += _expire(shard, group, coordinator.clock.now, coordinator.config.retention_ms)
    return tuple(expired)


def _expire(shard: Shard, group: ClassicGroup, now: Timestamp, retention_ms: int) -> list[OffsetKey]:
    """Write tombstones; where the log refuses them, the next attempt finds the same again.

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
    """Forget offsets that are committed or pending; which are forgotten.

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
    """Whether an offset has outlived its group's last member, or where there was none, its commit.

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
