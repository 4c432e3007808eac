"""Sessions of a recording, as `eos conform FILE` judges them: those whose beginning and order the wire log shows.

A session has the requests about one topic and the producers that write to it. What a recording does not show decides
nothing: such sessions are passed over, each with its reason.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from model_tests.common.reports import writing
from model_tests.probe.answers import recorded
from model_tests.probe.script import TOPIC, SessionNames
from model_tests.probe.target import TopicInfo
from model_tests.record.wire_log import WIRE_LOG
from spec.versions import Profile
from spec.vocabulary import Api

SESSIONS: Final = "sessions.ndjson"
JUDGED: Final = (Api.PRODUCE, Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.END_TXN)
OFFSETS: Final = (Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT)
BY_BROKERS_SINCE: Final = 4  # since this version brokers send AddPartitionsToTxn to each other (KIP-890)

UNANSWERED: Final = "a request has no answer"
OVERLAPPED: Final = "requests over several connections overlapped"
OLDER: Final = "its topic or a producer was there before"
WIDER: Final = "it has several topics, or offsets of groups"
UNREAD: Final = "a request or an answer passed undecoded"

Wire = dict[str, Any]
"""A line of the wire log."""


@dataclass(slots=True)
class Passed:
    """A request with its answer.

    Attributes:
        at: number of the line of the request.
        until: of the answer, which another request may not overlap; None where there is none.
    """

    at: int
    request_line: Wire
    until: int | None = None
    answer: Any = None

    @property
    def api(self) -> str:
        """Name of the request."""
        return str(self.request_line["api"])


@dataclass(slots=True)
class Sessions:
    """What of a recording can be judged.

    Attributes:
        found: sessions in the format of recordings.
        passed_over: those that cannot be judged, by the reason.
    """

    found: list[dict[str, Any]] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)


def write_sessions(directory: Path, profile: Profile) -> Sessions:
    """Write the sessions of a recording beside its wire log, a line each.

    Raises:
        BadInput: they cannot be written.
    """
    sessions = sessions_of(directory / WIRE_LOG, profile)
    file = directory / SESSIONS
    with writing(file):
        file.write_text("".join(f"{json.dumps(session)}\n" for session in sessions.found), encoding="utf-8")
    return sessions


def sessions_of(file: Path, profile: Profile) -> Sessions:
    """The sessions of a wire log, of brokers of a release."""
    with file.open(encoding="utf-8") as lines:
        exchanges, topics = _exchanges(json.loads(line) for line in lines)
    sessions = Sessions()
    for number, together in enumerate(_components(exchanges, topics)):
        session = _Session(f"recorded-{number}", together, topics, profile)
        why = session.unjudged()
        if why:
            sessions.passed_over[why] += 1
        else:
            sessions.found.append(session.written())
    return sessions


def _exchanges(lines: Iterable[Wire]) -> tuple[list[Passed], dict[str, str]]:
    """Every request of a session with its answer, in the order of the requests; the names of topics by their ids."""
    waiting: dict[tuple[int, int], Passed] = {}
    found: list[Passed] = []
    topics: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.get("api") == Api.METADATA and isinstance(line.get("answer"), dict):
            topics |= {each["topic_id"]: each["name"] for each in line["answer"]["topics"] if each.get("topic_id")}
        if line.get("api") not in (*JUDGED, *OFFSETS):
            continue
        key = line["connection"], line["correlation"]
        if "answer" not in line:
            waiting[key] = Passed(number, line)
            found.append(waiting[key])
        elif key in waiting:
            passed = waiting.pop(key)
            passed.until, passed.answer = number, line["answer"]
    return found, topics


def _components(exchanges: Iterable[Passed], topics: Mapping[str, str]) -> Iterator[list[Passed]]:
    """Requests that have a topic, a producer or a transactional id in common, directly or by way of others."""
    leader: dict[str, str] = {}

    def first(key: str) -> str:
        while leader.setdefault(key, key) != key:
            key = leader[key]
        return key

    keys = {each.at: tuple(_keys(each, topics)) for each in exchanges}
    for named in keys.values():
        for other in named[1:]:
            leader[first(other)] = first(named[0])
    together: dict[str, list[Passed]] = defaultdict(list)
    for each in exchanges:
        if keys[each.at]:
            together[first(keys[each.at][0])].append(each)
    yield from together.values()


def _keys(passed: Passed, topics: Mapping[str, str]) -> Iterator[str]:
    request = passed.request_line["request"]
    if request is None:
        yield f"unread {passed.at}"
        return
    prefix = "v3_and_below_" if passed.api == Api.ADD_PARTITIONS_TO_TXN else ""
    if request.get(f"{prefix}transactional_id"):
        yield f"id {request[f'{prefix}transactional_id']}"
    yield from (f"producer {each}" for each in _producers(passed) if each >= 0)
    yield from (f"topic {name}" for name in _topics(passed, topics))


def _producers(passed: Passed) -> Iterator[int]:
    request, answer = passed.request_line["request"], passed.answer or {}
    for each in (request, answer):
        yield int(each.get("producer_id", each.get("v3_and_below_producer_id", -1)))
    yield from (batch["producer_id"] for _, _, batch in _batches(request, {}))


def _topics(passed: Passed, topics: Mapping[str, str]) -> Iterator[str]:
    request = passed.request_line["request"]
    listed = request.get("topic_data") or request.get("v3_and_below_topics") or ()
    yield from (_name(topic, topics) for topic in listed)


def _name(topic: Mapping[str, Any], topics: Mapping[str, str]) -> str:
    return topic.get("name") or topics.get(topic.get("topic_id", ""), str(topic.get("topic_id")))


def _batches(request: Mapping[str, Any], topics: Mapping[str, str]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Topic, partition and head of each batch of a Produce."""
    for topic in request.get("topic_data") or ():
        for part in topic["partition_data"]:
            for batch in part["records"]["batches"]:
                yield _name(topic, topics), part["index"], batch


class _Session:
    """Requests that belong together, on their way to be a session."""

    def __init__(self, name: str, passed: list[Passed], topics: Mapping[str, str], profile: Profile) -> None:
        self._name = name
        self._passed = passed
        self._topics = topics
        self._profile = profile
        self._names = SessionNames(name, TOPIC, TopicInfo(0, "", (0,) * self._partitions()))

    def unjudged(self) -> str:
        """Why it cannot be judged; empty if it can."""
        if any(each.request_line["request"] is None for each in self._passed):
            return UNREAD
        if any(each.until is None for each in self._passed):
            return UNANSWERED
        if any(each.answer is None for each in self._passed):
            return UNREAD
        named = {name for each in self._passed for name in _topics(each, self._topics)}
        if len(named) != 1 or any(each.api in OFFSETS for each in self._passed) or any(map(_is_unusual, self._passed)):
            return WIDER
        if not self._begins():
            return OLDER
        return OVERLAPPED if any(self._overlapping()) else ""

    def written(self) -> dict[str, Any]:
        """It in the format of recordings; markers may have come at any time."""
        return {
            "id": self._name,
            "family": "B",
            "kafka": self._profile.name,
            "txn_version": self._profile.transaction_version,
            "config": {"verification": self._profile.partition_verification},
            "topics": {TOPIC: {"partitions": self._partitions()}},
            "transactional_ids": [],
            "observed": "none",
            "steps": [self._step(each) for each in self._passed],
        }

    def _partitions(self) -> int:
        numbers = [0]
        for each in self._passed:
            request = each.request_line["request"] or {}
            numbers += [number for _, number, _ in _batches(request, {})]
            numbers += [number for topic in request.get("v3_and_below_topics") or () for number in topic["partitions"]]
        return max(numbers) + 1

    def _begins(self) -> bool:
        """Whether the first batch of each partition is the first of its log, and each producer is given its id here."""
        given: set[int] = set()
        ends: dict[int, int] = {}
        for each in self._passed:
            if each.api == Api.INIT_PRODUCER_ID and not each.answer["error_code"]:
                given.add(each.answer["producer_id"]) if not each.answer["producer_epoch"] else None
            if any(producer not in given for producer in _producers(each) if producer >= 0):
                return False
            for topic in each.answer.get("responses") or ():
                for part in topic["partition_responses"]:
                    if not part["error_code"] and ends.setdefault(part["index"], part["base_offset"]):
                        return False
        return True

    def _overlapping(self) -> Iterator[bool]:
        """Whether a request was sent while one over another connection had no answer."""
        for place, each in enumerate(self._passed):
            for other in self._passed[place + 1 :]:
                if each.until is None or other.at > each.until:
                    break
                yield other.request_line["connection"] != each.request_line["connection"]

    def _step(self, passed: Passed) -> dict[str, Any]:
        request = self._request(passed)
        version = passed.request_line["version"]
        api = "ProduceMulti" if "batches" in request else passed.api
        response = recorded(api, version, _attributes(passed.answer), request, self._names)
        return {"api": api, "version": version, "request": request, "response": response, "racy": True}

    def _request(self, passed: Passed) -> dict[str, Any]:
        sent = passed.request_line["request"]
        match passed.api:
            case Api.PRODUCE:
                return self._produce(sent)
            case Api.INIT_PRODUCER_ID if sent["transactional_id"] is None:
                return {"transactional_id": None}
            case Api.INIT_PRODUCER_ID:
                return {**self._identity(sent), "timeout": sent["transaction_timeout_ms"]}
            case Api.END_TXN:
                return {**self._identity(sent), "committed": sent["committed"]}
        numbers = [number for topic in sent["v3_and_below_topics"] for number in topic["partitions"]]
        return {**self._identity(sent, "v3_and_below_"), "partitions": [f"{TOPIC}-{number}" for number in numbers]}

    def _identity(self, sent: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        return {
            "transactional_id": sent[f"{prefix}transactional_id"],
            "producer_id": self._names.meet(sent.get(f"{prefix}producer_id", -1)),
            "producer_epoch": sent.get(f"{prefix}producer_epoch", -1),
        }

    def _produce(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        batches = [
            {
                "partition": f"{TOPIC}-{number}",
                "record_count": batch["records"],
                "producer_id": self._names.meet(batch["producer_id"]),
                "producer_epoch": batch["producer_epoch"],
                "base_sequence": batch["base_sequence"],
                "transactional": batch["transactional"],
            }
            for _, number, batch in _batches(sent, self._topics)
        ]
        about = {"acks": sent["acks"], "transactional_id": sent["transactional_id"]}
        return {**batches[0], **about} if len(batches) == 1 else {"batches": batches, **about}


def _is_unusual(passed: Passed) -> bool:
    """Whether it is between brokers, or does not wait for all replicas."""
    between = passed.api == Api.ADD_PARTITIONS_TO_TXN and passed.request_line["version"] >= BY_BROKERS_SINCE
    return between or (passed.api == Api.PRODUCE and passed.request_line["request"]["acks"] != -1)


def _attributes(value: Any) -> Any:
    """A decoded body by attributes, as the codec gives it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _attributes(each) for name, each in value.items()})
    return [_attributes(each) for each in value] if isinstance(value, list) else value
