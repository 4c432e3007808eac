"""The questions of a proof to the solver: whether facts contradict each other, and which hypotheses that takes.

Effort is counted in the solver's own units and chance comes from a seed: an answer is the same on every machine.

For a second opinion, a proved question is written as SMT-LIB 2.6, which cvc5 decides by itself. Z3 names the
hypotheses in the contradiction that it found; the script has these alone, with patterns as Z3 has them, and cvc5 checks
whether it is satisfiable. The two solvers share the text of the question and no line of code.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import z3

from spec.algebra import Term
from spec.engines.verdict import Proved, Refuted, Unknown, Verdict

# --- a second opinion -------------------------------------------------------------------------------------------------


EFFORT: Final = 5_000_000
"""Effort of cvc5 for one question, in its own units; the hardest question so far took a fiftieth of it."""

LOGIC: Final = "(set-logic ALL)\n"
"""Without this line cvc5 prints for each question that it enables every theory."""

_NOT_OF_A_NAME: Final = re.compile(r"[^\w.,=+-]+")


class SecondOpinion(StrEnum):
    """The verdict of cvc5 on a question that Z3 has proved."""

    NONE = ""
    """cvc5 was not called."""
    AGREES = "agrees"
    """The facts contradict each other."""
    DISAGREES = "disagrees"
    """There is a model: one of the two solvers is wrong."""
    UNDECIDED = "undecided"
    """cvc5 found neither within its effort."""


@dataclass(frozen=True, slots=True)
class SecondSolver:
    """How a second opinion is obtained.

    Attributes:
        asks: cvc5 is called; otherwise the questions are only written.
        scripts: a directory with a file for each question; without it no question is written.
        effort: how much cvc5 may work on a question.
    """

    asks: bool = True
    scripts: Path | None = None
    effort: int = EFFORT

    def on(self, name: str, facts: Iterable[Term]) -> SecondOpinion:
        """The opinion on one question.

        Args:
            name: of the question and of its file.
            facts: those that contradict each other according to Z3.
        """
        text = script(facts)
        if self.scripts is not None:
            self.scripts.mkdir(parents=True, exist_ok=True)
            (self.scripts / f"{_NOT_OF_A_NAME.sub('_', name)}.smt2").write_text(text, encoding="utf-8")
        return decided(text, self.effort) if self.asks else SecondOpinion.NONE


def is_installed() -> bool:
    """Whether cvc5 is installed."""
    return find_spec("cvc5") is not None


def script(facts: Iterable[Term]) -> str:
    """The question whether facts can hold together, as a script of SMT-LIB."""
    solver = z3.Solver()
    solver.add(*(fact if z3.is_expr(fact) else z3.BoolVal(bool(fact)) for fact in facts))
    return LOGIC + str(solver.to_smt2())


def decided(text: str, effort: int = EFFORT) -> SecondOpinion:
    """The verdict of cvc5 on a script, with so much effort in its own units.

    Raises:
        ModuleNotFoundError: cvc5 is not installed.
        RuntimeError: cvc5 does not understand the script.
    """
    cvc5: Any = import_module("cvc5")
    solver = cvc5.Solver()
    solver.setOption("rlimit-per", str(effort))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    symbols, lines = parser.getSymbolManager(), []
    while not (command := parser.nextCommand()).isNull():
        lines.append(str(command.invoke(solver, symbols)).strip())
    match " ".join(lines).split():
        case ["unsat"]:
            return SecondOpinion.AGREES
        case ["sat"]:
            return SecondOpinion.DISAGREES
        case ["unknown", *_]:
            return SecondOpinion.UNDECIDED
    raise RuntimeError(f"cvc5 does not decide the question: {' '.join(lines)[:200]}")


# --- the question -----------------------------------------------------------------------------------------------------


GLANCE: Final = 200_000
FEW: Final = 1_000_000
MANY: Final = 10_000_000
"""The solver's effort for one question, in its own units: the same on every machine."""

NOTHING_GIVEN: Final[Mapping[str, Term]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SolverSettings:
    """The solver's settings.

    Attributes:
        seed: random seed; no verdict may depend on it.
        glance: effort for the question whether hypotheses contradict each other, which mostly has no answer.
        few: effort for a question with one hypothesis.
        many: effort for a question with all of them.
        second: gives a second opinion on each proof.
    """

    seed: int = 0
    glance: int = GLANCE
    few: int = FEW
    many: int = MANY
    second: SecondSolver | None = None


USUAL: Final = SolverSettings()


@dataclass(frozen=True, slots=True)
class Answer:
    """The solver's answer.

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
        claim: the claim that is proved by the contradiction; its negation is among the facts.
        facts: what is the case.
        given: the hypotheses, by name.
        effort: how much the solver may work.
        seed: the solver's random seed.
    """
    own = z3.Context()  # the answer must not depend on what the process has built before
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
