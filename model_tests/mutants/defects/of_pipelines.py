"""Defects of consumers in groups, of their coordinator, and of their use of transactions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from model_tests.mutants.defects.of_groups import (
    any_member,
    check_nobody_in_transactions,
    complete_as_aborted,
    complete_as_committed,
    never_unstable,
    pend_as_committed,
    take_over_without_pending,
)
from model_tests.mutants.defects.of_transactional_client import deliver_everything
from model_tests.mutants.defects.planted import Planted, defect
from reference.broker import group_coordinator
from reference.broker.group_coordinator import GroupCoordinator, TransactionalCommit
from reference.broker.group_membership import Membership
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import GroupOffsets
from reference.broker.group_requests import NO_CLAIM, MemberClaim, OffsetAndMetadata, Offsets
from reference.broker.group_shards import Shard
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client import assignment, consumer, group_consumer
from reference.client.assignment import Assigned, Counts, Subscriber
from reference.client.coordinator_channel import PendingResult, TxnOffsetCommit
from reference.client.group_consumer import GroupConsumer
from reference.client.group_exchange import OffsetFetch
from reference.client.transaction_manager import TransactionManager
from reference.world.appends import Appends
from reference.world.messages import Request, WriteMarker
from reference.world.pipelines import GROUP, PipelineWorld
from reference.world.worker import WorkerRun
from spec import rules
from spec.vocabulary import Offset

_offset_commit = TransactionManager._offset_commit
_take_over = GroupConsumer._take_over
_positions = GroupConsumer.positions
_complete_generation = Membership._complete
_mark = Appends.mark


# --- consumers ------------------------------------------------------------------------------------------------


def commit_without_member(
    manager: TransactionManager, producer: ProducerIdentity, group: str, offsets: Offsets, claim: MemberClaim
) -> TxnOffsetCommit:
    """Offsets in a transaction do not say which member sends them, as before KIP-447."""
    return _offset_commit(manager, producer, group, offsets, NO_CLAIM)


def claim_of_today(world: PipelineWorld, worker: WorkerRun, offsets: Offsets) -> PendingResult:
    """A member that was thrown out names no member, since it is none now."""
    return world.application_sends_offsets(worker.instance, GROUP, offsets, worker.consumer.member.claim)


def stay_after_abort(read: GroupConsumer) -> None:
    """After an abort the consumer continues behind what it has read."""


def begin_anew(read: GroupConsumer) -> None:
    """After an assignment the consumer begins where the log does, not where the group is."""
    _take_over(read)
    read.unknown.clear()


def fetch_unstable(group: str, partitions: tuple[TopicPartition, ...], require_stable: bool) -> OffsetFetch:
    """Offsets that an open transaction may change are not waited for."""
    return OffsetFetch(group, partitions, require_stable=False)


def one_further(read: GroupConsumer) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offset of one record more than was read is committed."""
    return {partition: OffsetAndMetadata(Offset(each.offset + 1)) for partition, each in _positions(read).items()}


def last_read(read: GroupConsumer) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offset of the last record is committed, not that of the next."""
    return {
        partition: OffsetAndMetadata(Offset(max(0, each.offset - 1))) for partition, each in _positions(read).items()
    }


def send_all_to_all_partitions(members: Sequence[Subscriber], counts: Counts) -> Assigned:
    """Every member is assigned all partitions of its topics."""
    return {
        member.member_id: [TopicPartition(topic, n) for topic in member.topics for n in range(counts.get(topic, 0))]
        for member in members
    }


# --- the coordinator of the group -----------------------------------------------------------------------------


def write_outside(coordinator: GroupCoordinator, shard: Shard, requested: TransactionalCommit, guard: int) -> None:
    """Offsets are written outside of the transaction that they were sent in."""
    shard.write(coordinator._records(requested.group, requested.offsets))


def same_generation(membership: Membership, group: ClassicGroup) -> None:
    """A rebalance leaves the generation as it was, once there is one."""
    before = group.generation
    _complete_generation(membership, group)
    if before > 0:
        group.generation = before


# --- markers --------------------------------------------------------------------------------------------------


def other_outcome(appends: Appends, request: Request, requested: WriteMarker) -> None:
    """The last partition gets the other outcome."""
    if requested.partition.partition == 1:
        requested = requested._replace(marker=replace(requested.marker, committed=not requested.marker.committed))
    _mark(appends, request, requested)


OF_PIPELINES: Final[tuple[Planted, ...]] = (
    defect(
        "after an abort the consumer does not go back", rules.OFFSETS_ATOMIC, GroupConsumer, "rewind", stay_after_abort
    ),
    defect(
        "offsets in a transaction name no member",
        rules.OFFSETS_ATOMIC,
        TransactionManager,
        "_offset_commit",
        commit_without_member,
    ),
    defect(
        "an assignment begins at the start of the log", rules.OFFSETS_ATOMIC, GroupConsumer, "_take_over", begin_anew
    ),
    defect("the consumer commits one record more", rules.OFFSETS_ATOMIC, GroupConsumer, "positions", one_further),
    defect("the consumer commits one record less", rules.OFFSETS_ATOMIC, GroupConsumer, "positions", last_read),
    defect(
        "a consumer takes unstable offsets",
        rules.OFFSETS_STABLE_FETCH,
        group_consumer,
        OffsetFetch.__name__,
        fetch_unstable,
    ),
    defect(
        "every member is assigned every partition",
        rules.OFFSETS_ATOMIC,
        assignment,
        "ASSIGNORS",
        dict.fromkeys(assignment.ASSIGNORS, send_all_to_all_partitions),
    ),
    defect("workers read aborted words", rules.LSO_READ_COMMITTED, consumer, "delivered", deliver_everything),
    defect(
        "whoever has a transaction commits offsets of the group",
        rules.OFFSETS_GENERATION_FENCE,
        group_coordinator,
        "check_commit",
        check_nobody_in_transactions,
    ),
    defect("a replaced static member commits", rules.OFFSETS_GENERATION_FENCE, ClassicGroup, "current", any_member),
    defect("who was thrown out names nobody", rules.OFFSETS_ATOMIC, PipelineWorld, "_sends_offsets", claim_of_today),
    defect("a stable fetch does not wait", rules.OFFSETS_STABLE_FETCH, GroupOffsets, "is_unstable", never_unstable),
    defect(
        "a coordinator that moves forgets pending offsets",
        rules.OFFSETS_STABLE_FETCH,
        Shard,
        "take_over",
        take_over_without_pending,
    ),
    defect(
        "offsets of a committed transaction are lost",
        rules.OFFSETS_ATOMIC,
        GroupOffsets,
        "complete",
        complete_as_aborted,
    ),
    defect(
        "offsets of an aborted transaction count", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", complete_as_committed
    ),
    defect("offsets count at once", rules.OFFSETS_ATOMIC, GroupOffsets, "pend", pend_as_committed),
    defect(
        "offsets are written outside of their transaction",
        rules.OFFSETS_ATOMIC,
        GroupCoordinator,
        "_write_pending",
        write_outside,
    ),
    defect(
        "a rebalance keeps the generation", rules.OFFSETS_GENERATION_FENCE, Membership, "_complete", same_generation
    ),
    defect("one partition gets the other outcome", rules.TXN_ATOMIC, Appends, "mark", other_outcome),
)
"""Every mutant of pipelines."""
