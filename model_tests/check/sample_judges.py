"""What another judge says of a sample: the solver itself of appends, the reference of traces that it makes again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from model_tests.check.solver_sample import disagreements
from model_tests.check.solver_verdicts import differing_verdicts
from model_tests.judging.check_report import JudgeSample
from model_tests.simulate.simulate import is_seed, trace_of
from model_tests.traces.schema import BY_NAME, ndjson_line
from spec.engines.reading_z3 import INTEGERS
from spec.vocabulary import ABSENT

SOLVER: Final = "z3"
REFERENCE: Final = "reference"

REPORTED: Final = 20
"""Steps or traces that differ, at most, in the report."""

JudgedPlace: TypeAlias = tuple[int, int, str]
"""A trace, a step of it, and in what the other judge differs there; empty where it agrees."""


def sample_of(name: str, requested: int, places: Iterable[JudgedPlace]) -> JudgeSample:
    """The sample, of what the other judge said of each place."""
    text = sorted(places)
    differing = [place for place in text if place[2]]
    reported = tuple(f"trace {trace}, step {step}: {what}" for trace, step, what in differing[:REPORTED])
    return JudgeSample(name, requested, len(text), len(differing), reported)


def solved(rows: Sequence[Mapping[str, Any]]) -> list[JudgedPlace]:
    """What the solver says of appends, each with the verdict that its columns gave."""
    wrong = {(row["trace"], row["step"]) for row in disagreements(rows, INTEGERS)}
    reported = dict.fromkeys(wrong, "the solver decides otherwise than Python")
    reported |= {(row["trace"], row["step"]): f"by the columns {text}" for row, text in differing_verdicts(rows)}
    return [(row["trace"], row["step"], reported.get((row["trace"], row["step"]), "")) for row in rows]


def made_again(rows: Sequence[Mapping[str, Any]]) -> JudgedPlace:
    """The trace of these steps, and where it is not what the reference makes of its number."""
    seed = rows[0]["trace"]
    step, reported = difference(rows, trace_of(seed, len(rows)) if is_seed(seed) else [])
    return seed, step, reported


def difference(rows: Sequence[Mapping[str, Any]], again: Sequence[Any]) -> tuple[int, str]:
    """The first step in which a trace is not what the reference makes, and in which columns; none if it is."""
    for row, made in zip(rows, again, strict=False):
        if ndjson_line(row) != ndjson_line(made):
            other = [name for name in BY_NAME if row[name] != made[name]]
            text = ", ".join(f"{name} is {row[name]!r}, the reference has {made[name]!r}" for name in other[:5])
            return int(row["step"]), text
    if len(rows) != len(again):
        return min(len(rows), len(again)), f"{len(rows)} steps, the reference makes {len(again)}"
    return ABSENT, ""
