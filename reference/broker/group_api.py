"""The requests of groups at their broker: unknown partitions, versions of requests, old clients (KafkaApis)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from reference.broker.coordinator_errors import CoordinatorNotAvailable
from reference.broker.coordinator_errors import reported as reported_to_member
from reference.broker.group_coordinator import NOT_FOUND_SINCE, GroupCoordinator, TransactionalCommit
from reference.broker.group_requests import NO_CLAIM, FetchedOffset, MemberClaim, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.verification import ProduceVerification
from reference.errors import Refusal
from spec.vocabulary import NO_SEQUENCE, ErrorCode

LOADING_SINCE: Final = 2
"""First version of TxnOffsetCommit whose clients know COORDINATOR_LOAD_IN_PROGRESS."""


@dataclass(frozen=True, slots=True)
class TxnOffsetCommitRequest:
    """TxnOffsetCommit; before version 3 it cannot name a member."""

    version: int
    transactional_id: str
    group: str
    producer: ProducerIdentity
    offsets: Offsets
    claim: MemberClaim = NO_CLAIM

    def of(self, offsets: Offsets) -> TransactionalCommit:
        """The commit of some of its offsets."""
        return TransactionalCommit(self.version, self.group, self.producer, offsets, self.claim)


@dataclass(frozen=True, slots=True)
class OffsetsVerification(ProduceVerification):
    """The verification of one TxnOffsetCommit; no sequence waits for it."""

    abortable_since: ClassVar[int] = 4
    adds_since: ClassVar[int] = 5

    @property
    def verifies(self) -> bool:
        """Whether the broker verifies offsets; some releases verify data alone."""
        return self.profile.partition_verification and self.profile.commits_verified

    def reported(self, refusal: Refusal) -> Refusal:
        """The coordinator's refusal as the waiting requests got it, in the error codes of groups."""
        return reported_to_member(refusal, self.profile)


Answers = dict[TopicPartition, ErrorCode]


def handle_txn_offset_commit(
    coordinator: GroupCoordinator,
    request: TxnOffsetCommitRequest,
    verification: OffsetsVerification,
    existing: Collection[TopicPartition],
    *,
    begun: bool = False,
) -> Answers:
    """Answer TxnOffsetCommit, partition by partition; unknown partitions do not keep others from being committed.

    Args:
        coordinator: the node's, of groups.
        request: what the producer sent.
        verification: how the transaction's coordinator is asked for this request.
        existing: the existing partitions; offsets of others are answered with an error each.
        begun: the commit has begun before; the transaction's coordinator has been asked since.
    """

    def commit(offsets: Offsets) -> None:
        number, requested = coordinator.shards.topic.number_of(request.group), request.of(offsets)
        if not begun:
            coordinator.begin_commit(requested)
        guard = verification.guard_for(request.transactional_id, number, request.producer, NO_SEQUENCE)
        coordinator.finish_commit(requested, guard)

    answers = committed(request.offsets, existing, commit)
    return {partition: reported(request.version, error) for partition, error in answers.items()}


def reported(version: int, error: ErrorCode) -> ErrorCode:
    """The error in the version of TxnOffsetCommit."""
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < LOADING_SINCE:
        return CoordinatorNotAvailable.code
    return error


def handle_offset_commit(
    coordinator: GroupCoordinator,
    group: str,
    offsets: Offsets,
    claim: MemberClaim,
    existing: Collection[TopicPartition],
    version: int = NOT_FOUND_SINCE - 1,
) -> Answers:
    """Answer OffsetCommit, partition by partition.

    Args:
        coordinator: the node's, of groups.
        group: its id, which may be empty.
        offsets: what is committed, by partition.
        claim: the member and generation in the request.
        existing: the existing partitions; offsets of others are answered with an error each.
        version: of OffsetCommit.
    """
    return committed(offsets, existing, lambda known: coordinator.commit_offsets(group, known, claim, version))


def committed(offsets: Offsets, existing: Collection[TopicPartition], commit: Callable[[Offsets], None]) -> Answers:
    """Commit the offsets of partitions that exist; all of them have the same answer."""
    known = {partition: offset for partition, offset in offsets.items() if partition in existing}
    error = ErrorCode.NONE
    if known:
        try:
            commit(known)
        except Refusal as refusal:
            error = refusal.code
    return {partition: error if partition in known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for partition in offsets}


class OffsetsAnswer(NamedTuple):
    """The answer to OffsetFetch; an error of the whole group comes without partitions."""

    error: ErrorCode
    partitions: Mapping[TopicPartition, FetchedOffset] = MappingProxyType({})


def handle_offset_fetch(
    coordinator: GroupCoordinator, group: str, partitions: Collection[TopicPartition], require_stable: bool
) -> OffsetsAnswer:
    """Answer OffsetFetch.

    Args:
        coordinator: the node's, of groups.
        group: its id.
        partitions: whose offsets are requested.
        require_stable: no offset is returned that an open transaction may still change (KIP-447).
    """
    try:
        return OffsetsAnswer(ErrorCode.NONE, coordinator.fetch_offsets(group, partitions, require_stable))
    except Refusal as refusal:
        return OffsetsAnswer(refusal.code)
