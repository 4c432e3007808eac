"""The coordinator's requests at its broker: versions of requests, unknown partitions, old clients (KafkaApis)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.broker.end_txn import EndTransaction
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import partition_for
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition
from reference.errors import InvalidRequest, Refusal
from spec.versions import Profile
from spec.vocabulary import NO_EPOCH, NO_PRODUCER_ID, Api, ErrorCode, TransactionState

FENCED_SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {Api.INIT_PRODUCER_ID: 4, Api.ADD_PARTITIONS_TO_TXN: 2, Api.ADD_OFFSETS_TO_TXN: 2, Api.END_TXN: 2}
)
"""First version of each request whose clients know PRODUCER_FENCED; older ones get INVALID_PRODUCER_EPOCH."""

BY_BROKER_SINCE: Final = 4
"""First version of AddPartitionsToTxn that only brokers send."""

BUMPS_SINCE: Final = 5
"""First version of EndTxn that bumps the epoch, and answers with the identity of the next transaction."""

NO_IDENTITY: Final = ProducerIdentity(NO_PRODUCER_ID, NO_EPOCH)

OFFSETS_TOPIC: Final = "__consumer_offsets"


class IdentityAnswer(NamedTuple):
    """The answer to InitProducerId and EndTxn; -1 where it has no identity."""

    error: ErrorCode
    identity: ProducerIdentity = NO_IDENTITY


@dataclass(frozen=True, slots=True)
class AddPartitionsRequest:
    """AddPartitionsToTxn of one transaction; `verify_only` verifies the partitions without adding them."""

    version: int
    transactional_id: str
    producer: ProducerIdentity
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False


def reported(profile: Profile, api: str, version: int, error: ErrorCode) -> ErrorCode:
    """The error in the version of the request.

    Args:
        profile: of the broker; before 2.7 there is no PRODUCER_FENCED in any version.
        api: name of the request.
        version: of the request.
        error: the coordinator's.
    """
    if error is ErrorCode.PRODUCER_FENCED and not (profile.fenced_has_code and version >= FENCED_SINCE[api]):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def handle_init_producer_id(
    coordinator: TransactionCoordinator,
    version: int,
    transactional_id: str | None,
    timeout_ms: int,
    expected: ProducerIdentity = NO_IDENTITY,
) -> IdentityAnswer:
    """Answer InitProducerId; half an expected identity is none.

    Args:
        coordinator: the node's, of transactions.
        version: of the request; its client's error codes depend on it.
        transactional_id: none for an idempotent producer without transactions.
        timeout_ms: transaction.timeout.ms of the client.
        expected: the identity that the client resumes from (KIP-360).
    """
    try:
        given = None if transactional_id is None else expected_identity(expected)
        identity = coordinator.init_producer_id(transactional_id, timeout_ms, given)
    except Refusal as refusal:
        return IdentityAnswer(reported(coordinator.profile, Api.INIT_PRODUCER_ID, version, refusal.code))
    return IdentityAnswer(ErrorCode.NONE, identity)


def expected_identity(expected: ProducerIdentity) -> ProducerIdentity | None:
    """The identity that a producer expects to have, None if it has none yet.

    Raises:
        InvalidRequest: it has one of producer id and epoch only.
    """
    if expected == NO_IDENTITY:
        return None
    if expected.producer_id == NO_PRODUCER_ID or expected.epoch == NO_EPOCH:
        raise InvalidRequest(producer_id=expected.producer_id, epoch=expected.epoch)
    return expected


def handle_add_partitions(
    coordinator: TransactionCoordinator, request: AddPartitionsRequest, existing: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Answer AddPartitionsToTxn; one partition that does not exist fails the whole request."""
    refused = refused_as_missing(request.partitions, existing)
    if refused:
        return refused
    try:
        return _added_or_verified(coordinator, request)
    except Refusal as refusal:
        error = reported(coordinator.profile, Api.ADD_PARTITIONS_TO_TXN, request.version, refusal.code)
        return dict.fromkeys(request.partitions, error)


def refused_as_missing(
    partitions: Collection[TopicPartition], existing: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """The answer for each partition where some do not exist, before any coordinator is asked; else nothing."""
    missing = {partition for partition in partitions if partition not in existing}
    others = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED) if missing else {}
    return others | dict.fromkeys(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _added_or_verified(
    coordinator: TransactionCoordinator, request: AddPartitionsRequest
) -> dict[TopicPartition, ErrorCode]:
    if request.verify_only:
        return coordinator.verify_partitions(request.transactional_id, request.producer, request.partitions)
    client_version = BUMPS_EPOCH if request.version >= BY_BROKER_SINCE else 0
    coordinator.add_partitions(request.transactional_id, request.producer, request.partitions, client_version)
    return dict.fromkeys(request.partitions, ErrorCode.NONE)


def handle_add_offsets(
    coordinator: TransactionCoordinator,
    version: int,
    transactional_id: str,
    producer: ProducerIdentity,
    offsets_partition: TopicPartition,
) -> ErrorCode:
    """Answer AddOffsetsToTxn: the group's partition of the offsets topic joins the transaction.

    Args:
        coordinator: the node's, of transactions.
        version: of the request; its client's error codes depend on it.
        transactional_id: whose transaction.
        producer: the identity in the request.
        offsets_partition: of `__consumer_offsets`, where the group's offsets go.
    """
    try:
        coordinator.add_partitions(transactional_id, producer, (offsets_partition,))
    except Refusal as refusal:
        return reported(coordinator.profile, Api.ADD_OFFSETS_TO_TXN, version, refusal.code)
    return ErrorCode.NONE


def offsets_partition_of(group: str, partitions: int) -> TopicPartition:
    """The partition of the offsets topic that a group's offsets are in."""
    return TopicPartition(OFFSETS_TOPIC, partition_for(group, partitions))


def handle_end_txn(
    coordinator: TransactionCoordinator, version: int, transactional_id: str, producer: ProducerIdentity, commit: bool
) -> IdentityAnswer:
    """Answer EndTxn; from version 5 on with the identity of the next transaction.

    Args:
        coordinator: the node's, of transactions.
        version: of the request; from 5 on its client raises the epoch with every transaction (KIP-890).
        transactional_id: whose transaction.
        producer: the identity in the request.
        commit: commit it, or else abort it.
    """
    bumps = version >= BUMPS_SINCE
    request = EndTransaction(transactional_id, *producer, commit, BUMPS_EPOCH if bumps else 0)
    try:
        identity = coordinator.end_txn(request)
    except Refusal as refusal:
        return IdentityAnswer(reported(coordinator.profile, Api.END_TXN, version, refusal.code))
    return IdentityAnswer(ErrorCode.NONE, identity if bumps else NO_IDENTITY)


STATE_NAMES: Final[Mapping[str, TransactionState]] = MappingProxyType(
    {"".join(part.title() for part in state.name.split("_")): state for state in TransactionState}
)
"""States by their names in requests, as CompleteCommit."""


class ListedId(NamedTuple):
    """One id in the answer to ListTransactions."""

    transactional_id: str
    producer_id: int
    state: TransactionState


def list_transactions(
    coordinator: TransactionCoordinator, states: Collection[str], producer_ids: Collection[int]
) -> tuple[tuple[ListedId, ...], tuple[str, ...]]:
    """The ids that pass both filters (an empty one passes all), and the filters that name no state."""
    unknown = tuple(name for name in states if name not in STATE_NAMES)
    wanted = {STATE_NAMES[name] for name in states if name in STATE_NAMES}
    listed = (
        ListedId(transactional_id, metadata.producer_id, metadata.state)
        for transactional_id, metadata in coordinator.listed()
        if (not states or metadata.state in wanted) and (not producer_ids or metadata.producer_id in producer_ids)
    )
    return tuple(listed), unknown
