"""How many states a broken system has more or less than the true one, in the same instance.

A defect opens states or closes them. As many states need not be the same states: a defect may make others of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from model_tests.verify.transactions_searches import built
from spec.engines.explore import Exploration, explore
from spec.engines.verdict import Unknown
from spec.systems.transactions.broken import BrokenTransactions
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.world import Knobs

MOST_STATES: Final = 40_000
"""A system with more is said to have more than so many."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One broken system and the true one.

    Attributes:
        broken: states of the broken system.
        mended: states of the true one.
        whole: neither search was cut short.
    """

    name: str
    violates: str
    broken: int
    mended: int
    whole: bool

    @property
    def difference(self) -> int:
        """States that the defect adds; negative where it closes more than it opens."""
        return self.broken - self.mended

    def __str__(self) -> str:
        if not self.whole:
            return f"{self.name}: {self.broken} states, {self.mended} when mended, as far as was counted"
        return f"{self.name}: {self.broken} states, {self.mended} when mended, {self.difference:+}"


def counted(change: BrokenTransactions, most_states: int = MOST_STATES) -> Counted:
    """Both systems searched as a whole, whatever they violate."""
    broken, mended = (_explored(knobs, most_states) for knobs in (change.knobs, change.mended))
    whole = not any(isinstance(each.verdict, Unknown) for each in (broken, mended))
    return Counted(change.name, change.violates, broken.states, mended.states, whole)


def of_transactions(most_states: int = MOST_STATES) -> Iterator[Counted]:
    """Every hand-written defect of the transactions."""
    return (counted(change, most_states) for change in CONTROLS)


def _explored(knobs: Knobs, most_states: int) -> Exploration:
    instance = built("", knobs)
    return explore(instance.system, instance.finite, [], most_states=most_states)
