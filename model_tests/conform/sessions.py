"""Recorded sessions of real brokers: the format, read strictly, as typed records."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from model_tests.conform.api_versions import lacking
from model_tests.conform.fields import Json, MalformedSession, SessionFields
from model_tests.conform.recorded_answers import check_after, check_groups, check_response
from model_tests.conform.recorded_requests import request_of
from model_tests.conform.requests import Request, UnsupportedRequest
from spec.versions import PROFILES, Profile
from spec.vocabulary import ErrorCode

OPEN: Final = "open"
"""First offset of a transaction on an offsets partition, where only that there is one is recorded."""


def shows_lag(after: Json) -> bool:
    """Whether a stable fetch of some group waits for a transaction although none is open on the group's partition."""
    seen = _object(after, "producers")
    return any(
        _waits(view) and place in seen and not _has_open(seen[place])
        for group, view in _object(after, "groups").items()
        for place in (f"__consumer_offsets[{group}]",)
    )


def _object(after: Json, name: str) -> Mapping[str, Any]:
    found = after.get(name)
    return found if isinstance(found, dict) else {}


def _waits(view: object) -> bool:
    offsets = view.values() if isinstance(view, dict) else ()
    return any(_field(offset, "stable") == ErrorCode.UNSTABLE_OFFSET_COMMIT.name for offset in offsets)


def _has_open(producers: object) -> bool:
    listed = producers if isinstance(producers, list) else ()
    return any(_field(producer, "current_txn_start_offset") == OPEN for producer in listed)


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


FAMILIES: Final = MappingProxyType(
    {
        "A": "appends",
        "Ax": "appends at the edges of numbers",
        "B": "transactions at random",
        "Bh": "transactions by hand",
        "C": "offsets in transactions",
        "D": "reading",
        "EB": "transactions at random, EndTxn v5",
        "EBh": "transactions by hand, EndTxn v5",
        "EC": "offsets in transactions, EndTxn v5",
        "ED": "reading, EndTxn v5",
        "ER": "races, EndTxn v5",
        "ET": "timeouts, EndTxn v5",
        "FA": "appends with restarts",
        "FB": "transactions at random with restarts",
        "FBh": "transactions by hand with restarts",
        "FC": "offsets with restarts",
        "FD": "reading with restarts",
        "FX": "epochs that run out",
        "P": "expiry",
        "R": "races",
        "T": "timeouts",
        "X": "epochs that run out, one by one",
    }
)
"""Families of sessions by their name in a recording."""

LIVE: Final = frozenset(("X",))
"""Families of sessions that live brokers are probed with; no recording has them."""

FULL: Final = "full"
OBSERVED: Final = (FULL, "offsets", "none")
"""How much of the state after a step was observed: all of it, partitions' offsets alone, nothing."""

_BUG: Final = re.compile(r"step (\d+): (.+)", re.DOTALL)

DEFAULT_SEGMENT_BYTES: Final = 2**30
"""Size of a segment where a session does not say it; far more than any session writes."""


@dataclass(frozen=True, slots=True)
class StepMarks:
    """What the recording says of a step that another run might have answered otherwise.

    Attributes:
        racy: sent without waiting for markers; any number of those that were owed may have been written by then.
        accept_errors: the names of the error that depend on other clients.
        lagging: a group is seen as it was before a marker that its partition has already.
        bug: the defect of the broker that the step shows, in the recorder's words; empty where it shows none.
    """

    racy: bool = False
    accept_errors: frozenset[str] = frozenset()
    lagging: bool = False
    bug: str = ""


NO_MARKS: Final = StepMarks()


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One request of a session, with the broker's answer and the state after it.

    Attributes:
        api: Kafka's name of the request, or the recorder's of something it did (`_Restart`).
        recorded: the request as it was recorded, for messages.
        after: state once everything had settled; None where it was not observed.
    """

    api: str
    request: Request
    recorded: Json
    response: Json
    after: Json | None
    marks: StepMarks


@dataclass(frozen=True, slots=True)
class Session:
    """One session: a client, a broker, strictly one request after another, on fresh partitions.

    Attributes:
        segment_bytes: the topics' `segment.bytes`.
    """

    id: str
    family: str
    profile: Profile
    partitions: tuple[str, ...]
    steps: tuple[SessionStep, ...]
    segment_bytes: int = DEFAULT_SEGMENT_BYTES

    @property
    def unsupported(self) -> tuple[str, ...]:
        """What in it neither side can judge yet; empty if it can be judged."""
        wanting = (step.request.what for step in self.steps if isinstance(step.request, UnsupportedRequest))
        return tuple(dict.fromkeys(wanting))


def session_of(value: object) -> Session:
    """The session in a JSON value.

    Raises:
        Malformed: it is not of the documented form.
    """
    fields = SessionFields.of("the session", value)
    session = fields.text("id")
    fields = replace(fields, place=f"session {session}")
    family = fields.one_of("family", *FAMILIES)
    profile = profile_of(fields)
    partitions = _partitions(fields.within("topics"))
    recorded = [SessionFields.of(f"session {session} step {n}", step) for n, step in enumerate(fields.items("steps"))]
    observed = fields.one_of("observed", *OBSERVED) if "observed" in fields.values else FULL
    bugs = _bugs(fields.within("config"), len(recorded))
    steps = tuple(
        step_of(step, origin, profile, bugs.get(number, ""), whole=observed == FULL)
        for number, (step, origin) in enumerate(zip(recorded, _origins(recorded), strict=True))
    )
    segment_bytes = fields.within("config").integer("segment.bytes", 14, 2**31 - 1, default=DEFAULT_SEGMENT_BYTES)
    return Session(session, family, profile, partitions, steps, segment_bytes)


def profile_of(fields: SessionFields) -> Profile:
    """The release or build of a session, its transaction version, and whether partitions are verified.

    Raises:
        Malformed: there is no such release.
    """
    release = PROFILES[fields.one_of("kafka", *PROFILES)]
    profile = release.under(fields.integer("txn_version", 0, release.transaction_version))
    verifies = fields.within("config").flag("verification", default=True)
    return replace(profile, partition_verification=release.partition_verification and verifies)


def _partitions(topics: SessionFields) -> tuple[str, ...]:
    counts = ((topic, topics.within(topic).integer("partitions", 1, 1000)) for topic in topics.values)
    return tuple(f"{topic}-{number}" for topic, count in counts for number in range(count))


def _origins(steps: Sequence[SessionFields]) -> list[int]:
    """For each step the number of the one whose bytes were sent: its own, or that of the step that it repeats."""
    origins: list[int] = []
    for index, step in enumerate(steps):
        if "replay_of" not in step.values:
            origins.append(index)
            continue
        repeated = step.integer("replay_of", 0, index - 1)
        if steps[repeated].values.get("api") != step.values.get("api"):
            raise step.wrong("replay_of", f"the number of a {step.values.get('api')}")
        origins.append(origins[repeated])
    return origins


def _bugs(config: SessionFields, steps: int) -> dict[int, str]:
    """By step, the defect of the broker that it shows; the recorder says it as `step 4: what it is`."""
    if "kafka_bug" not in config.values:
        return {}
    found = _BUG.fullmatch(config.text("kafka_bug"))
    if found is None or int(found[1]) >= steps:
        raise config.wrong("kafka_bug", "a step of the session and what it shows, as 'step 4: a marker is missing'")
    return {int(found[1]): found[2]}


def step_of(fields: SessionFields, origin: int, profile: Profile, bug: str = "", *, whole: bool = True) -> SessionStep:
    """One step of a session.

    Args:
        fields: as recorded.
        origin: number of the step whose bytes were sent: its own, or that of the step that it repeats.
        profile: of the session.
        bug: the defect of the broker that it shows, empty if it shows none.
        whole: the state after it has producers and offsets wherever it was observed.

    Raises:
        Malformed: it is not of the documented form, or the release does not take such a request.
    """
    response = fields.within("response")
    api, version = fields.text("api"), fields.integer("version", 0, 100)
    lacks = lacking(profile, api, version)
    if lacks:
        raise MalformedSession(f"{fields.place}: {lacks}")
    check_response(api, version, response)
    after = _after(fields, whole=whole)
    request = request_of(api, fields, origin)
    return SessionStep(
        api,
        request,
        fields.within("request").values,
        response.values,
        after,
        _marks(fields, late=profile.offsets_lag_marker and after is not None and shows_lag(after), bug=bug),
    )


def _after(fields: SessionFields, *, whole: bool) -> Json | None:
    """What was observed, with groups that the recorder put aside because their coordinator lagged."""
    if "after" not in fields.values:
        return None
    observed = fields.within("after")
    check_after(observed, whole=whole)
    after = observed.values
    if "groups_racy" not in fields.values:
        return after
    check_groups(fields.within("groups_racy"))
    groups = after.get("groups")
    known = groups if isinstance(groups, dict) else {}
    return {**after, "groups": {**known, **fields.within("groups_racy").values}}


def _marks(fields: SessionFields, *, late: bool, bug: str) -> StepMarks:
    racy = fields.flag("racy", default=False)
    accepted: frozenset[str] = frozenset()
    if "racy_error" in fields.values or "accept_errors" in fields.values:
        fields.items("accept_errors")
        accepted = frozenset(fields.texts("accept_errors"))
    marks = StepMarks(racy, accepted, late, bug)
    return NO_MARKS if marks == NO_MARKS else marks
