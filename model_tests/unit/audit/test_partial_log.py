from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_tests.audit.compaction import condense
from model_tests.audit.holes import Surroundings
from model_tests.audit.partial_log import Condensed, Wanted, follow, nothing, uncondensed
from model_tests.audit.partition import audit_batches, conclude
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.reread import RereadRequest
from model_tests.audit.tables import columns_of
from model_tests.logs.kafka_log_batches import COLUMNS, CONTROL, TRANSACTIONAL, Batches, dtype_of
from model_tests.logs.kafka_log_derived import DerivedFiles
from spec.versions import KAFKA_3_9, NEWEST
from spec.vocabulary import ABSENT

ROUNDS = 4
"""Times that a log is read before everything that is needed must be there."""

SOUND = ["next"] * 8 + ["commit", "commit", "abort", "bump"] * 2
WRONG = ["again", "gap", "any", "stale", "empty"]

BATCH = st.fixed_dictionaries(
    {
        "producer": st.sampled_from([0, 0, 0, 1, 2, ABSENT]),
        "kind": st.sampled_from(SOUND + WRONG),
        "times": st.sampled_from([1, 1, 3, 7, 12]),
        "records": st.integers(1, 3),
        "transactional": st.sampled_from([None] * 12 + [True, False]),
        "hole": st.sampled_from([0] * 12 + [1]),
        "damage": st.sampled_from([False] * 30 + [True]),
        "idle": st.sampled_from([1] * 20 + [24 * 3600 * 1000]),
        "coordinator": st.sampled_from([0] * 9 + [1, -1]),
        "leader": st.sampled_from([0] * 12 + [1]),
        "segment": st.sampled_from([False] * 6 + [True]),
    }
)


PLAIN = {"kind": "next", "transactional": None, "hole": 0, "damage": False, "idle": 1}
PLAIN |= {"coordinator": 0, "leader": 0, "segment": False}


def repeated(wishes: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each request once, and as often as it counts, with nothing odd about it."""
    for wish in wishes:
        yield wish
        yield from [wish | PLAIN] * (wish["times"] - 1)


class RandomLogWriter:
    """A log near one that a leader would write, with everything that can be wrong."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self.offset = self.segment = self.now = self.leader = self.coordinator = 0
        self.known: dict[int, ContinuedProducer] = {}

    def add(self, wish: dict[str, Any]) -> None:
        """One batch more."""
        producer, kind = wish["producer"], wish["kind"]
        known = self.known.setdefault(producer, ContinuedProducer(transactional=producer == 1))
        self.offset, self.now = self.offset + wish["hole"], self.now + wish["idle"]
        self.leader += wish["leader"]
        self.segment = self.offset if wish["segment"] else self.segment
        if wish["transactional"] is not None:
            known.transactional = wish["transactional"]
        row = {"producer_id": producer, "follows_damage": wish["damage"], "record_count": wish["records"]}
        row |= {"last_offset_delta": wish["records"] - 1, "control_type": ABSENT, "coordinator_epoch": ABSENT}
        if kind == "bump":
            known.epoch, known.following = known.epoch + 1, 0
        marks = kind in ("commit", "abort") and producer >= 0
        self.append(row | (self.marker(wish, known) if marks else self.data(wish, known)))

    def marker(self, wish: dict[str, Any], known: "ContinuedProducer") -> dict[str, int]:
        """The end of a transaction, in every third case of a bumped epoch."""
        self.coordinator = max(self.coordinator + wish["coordinator"], 0)
        if wish["records"] == 3:
            known.epoch, known.following = known.epoch + 1, 0
        row = {"attributes": CONTROL | TRANSACTIONAL, "record_count": 1, "last_offset_delta": 0}
        row |= {"base_sequence": ABSENT, "producer_epoch": known.epoch, "coordinator_epoch": self.coordinator}
        return row | {"control_type": int(wish["kind"] == "commit")}

    def data(self, wish: dict[str, Any], known: "ContinuedProducer") -> dict[str, int]:
        """Data, in sequence or not."""
        kind, producer = wish["kind"], wish["producer"]
        known.last = {"again": known.last, "gap": known.following + 1, "any": 7}.get(kind, known.following)
        known.following = known.last + wish["records"]
        row = {"base_sequence": known.last if producer >= 0 else ABSENT, "producer_epoch": known.epoch}
        row["producer_epoch"] -= kind == "stale"
        row["record_count"] = 0 if kind == "empty" else wish["records"]
        return row | {"attributes": TRANSACTIONAL * (known.transactional and producer >= 0)}

    def append(self, row: dict[str, int]) -> None:
        """Put it behind the others."""
        number = len(self.columns["crc"])
        row |= {"base_offset": self.offset, "segment": self.segment, "leader_epoch": self.leader, "crc": number}
        row |= {"position": number * 100, "size": 100, "max_timestamp": self.now}
        for name in COLUMNS:
            self.columns[name].append(row[name])
        self.offset += row["last_offset_delta"] + 1


@dataclass
class ContinuedProducer:
    """What a producer continues with."""

    transactional: bool
    epoch: int = 0
    following: int = 0
    last: int = 0


def log_of(wishes: Sequence[dict[str, Any]]) -> Batches:
    """The log of these wishes."""
    writer = RandomLogWriter()
    for wish in repeated(wishes):
        writer.add(wish)
    return Batches(**{name: np.array(column, dtype_of(name)) for name, column in writer.columns.items()})


def parts_of(batches: Batches, cuts: Sequence[int]) -> list[Batches]:
    """The log, cut before these batches."""
    places = sorted({0, len(batches), *(min(cut, len(batches)) for cut in cuts)})
    return [batches.take(np.arange(first, end)) for first, end in pairwise(places)]


def condensed(batches: Batches, wanted: Wanted) -> Condensed:
    """A log, or a part of one, read by itself."""
    return condense(uncondensed(batches, wanted.around), wanted)


def together(parts: Sequence[Condensed], wanted: Wanted) -> Condensed:
    """What the parts leave, put together."""
    whole = condense(nothing(wanted.around), wanted)
    for part in parts:
        whole = condense(follow(whole, part, wanted.around), wanted)
    return whole


def judged(
    read: Callable[[Wanted], Condensed], wanted: Wanted, derived: DerivedFiles | None = None
) -> PartitionVerdict:
    """The verdict, after as many readings as it takes to have what is needed."""
    for _ in range(ROUNDS):
        verdict, request = conclude(read(wanted), wanted, derived)
        if not request:
            return verdict
        wanted = answering(wanted, request)
    raise AssertionError(f"asked for more again: {request}")


def answering(wanted: Wanted, request: RereadRequest) -> Wanted:
    """What must be kept so that the question is answered."""
    places = np.array(sorted({*wanted.places.tolist(), *request.places}), np.int64)
    return replace(wanted, whole=wanted.whole | request.producers, places=places)


def assert_same(one: object, other: object) -> None:
    """Equal in every column and field."""
    for name in columns_of(one):
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, np.ndarray):
            assert np.array_equal(left, right), (name, left, right)
        elif hasattr(left, "__dataclass_fields__"):
            assert_same(left, right)
        else:
            assert left == right, name


SOUND_BATCH = st.fixed_dictionaries(
    {
        "producer": st.sampled_from([0, 0, 1, 1, 2, ABSENT]),
        "kind": st.sampled_from(SOUND),
        "times": st.sampled_from([1, 3, 7, 12]),
        "records": st.integers(1, 3),
    }
)

LOG = st.lists(BATCH, min_size=1, max_size=40)

WANTED = st.builds(
    lambda log_start, high_watermark, active, cleaned, known, edges, profile: Wanted(
        Surroundings(
            active_base=active,
            log_start=log_start,
            high_watermark=high_watermark,
            cleaned_to=cleaned,
            cleaner_known=known,
        ),
        profile,
        edges=np.array(sorted(edges), np.int64),
    ),
    st.sampled_from([ABSENT, ABSENT, 0, 5, 30]),
    st.sampled_from([ABSENT, ABSENT, 10, 50]),
    st.sampled_from([0, 0, 20]),
    st.sampled_from([ABSENT, ABSENT, 15]),
    st.booleans(),
    st.sets(st.integers(0, 200), max_size=3),
    st.sampled_from([NEWEST, KAFKA_3_9]),
)


@settings(max_examples=100)
@given(LOG, WANTED, st.integers(0, 150), st.integers(0, 150))
def test_two_logs_together_leave_what_the_log_of_both_leaves(
    wishes: list[dict[str, Any]], wanted: Wanted, cut: int, other: int
) -> None:
    """At every split point: `condensed(a) + condensed(b) == condensed(ab)`; so it does not matter in which order."""
    batches = log_of(wishes)
    parts = [condensed(part, wanted) for part in parts_of(batches, [cut, other])]

    assert_same(condensed(batches, wanted), together(parts, wanted))


@settings(max_examples=150)
@given(LOG, WANTED, st.lists(st.integers(0, 150), max_size=6))
def test_parts_are_judged_as_the_log_is(wishes: list[dict[str, Any]], wanted: Wanted, cuts: list[int]) -> None:
    """Every finding, every count, whatever is wrong with the log and wherever it is divided."""
    batches = log_of(wishes)

    def read(wanted: Wanted) -> Condensed:
        return together([condensed(part, wanted) for part in parts_of(batches, cuts)], wanted)

    assert audit_batches(batches, wanted.around, wanted.profile) == judged(read, wanted)


@settings(max_examples=60)
@given(st.lists(SOUND_BATCH, max_size=40), st.lists(st.integers(0, 150), max_size=6))
def test_a_sound_log_is_read_once(wishes: list[dict[str, Any]], cuts: list[int]) -> None:
    """Wherever it is divided, nothing more is needed, and no producer is in doubt."""
    wanted = Wanted(Surroundings(), edges=np.array([20, 60], np.int64))
    batches = log_of([{**PLAIN, **wish} for wish in wishes])
    left = together([condensed(part, wanted) for part in parts_of(batches, cuts)], wanted)

    verdict, request = conclude(left, wanted)

    assert verdict == audit_batches(batches)
    assert verdict.findings == ()
    assert not request


@pytest.mark.parametrize("producers", [1, 20])
def test_a_sound_part_leaves_little(producers: int) -> None:
    """However long it is: some headers for each producer."""
    wishes = [
        {"producer": number % producers, "records": 2, "times": 1} | PLAIN | {"transactional": False}
        for number in range(4000)
    ]

    left = condensed(log_of(wishes), Wanted(Surroundings()))

    assert left.totals.batches == 4000
    assert len(left.rows) <= 13 * producers
    assert len(left.pieces) == 1
