"""DeleteGroups and OffsetDelete."""

from reference.broker.group_deletion import Deleted, DeletionError, delete_group, delete_group_offsets
from reference.broker.transaction_metadata import TopicPartition
from reference.server.service import ClientRequest, Service, by_topic
from spec.vocabulary import ErrorCode


def delete_groups(service: Service, call: ClientRequest) -> None:
    """Groups without members go, with their offsets."""
    groups = service.world.brokers.nodes[call.node].groups
    results = []
    for name in dict.fromkeys(call.message.groups_names):
        deleted = delete_group(groups, name)
        service.world.names.offsets_deleted(deleted.forgotten)
        results.append({"group_id": name, "error_code": int(deleted.error)})
    call.reply({"results": results})


def offset_delete(service: Service, call: ClientRequest) -> None:
    """Offsets of a group go, of partitions that no member reads."""
    message = call.message
    requested = [
        (topic, each.partition_index, service.partition_named(topic, each.partition_index))
        for topic in message.topics
        for each in topic.partitions
    ]
    groups = service.world.brokers.nodes[call.node].groups
    known = [partition for _, _, partition in requested if partition is not None]
    deleted = delete_group_offsets(groups, message.group_id, known)
    service.world.names.offsets_deleted(deleted.forgotten)
    if deleted.error:
        call.reply({"error_code": int(deleted.error), "topics": []})
        return
    listed = [
        (topic, {"partition_index": number, "error_code": _error(deleted, partition)})
        for topic, number, partition in requested
    ]
    call.reply({"error_code": 0, "topics": by_topic(listed, "partitions", name="name")})


def _error(deleted: Deleted, partition: TopicPartition | None) -> int:
    if partition is None:
        return int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return int(DeletionError.GROUP_SUBSCRIBED_TO_TOPIC if partition in deleted.subscribed else ErrorCode.NONE)
