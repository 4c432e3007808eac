"""A link rule: what a step is compared with that came before it on a key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from spec.judging.judge import RuleCheck
from spec.readings.formulas import Sheet, columns_read
from spec.rules import Rule

Scalar: TypeAlias = Callable[[str], Any]
"""The value of a column of the step by its name; of the step before with `previous_` before the name."""


@dataclass(frozen=True, slots=True)
class StepLink:
    """One link rule.

    Attributes:
        check: of the scalars of a step and of the one before it on the key.
        statement: what it allows, in a sentence.
        bound: it allows several states after a step: what the step left is bounded by it, and not shown.
    """

    name: str
    rule: Rule
    check: Callable[[Scalar], RuleCheck]
    statement: str
    bound: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that it looks at, those of the step before with `previous_` before them."""
        check = self.check(Sheet().column)
        return columns_read(check.at_stake, check.holds)
