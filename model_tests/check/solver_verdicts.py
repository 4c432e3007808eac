"""The verdict that the columns gave on an append, compared with the solver's own reading of the same formulas."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce
from typing import Any, Final

from model_tests.judging.verdicts import BITS, REFUSED, judged
from model_tests.traces.schema import BY_NAME, STEP_PARTS, columns_of, step_of
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.engines.reading_z3 import INTEGERS, Numbers, evaluate
from spec.judging.judge import RuleCheck
from spec.versions import PROFILES

VERDICT: Final = ("branch", "judged", "violated")
"""The deciding branch, and the rules at stake and violated, each as a set of bits."""

COLUMNS: Final = tuple(dict.fromkeys((*columns_of(*STEP_PARTS), REFUSED)))
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
        values = {name: row[name] for name in COLUMNS}
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
