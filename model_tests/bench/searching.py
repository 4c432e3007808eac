"""The speed of the explicit search: states a second of CPU time, in an instance that is searched as a whole."""

from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Final

from model_tests.verify.transactions_searches import built
from spec.engines.explore import explore
from spec.engines.verdict import Holds
from spec.systems.transactions.instances import INSTANCES

SEARCHED: Final = "two transactions on two partitions"
"""An instance of the newest release that has some ten thousand states."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One search as a whole, with every theorem looked at in every state; the median of some rounds.

    Attributes:
        seconds: of CPU time; what is remembered of a state is worked out anew in each round.
    """

    states: int
    edges: int
    seconds: float

    @property
    def per_second(self) -> float:
        """States a second."""
        return self.states / self.seconds


def timed(rounds: int, name: str = SEARCHED) -> Timing:
    """Search an instance so many times.

    Raises:
        ValueError: the search does not hold as a whole; its speed would say nothing.
    """
    knobs = next(each.knobs for each in INSTANCES if each.name == name)
    seconds = []
    for _ in range(rounds):
        instance = built(name, knobs)
        started = process_time()
        found = explore(instance.system, instance.finite)
        seconds.append(process_time() - started)
        if not (isinstance(found.verdict, Holds) and found.verdict.complete):
            raise ValueError(f"{name}: {found.verdict}")
    return Timing(found.states, found.edges, median(seconds))
