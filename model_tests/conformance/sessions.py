"""Recorded sessions of real brokers: the format, read strictly, as typed records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from model_tests.conformance.fields import Fields, Json
from model_tests.conformance.requests import Batch, Fetch, InitProducerId, Named, Produce, Request, Restart, Unsupported
from spec.versions import PROFILES, Profile

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
    }
)
"""Families of sessions by their name in a recording."""

BUILDS: Final = ("3.9.0", "4.0-SNAPSHOT")
"""Builds that sessions were recorded from; each is a profile."""

MOST_RECORDS: Final = 100_000  # of one batch: more is a damaged recording


@dataclass(frozen=True, slots=True)
class Marks:
    """What the recorder says of a step that another run might have answered otherwise."""

    racy: bool = False
    accept_errors: frozenset[str] = frozenset()


NO_MARKS: Final = Marks()


@dataclass(frozen=True, slots=True)
class Step:
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
    marks: Marks


@dataclass(frozen=True, slots=True)
class Session:
    """One session: a client, a broker, strictly one request after another, on fresh partitions."""

    id: str
    family: str
    profile: Profile
    partitions: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def unsupported(self) -> tuple[str, ...]:
        """What in it neither side is held against yet; empty if it can be judged."""
        wanting = (step.request.what for step in self.steps if isinstance(step.request, Unsupported))
        return tuple(dict.fromkeys(wanting))


def session_of(value: object) -> Session:
    """The session in a JSON value.

    Raises:
        Malformed: it is not of the documented form.
    """
    fields = Fields.of("the session", value)
    session = fields.text("id")
    fields = replace(fields, place=f"session {session}")
    family = fields.one_of("family", *FAMILIES)
    profile = _profile(fields)
    partitions = _partitions(fields.within("topics"))
    recorded = [Fields.of(f"session {session} step {n}", step) for n, step in enumerate(fields.items("steps"))]
    steps = tuple(_step(step, origin) for step, origin in zip(recorded, _origins(recorded), strict=True))
    return Session(session, family, profile, partitions, steps)


def _profile(fields: Fields) -> Profile:
    build = PROFILES[fields.one_of("kafka", *BUILDS)].under(fields.integer("txn_version", 0, 2))
    return replace(build, partition_verification=fields.within("config").flag("verification", default=True))


def _partitions(topics: Fields) -> tuple[str, ...]:
    counts = ((topic, topics.within(topic).integer("partitions", 1, 1000)) for topic in topics.values)
    return tuple(f"{topic}-{number}" for topic, count in counts for number in range(count))


def _origins(steps: Sequence[Fields]) -> list[int]:
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


def _step(fields: Fields, origin: int) -> Step:
    response = fields.within("response")
    response.text("error")
    after = fields.within("after").values if "after" in fields.values else None
    api = fields.text("api")
    request = _request(api, fields, origin)
    return Step(api, request, fields.within("request").values, response.values, after, _marks(fields))


def _marks(fields: Fields) -> Marks:
    racy = fields.flag("racy", default=False)
    if "racy_error" not in fields.values:
        return Marks(racy) if racy else NO_MARKS
    return Marks(racy, frozenset(str(error) for error in fields.items("accept_errors")))


def _request(api: str, fields: Fields, origin: int) -> Request:
    version = fields.integer("version", 0, 100)
    request = fields.within("request")
    match api:
        case "Produce":
            return _produce(version, request, (_batch(request, f"s{origin}r"),), origin)
        case "ProduceMulti":
            parts = [Fields.of(f"{request.place} batch {n}", part) for n, part in enumerate(request.items("batches"))]
            batches = tuple(_batch(part, f"s{origin}b{n}r") for n, part in enumerate(parts))
            return _produce(version, request, batches, origin, several=True)
        case "Fetch":
            return _fetch(version, request)
        case "InitProducerId" if request.text_or_null("transactional_id") is None:
            return InitProducerId(version)
        case "InitProducerId":
            return Unsupported("InitProducerId with a transactional id")
        case "_Restart":
            return Restart(clean=request.one_of("signal", "KILL", "TERM") == "TERM")
    return Unsupported(api)


def _produce(
    version: int, request: Fields, batches: tuple[Batch, ...], origin: int, *, several: bool = False
) -> Request:
    named = request.text_or_null("transactional_id")
    if named is not None and any(batch.transactional for batch in batches):
        return Unsupported("Produce in a transaction")
    return Produce(version, named, request.integer("acks", -(2**15), 2**15 - 1), batches, origin * 1000, several)


def _batch(part: Fields, value: str) -> Batch:
    count = part.integer("record_count", 0, MOST_RECORDS)
    return Batch(
        partition=part.text("partition"),
        producer_id=_producer_id(part),
        producer_epoch=part.integer("producer_epoch", -(2**15), 2**15 - 1),
        base_sequence=part.integer("base_sequence", -(2**31), 2**31 - 1),
        record_count=count,
        last_offset_delta=part.integer("last_offset_delta", -(2**31), 2**31 - 1, default=count - 1),
        transactional=part.flag("transactional"),
        control=part.one_of("control", "COMMIT", "ABORT") if "control" in part.values else "",
        coordinator_epoch=part.integer("coordinator_epoch", -(2**31), 2**31 - 1, default=-1),
        batch_count=part.integer("batch_count", 1, 10, default=1),
        values=tuple(f"{value}{record}" for record in range(count)),
    )


def _producer_id(part: Fields) -> Named:
    value = part.values.get("producer_id")
    if value == -1 and type(value) is int:
        return -1
    if isinstance(value, str) and value.startswith("pid") and value[3:].isdecimal():
        return value
    raise part.wrong("producer_id", "a symbol as pid0, or -1")


def _fetch(version: int, request: Fields) -> Request:
    if "partition_max_bytes" in request.values:
        return Unsupported("Fetch with a limit of bytes")
    committed = request.one_of("isolation", "read_committed", "read_uncommitted") == "read_committed"
    return Fetch(version, request.text("partition"), request.integer("offset", -(2**63), 2**63 - 1), committed)
