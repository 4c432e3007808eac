"""The results of a part of `eos verify`: per rule and layer, controls, mutants, and its own figures.

A result names its sources: the commit that it was made from, and a digest of everything that it depends on.
"""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from spec.evidence import Layer
from spec.rules import Rule
from spec.systems.assumptions import Assumption

DIRECTORY: Final = Path("build/verify")
"""Where reports go, unless a run says otherwise."""

Figure: TypeAlias = int | float | str
"""A number or a short text in a report."""


@unique
class RunEffort(StrEnum):
    """How much of everything runs."""

    QUICK = "quick"
    DEFAULT = "default"
    DEEP = "deep"


@unique
class RuleVerdict(StrEnum):
    """The outcome of one kind of evidence for one rule."""

    PROVED = "proved"  # by induction, without bounds
    HOLDS = "holds"  # on everything that was looked at; the figures say on how much
    VIOLATED = "violated"
    UNKNOWN = "unknown"  # the solver gave up: a failure


@dataclass(frozen=True, slots=True)
class Result:
    """Evidence of one kind for one rule.

    Attributes:
        count: what was judged: obligations, states, examples, rows, steps, batches. Zero is no evidence.
        figures: what the count is made of (`obligations`, `depth`, `states`, `rows`, ...), printed with the verdict.
        detail: for a violation, the first one in a line.
        assumptions: what the proof, or the system that was searched, takes for granted.
    """

    rule: Rule
    layer: Layer
    verdict: RuleVerdict
    count: int
    seconds: float
    figures: Mapping[str, Figure] = field(default_factory=dict)
    detail: str = ""
    assumptions: tuple[Assumption, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether this is evidence that the rule holds."""
        return self.verdict in (RuleVerdict.PROVED, RuleVerdict.HOLDS) and self.count > 0


@dataclass(frozen=True, slots=True)
class Control:
    """A change that must break a rule, and what happened.

    Attributes:
        system: the one that is changed; empty where it is no system.
        confirmed: two searches, independent of each other, agree on it.
    """

    name: str
    rule: Rule
    expected: str
    got: str
    detail: str = ""
    system: str = ""
    confirmed: bool = False

    @property
    def passed(self) -> bool:
        """Whether the change did what it must."""
        return self.expected == self.got


@dataclass(frozen=True, slots=True)
class PlantedDefect:
    """A defect planted in the reference or the specification, and the checks that saw it, each by its rule."""

    name: str
    rule: Rule
    killed_by: tuple[str, ...]
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        """Whether the rule that the mutant breaks is among those that saw it."""
        return any(self.rule.id in killer for killer in self.killed_by)


@dataclass(frozen=True, slots=True)
class PartResult:
    """Everything one part of the run found.

    Attributes:
        extra: figures of the part as a whole, as they go into `report.json` under the part's name.
        failures: what went wrong beyond single results, one line each.
        sampled: "ran n of N" where the part took a sample.
    """

    name: str
    results: tuple[Result, ...] = ()
    controls: tuple[Control, ...] = ()
    mutants: tuple[PlantedDefect, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    sampled: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        outcomes = (
            [r.passed for r in self.results] + [c.passed for c in self.controls] + [m.killed for m in self.mutants]
        )
        return all(outcomes) and not self.failures


# --- sources ----------------------------------------------------------------------------------------------------------


ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("spec", "reference", "model_tests")
NO_PART: Final = ("model_tests/unit", "model_tests/bench")
"""Folders that no result of a run depends on."""


@lru_cache(maxsize=1)
def digest() -> str:
    """The content of every file of the three packages, as one short word; tests and benchmarks apart."""
    return digest_of(ROOT)


def digest_of(root: Path) -> str:
    """The same of the repository at this place."""
    found = sha256()
    for path in _files(root):
        found.update(str(path.relative_to(root)).encode() + b"\0" + sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def commit(root: Path = ROOT) -> str:
    """The commit that is checked out, shortened; empty where there is no git."""
    requested = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        answer = subprocess.run(requested, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _files(root: Path) -> Iterator[Path]:
    left_out = tuple(root / name for name in NO_PART)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not any(map(path.is_relative_to, left_out)):
                yield path
