"""What the solver is asked for a proof: whether facts contradict each other, and which hypotheses that takes.

Effort is counted in the solver's own units and chance comes from a seed: an answer is the same on every machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import z3

from spec.algebra import Term
from spec.engines.second_solver import SecondSolver
from spec.engines.verdict import Proved, Refuted, Unknown, Verdict

GLANCE: Final = 200_000
FEW: Final = 1_000_000
MANY: Final = 10_000_000
"""How much the solver may work on one question, in its own units: the same on every machine."""

NOTHING_GIVEN: Final[Mapping[str, Term]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SolverSettings:
    """The solver's settings.

    Attributes:
        seed: random seed; no verdict may depend on it.
        glance: effort for the question whether hypotheses contradict each other, which mostly has no answer.
        few: effort for a question with one hypothesis.
        many: effort for a question with all of them.
        second: gives a second opinion on what is proved.
    """

    seed: int = 0
    glance: int = GLANCE
    few: int = FEW
    many: int = MANY
    second: SecondSolver | None = None


USUAL: Final = SolverSettings()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solver says.

    Attributes:
        needed: names of the hypotheses in the contradiction that it found; there may be a smaller one.
    """

    verdict: Verdict
    needed: frozenset[str] = field(default_factory=frozenset)


def answer_of(
    claim: str, facts: Sequence[Term], given: Mapping[str, Term] = NOTHING_GIVEN, effort: int = MANY, seed: int = 0
) -> Answer:
    """`Proved` where facts and hypotheses contradict each other.

    Args:
        claim: what is proved so; its negation is among the facts.
        facts: what is the case.
        given: the hypotheses, by name.
        effort: how much the solver may work.
        seed: the solver's random seed.
    """
    own = z3.Context()  # what the process has built before must not show in the answer
    solver = z3.Solver(ctx=own)
    solver.set("auto_config", False)
    solver.set("mbqi", False)  # hypotheses are used where their terms occur; other models are searched elsewhere
    solver.set("random_seed", seed)
    solver.set("rlimit", effort)
    solver.add(*(_within(own, fact) for fact in facts))
    for name, hypothesis in given.items():
        solver.assert_and_track(_within(own, hypothesis), z3.Bool(f"given {name}", own))
    answer = solver.check()
    if answer == z3.unsat:
        return Answer(Proved(), frozenset(str(one).removeprefix("given ") for one in solver.unsat_core()))
    if answer == z3.sat:
        return Answer(Refuted(claim, ()))
    return Answer(Unknown(f"not proved by induction: {solver.reason_unknown()}"))


def _within(context: z3.Context, term: Term) -> z3.BoolRef:
    """The term in another context of the solver."""
    return term.translate(context) if z3.is_expr(term) else z3.BoolVal(bool(term), context)


def contradiction(claim: str, facts: Sequence[Term], effort: int = MANY) -> Verdict:
    """`Proved` where the facts, the claim's negation among them, contradict each other."""
    return answer_of(claim, facts, effort=effort).verdict
