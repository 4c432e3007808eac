"""A session that was played on a broker, the reasons for which it ends before its script does, and its diagram.

The sequence diagram shows what was sent and answered, and at the end what differs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from model_tests.conform.sessions import SessionStep
from model_tests.conform.side_by_side import StepComparison
from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note
from model_tests.probe.script import JOIN, SETTLE, Script


class Patience(NamedTuple):
    """How long a state is queried again if it is not as expected, in seconds.

    Attributes:
        settles_s: while the broker owes markers of a transaction that the specification completes.
        agrees_s: otherwise; a broker shows some of its state only a moment later.
        times_out_s: until a coordinator aborts a transaction past its timeout: by default it checks every 10 s.
    """

    settles_s: float = 30.0
    agrees_s: float = 2.0
    times_out_s: float = 40.0


PATIENT: Final = Patience()
HASTY: Final = Patience(1.5, 0.5, 16.0)
"""For sessions that are played to reproduce what a patient one has shown."""

UNREADY: Final = "a leader or coordinator was not ready"
MET: Final = "two connections raced, and one request met the other under way, which leaves it without effect"
COMPLETING: Final = "the transaction before may not have been complete, which this broker does not show"
UNRECORDED: Final = "the answer cannot be written as a session"
FORBIDDEN: Final = "this client is not authorized to send"
OVERTAKEN: Final = "the session took so long that its transaction may have timed out"
SLOW_EPOCHS: Final = "the epochs did not run out in time"


class SessionEnded(Exception):
    """The session cannot be judged any further; the message says why."""


@dataclass(slots=True)
class PlayedSession:
    """A session that was played.

    Attributes:
        session: in the format of recorded sessions.
        keys: of the actions, one for each of its steps.
        comparisons: of its steps, as far as they were judged.
        typed: its steps, in the form in which they were judged.
        partitions: of its topic.
        undecided: why it ended before its script did, empty if it did not.
        met: racing requests that had no effect because they met another one under way.
    """

    script: Script
    session: dict[str, Any]
    keys: list[int] = field(default_factory=list)
    comparisons: list[StepComparison] = field(default_factory=list)
    typed: list[SessionStep] = field(default_factory=list)
    partitions: tuple[str, ...] = ()
    undecided: str = ""
    met: int = 0

    @property
    def disagreed(self) -> StepComparison | None:
        """The step at which specification or reference differ from the broker: always the last one that is judged."""
        return next((each for each in reversed(self.comparisons) if each.disagreed), None)


# --- the diagram ------------------------------------------------------------------------------------------------------


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
