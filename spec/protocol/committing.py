"""TxnOffsetCommit and OffsetCommit: who may commit offsets of a group, and the batch that goes to the log.

The coordinator of the transaction verifies a transactional commit (KIP-890), the group checks the member
(KIP-447), and the group's partition of `__consumer_offsets` appends a transactional batch, which `append`
decides. Sources: KafkaApis, GroupCoordinator up to 3.9; GroupCoordinatorService, OffsetMetadataManager since.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, choose, negate
from spec.protocol import verification
from spec.protocol.append import NONE_DROPPED
from spec.protocol.groups import NO_MEMBER, GroupEntry, KnownClaim, commit_guards
from spec.protocol.guards import Guard, branch, dropped, error_of
from spec.protocol.records import AppendRequest
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin

ADDS_SINCE: Final = 5
"""First version of TxnOffsetCommit with which the offsets partition joins the transaction, instead of asking."""

ABORTABLE_SINCE: Final = 4
"""First version of TxnOffsetCommit that knows TRANSACTION_ABORTABLE."""

TXN_NOT_FOUND_SINCE: Final = 6
"""First version of TxnOffsetCommit that knows GROUP_ID_NOT_FOUND."""

NOT_FOUND_SINCE: Final = 9
"""First version of OffsetCommit that knows GROUP_ID_NOT_FOUND."""

FENCED_SINCE: Final = 2
"""First version of AddOffsetsToTxn that knows PRODUCER_FENCED."""

FIRST_SEQUENCE: Final = 0
"""Base sequence of every transactional batch of offsets: no sequence is looked at where a coordinator appends.

Kafka asks the transaction's coordinator about the batch without a sequence, which is compared with none either.
"""

REPORTED: Final = MappingProxyType(
    {
        ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""What a group's coordinator makes of errors of the partition and of the transaction's coordinator.

Source: CoordinatorOperationExceptionHelper.handleOperationException of 4.0 to 4.4; the last line is from
AddPartitionsToTxnManager, which words the answer of the transaction's coordinator.
"""


SCALA_REPORTED: Final = MappingProxyType(
    {
        ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""The same before 4.0 (GroupMetadataManager.maybeConvertOffsetCommitError, before 3.7 in storeOffsets)."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """TxnOffsetCommit or OffsetCommit, as the group's coordinator sees it before the log.

    Attributes:
        verification_error: what the transaction's coordinator answered; none where it was not asked.
        claim: who commits.
        group_unnamed: the group's id is empty.
    """

    version: Term
    verification_error: Term = ErrorCode.NONE.value
    claim: KnownClaim = NO_MEMBER
    group_unnamed: Term = False


@dataclass(frozen=True, slots=True)
class CommitDecision:
    """The decision before the log is asked: number of the guard that refused and its error, both 0 where none did."""

    branch: Term
    error: Term


def commit_in_transaction(
    group: GroupEntry, request: CommitRequest, profile: Profile, without: frozenset[str] = NONE_DROPPED
) -> CommitDecision:
    """Let the offsets of a transaction through to the log, or refuse them.

    Args:
        group: the group.
        request: the commit.
        profile: the release.
        without: names of guards that never apply, to see what breaks without them; none in any release.
    """
    return _decided(transactional_guards(group, request, profile), without)


def transactional_guards(group: GroupEntry, request: CommitRequest, profile: Profile) -> tuple[Guard, ...]:
    """Every check of TxnOffsetCommit before the log, in Kafka's order.

    Before 3.7 no coordinator is asked. Where one was asked after the group was looked at, the group was looked at
    again only by who committed next (KAFKA-15784).
    """
    unnamed = _unnamed(request, profile)
    unverified = Guard(
        "unverified",
        rules.TXN_REGISTERED_BEFORE_DATA,
        all_of(profile.commits_verified, negate(request.verification_error == ErrorCode.NONE.value)),
        reported(request.verification_error, request.version, profile),
    )
    members = commit_guards(
        group, request.claim, profile, transactional=True, not_found=request.version >= TXN_NOT_FOUND_SINCE
    )
    if profile.offsets_verified_first:
        return (unnamed, unverified, *members)
    return (unnamed, *members, unverified)


def commit(
    group: GroupEntry, request: CommitRequest, profile: Profile, without: frozenset[str] = NONE_DROPPED
) -> CommitDecision:
    """Let offsets that belong to no transaction through to the log, or refuse them.

    Args:
        group: what its coordinator knows of it.
        request: the commit.
        profile: the release.
        without: names of guards to leave out.
    """
    return _decided(plain_guards(group, request, profile), without)


def plain_guards(group: GroupEntry, request: CommitRequest, profile: Profile) -> tuple[Guard, ...]:
    """Every check of OffsetCommit before the log, in Kafka's order; the group's id may be empty."""
    not_found = request.version >= NOT_FOUND_SINCE
    return commit_guards(group, request.claim, profile, transactional=False, not_found=not_found)


def reported(error: Term, version: Term, profile: Profile) -> Term:
    """An error of the partition or of the transaction's coordinator, as this version of TxnOffsetCommit returns it.

    Args:
        error: as the partition or the transaction's coordinator has it.
        version: of the request.
        profile: the release.
    """
    table = SCALA_REPORTED if profile.scala_group_errors else REPORTED
    unknown = all_of(error == ErrorCode.TRANSACTION_ABORTABLE.value, version < ABORTABLE_SINCE)
    renamed = error
    for met, known in table.items():
        renamed = choose(error == met.value, known.value, renamed)
    return choose(unknown, ErrorCode.INVALID_TXN_STATE.value, renamed)


def of_partition(error: Term, partition_exists: Term) -> Term:
    """The error of one partition of a commit: that it does not exist, or the error of the others."""
    return choose(partition_exists, error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value)


def to_append(producer_id: Term, producer_epoch: Term, offsets: Term, log_end: Term) -> AppendRequest:
    """The batch of a transactional commit of so many offsets, as the group's partition appends it.

    Args:
        producer_id: of the transaction.
        producer_epoch: of the transaction.
        offsets: how many are committed, a record each.
        log_end: of the group's partition, where the batch goes.
    """
    return AppendRequest(
        base_offset=log_end,
        origin=Origin.COORDINATOR.value,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=FIRST_SEQUENCE,
        last_offset_delta=offsets - 1,
        record_count=offsets,
        transactional=True,
    )


def to_append_plain(offsets: Term, log_end: Term) -> AppendRequest:
    """The batch of offsets that belong to no transaction, which has no producer."""
    return AppendRequest(
        base_offset=log_end,
        origin=Origin.COORDINATOR.value,
        last_offset_delta=offsets - 1,
        record_count=offsets,
    )


def as_produce(version: Term) -> Term:
    """A version of Produce of which the coordinator is asked as it is of this version of TxnOffsetCommit."""
    return choose(version >= ADDS_SINCE, verification.ADDS_SINCE, 0)


def _unnamed(request: CommitRequest, profile: Profile) -> Guard:
    refused = all_of(profile.empty_group_id_refused, request.group_unnamed)
    return Guard("group_unnamed", rules.OFFSETS_GENERATION_FENCE, refused, ErrorCode.INVALID_GROUP_ID.value)


def _decided(checks: tuple[Guard, ...], without: frozenset[str]) -> CommitDecision:
    kept = dropped(checks, without)
    decided = branch(kept)
    return CommitDecision(decided, error_of(kept, decided))
