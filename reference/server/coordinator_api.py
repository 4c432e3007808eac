"""FindCoordinator, and what transactional producers ask of their coordinators."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from reference.broker.group_requests import MemberClaim, OffsetAndMetadata, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import BY_BROKER_SINCE, handle_init_producer_id, refused_as_missing
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import (
    NO_NODE,
    AddOffsets,
    AddPartitions,
    CoordinatorAnswer,
    CoordinatorRequest,
    CoordinatorType,
    EndTxn,
    InitProducerId,
    TxnOffsetCommit,
)
from reference.server.service import ClientRequest, Fields, Service, by_topic
from reference.world.history import INSTANCE
from reference.world.messages import Answer, CoordinatorCall
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId

KINDS: Final[Mapping[int, CoordinatorType]] = {0: CoordinatorType.GROUP, 1: CoordinatorType.TRANSACTION}
"""By the number that FindCoordinator has for them; there are no share groups."""

KEYS_SINCE: Final = 4
"""First version of FindCoordinator that asks for several at once."""


def find_coordinator(service: Service, call: ClientRequest) -> None:
    """Who coordinates groups or transactional ids."""
    message = call.message
    if call.version >= KEYS_SINCE:
        found = [{"key": key, **_coordinator(service, call, message.key_type, key)} for key in message.coordinator_keys]
        call.reply({"coordinators": found})
    else:
        call.reply(_coordinator(service, call, message.key_type, message.key))


def _coordinator(service: Service, call: ClientRequest, kind: int, key: str) -> Fields:
    if kind not in KINDS:
        return _no_coordinator(ErrorCode.INVALID_REQUEST, "no coordinator of this kind")
    answer = service.world.brokers.found_coordinator(call.node, KINDS[kind], key)
    if answer.error is not ErrorCode.NONE:
        return _no_coordinator(answer.error, None)
    host, port = service.endpoint(answer.node)
    return {"error_code": 0, "error_message": None, "node_id": answer.node, "host": host, "port": port}


def _no_coordinator(error: ErrorCode, why: str | None) -> Fields:
    return {"error_code": int(error), "error_message": why, "node_id": NO_NODE, "host": "", "port": NO_NODE}


# --- producers ------------------------------------------------------------------------------------------------


def init_producer_id(service: Service, call: ClientRequest) -> None:
    """Give a producer its id and epoch."""
    message = call.message
    identity = _identity(message)
    if message.transactional_id is not None:
        request = InitProducerId(call.version, message.transactional_id, message.transaction_timeout_ms, identity)
        _ask(service, call, request, lambda answer: _identified(answer.error, answer.identity))
        return
    coordinator = service.world.brokers.nodes[call.node].transactions
    answer = handle_init_producer_id(coordinator, call.version, None, message.transaction_timeout_ms, identity)
    service.world.steps.identified(call.node, f"{INSTANCE}{call.connection}", answer)
    call.reply(_identified(*answer))


def _identified(error: ErrorCode, identity: ProducerIdentity) -> Fields:
    return {"error_code": int(error), "producer_id": identity.producer_id, "producer_epoch": identity.epoch}


def add_partitions(service: Service, call: ClientRequest) -> None:
    """Partitions join a transaction; since version 4 of several transactions, or brokers only ask about them."""
    message = call.message
    if call.version >= BY_BROKER_SINCE:
        _add_of_each(service, call, [], list(message.transactions))
        return
    producer = _producer(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    request = AddPartitions(
        call.version, message.v3_and_below_transactional_id, producer, _partitions(message.v3_and_below_topics)
    )

    def answered(answer: CoordinatorAnswer) -> None:
        call.reply({"results_by_topic_v3_and_below": _added(message.v3_and_below_topics, answer)})

    _ask_to_add(service, call, request, answered)


def _add_of_each(service: Service, call: ClientRequest, results: list[Fields], transactions: list[Any]) -> None:
    """One transaction after the other; a record that cannot be written fails the whole request, and ends it there.

    Kafka never answers a request without transactions (`KafkaApis.handleAddPartitionsToTxnRequest`); here it is.
    """
    if not transactions:
        call.reply({"error_code": 0, "results_by_transaction": results})
        return
    first, *others = transactions
    producer = _producer(first.producer_id, first.producer_epoch)
    request = AddPartitions(
        call.version, first.transactional_id, producer, _partitions(first.topics), bool(first.verify_only)
    )

    def answered(answer: CoordinatorAnswer) -> None:
        if ErrorCode.UNSUPPORTED_VERSION in answer.partitions.values():
            call.reply({"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "results_by_transaction": []})
            return
        result = {"transactional_id": first.transactional_id, "topic_results": _added(first.topics, answer)}
        _add_of_each(service, call, [*results, result], others)

    _ask_to_add(service, call, request, answered)


def _ask_to_add(
    service: Service, call: ClientRequest, request: AddPartitions, answered: Callable[[CoordinatorAnswer], None]
) -> None:
    refused = refused_as_missing(request.partitions, service.world.brokers.partitions)
    if refused or not request.partitions:
        answered(CoordinatorAnswer(partitions=refused))
    else:
        _submit(service, call, request, answered)


def _partitions(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)


def _added(topics: Any, answer: CoordinatorAnswer) -> list[dict[str, Any]]:
    """The errors of partitions, in the order of the request."""
    listed = []
    for topic in topics:
        for number in topic.partitions:
            error = answer.partitions[TopicPartition(topic.name, number)]
            listed.append((topic, {"partition_index": number, "partition_error_code": int(error)}))
    return by_topic(listed, "results_by_partition", name="name")


def add_offsets(service: Service, call: ClientRequest) -> None:
    """The offsets of a group join a transaction."""
    message = call.message
    request = AddOffsets(call.version, message.transactional_id, _identity(message), message.group_id, {})
    _ask(service, call, request, lambda answer: {"error_code": int(answer.error)})


def end_txn(service: Service, call: ClientRequest) -> None:
    """Commit or abort a transaction."""
    message = call.message
    request = EndTxn(call.version, message.transactional_id, _identity(message), message.committed)
    _ask(service, call, request, lambda answer: _identified(answer.error, answer.identity))


def txn_offset_commit(service: Service, call: ClientRequest) -> None:
    """Commit offsets of a group as part of a transaction."""
    message = call.message
    request = TxnOffsetCommit(
        call.version,
        message.transactional_id,
        _identity(message),
        message.group_id,
        committed_offsets(message.topics),
        MemberClaim(message.generation_id, message.member_id, message.group_instance_id),
    )
    _ask(service, call, request, lambda answer: {"topics": errors_by_topic(message.topics, answer.partitions)})


def _identity(message: Any) -> ProducerIdentity:
    return _producer(message.producer_id, message.producer_epoch)


def _producer(producer_id: int, epoch: int) -> ProducerIdentity:
    return ProducerIdentity(ProducerId(producer_id), Epoch(epoch))


def _ask(
    service: Service, call: ClientRequest, request: CoordinatorRequest, fields: Callable[[CoordinatorAnswer], Fields]
) -> None:
    _submit(service, call, request, lambda answer: call.reply(fields(answer)))


def _submit(
    service: Service, call: ClientRequest, request: CoordinatorRequest, answered: Callable[[CoordinatorAnswer], None]
) -> None:
    def take(answer: Answer) -> None:
        if isinstance(answer, CoordinatorAnswer):
            answered(answer)

    service.world.submit(call.connection, call.node, CoordinatorCall(call.header.correlation, request), take)


# --- offsets, as requests and answers name them ----------------------------------------------------------------


def committed_offsets(topics: Any) -> Offsets:
    """What a request commits, by partition."""
    return {
        TopicPartition(topic.name, each.partition_index): OffsetAndMetadata(
            Offset(each.committed_offset), each.committed_metadata or "", each.committed_leader_epoch
        )
        for topic in topics
        for each in topic.partitions
    }


def errors_by_topic(topics: Any, errors: Mapping[TopicPartition, ErrorCode]) -> list[dict[str, Any]]:
    """The errors of a request's partitions, in its order."""
    listed = []
    for topic in topics:
        for each in topic.partitions:
            error = errors[TopicPartition(topic.name, each.partition_index)]
            listed.append((topic, {"partition_index": each.partition_index, "error_code": int(error)}))
    return by_topic(listed, "partitions", name="name")
