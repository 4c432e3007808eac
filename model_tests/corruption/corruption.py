"""One way to make a step of a true trace false."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model_tests.traces.schema import Row
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class StepCorruption:
    """One way to make a step false.

    Attributes:
        fits: whether a true step with this deciding branch can be made false this way.
        change: the columns that the false step has instead.
        drops: the step is left out, and the next one on its key is the false one.
    """

    name: str
    rule: Rule
    fits: Callable[[Row, str], bool]
    change: Callable[[Row], dict[str, Any]]
    drops: bool = False
