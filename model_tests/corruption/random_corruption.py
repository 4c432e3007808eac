"""A true trace made false at random, in one of five ways: what a check of any trace should detect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.traces.schema import BY_NAME, Row

LABELS: Final = (
    "node",
    "client",
    "topic",
    "partition",
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "group",
    "member",
    "transaction",
    "message",
    "batch",
)
"""Columns that say who, where and which; a relabelled step has another value of the trace in one of them."""

APART: Final = (1, 1, 1, 2, 5, 20)
"""How many places later a step is repeated, or how far away the step is that it changes places with."""

SHIFTS_MS: Final = (-100_000, -1_000, -1, 1, 1_000, 100_000)
"""By how much a step's time is moved."""


@unique
class CorruptionKind(StrEnum):
    """What is done to a step."""

    DROP = "drop"  # it is left out without a gap: the steps are numbered anew
    DUPLICATE = "duplicate"  # it is repeated a little later
    SWAP = "swap"  # it changes places with a later one
    RETIME = "retime"  # it has another time
    RELABEL = "relabel"  # it is attributed to another actor


@dataclass(frozen=True, slots=True)
class RandomlyCorruptedTrace:
    """A corrupted trace.

    Attributes:
        kind: what was done.
        place: of the step to which it was done, in the true trace.
        other: the place where it is repeated, or of the step with which it changed places; else its own.
        column: that was changed, if one was.
        rows: of the corrupted trace, numbered from 0 on.
    """

    kind: CorruptionKind
    place: int
    other: int
    column: str
    rows: tuple[Row, ...]


Change: TypeAlias = Callable[[list[dict[str, Any]], int, Random], tuple[int, str] | None]
"""Changes steps in their list; the other place and the column, None where the step cannot be changed so."""


def corrupted(true: Sequence[Row], kind: CorruptionKind, chance: Random) -> RandomlyCorruptedTrace | None:
    """The trace with one step changed in one way; None where the step that is drawn cannot be changed so.

    Args:
        true: the steps, in order.
        kind: the way.
        chance: draws the step, and the change.
    """
    rows = [dict(row) for row in true]
    place = chance.randrange(len(rows))
    changed = _CHANGES[kind](rows, place, chance)
    if changed is None:
        return None
    other, column = changed
    return RandomlyCorruptedTrace(
        kind, place, other, column, tuple({**row, "step": step} for step, row in enumerate(rows))
    )


def _drop(rows: list[dict[str, Any]], place: int, _: Random) -> tuple[int, str]:
    del rows[place]
    return place, ""


def _duplicate(rows: list[dict[str, Any]], place: int, chance: Random) -> tuple[int, str]:
    other = min(len(rows), place + chance.choice(APART))
    rows.insert(other, dict(rows[place]))
    return other, ""


def _swap(rows: list[dict[str, Any]], place: int, chance: Random) -> tuple[int, str] | None:
    other = min(len(rows) - 1, place + chance.choice(APART))
    rows[place], rows[other] = rows[other], rows[place]
    return None if other == place else (other, "")


def _retime(rows: list[dict[str, Any]], place: int, chance: Random) -> tuple[int, str] | None:
    time = rows[place]["time_ms"]
    shifted = max(0, time + chance.choice(SHIFTS_MS))
    rows[place]["time_ms"] = shifted
    return None if time in (shifted, BY_NAME["time_ms"].absent) else (place, "time_ms")


def _relabel(rows: list[dict[str, Any]], place: int, chance: Random) -> tuple[int, str] | None:
    row = rows[place]
    labels = [name for name in LABELS if row[name] != BY_NAME[name].absent]
    if not labels:
        return None
    column = chance.choice(labels)
    others = sorted({other[column] for other in rows} - {row[column], BY_NAME[column].absent})
    if not others:
        return None
    row[column] = chance.choice(others)
    return place, column


_CHANGES: Final[Mapping[CorruptionKind, Change]] = MappingProxyType(
    {
        CorruptionKind.DROP: _drop,
        CorruptionKind.DUPLICATE: _duplicate,
        CorruptionKind.SWAP: _swap,
        CorruptionKind.RETIME: _retime,
        CorruptionKind.RELABEL: _relabel,
    }
)
