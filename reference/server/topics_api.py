"""DeleteTopics and CreatePartitions: what administrators change of the topics that there are.

Before KRaft the broker that is the controller does it (`KafkaApis`, `AdminManager`); since then any broker passes the
request on to it (`ControllerApis`, `ReplicationControlManager`).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from reference.server.errors import ServerError
from reference.server.metadata_api import is_refused_by_node
from reference.server.service import ClientRequest, Fields, Service
from reference.server.topics import NO_ROOM, Topic
from spec.vocabulary import ErrorCode

STATES_SINCE: Final = 6
"""First version of DeleteTopics that may name topics by id."""

BOTH_NAMED: Final = "You may not specify both topic name and topic id."
NEITHER_NAMED: Final = "Neither topic name nor id were specified."


# --- DeleteTopics ---------------------------------------------------------------------------------------------


def delete_topics(service: Service, call: ClientRequest) -> None:
    """Topics go, with all that is in them and what groups have committed of them."""
    if is_refused_by_node(service, call):
        refused = ({"name": name, "error_code": int(ErrorCode.NOT_CONTROLLER)} for name in call.message.topic_names)
        call.reply({"responses": list(refused)})
    elif service.settings.profile.quorum_controller:
        call.reply({"responses": list(_deleted_by_quorum(service, call))})
    else:
        names = dict.fromkeys(call.message.topic_names)
        call.reply({"responses": [_deleted_by_controller(service, call, name) for name in names]})


def _deleted_by_controller(service: Service, call: ClientRequest, name: str) -> Fields:
    """A topic as ZooKeeper's controller deletes it: who has no patience does not hear that it is gone."""
    topic = service.topics.by_name.get(name)
    if topic is None:
        return {"name": name, "error_code": int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
    service.delete_topic(topic)
    return {"name": name, "error_code": int(timed_out(call))}


def timed_out(call: ClientRequest) -> ErrorCode:
    """The answer of ZooKeeper's controller to what succeeds: without a timeout the client is not to wait for it."""
    return ErrorCode.NONE if call.message.timeout_ms > 0 else ErrorCode.REQUEST_TIMED_OUT


def _deleted_by_quorum(service: Service, call: ClientRequest) -> Iterator[Fields]:
    """Topics by name or id; what is named twice, in whichever way, stays."""
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
    """Each topic that a request names, once, and how often it names it so."""
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
    """Topics get more partitions."""
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
    """Add the partitions that one topic is to have, or say why not."""
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
    """Why a topic cannot have so many partitions, placed so; 0 if it can."""
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
