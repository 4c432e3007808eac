"""One formula for many profiles: what they share stands once, and only where they differ is a choice by profile.

A decision is called once for each behaviour; the formulas it returns have the same shape but for the parts that the
behaviour changes.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from spec.algebra import Term, choose
from spec.readings.formulas import DecisionFormula, Sheet

PROFILE: Final = "profile"
"""The column that names the profile of a step."""


class Merge:
    """Joins, for each behaviour in turn, the formulas on one sheet; each behaviour has the names of its profiles."""

    def __init__(self, sheet: Sheet, behaviours: Sequence[Sequence[str]]) -> None:
        self._sheet = sheet
        self._behaviours = behaviours
        self._merged: dict[tuple[DecisionFormula, ...], DecisionFormula] = {}

    def results(self, by_behaviour: Sequence[Mapping[str, Term]]) -> dict[str, Term]:
        """Each result, whatever the profile of the step."""
        return {name: self.formulas([results[name] for results in by_behaviour]) for name in by_behaviour[0]}

    def formulas(self, terms: Sequence[Term]) -> DecisionFormula:
        """One formula that is, on a step of the k-th behaviour, the k-th of these."""
        parts = tuple(self._sheet.constant(term) for term in terms)
        if parts not in self._merged:
            self._merged[parts] = self._join(parts)
        return self._merged[parts]

    def _join(self, parts: tuple[DecisionFormula, ...]) -> DecisionFormula:
        first = parts[0]
        if all(part is first for part in parts):
            return first
        alike = all(part.operator == first.operator and len(part.operands) == len(first.operands) for part in parts)
        if alike and first.operands:
            operands = zip(*(part.operands for part in parts), strict=True)
            return self._sheet.join(first.operator, *(self.formulas(same) for same in operands))
        return self._by_profile(parts)

    def _by_profile(self, parts: tuple[DecisionFormula, ...]) -> DecisionFormula:
        profiles: dict[DecisionFormula, list[str]] = {}
        for part, names in zip(parts, self._behaviours, strict=True):
            profiles.setdefault(part, []).extend(names)
        *some, last = profiles.items()
        cases = ((self._sheet.among(PROFILE, names), part) for part, names in some)
        return reduce(lambda other, case: choose(case[0], case[1], other), cases, last[0])
