"""ApiVersions, Metadata, and the requests that change topics: CreateTopics, DeleteTopics and CreatePartitions.

Before KRaft, the broker that is the controller changes topics (`KafkaApis`, `AdminManager`). Since then any broker
forwards the request to the controller (`ControllerApis`, `ReplicationControlManager`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from reference.server.errors import ServerError
from reference.server.service import CLUSTER_ID, ClientRequest, Endpoint, Fields, Service
from reference.server.topics import NO_ROOM, Topic, is_legal
from reference.wire.versions import ServedApi, is_since, served
from spec.vocabulary import ABSENT, Api, ErrorCode

TRANSACTION_VERSION: Final = "transaction.version"
FEATURES_SINCE: Final = "4.0"
"""First release that has the feature `transaction.version`."""

ZERO_LEVELS_SINCE: Final = 4
"""First version of ApiVersions whose clients take a feature that may be at level 0 (KIP-1022)."""

SOFTWARE_SINCE: Final = 3
"""First version of ApiVersions in which a client names its software."""

SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
"""What the name and the version of a client's software may be."""

ALL_BY_NULL_SINCE: Final = 1
"""First version of Metadata in which no list of topics asks for all, and an empty one for none."""

ID_SINCE: Final = 12
"""First version of Metadata that may ask by id alone."""


def registered(service: Service) -> Iterator[tuple[int, Endpoint]]:
    """The nodes that are reported to clients, with their addresses: those that the controller takes for alive."""
    return ((node, service.endpoint(node)) for node in service.nodes.registered)


def controller(service: Service) -> int:
    """The node that is named as controller."""
    return min(service.nodes.registered, default=ABSENT)


# --- ApiVersions ----------------------------------------------------------------------------------------------


def api_versions(service: Service, call: ClientRequest) -> None:
    """The versions that are served, and the level of `transaction.version`."""
    message = call.message
    if call.version >= SOFTWARE_SINCE and not (
        SOFTWARE.fullmatch(message.client_software_name) and SOFTWARE.fullmatch(message.client_software_version)
    ):
        call.reply({"error_code": int(ErrorCode.INVALID_REQUEST), "api_keys": []})
        return
    profile = service.settings.profile
    fields: dict[str, Any] = {"error_code": 0, "api_keys": [_range(each) for each in served(profile)]}
    if is_since(profile, FEATURES_SINCE):
        level = profile.transaction_version
        supported = {"name": TRANSACTION_VERSION, "min_version": 0, "max_version": 2}
        finalized = {"name": TRANSACTION_VERSION, "max_version_level": level, "min_version_level": level}
        fields |= {
            "supported_features": [supported] if call.version >= ZERO_LEVELS_SINCE else [],
            "finalized_features_epoch": 0,
            "finalized_features": [finalized] if level else [],
        }
    call.reply(fields)


def unsupported_api_versions(service: Service) -> Fields:
    """The answer, in version 0, to an unknown version of ApiVersions: the versions that are known."""
    known = [_range(each) for each in served(service.settings.profile) if each.api == Api.API_VERSIONS]
    return {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "api_keys": known}


def _range(each: ServedApi) -> Fields:
    return {"api_key": each.key, "min_version": each.announced_from, "max_version": each.newest}


# --- Metadata -------------------------------------------------------------------------------------------------


def metadata(service: Service, call: ClientRequest) -> None:
    """Nodes and topics; a topic that is asked for by name is made if it may be."""
    brokers = [
        {"node_id": node, "host": host, "port": port, "rack": None} for node, (host, port) in registered(service)
    ]
    call.reply(
        {
            "brokers": brokers,
            "cluster_id": CLUSTER_ID,
            "controller_id": controller(service),
            "topics": list(_topics(service, call)),
        }
    )


def _topics(service: Service, call: ClientRequest) -> Iterator[Fields]:
    request = call.message.topics
    if request is None or (not request and call.version < ALL_BY_NULL_SINCE):
        yield from (_topic(service, topic) for topic in service.topics.by_name.values())
        return
    may_create = call.version < 4 or bool(call.message.allow_auto_topic_creation)
    for each in request:
        if call.version >= ID_SINCE and each.topic_id and not each.name:
            found = service.topics.with_id(each.topic_id.hex)
            missing = _missing(None, ServerError.UNKNOWN_TOPIC_ID, each.topic_id)
        else:
            name = each.name or ""
            found = service.topic_for(name, may_create=may_create)
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ServerError.INVALID_TOPIC_EXCEPTION
            missing = _missing(name, error, None)
        yield missing if found is None else _topic(service, found)


def _missing(name: str | None, error: int, topic_id: Any) -> Fields:
    return {
        "error_code": int(error),
        "name": name,
        "topic_id": topic_id,
        "is_internal": False,
        "partitions": [],
    }


def _topic(service: Service, topic: Topic) -> Fields:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": False,
        "partitions": [_partition(service, topic, number) for number in range(topic.partitions)],
    }


def _partition(service: Service, topic: Topic, number: int) -> Fields:
    name = topic.partition(number)
    replicated, led = service.world.brokers.partitions[name], service.nodes.leads(name)
    return {
        "error_code": int(ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE),
        "partition_index": number,
        "leader_id": replicated.leader_node if led else ABSENT,
        "leader_epoch": replicated.leader_epoch,
        "replica_nodes": list(range(len(replicated.replicas))),
        "isr_nodes": sorted(replicated.insync),
        "offline_replicas": [node for node in range(len(replicated.replicas)) if not service.nodes.is_registered(node)],
    }


# --- CreateTopics ---------------------------------------------------------------------------------------------


def is_refused_by_node(service: Service, call: ClientRequest) -> bool:
    """Whether the node is not the one that changes topics: before KRaft, only the controller does."""
    return not service.settings.profile.quorum_controller and call.node != controller(service)


def create_topics(service: Service, call: ClientRequest) -> None:
    """Make topics; all of them have the settings of the server."""
    if is_refused_by_node(service, call):
        error = {"error_code": int(ErrorCode.NOT_CONTROLLER), "error_message": None}
        call.reply({"topics": [{"name": request.name} | error for request in call.message.topics]})
        return
    call.reply({"topics": [_created(service, request, call.message.validate_only) for request in call.message.topics]})


def _created(service: Service, request: Any, validate_only: bool) -> Fields:
    error, why = _refused(service, request)
    replicas = service.world.shape.replicas
    partitions = len(request.assignments) or request.num_partitions
    if partitions < 0:
        partitions = service.settings.default_partitions
    fields: dict[str, Any] = {"name": request.name, "error_code": int(error), "error_message": why, "configs": None}
    if error:
        return fields | {"num_partitions": -1, "replication_factor": -1, "configs": []}
    topic_id = None if validate_only else service.create_topic(request.name, partitions).topic_id
    return fields | {
        "topic_id": topic_id,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "configs": [],
    }


def _refused(service: Service, request: Any) -> tuple[int, str | None]:
    """Why a topic cannot be made, 0 if it can."""
    replicas = service.world.shape.replicas
    if not is_legal(request.name):
        return ServerError.INVALID_TOPIC_EXCEPTION, "a topic cannot be called so"
    if request.name in service.topics.by_name:
        return ServerError.TOPIC_ALREADY_EXISTS, f"Topic '{request.name}' already exists."
    if request.configs:
        return ServerError.INVALID_CONFIG, "topics have no settings of their own here"
    if not request.assignments and (request.num_partitions == 0 or request.num_partitions < -1):
        return ServerError.INVALID_PARTITIONS, "a topic has one partition or more"
    if not request.assignments and request.replication_factor not in (-1, replicas):
        return ServerError.INVALID_REPLICATION_FACTOR, f"every partition has {replicas} replicas here"
    wanted = len(request.assignments) or max(request.num_partitions, 1)
    if not service.topics.has_room(wanted):
        return ServerError.POLICY_VIOLATION, NO_ROOM
    return ErrorCode.NONE, None


STATES_SINCE: Final = 6
"""First version of DeleteTopics that may name topics by id."""

BOTH_NAMED: Final = "You may not specify both topic name and topic id."
NEITHER_NAMED: Final = "Neither topic name nor id were specified."


# --- DeleteTopics ---------------------------------------------------------------------------------------------


def delete_topics(service: Service, call: ClientRequest) -> None:
    """Delete topics, with their logs and the offsets that groups have committed of them."""
    if is_refused_by_node(service, call):
        refused = ({"name": name, "error_code": int(ErrorCode.NOT_CONTROLLER)} for name in call.message.topic_names)
        call.reply({"responses": list(refused)})
    elif service.settings.profile.quorum_controller:
        call.reply({"responses": list(_deleted_by_quorum(service, call))})
    else:
        names = dict.fromkeys(call.message.topic_names)
        call.reply({"responses": [_deleted_by_controller(service, call, name) for name in names]})


def _deleted_by_controller(service: Service, call: ClientRequest, name: str) -> Fields:
    """Delete a topic as ZooKeeper's controller does: a client without a timeout does not hear that it is gone."""
    topic = service.topics.by_name.get(name)
    if topic is None:
        return {"name": name, "error_code": int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
    service.delete_topic(topic)
    return {"name": name, "error_code": int(timed_out(call))}


def timed_out(call: ClientRequest) -> ErrorCode:
    """The answer of ZooKeeper's controller to a request that succeeds: without a timeout the client does not wait."""
    return ErrorCode.NONE if call.message.timeout_ms > 0 else ErrorCode.REQUEST_TIMED_OUT


def _deleted_by_quorum(service: Service, call: ClientRequest) -> Iterator[Fields]:
    """Delete topics by name or id; a topic that is named twice, in whichever way, stays."""
    wanted: list[Topic] = []
    for request, named in _named_once(call):
        topic, error, why = _found(service, request, named)
        if topic is None:
            yield _answer(request["name"], request["topic_id"], error, why)
        else:
            wanted.append(topic)
    twice = {topic for topic, count in Counter(wanted).items() if count > 1}
    for topic in dict.fromkeys(wanted):
        if topic in twice:
            why = "The provided topic name maps to an ID that was already supplied."
            yield _answer(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, why)
        else:
            service.delete_topic(topic)
            yield _answer(topic.name, topic.topic_id, ErrorCode.NONE, None)


def _named_once(call: ClientRequest) -> Iterator[tuple[dict[str, Any], int]]:
    """Each topic that a request names, once, and how often the request names it in this way."""
    if call.version < STATES_SINCE:
        named = [(name, None) for name in call.message.topic_names]
    else:
        named = [(each.name, each.topic_id.hex if each.topic_id else None) for each in call.message.topics]
    for (name, topic_id), count in Counter(named).items():
        yield {"name": name, "topic_id": topic_id}, count


def _found(service: Service, request: Fields, named: int) -> tuple[Topic | None, int, str]:
    """The topic that is to be deleted, None if there is none; then the error says why."""
    name, topic_id = request["name"], request["topic_id"]
    if name is not None and topic_id is not None:
        return None, ErrorCode.INVALID_REQUEST, BOTH_NAMED
    if name is None and topic_id is None:
        return None, ErrorCode.INVALID_REQUEST, NEITHER_NAMED
    if named > 1:
        what = "name" if topic_id is None else "id"
        return None, ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}."
    if topic_id is not None:
        return service.topics.with_id(topic_id), ServerError.UNKNOWN_TOPIC_ID, "there is no topic with this id"
    return service.topics.by_name.get(name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no topic of this name"


def _answer(name: str | None, topic_id: str | None, error: int, why: str | None) -> Fields:
    return {"name": name, "topic_id": topic_id, "error_code": int(error), "error_message": why}


# --- CreatePartitions -----------------------------------------------------------------------------------------


def create_partitions(service: Service, call: ClientRequest) -> None:
    """Add partitions to topics."""
    request = call.message.topics
    counts = Counter(each.name for each in request)
    in_charge = not is_refused_by_node(service, call)
    results = []
    for topic in {each.name: each for each in request}.values():
        if not in_charge:
            error, why = int(ErrorCode.NOT_CONTROLLER), None
        elif counts[topic.name] > 1:
            error, why = int(ErrorCode.INVALID_REQUEST), "Duplicate topic name."
        else:
            error, why = _grown(service, call, topic)
        results.append({"name": topic.name, "error_code": error, "error_message": why})
    call.reply({"results": results})


def _grown(service: Service, call: ClientRequest, request: Any) -> tuple[int, str | None]:
    """Add the requested partitions to one topic, or return why not."""
    topic = service.topics.by_name.get(request.name)
    if topic is None:
        return int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), f"The topic '{request.name}' does not exist."
    error, why = _not_grown(service, topic, request)
    if error or call.message.validate_only:
        return int(error), why
    leaders = [each.broker_ids[0] for each in request.assignments or ()]
    service.create_partitions(topic, request.count, leaders)
    return int(ErrorCode.NONE if service.settings.profile.quorum_controller else timed_out(call)), None


def _not_grown(service: Service, topic: Topic, request: Any) -> tuple[int, str | None]:
    """Why a topic cannot have this number and placement of partitions; 0 if it can."""
    more = request.count - topic.partitions
    if more <= 0:
        return ServerError.INVALID_PARTITIONS, f"{request.count} partitions are no more than {topic.partitions}"
    if not service.topics.has_room(more):
        return ServerError.POLICY_VIOLATION, NO_ROOM
    if request.assignments is None:
        return ErrorCode.NONE, None
    replicas = list(range(service.world.shape.replicas))
    if len(request.assignments) != more:
        why = f"{more} partitions are added, and {len(request.assignments)} assigned"
    elif any(sorted(each.broker_ids) != replicas for each in request.assignments):
        why = f"every partition is on the nodes {replicas} here"
    else:
        return ErrorCode.NONE, None
    return ServerError.INVALID_REPLICA_ASSIGNMENT, why
