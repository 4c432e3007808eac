"""Another judge on a sample: the solver itself on appends, the reference on traces that it makes again.

For appends there are two comparisons: the solver's reading of the decision with Python's, and the verdict of the
columns with the solver's own reading of the same formulas.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any, Final, TypeAlias

from model_tests.check.samples import undecided
from model_tests.judging.check_report import JudgeSample
from model_tests.judging.verdicts import BITS, REFUSED, judged
from model_tests.simulate.simulate import is_seed, trace_of
from model_tests.traces.schema import BY_NAME, STEP_PARTS, columns_of, ndjson_line, step_of
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.engines.reading_z3 import INTEGERS, Numbers, evaluate
from spec.judging.judge import RuleCheck
from spec.protocol.append import Append, append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry, flatten, scalars
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT

_KINDS = {
    name: kind
    for prefix, record in (("before_", ProducerEntry), ("", AppendRequest), ("", MetVerification))
    for name, (_, kind) in zip(columns_of((prefix, record)), scalars(record), strict=True)
}
"""Columns that a decision takes, with the Python types of their values."""

COLUMNS: Final = (*_KINDS, "profile")
"""Columns of a step that are looked at."""


def disagreements(
    steps: Iterable[Mapping[str, Any]], numbers: Numbers, decide: Callable[..., Append] = append
) -> list[Mapping[str, Any]]:
    """The steps on which the solver decides otherwise than `decide` does in Python."""
    terms = {name: _outcome(append, _constant(numbers), profile) for name, profile in PROFILES.items()}
    return [step for step in steps if not _agrees(step, terms[step["profile"]], numbers, decide)]


def _agrees(
    step: Mapping[str, Any], terms: Mapping[str, Term], numbers: Numbers, decide: Callable[..., Append]
) -> bool:
    decided = _outcome(decide, step.__getitem__, PROFILES[step["profile"]])
    agreement = all_of(*(term == decided[name] for name, term in terms.items()))
    return bool(evaluate(agreement, {name: step[name] for name in _KINDS}, numbers))


def _constant(numbers: Numbers) -> Callable[[str], Term]:
    return lambda name: numbers.constant(name, bool if _KINDS[name] is bool else int)


def _outcome(decide: Callable[..., Append], scalar: Callable[[str], Term], profile: Profile) -> dict[str, Term]:
    """Branch, reply and entry after, as terms or as values."""
    entry, request, verification = undecided(scalar)
    decision = decide(entry, request, profile, verification)
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {"branch": decision.branch, **dict(flatten(decision.reply)), **after}


# --- the verdict of the columns, compared with the solver -------------------------------------------------------------


VERDICT: Final = ("branch", "judged", "violated")
"""The deciding branch, and the rules at stake and violated, each as a set of bits."""

VERDICT_COLUMNS: Final = tuple(dict.fromkeys((*columns_of(*STEP_PARTS), REFUSED)))
"""Columns of an append that its verdict reads."""


def differing_verdicts(
    rows: Iterable[Mapping[str, Any]], numbers: Numbers = INTEGERS
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The appends on which the solver's verdict is not the one that the columns gave, and in what.

    Args:
        rows: appends with the columns that a verdict reads, their profile, and the verdict of the columns.
        numbers: what the solver takes integers for.
    """
    for row in rows:
        values = {name: row[name] for name in VERDICT_COLUMNS}
        solved = {name: evaluate(term, values, numbers) for name, term in _terms(row["profile"], numbers).items()}
        other = [
            f"{name} is {row[name]}, the solver has {solved[name]}" for name in VERDICT if row[name] != solved[name]
        ]
        if other:
            yield row, ", ".join(other)


@cache
def _terms(profile: str, numbers: Numbers) -> Mapping[str, Term]:
    def constant(name: str) -> Term:
        return numbers.constant(name, bool if BY_NAME[name].kind is ColumnType.BOOLEAN else int)

    expected, checks = judged(step_of(constant), PROFILES[profile], constant(REFUSED))
    broken = [RuleCheck(check.rule, all_of(check.at_stake, negate(check.holds)), True) for check in checks]
    return {"branch": expected.branch, "judged": _set_of(checks), "violated": _set_of(broken)}


def _set_of(checks: Iterable[RuleCheck]) -> Term:
    at_stake: dict[int, list[Term]] = {}
    for check in checks:
        at_stake.setdefault(BITS[check.rule], []).append(check.at_stake)
    return reduce(lambda total, bit: total + choose(any_of(*at_stake[bit]), bit, 0), at_stake, 0)


SOLVER: Final = "z3"
REFERENCE: Final = "reference"


# --- samples ----------------------------------------------------------------------------------------------------------


REPORTED: Final = 20
"""Steps or traces that differ, at most, in the report."""

JudgedPlace: TypeAlias = tuple[int, int, str]
"""A trace, a step of it, and in what the other judge differs there; empty where it agrees."""


def sample_of(name: str, requested: int, places: Iterable[JudgedPlace]) -> JudgeSample:
    """The sample, with the other judge's verdict on each place."""
    text = sorted(places)
    differing = [place for place in text if place[2]]
    reported = tuple(f"trace {trace}, step {step}: {what}" for trace, step, what in differing[:REPORTED])
    return JudgeSample(name, requested, len(text), len(differing), reported)


def solved(rows: Sequence[Mapping[str, Any]]) -> list[JudgedPlace]:
    """The solver's verdict on appends, each with the verdict of the columns."""
    wrong = {(row["trace"], row["step"]) for row in disagreements(rows, INTEGERS)}
    reported = dict.fromkeys(wrong, "the solver decides otherwise than Python")
    reported |= {(row["trace"], row["step"]): f"by the columns {text}" for row, text in differing_verdicts(rows)}
    return [(row["trace"], row["step"], reported.get((row["trace"], row["step"]), "")) for row in rows]


def made_again(rows: Sequence[Mapping[str, Any]]) -> JudgedPlace:
    """The trace of these steps, and the place where the reference makes another trace from its number."""
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
