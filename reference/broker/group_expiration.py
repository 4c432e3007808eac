"""Offsets that nobody has asked for in a long time, and groups that have none left (offsets.retention.minutes)."""

from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_record import OffsetKey, OffsetValue
from reference.broker.group_shards import Shard
from reference.errors import Refusal
from spec.vocabulary import NO_TIMESTAMP, GroupState, Timestamp


def expire_offsets(coordinator: GroupCoordinator) -> tuple[OffsetKey, ...]:
    """Forget expired offsets of groups without members, and groups without offsets; the offsets forgotten."""
    expired: list[OffsetKey] = []
    for shard in coordinator.shards.read():
        for group in tuple(shard.groups.values()):
            if group.state is GroupState.EMPTY:
                expired += _expire(shard, group, coordinator.clock.now, coordinator.config.retention_ms)
    return tuple(expired)


def _expire(shard: Shard, group: ClassicGroup, now: Timestamp, retention_ms: int) -> list[OffsetKey]:
    """Write tombstones; where the log refuses them, the next attempt finds the same again."""
    committed = shard.offsets.of_group(group.group)
    expired = [
        key
        for key, recorded in committed.items()
        if is_expired(recorded.value, group, now, retention_ms) and not shard.offsets.is_unstable(key)
    ]
    try:
        if expired:
            shard.write([(key, None) for key in expired])
        if not shard.offsets.of_group(group.group) and not any(shard.offsets.pending_of(group.group)):
            shard.bury(group)
    except Refusal:
        return []
    return expired


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
