"""What is asked of a group's coordinator about offsets, as rows: one for each partition of the request."""

from collections.abc import Iterable, Mapping
from typing import Final

from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import FetchedOffset, MemberClaim
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import TxnOffsetCommit
from reference.errors import Refusal
from reference.recording.recorder import Row
from spec.vocabulary import ABSENT

Observed = Mapping[TopicPartition, Row]
"""What a coordinator knows of a group and of its offset of each partition."""

_STATE: Final = ("group_generation", "committed_offset")


def of_group(group: str, partition: TopicPartition) -> Row:
    """A group and one of its partitions, as a row names them."""
    return {"group": group, "topic": partition.topic, "partition": partition.partition}


def observed(coordinator: GroupCoordinator, group: str, partitions: Iterable[TopicPartition]) -> Observed:
    """What a coordinator knows of a group and of its offsets; nothing where it cannot answer for the group."""
    try:
        shard = coordinator.shards.of_group(group)
    except Refusal:
        return {}
    found = shard.groups.get(group)
    generation = ABSENT if found is None else found.generation
    rows: dict[TopicPartition, Row] = {}
    for partition in partitions:
        key = OffsetKey(group, partition)
        recorded = shard.offsets.committed.get(key)
        rows[partition] = {
            "group_generation": generation,
            "committed_offset": ABSENT if recorded is None else recorded.value.offset,
            "pending": shard.offsets.is_unstable(key),
        }
    return rows


def state_columns(before: Row, after: Row) -> Row:
    """A group's generation and one of its offsets, before and after a request."""
    reported: Row = {f"before_{name}": before[name] for name in _STATE}
    return reported | {f"after_{name}": after[name] for name in _STATE} | {"offset_pending": before["pending"]}


def fetch_columns(group: str, partition: TopicPartition, stable: bool, answer: FetchedOffset) -> Row:
    """OffsetFetch: whether a stable offset was asked for, and what was answered of one partition.

    Args:
        group: whose offset it is.
        partition: that was asked for.
        stable: whether the request wants no offset that may still change (KIP-447).
        answer: for the partition.
    """
    reported: Row = {"isolation": int(stable), "offset": answer.offset, "error": int(answer.error)}
    return of_group(group, partition) | reported


def commit_columns(request: TxnOffsetCommit, partition: TopicPartition) -> Row:
    """TxnOffsetCommit: whose offset it is, by producer, member and generation."""
    producer_id, epoch = request.producer
    reported: Row = {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "offset": request.offsets[partition].offset,
    }
    return of_group(request.group, partition) | claim_columns(request.claim) | reported


def claim_columns(claim: MemberClaim) -> Row:
    """The member and the generation in a request."""
    return {"generation": claim.generation, "member": claim.member_id}
