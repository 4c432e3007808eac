"""Row rules on Spark: every append step against the one decision, compiled to columns once per behaviour.

A verdict is one row a step: the branch that should decide, and two sets of rules, those at stake in the step and
those of them that it violates. A set of rules is one integer with a bit for each rule of the registry.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame

from model_tests.traces.lower import Formula, Sheet, evaluate
from model_tests.traces.merge import Merge
from model_tests.traces.schema import STEP_PARTS, columns_of, step_of
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.judge import Check, judge
from spec.rules import RULES, Rule
from spec.versions import Profile

BITS: Final[Mapping[Rule, int]] = {rule: 1 << position for position, rule in enumerate(RULES.values())}

KEPT: Final = ("trace", "step", "profile")
"""Columns that every verdict carries on."""

ROW: Final = "row"
LINK: Final = "link"

NEEDED: Final = tuple(dict.fromkeys((*KEPT, *columns_of(*STEP_PARTS))))
"""Columns without which an append cannot be judged."""

APPEND: Final = "origin >= 0"
"""Steps that asked the log to append; of all others the origin is absent."""


def row_verdicts(appends: DataFrame, profiles: Mapping[str, Profile]) -> DataFrame:
    """Verdicts on append steps, each under the profile that it names, which must be one of these."""
    sheet, behaviours = Sheet(), dict(by_behaviour(profiles))
    verdicts = []
    for profile in behaviours:
        expected, checks = judge(step_of(sheet.column), profile)
        verdicts.append(verdict_columns(expected.branch, checks, sheet, ROW))
    return evaluate(appends, KEPT, Merge(sheet, tuple(behaviours.values())).results(verdicts))


def by_behaviour(profiles: Mapping[str, Profile]) -> Iterator[tuple[Profile, list[str]]]:
    """Each different behaviour with the names of the releases that have it."""
    behaviours: dict[Profile, list[str]] = {}
    for name, profile in profiles.items():
        behaviours.setdefault(replace(profile, name="", transaction_version=0), []).append(name)
    return iter(behaviours.items())


def verdict_columns(branch: Term, checks: Iterable[Check], sheet: Sheet, kind: str) -> dict[str, Term]:
    """What a verdict says, as formulas over one table."""
    checks = tuple(checks)
    broken = [replace(check, at_stake=all_of(check.at_stake, negate(check.holds))) for check in checks]
    return {
        "kind": sheet.constant(kind),
        "branch": sheet.constant(branch),
        "judged": _set_of(checks, sheet),
        "violated": _set_of(broken, sheet),
    }


def rules_in(bits: int) -> tuple[Rule, ...]:
    """The rules in a set."""
    return tuple(rule for rule, bit in BITS.items() if bits & bit)


def _set_of(checks: Iterable[Check], sheet: Sheet) -> Formula:
    at_stake: dict[Rule, list[Term]] = {}
    for check in checks:
        at_stake.setdefault(check.rule, []).append(check.at_stake)
    members = (choose(any_of(*facts), BITS[rule], 0) for rule, facts in at_stake.items())
    return sheet.constant(reduce(lambda total, member: total + member, members))
