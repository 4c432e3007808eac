"""Narration of the system of a compacted partition: records with keys, markers, and what the cleaner removes."""

from collections.abc import Iterator
from typing import Final

from model_tests.bugs.narration import ActionNarration, Moment
from model_tests.diagrams.events import DrawnMessage, Event, Note
from spec.systems.cleaning import MARKER

PRODUCER: Final = "transactional producer"
OTHER: Final = "other producer"
COORDINATOR: Final = "transaction coordinator"
LEADER: Final = "leader"
CLEANER: Final = "cleaner"
OUTCOMES: Final = ("ABORT", "COMMIT")


def _key(key: int) -> str:
    return f"key 00 00 00 0{key}"


def producer_writes(moment: Moment) -> Iterator[Event]:
    """A record of a transaction."""
    (key,) = moment.at
    yield DrawnMessage(PRODUCER, LEADER, f"Produce, in a transaction: {_key(key)}")
    yield Note(LEADER, f"offset {moment.before.length()}")


def other_writes(moment: Moment) -> Iterator[Event]:
    """A record outside of transactions."""
    (key,) = moment.at
    yield DrawnMessage(OTHER, LEADER, f"Produce: {_key(key)}")
    yield Note(LEADER, f"offset {moment.before.length()}")


def marker_is_written(moment: Moment) -> Iterator[Event]:
    """The marker, whose key has bytes like any other."""
    (outcome,) = moment.at
    yield DrawnMessage(COORDINATOR, LEADER, f"marker {OUTCOMES[outcome]}")
    yield Note(LEADER, f"offset {moment.before.length()}, {_key(outcome)}")


def cleaner_passes(moment: Moment) -> Iterator[Event]:
    """What a pass removes."""
    before, after = moment.before, moment.after
    offsets = [at for at in range(int(before.length())) if before.present(at) and not after.present(at)]
    removed = [f"{'the marker' if before.kind(at) == MARKER else 'the record'} at offset {at}" for at in offsets]
    yield DrawnMessage(CLEANER, LEADER, f"a pass removes {' and '.join(removed) or 'nothing'}")


CLEANING: Final = ActionNarration(
    (PRODUCER, OTHER, COORDINATOR, LEADER, CLEANER),
    {
        "producer_writes": producer_writes,
        "other_writes": other_writes,
        "coordinator_writes_marker": marker_is_written,
        "cleaner_passes": cleaner_passes,
    },
)
