"""A played session as a sequence diagram: what was sent and answered, and at the end what differs."""

from collections.abc import Iterator
from typing import Any

from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note
from model_tests.probe.played import PlayedSession
from model_tests.probe.script import JOIN, SETTLE

CLIENT = "client"
BROKER = "broker"


def sequence_of(played: PlayedSession) -> events.Sequence:
    """The diagram of a session that ends with a disagreement."""
    found = played.disagreed
    listed = played.session["steps"]
    states = [set(_shown(step.get("after", {}))) for step in listed]
    before: list[set[str]] = [set(), *states]
    steps = tuple(tuple(_events(step, known)) for step, known in zip(listed, before, strict=False))
    ending = Ending("", "nothing differs")
    if found is not None:
        first = found.disagreed[0]
        where, given = next(iter(first.expected.items()))
        rule = first.rules[0].id if first.rules else ""
        ending = Ending(rule, f"{where} is {given!r}, allowed is {first.got[where]!r}, by {first.guard or first.by}")
    return events.Sequence(played.session["id"], (CLIENT, BROKER), steps, ending, 0)


def _events(step: dict[str, Any], known: set[str]) -> Iterator[Event]:
    if step["api"] == SETTLE:
        yield Note(BROKER, "every marker is written")
        return
    response = step["response"]
    refused = response["error"] != "NONE"
    mark = Mark.REFUSED if refused else Mark.AGAIN if "replay_of" in step else Mark.PLAIN
    yield DrawnMessage(CLIENT, BROKER, f"{step['api']} v{step['version']} {_asked(step)} → {_answered(step)}", mark)
    if step["api"] != JOIN and "after" in step:
        yield from (Note(BROKER, shown) for shown in _shown(step["after"]) if shown not in known)


def _asked(step: dict[str, Any]) -> str:
    request = step["request"]
    parts = [request.get("transactional_id"), request.get("partition"), *request.get("partitions", ())]
    if "producer_epoch" in request:
        parts.append(f"{request['producer_id']}/{request['producer_epoch']}")
    if "base_sequence" in request:
        parts.append(f"seq {request['base_sequence']}, {request['record_count']} records")
    if "committed" in request:
        parts.append("commit" if request["committed"] else "abort")
    parts += [f"{name} {request[name]}" for name in ("offset", "isolation") if name in request]
    parts += [f"{partition}={offset}" for partition, offset in request.get("offsets", {}).items()]
    return " ".join(str(part) for part in parts if part)


def _answered(step: dict[str, Any]) -> str:
    response = step["response"]
    at = f" at {response['base_offset']}" if response.get("base_offset", -1) >= 0 else ""
    handed = f" {response['producer_id']}/{response['producer_epoch']}" if "producer_id" in response else ""
    return f"{response['error']}{at}{handed}"


def _shown(after: dict[str, Any]) -> Iterator[str]:
    for name, each in after.get("transactions", {}).items():
        if "state" in each and each["state"] != "Empty":
            yield f"{name} {each['state']} {each['producer_id']}/{each['producer_epoch']}"
