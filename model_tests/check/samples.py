"""Random append steps as arrays: what the readings are compared on, and what is measured.

They need not come from any run: sentinels, the ends of the ranges, wraps, exact resends of what is cached, every
origin and every mixture of marks stand beside the usual.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

import spec.readings.reading_numpy  # noqa: F401  # registers the reading
from model_tests.traces.schema import column_of
from spec.protocol.append import Append, append
from spec.protocol.records import WINDOW, AppendRequest, MetVerification, ProducerEntry, build, flatten
from spec.protocol.seq import next_sequence, previous_sequence
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, MAX_SEQUENCE, Origin

Array: TypeAlias = npt.NDArray[Any]
Table: TypeAlias = dict[str, Array]
"""Columns by their names in the trace schema, all of one length."""

EDGES: Final = (0, 1, 4, 5, 9, 1000, MAX_SEQUENCE - 9, MAX_SEQUENCE - 4, MAX_SEQUENCE - 1, MAX_SEQUENCE)
DELTAS: Final = (0, 0, 0, 1, 2, 4, 9)
EPOCHS: Final = (0, 0, 1, 2, 7, MAX_EPOCH - 1, MAX_EPOCH)


def random_steps(count: int, seed: int) -> Table:
    """Entries before, requests and verifications; every profile in turn, named in the column `profile`."""
    chance = np.random.default_rng(seed)
    table: Table = {"profile": np.resize(np.array(list(PROFILES)), count)}
    table |= _entries(count, chance)
    table |= _requests(table, count, chance)
    table |= _verifications(table, count, chance)
    return table


def decided(table: Mapping[str, Array], profile: Profile) -> Append:
    """The decision on every row of the table, under one profile."""
    entry, request, verification = undecided(table.__getitem__)
    return append(entry, request, profile, verification)


def undecided(scalar: Callable[[str], Any]) -> tuple[ProducerEntry, AppendRequest, MetVerification]:
    """What a decision takes, from the columns of a table."""
    entry = build(ProducerEntry, lambda name: scalar(f"before_{name}"))
    request = build(AppendRequest, lambda name: scalar(column_of(name)))
    return entry, request, build(MetVerification, scalar)


def answered(table: Mapping[str, Array], profile: Profile) -> Table:
    """The table with the answers and the entries after that the decision allows."""
    return dict(table) | outcome(decided(table, profile), len(table["profile"]))


def outcome(decision: Append, count: int) -> Table:
    """Answer and entry after of a decision as columns; a constant fills its column."""
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {name: np.broadcast_to(value, count) for name, value in (*flatten(decision.reply), *after.items())}


def branches(table: Mapping[str, Array], profile: Profile) -> Array:
    """The number of the branch that decides on each row."""
    return np.broadcast_to(decided(table, profile).branch, len(table["profile"]))


def _entries(count: int, chance: np.random.Generator) -> Table:
    known = chance.random(count) < 0.85
    cached = np.where(known, chance.integers(0, WINDOW + 1, count), 0)
    table = {
        "before_epoch": np.where(known, chance.choice(EPOCHS, count), ABSENT),
        "before_coordinator_epoch": np.where(known, chance.choice((ABSENT, 0, 3), count), ABSENT),
        "before_txn_first_offset": np.where(known, chance.choice((ABSENT, ABSENT, 0, 40), count), ABSENT),
    }
    last_sequence, last_offset = chance.choice(EDGES, count), chance.integers(60, 2**40, count)
    for position in range(WINDOW):
        present, delta = position < cached, chance.choice(DELTAS, count)
        table |= {
            f"before_cached_{position}_last_sequence": np.where(present, last_sequence, ABSENT),
            f"before_cached_{position}_last_offset": np.where(present, last_offset, ABSENT),
            f"before_cached_{position}_offset_delta": np.where(present, delta, ABSENT),
        }
        last_sequence = np.asarray(previous_sequence(last_sequence, delta + 1))
        last_offset = last_offset - delta - 1
    return table


def _requests(entries: Table, count: int, chance: np.random.Generator) -> Table:
    """Requests of all kinds: the next batch, resends, first batches, and any sequence at all."""
    delta = chance.choice(DELTAS, count)
    sequence = np.asarray(next_sequence(entries["before_cached_0_last_sequence"], 1))
    resent = _mostly(chance, count, 0.75, ABSENT, lambda: chance.integers(0, WINDOW, count))
    for position in range(WINDOW):
        here = (resent == position) & (entries[f"before_cached_{position}_last_offset"] >= 0)
        cached_delta = entries[f"before_cached_{position}_offset_delta"]
        first = previous_sequence(entries[f"before_cached_{position}_last_sequence"], cached_delta)
        delta, sequence = np.where(here, cached_delta, delta), np.where(here, first, sequence)
    sequence = _mostly(chance, count, 0.75, sequence, lambda: chance.choice((ABSENT, 0, 0, 0, *EDGES), count))
    drift = _mostly(chance, count, 0.75, 0, lambda: chance.choice((-1, 1, 2), count))
    return {
        "before_log_end": entries["before_cached_0_last_offset"] + chance.integers(1, 9, count),
        "origin": _mostly(chance, count, 0.7, Origin.CLIENT.value, lambda: chance.integers(0, len(Origin), count)),
        "batch_count": _mostly(chance, count, 0.97, 1, lambda: chance.integers(0, 3, count)),
        "sent_base_offset": _mostly(chance, count, 0.97, 0, lambda: chance.integers(-1, 3, count)),
        "producer_id": _mostly(chance, count, 0.95, 4000, lambda: np.full(count, ABSENT)),
        "producer_epoch": np.clip(entries["before_epoch"] + drift, ABSENT, MAX_EPOCH),
        "base_sequence": sequence,
        "last_offset_delta": delta,
        "record_count": _mostly(chance, count, 0.95, delta + 1, lambda: chance.integers(0, 3, count)),
        "transactional": chance.random(count) < 0.5,
        "control": chance.random(count) < 0.15,
        "coordinator_epoch": chance.choice((ABSENT, 0, 2, 3, 4), count),
        "marker_version": chance.choice((ABSENT, 0, 1, 2), count),
    }


def _verifications(requests: Table, count: int, chance: np.random.Generator) -> Table:
    lowest = requests["base_sequence"] + chance.choice((-1, 0, 0, 1), count)
    pending = chance.random(count) < 0.5
    return {
        "verification_pending": pending,
        "verification_guarded": pending & (chance.random(count) < 0.7),
        "verification_bumps": pending & (chance.random(count) < 0.5),
        "verification_lowest": np.where(pending, np.clip(lowest, 0, MAX_SEQUENCE), ABSENT),
    }


def _mostly(
    chance: np.random.Generator, count: int, share: float, usual: Array | int, other: Callable[[], Array]
) -> Array:
    """The usual value in this share of the rows, another one elsewhere."""
    return np.where(chance.random(count) < share, usual, other())
