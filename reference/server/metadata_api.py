"""ApiVersions, Metadata and CreateTopics: what the server is and has."""

import re
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
"""First version of ApiVersions in which a client says what it is."""

SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
"""What the name and the version of a client's software may be."""

ALL_BY_NULL_SINCE: Final = 1
"""First version of Metadata in which no list of topics asks for all, and an empty one for none."""

ID_SINCE: Final = 12
"""First version of Metadata that may ask by id alone."""


def registered(service: Service) -> Iterator[tuple[int, Endpoint]]:
    """The nodes that are named to clients, with their addresses: those that the controller takes for alive."""
    return ((node, service.endpoint(node)) for node in service.nodes.registered)


def controller(service: Service) -> int:
    """The node that is named as controller."""
    return min(service.nodes.registered, default=ABSENT)


# --- ApiVersions ----------------------------------------------------------------------------------------------


def api_versions(service: Service, call: ClientRequest) -> None:
    """What is served, and the level of `transaction.version`."""
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
    """The answer, of version 0, to a version of ApiVersions that is not known: which are."""
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
