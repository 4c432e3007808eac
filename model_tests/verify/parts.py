"""The parts of `eos verify`, in the order in which they run, each with its share of the time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from model_tests.verify.results import PartResult, RunEffort
from spec.evidence import Layer

Evidence: TypeAlias = Callable[[RunEffort], PartResult]
"""What a part provides: it runs, and hands back what it found."""


@dataclass(frozen=True, slots=True)
class PartOfRun:
    """One part: where its function is, what evidence it brings, how long it may take.

    Attributes:
        function: `module:name`, imported only when the part runs.
        layers: the kinds of evidence that only this part brings.
        shares: seconds of the time budget on two cores; `deep` has no budget.
    """

    name: str
    function: str
    layers: tuple[Layer, ...]
    shares: Mapping[RunEffort, float]

    def run(self, effort: RunEffort) -> PartResult:
        """Import the part's function and run it."""
        return run_function(self.function, effort)


def run_function(function: str, effort: RunEffort) -> PartResult:
    """Import a function given as `module:name`, and run it."""
    module, _, name = function.partition(":")
    return cast(Evidence, getattr(import_module(module), name))(effort)


def _shares(quick: float, default: float) -> Mapping[RunEffort, float]:
    return MappingProxyType({RunEffort.QUICK: quick, RunEffort.DEFAULT: default})


PARTS: Final = (
    PartOfRun(
        "proofs",
        "model_tests.verify.proofs:evidence",
        (Layer.PROOF, Layer.BOUNDED, Layer.EXPLORED),
        _shares(quick=50, default=90),
    ),
    PartOfRun("bugs", "model_tests.bugs.part:evidence", (), _shares(quick=5, default=40)),
    PartOfRun("scenarios", "model_tests.scenarios.part:evidence", (), _shares(quick=5, default=5)),
    PartOfRun("stateful", "model_tests.machines.part:evidence", (Layer.STATEFUL,), _shares(quick=15, default=45)),
    PartOfRun("mutants", "model_tests.mutants.part:evidence", (), _shares(quick=20, default=40)),
    PartOfRun("traces", "model_tests.check.part:evidence", (Layer.TRACE,), _shares(quick=30, default=45)),
    PartOfRun("conformance", "model_tests.conform.part:evidence", (Layer.CONFORMANCE,), _shares(quick=10, default=25)),
    PartOfRun("audit", "model_tests.audit.part:evidence", (Layer.AUDIT,), _shares(quick=15, default=15)),
)

BY_NAME: Final[Mapping[str, PartOfRun]] = MappingProxyType({part.name: part for part in PARTS})
