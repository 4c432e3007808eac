"""Steps of transaction coordinators as rows: what was asked, the answer, the transactional id before and after."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import BY_BROKER_SINCE, offsets_partition_of
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition, TransactionEntry, TransactionMetadata
from reference.client.coordinator_channel import AddOffsets, AddPartitions, CoordinatorAnswer
from reference.recording.recorder import Row
from reference.world.messages import Verify
from reference.world.node import TransactionRequest
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

VERIFY_PARTITIONS: Final = "VerifyPartitions"
"""The api of a row in which partitions are asked about, and none is added."""


class CoordinatorState(NamedTuple):
    """A transactional id as its coordinator has it."""

    metadata: TransactionMetadata
    pending: TransactionState | None
    failed_fence: bool


Memory = dict[str, CoordinatorState]
"""What a coordinator knows, by transactional id."""


def memory_of(coordinator: TransactionCoordinator) -> Memory:
    """What a coordinator knows now."""
    return {entry.transactional_id: _known(entry) for entry in coordinator.states.entries()}


def known_of(coordinator: TransactionCoordinator, transactional_id: str) -> CoordinatorState | None:
    """What a coordinator knows now of one id."""
    entry = coordinator.states.remembered(transactional_id)
    return None if entry is None else _known(entry)


def _known(entry: TransactionEntry) -> CoordinatorState:
    return CoordinatorState(entry.metadata, entry.pending, entry.failed_fence)


def changed(before: Memory, after: Memory) -> list[str]:
    """The transactional ids that are not what they were."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def looked_at(before: Memory, after: Memory) -> list[str]:
    """The transactional ids that a search for timeouts is about: those that were open, and those that it changed.

    An id that stays open is among them: that nothing happened to it in time can be wrong.
    """
    opened = (key for key, known in before.items() if known.metadata.state == TransactionState.ONGOING)
    return sorted({*opened, *changed(before, after)})


def known_columns(prefix: str, known: CoordinatorState | None, touched: Collection[TopicPartition] = ()) -> Row:
    """The state columns of a transactional id, named with `prefix`; absent where it is unknown."""
    if known is None:
        return {}
    metadata, pending, failed_fence = known
    return {
        f"{prefix}txn_state": int(metadata.state),
        f"{prefix}txn_producer_id": metadata.producer_id,
        f"{prefix}txn_epoch": metadata.epoch,
        f"{prefix}txn_previous_producer_id": metadata.previous_producer_id,
        f"{prefix}txn_last_epoch": metadata.last_epoch,
        f"{prefix}txn_timeout_ms": metadata.timeout_ms,
        f"{prefix}txn_partitions": len(metadata.partitions),
        f"{prefix}txn_pending": ABSENT if pending is None else int(pending),
        f"{prefix}txn_next_producer_id": metadata.next_producer_id,
        f"{prefix}txn_client_version": metadata.client_version,
        f"{prefix}txn_started_ms": metadata.started_ms,
        f"{prefix}txn_updated_ms": metadata.updated_ms,
        f"{prefix}partition_registered": bool(touched) and metadata.partitions.issuperset(touched),
        f"{prefix}txn_failed_fence": failed_fence,
    }


def request_columns(request: TransactionRequest, touched: Sequence[TopicPartition]) -> Row:
    """The columns of REQUEST that a client's request fills; of the partitions touched the first one is named."""
    columns: Row = {"api_version": request.version, "transactional_id": request.transactional_id}
    for name in ("producer", "expected"):
        identity = getattr(request, name, None)
        if identity is not None:
            columns |= identity_columns("" if name == "producer" else "expected_", identity)
    columns["timeout_ms"] = getattr(request, "timeout_ms", ABSENT)
    columns["committed"] = getattr(request, "commit", False)
    columns["group"] = getattr(request, "group", "")
    return columns | {"topic": touched[0].topic, "partition": touched[0].partition} if touched else columns


def identity_columns(prefix: str, identity: ProducerIdentity) -> Row:
    """Producer id and epoch, as the producer's own or as those that it expects."""
    epoch = f"{prefix}epoch" if prefix else "producer_epoch"
    return {f"{prefix}producer_id": identity.producer_id, epoch: identity.epoch}


def touched_by(request: TransactionRequest, offsets_partitions: int) -> tuple[TopicPartition, ...]:
    """The partitions that a request is to add: those it names, or that of its group's offsets."""
    match request:
        case AddPartitions(partitions=partitions):
            return partitions
        case AddOffsets(group=group):
            return (offsets_partition_of(group, offsets_partitions),)
        case _:
            return ()


def verify_columns(request: Verify) -> Row:
    """The columns of REQUEST that a broker's question fills."""
    return {
        "api_version": BY_BROKER_SINCE,
        "transactional_id": request.transactional_id,
        "topic": request.partition.topic,
        "partition": request.partition.partition,
        **identity_columns("", request.producer),
    }


def answer_columns(answer: CoordinatorAnswer) -> Row:
    """The columns of REPLY."""
    errors = [error for error in answer.partitions.values() if error is not ErrorCode.NONE]
    return {
        "error": int(errors[0] if errors else answer.error),
        "reply_producer_id": answer.identity.producer_id,
        "reply_epoch": answer.identity.epoch,
    }
