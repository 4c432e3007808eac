"""What administrators ask: the cluster, its groups, and what producers and transactions have open."""

from collections.abc import Iterator
from typing import Any, Final

from reference.broker.coordinator_errors import GroupIdNotFound
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_metadata import ClassicGroup
from reference.broker.transaction_api import STATE_NAMES, list_transactions
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from reference.server.metadata_api import controller, registered
from reference.server.service import CLUSTER_ID, ClientRequest, Fields, Service, by_topic
from spec.vocabulary import ErrorCode, GroupState

NAME_OF: Final = {state: name for name, state in STATE_NAMES.items()}
"""States of transactional ids as answers have them."""

GROUP_STATES: Final = {state: "".join(part.title() for part in state.name.split("_")) for state in GroupState}
"""States of groups likewise."""

CLASSIC: Final = "classic"
"""The type of every group that there is here."""

MISSING_GROUP_SINCE: Final = 6
"""First version of DescribeGroups that says of a group that it is not there; before, it is dead."""


def describe_cluster(service: Service, call: ClientRequest) -> None:
    """The nodes."""
    brokers = [
        {"broker_id": node, "host": host, "port": port, "rack": None} for node, (host, port) in registered(service)
    ]
    call.reply({"error_code": 0, "cluster_id": CLUSTER_ID, "controller_id": controller(service), "brokers": brokers})


# --- groups ---------------------------------------------------------------------------------------------------


def list_groups(service: Service, call: ClientRequest) -> None:
    """The groups that a node coordinates, of the states and types that are wanted."""
    groups = service.world.brokers.nodes[call.node].groups
    states = {state.lower() for state in call.message.states_filter}
    types = {kind.lower() for kind in call.message.types_filter}
    listed = [
        {
            "group_id": group.group,
            "protocol_type": group.protocol_type,
            "group_state": GROUP_STATES[group.state],
            "group_type": CLASSIC,
        }
        for group in _groups(groups)
        if (not states or GROUP_STATES[group.state].lower() in states) and (not types or CLASSIC in types)
    ]
    call.reply({"error_code": 0, "groups": listed})


def _groups(coordinator: GroupCoordinator) -> Iterator[ClassicGroup]:
    return (group for shard in coordinator.shards.read() for group in shard.groups.values())


def describe_groups(service: Service, call: ClientRequest) -> None:
    """Groups with their members."""
    coordinator = service.world.brokers.nodes[call.node].groups
    call.reply({"groups": [_described(coordinator, call, name) for name in call.message.groups]})


def _described(coordinator: GroupCoordinator, call: ClientRequest, name: str) -> Fields:
    nothing = {"group_id": name, "protocol_type": "", "protocol_data": "", "members": []}
    try:
        group = coordinator.shards.of_group(name).groups.get(name)
    except Refusal as refusal:
        return nothing | {"error_code": int(refusal.code), "group_state": ""}
    if group is None:
        error = GroupIdNotFound.code if call.version >= MISSING_GROUP_SINCE else ErrorCode.NONE
        why = f"Group {name} not found." if error else None
        dead = GROUP_STATES[GroupState.DEAD]
        return nothing | {"error_code": int(error), "error_message": why, "group_state": dead}
    return {
        "error_code": 0,
        "group_id": name,
        "group_state": GROUP_STATES[group.state],
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol or "",
        "members": [_member(group, member_id) for member_id in group.members],
    }


def _member(group: ClassicGroup, member_id: str) -> Fields:
    member, settled = group.members[member_id], group.state is GroupState.STABLE
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.subscription(group.protocol) if settled else b"",
        "member_assignment": member.assignment if settled else b"",
    }


# --- producers and transactions -------------------------------------------------------------------------------


def describe_producers(service: Service, call: ClientRequest) -> None:
    """The producers that a leader knows."""
    listed = []
    for topic in call.message.topics:
        for number in topic.partition_indexes:
            partition = service.partition_named(topic, number)
            error = service.leader_error(call.node, partition)
            known = [] if error or partition is None else list(_producers(service, call.node, partition))
            answer = {"partition_index": number, "error_code": int(error), "error_message": None}
            listed.append((topic, answer | {"active_producers": known}))
    call.reply({"topics": by_topic(listed, "partitions", name="name")})


def _producers(service: Service, node: int, partition: TopicPartition) -> Iterator[Fields]:
    leader = service.world.brokers.partitions[partition].leader
    service.world.steps.described(node, partition, leader)
    for active in leader.describe_producers():
        yield {
            "producer_id": active.producer_id,
            "producer_epoch": active.epoch,
            "last_sequence": active.last_sequence,
            "last_timestamp": active.last_timestamp,
            "coordinator_epoch": active.coordinator_epoch,
            "current_txn_start_offset": active.txn_first_offset,
        }


def describe_transactions(service: Service, call: ClientRequest) -> None:
    """Transactional ids as their coordinator has them."""
    call.reply({"transaction_states": [_transaction(service, call, each) for each in call.message.transactional_ids]})


def _transaction(service: Service, call: ClientRequest, transactional_id: str) -> Fields:
    try:
        metadata = service.world.brokers.nodes[call.node].transactions.describe(transactional_id)
    except Refusal as refusal:
        return {"error_code": int(refusal.code), "transactional_id": transactional_id, "topics": []}
    topics: dict[str, list[int]] = {}
    for partition in sorted(metadata.partitions):
        topics.setdefault(partition.topic, []).append(partition.partition)
    return {
        "error_code": 0,
        "transactional_id": transactional_id,
        "transaction_state": NAME_OF[metadata.state],
        "transaction_timeout_ms": metadata.timeout_ms,
        "transaction_start_time_ms": metadata.started_ms,
        "producer_id": metadata.producer_id,
        "producer_epoch": metadata.epoch,
        "topics": [{"topic": name, "partitions": numbers} for name, numbers in topics.items()],
    }


def list_all_transactions(service: Service, call: ClientRequest) -> None:
    """The transactional ids that a node coordinates, of the states and producers that are wanted."""
    message: Any = call.message
    coordinator = service.world.brokers.nodes[call.node].transactions
    listed, unknown = list_transactions(coordinator, message.state_filters, message.producer_id_filters)
    if not message.state_filters and not message.producer_id_filters:
        service.world.steps.listed(call.node, coordinator)
    states = [
        {
            "transactional_id": each.transactional_id,
            "producer_id": each.producer_id,
            "transaction_state": NAME_OF[each.state],
        }
        for each in listed
    ]
    call.reply({"error_code": 0, "unknown_state_filters": list(unknown), "transaction_states": states})
