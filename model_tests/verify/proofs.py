"""Proofs without bounds, and what they rest on: the part `proofs` of `eos verify`, and the command `eos prove`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify.results import Effort, Part, Result
from model_tests.verify.results import Verdict as Outcome
from model_tests.verify.searches import bounded, controls, explored
from spec import rules
from spec.engines.induction import Obligation, prove, prove_fact
from spec.engines.reading_z3 import INTEGERS, WIRE
from spec.engines.verdict import Proved, Refuted, Unknown
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.decision_facts import arithmetic_fact, replay_fact, stale_epoch_facts, wrapping_fact
from spec.systems.idempotence.system import ASSUMPTIONS, idempotence

PROVED_HERE: Final = (
    rules.SEQ_EXACTLY_ONCE,
    rules.SEQ_ORDER,
    rules.SEQ_WINDOW_SUFFICES,
    rules.SEQ_SUCCESSOR,
    rules.FENCE_STALE_EPOCH,
)
"""The rules with a theorem about the idempotent producer."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """Every obligation of a run: those of the system, and the facts of the decision that it rests on."""

    system: tuple[Obligation, ...]
    facts: tuple[Obligation, ...]

    def of(self, rule: Rule) -> tuple[Obligation, ...]:
        """What must be proved for one rule: its own theorems and facts, and every lemma and fact beneath them."""
        theorems = {claim.name: claim.rule for claim in idempotence().theorems}
        beneath = (o for o in self.system if theorems.get(o.claim, rule) == rule)
        facts = (o for o in self.facts if o.rule in (rule, rules.SEQ_SUCCESSOR, rules.SEQ_STATE_RECOVERABLE))
        return (*beneath, *facts)

    def result(self, rule: Rule) -> Result:
        """The rule's proof as one result; it names the first obligation that is not proved."""
        obligations = self.of(rule)
        failed = [o for o in obligations if not isinstance(o.verdict, Proved)]
        refuted = any(isinstance(o.verdict, Refuted) for o in failed)
        verdict = Outcome.VIOLATED if refuted else Outcome.UNKNOWN if failed else Outcome.PROVED
        figures = {
            "obligations": len(obligations),
            "solved": sum(o.solved for o in obligations),
            "unchanged": sum(not o.solved for o in obligations),
            "lemmas": len(idempotence().lemmas),
        }
        detail = "; ".join(_failure(o) for o in failed[:3]) or "; ".join(ASSUMPTIONS)
        seconds = sum(o.seconds for o in obligations)
        return Result(rule, Layer.PROOF, verdict, len(obligations), seconds, figures, detail)


def _failure(obligation: Obligation) -> str:
    match obligation.verdict:
        case Unknown(reason):
            return f"{obligation}: {reason}"
        case Refuted() as refuted:
            return f"{obligation}: {refuted.claim}"
        case verdict:
            return f"{obligation}: {verdict}"


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.PROOF)
@evidences(rules.SEQ_ORDER, Layer.PROOF)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.PROOF)
@evidences(rules.SEQ_SUCCESSOR, Layer.PROOF)
@evidences(rules.FENCE_STALE_EPOCH, Layer.PROOF)
def proofs() -> Proofs:
    """Prove everything: the system by induction, the decision's facts for all inputs."""
    over_integers = (*stale_epoch_facts(), replay_fact(), wrapping_fact())
    facts = [prove_fact(fact, INTEGERS) for fact in over_integers]
    return Proofs(prove(idempotence()), (*facts, prove_fact(arithmetic_fact(), WIRE)))


def evidence(effort: Effort) -> Part:
    """Proofs, searches within bounds, and controls."""
    proved = proofs()
    searched, vacuous = bounded(effort)
    return Part(
        "proofs",
        results=(*(proved.result(rule) for rule in PROVED_HERE), *searched),
        controls=controls(),
        extra={"obligations": len(proved.system) + len(proved.facts), "assumptions": list(ASSUMPTIONS)},
        failures=vacuous,
    )


def check_quickly(rule: Rule) -> list[Result]:
    """One rule's proof and a search of small instances, under the decision as it is now: nothing is kept."""
    return [proofs().result(rule), explored(rule)]


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What `eos prove` found."""

    obligations: tuple[Obligation, ...]
    results: tuple[Result, ...]
    vacuous: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Whether everything holds."""
        return HOLDS if all(result.passed for result in self.results) and not self.vacuous else VIOLATED

    def to_json(self) -> dict[str, object]:
        """Obligations and results as plain values."""
        return {
            "obligations": [_as_json(o) for o in self.obligations],
            "assumptions": list(ASSUMPTIONS),
            "vacuous": list(self.vacuous),
            "results": [
                {
                    "rule": r.rule.id,
                    "evidence": str(r.layer),
                    "verdict": str(r.verdict),
                    "seconds": round(r.seconds, 3),
                    "figures": dict(r.figures),
                    "detail": r.detail,
                }
                for r in self.results
            ],
        }

    def print(self, console: Console) -> None:
        """A line for each rule and kind of evidence, what failed, and the assumptions."""
        table = Table("rule", "evidence", "verdict", "seconds", "figures")
        for result in self.results:
            figures = ", ".join(f"{name} {figure}" for name, figure in result.figures.items())
            table.add_row(result.rule.id, result.layer, result.verdict, f"{result.seconds:.1f}", figures)
        console.print(table)
        for result in self.results:
            if not result.passed:
                console.print(f"{result.rule.id}: {result.detail}", markup=False)
        for line in (*self.vacuous, *ASSUMPTIONS):
            console.print(line, markup=False)


def _as_json(obligation: Obligation) -> dict[str, object]:
    return {
        "rule": obligation.rule.id,
        "lemma": obligation.claim,
        "action": obligation.action,
        "verdict": type(obligation.verdict).__name__.lower(),
        "solved": obligation.solved,
        "seconds": round(obligation.seconds, 4),
    }


def run(rule: Rule | None = None) -> ProofReport:
    """Prove one rule or all of them, and search for counterexamples within bounds."""
    asked = _asked(rule)
    proved = proofs()
    listed = proved.of(rule) if rule else (*proved.system, *proved.facts)
    searched, vacuous = bounded(Effort.QUICK, [each for each in asked if "B" in each.owes])
    return ProofReport(listed, (*(proved.result(each) for each in asked), *searched), vacuous)


def _asked(rule: Rule | None) -> Iterable[Rule]:
    if rule is None:
        return PROVED_HERE
    if rule not in PROVED_HERE:
        known = ", ".join(each.id for each in PROVED_HERE)
        raise BadInput(f"{rule.id} has no proof yet; proved are {known}")
    return (rule,)
