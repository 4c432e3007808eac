"""Obligations with their results: those beneath a rule, and the rule's proof as one result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model_tests.verify.results import Result
from model_tests.verify.results import RuleVerdict as Outcome
from model_tests.verify.theorems import is_theorem_of
from spec.engines.induction import Obligation
from spec.engines.solving import SecondOpinion
from spec.engines.verdict import Proved, Refuted, Unknown
from spec.evidence import Layer
from spec.rules import Rule
from spec.systems.assumptions import in_order
from spec.systems.language import System

FOR_ALL_INPUTS = "for all inputs of the decision, without assumptions"


@dataclass(frozen=True, slots=True)
class ProvedSystem:
    """A system and its obligations.

    Attributes:
        facts: names of the facts of the decision that it takes for granted.
    """

    system: System
    obligations: tuple[Obligation, ...]
    facts: frozenset[str]

    def theorems(self, rule: Rule) -> tuple[str, ...]:
        """Names of its theorems of one rule, those of its bundle included."""
        return tuple(claim.name for claim in self.system.theorems if is_theorem_of(claim, rule))

    def beneath(self, rule: Rule, lent: Iterable[str] = ()) -> tuple[Obligation, ...]:
        """What must be proved for one rule: its theorems here, and every lemma that they need, directly or not.

        Beneath all of them is that a dormant action never happens, and what is said of single steps.

        Args:
            rule: which one.
            lent: names of lemmas that another system takes for granted.
        """
        theorems = (*self.theorems(rule), *lent)
        asleep = (f"{action.name}_never_happens" for action in self.system.actions if action.dormant)
        judged = (lemma.name for lemma in self.system.steps)
        return beneath(self.obligations, (*theorems, *asleep, *judged)) if theorems else ()


def beneath(obligations: Sequence[Obligation], claims: Iterable[str]) -> tuple[Obligation, ...]:
    """The obligations of some claims, and of all that their proofs need, in their order.

    What is not proved needs nothing more: it is where to look.
    """
    needs: dict[str, set[str]] = {}
    for obligation in obligations:
        needs.setdefault(obligation.claim, set()).update(obligation.needs)
    found, waiting = set[str](), list(claims)
    while waiting:
        claim = waiting.pop()
        if claim not in found:
            found.add(claim)
            waiting += needs.get(claim, ())
    return tuple(obligation for obligation in obligations if obligation.claim in found)


@dataclass(frozen=True, slots=True)
class Proofs:
    """Every obligation of a run: those of the systems, and the facts of the decision that they rest on."""

    systems: tuple[ProvedSystem, ...]
    facts: tuple[Obligation, ...]

    @property
    def system(self) -> tuple[Obligation, ...]:
        """The obligations of all systems."""
        return tuple(o for proved in self.systems for o in proved.obligations)

    def about(self, rule: Rule) -> tuple[ProvedSystem, ...]:
        """The systems with a theorem of this rule."""
        return tuple(proved for proved in self.systems if proved.theorems(rule))

    def of(self, rule: Rule) -> tuple[Obligation, ...]:
        """What must be proved for one rule: its theorems and facts, and every lemma and fact that these need."""
        systems = self.about(rule)
        taken = {name for proved in systems for name in proved.facts}
        needed = tuple(o for proved in self.systems for o in proved.beneath(rule, self._lent(proved, systems)))
        return (*needed, *(o for o in self.facts if o.rule == rule or o.claim in taken))

    def _lent(self, proved: ProvedSystem, systems: Iterable[ProvedSystem]) -> set[str]:
        """Names of the lemmas of a system that some others take for granted."""
        name = proved.system.name
        return {claim.name for each in systems if each.system.taken_from == name for claim in each.system.taken}

    def result(self, rule: Rule) -> Result:
        """The rule's proof as one result; it names the first obligation that is not proved."""
        obligations, systems = self.of(rule), self.about(rule)
        failed = open_among(obligations)
        refuted = any(isinstance(o.verdict, Refuted) for o in failed)
        verdict = Outcome.VIOLATED if refuted else Outcome.UNKNOWN if failed else Outcome.PROVED
        lemmas = {claim.name for proved in systems for claim in proved.system.lemmas}
        kept = sum(o.kept for o in obligations)
        figures = {
            "obligations": len(obligations),
            "solved": sum(o.solved for o in obligations),
            "unchanged": sum(not o.solved and not o.kept for o in obligations),
            **({"kept": kept} if kept else {}),
            "lemmas": len(lemmas & {o.claim for o in obligations}),
        }
        assumed = in_order(assumption for proved in systems for assumption in proved.system.assumptions)
        detail = "; ".join(why_open(o) for o in failed[:3]) or ("" if assumed else FOR_ALL_INPUTS)
        seconds = sum(o.seconds for o in obligations)
        return Result(rule, Layer.PROOF, verdict, len(obligations), seconds, figures, detail, assumed)


@dataclass(frozen=True, slots=True)
class SecondOpinions:
    """What a second solver says of the proofs of a run.

    Attributes:
        agrees: proofs whose question it finds to have no model, too.
        disagrees: obligations whose question has a model for it: one of the two solvers is wrong.
        undecided: obligations on which it ends without an answer.
    """

    agrees: int
    disagrees: tuple[Obligation, ...]
    undecided: tuple[Obligation, ...]

    @classmethod
    def of(cls, obligations: Iterable[Obligation]) -> "SecondOpinions":
        """Those on some obligations; what was not solved, because an action changes nothing in it, has none."""
        by_opinion: dict[SecondOpinion, list[Obligation]] = {}
        for obligation in obligations:
            by_opinion.setdefault(obligation.second, []).append(obligation)
        disagrees, undecided = (
            tuple(by_opinion.get(opinion, ())) for opinion in (SecondOpinion.DISAGREES, SecondOpinion.UNDECIDED)
        )
        return cls(len(by_opinion.get(SecondOpinion.AGREES, ())), disagrees, undecided)

    def notes(self) -> tuple[str, ...]:
        """On how many proofs it agrees, and a line for each that it does not decide; nothing if it was not run."""
        requested = self.agrees + len(self.disagrees) + len(self.undecided)
        if not requested:
            return ()
        counted = f"cvc5 agrees on {self.agrees:,} of {requested:,} proofs that Z3 found"
        return (counted, *(f"cvc5 does not decide {obligation}" for obligation in self.undecided))

    def wrong(self) -> tuple[str, ...]:
        """A line for each proof that it contradicts."""
        return tuple(f"{o.rule.id}: Z3 proves {o}, and cvc5 finds a model" for o in self.disagrees)


def open_among(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Those that are not proved."""
    return tuple(o for o in obligations if not isinstance(o.verdict, Proved))


def why_open(obligation: Obligation) -> str:
    """What is not proved, and what the solver says."""
    match obligation.verdict:
        case Unknown(reason):
            return f"{obligation}: {reason}"
        case Refuted() as refuted:
            return f"{obligation}: {refuted.claim}"
        case verdict:
            return f"{obligation}: {verdict}"
