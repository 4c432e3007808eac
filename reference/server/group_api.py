"""Requests of members to their group's coordinator: generations, and offsets outside of transactions.

DeleteGroups and OffsetDelete, which administrators send, are here too.
"""

from collections.abc import Sequence
from typing import Any, Final

from reference.broker.group_api import handle_offset_commit, handle_offset_fetch
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_deletion import Deleted, DeletionError, delete_group, delete_group_offsets
from reference.broker.group_requests import (
    FetchedOffset,
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from reference.server.coordinator_api import committed_offsets, errors_by_topic
from reference.server.service import ClientRequest, Fields, Service, by_topic
from reference.world.readers import note_commit, record_offset_fetch
from spec.vocabulary import ErrorCode

MEMBER_ID_SINCE: Final = 4
"""First version of JoinGroup whose clients can get their id before they join (KIP-394)."""

NULL_PROTOCOL_SINCE: Final = 7
"""First version of JoinGroup whose answer may be without protocol."""

MEMBERS_SINCE: Final = 3
"""First version of LeaveGroup in which several members leave."""

GROUPS_SINCE: Final = 8
"""First version of OffsetFetch that may name several groups."""


def _groups(service: Service, call: ClientRequest) -> GroupCoordinator:
    return service.world.brokers.nodes[call.node].groups


# --- generations ----------------------------------------------------------------------------------------------


def join_group(service: Service, call: ClientRequest) -> None:
    """A member joins; it is answered when the generation is complete."""
    message, version = call.message, call.version
    rebalance_timeout = message.rebalance_timeout_ms if version >= 1 else message.session_timeout_ms
    request = JoinRequest(
        message.group_id,
        message.member_id,
        message.group_instance_id,
        call.header.client_id,
        f"/{call.host}",
        message.protocol_type,
        tuple((each.name, bytes(each.metadata)) for each in message.protocols),
        message.session_timeout_ms,
        rebalance_timeout,
        version >= MEMBER_ID_SINCE,
    )
    _groups(service, call).join(request, lambda answer: call.reply(_joined(answer, message.protocol_type, version)))


def _joined(answer: JoinAnswer, protocol_type: str, version: int) -> Fields:
    succeeded = answer.error is ErrorCode.NONE
    nothing = None if version >= NULL_PROTOCOL_SINCE else ""
    return {
        "error_code": int(answer.error),
        "generation_id": answer.generation,
        "protocol_type": protocol_type if succeeded else None,
        "protocol_name": nothing if answer.protocol is None else answer.protocol,
        "leader": answer.leader,
        "member_id": answer.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.subscription,
            }
            for member in answer.members
        ],
    }


def sync_group(service: Service, call: ClientRequest) -> None:
    """A member requests its assignment; it is answered when the leader has assigned."""
    message = call.message
    claim = _claim(message)
    assignments = {each.member_id: bytes(each.assignment) for each in message.assignments}

    def reply(answer: SyncAnswer) -> None:
        named = answer.error is ErrorCode.NONE
        call.reply(
            {
                "error_code": int(answer.error),
                "protocol_type": message.protocol_type if named else None,
                "protocol_name": message.protocol_name if named else None,
                "assignment": answer.assignment,
            }
        )

    _groups(service, call).sync(SyncRequest(message.group_id, claim, assignments), reply)


def heartbeat(service: Service, call: ClientRequest) -> None:
    """A member is alive."""
    message, error = call.message, ErrorCode.NONE
    try:
        _groups(service, call).heartbeat(message.group_id, _claim(message))
    except Refusal as refusal:
        error = refusal.code
    call.reply({"error_code": int(error)})


def leave_group(service: Service, call: ClientRequest) -> None:
    """Members leave."""
    message, groups = call.message, _groups(service, call)
    if call.version < MEMBERS_SINCE:
        call.reply({"error_code": int(_left(groups, message.group_id, message.member_id, None))})
        return
    try:
        groups.shards.of_group(message.group_id)
    except Refusal as refusal:
        call.reply({"error_code": int(refusal.code), "members": []})
        return
    members = [
        {
            "member_id": each.member_id,
            "group_instance_id": each.group_instance_id,
            "error_code": int(_left(groups, message.group_id, each.member_id, each.group_instance_id)),
        }
        for each in message.members
    ]
    call.reply({"error_code": 0, "members": members})


def _left(groups: GroupCoordinator, group: str, member_id: str, group_instance_id: str | None) -> ErrorCode:
    try:
        groups.leave(group, member_id, group_instance_id)
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE


def _claim(message: Any) -> MemberClaim:
    return MemberClaim(message.generation_id, message.member_id, message.group_instance_id)


# --- offsets --------------------------------------------------------------------------------------------------


def offset_commit(service: Service, call: ClientRequest) -> None:
    """Commit offsets of a group, outside of any transaction."""
    message, world = call.message, service.world
    claim = MemberClaim(message.generation_id_or_member_epoch, message.member_id, message.group_instance_id)
    offsets = committed_offsets(message.topics)
    groups = _groups(service, call)
    partitions = world.brokers.partitions
    answers = handle_offset_commit(groups, message.group_id, offsets, claim, partitions, call.version)
    note_commit(world.history, message.group_id, offsets, claim, answers)
    call.reply({"topics": errors_by_topic(message.topics, answers)})


def offset_fetch(service: Service, call: ClientRequest) -> None:
    """Answer with the offsets that groups have committed; without a list of topics, all of them."""
    message = call.message
    if call.version < GROUPS_SINCE:
        call.reply(_offsets(service, call, message.group_id, message.topics))
        return
    groups = [
        {"group_id": each.group_id, **_offsets(service, call, each.group_id, each.topics)} for each in message.groups
    ]
    call.reply({"groups": groups})


def _offsets(service: Service, call: ClientRequest, group: str, topics: Sequence[Any] | None) -> dict[str, Any]:
    coordinator, stable = _groups(service, call), bool(call.message.require_stable)
    if topics is None:
        partitions = _committed_by(coordinator, group)
    else:
        partitions = [TopicPartition(topic.name, number) for topic in topics for number in topic.partition_indexes]
    answer = handle_offset_fetch(coordinator, group, partitions, stable)
    record_offset_fetch(service.world.steps, call.node, service.new_reader(), coordinator, group, stable, answer)
    by_name: dict[str, list[Fields]] = {}
    for partition in partitions:
        found = answer.partitions.get(partition, FetchedOffset(answer.error))
        by_name.setdefault(partition.topic, []).append(
            {
                "partition_index": partition.partition,
                "committed_offset": found.offset,
                "committed_leader_epoch": found.leader_epoch,
                "metadata": found.metadata,
                "error_code": int(found.error),
            }
        )
    listed = [{"name": name, "partitions": fields} for name, fields in by_name.items()]
    return {"error_code": int(answer.error), "topics": listed}


def _committed_by(coordinator: GroupCoordinator, group: str) -> list[TopicPartition]:
    try:
        offsets = coordinator.shards.of_group(group).offsets
    except Refusal:
        return []
    return sorted(key.partition for key in offsets.of_group(group))


# --- deletions --------------------------------------------------------------------------------------------------------


def delete_groups(service: Service, call: ClientRequest) -> None:
    """Delete groups without members, with their offsets."""
    groups = service.world.brokers.nodes[call.node].groups
    results = []
    for name in dict.fromkeys(call.message.groups_names):
        deleted = delete_group(groups, name)
        service.world.names.offsets_deleted(deleted.forgotten)
        results.append({"group_id": name, "error_code": int(deleted.error)})
    call.reply({"results": results})


def offset_delete(service: Service, call: ClientRequest) -> None:
    """Delete offsets of a group, for partitions that no member reads."""
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
