"""Proofs without bounds, and what they rest on: the part `proofs` of `eos verify`, and the command `eos prove`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify import (
    agreement,
    idempotence_searches,
    ids_searches,
    liveness_searches,
    offsets_searches,
    partition_searches,
    replication_searches,
    transactions_searches,
)
from model_tests.verify.results import Control, Effort, Part, Result
from model_tests.verify.results import Verdict as Outcome
from model_tests.verify.searched import Found
from spec import rules
from spec.engines.induction import Obligation, prove, prove_fact
from spec.engines.reading_z3 import INTEGERS, WIDE, WIRE, Numbers
from spec.engines.verdict import Proved, Refuted, Unknown
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.append_facts import append_facts, broken_facts, stable_fact, wire_facts
from spec.systems.decision_facts import Fact, arithmetic_fact, replay_fact, stale_epoch_facts, wrapping_fact
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids
from spec.systems.language import System
from spec.systems.partition.system import partition
from spec.systems.renaming_facts import renaming_facts
from spec.systems.transactions.proof import proved as transactions_proved

PROVED_HERE: Final = (
    rules.IDS_UNIQUE,
    rules.IDS_IDENTITY_NEVER_REPEATS,
    rules.SEQ_EXACTLY_ONCE,
    rules.SEQ_ORDER,
    rules.SEQ_WINDOW_SUFFICES,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_DUPLICATE_WINDOW,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_EPOCH_MONOTONE,
    rules.FENCE_COORDINATOR_EPOCH,
    rules.FENCE_ZOMBIE_CANNOT_COMMIT,
    rules.FENCE_EPOCH_EXHAUSTION,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_ATOMIC,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_NO_CROSSTALK,
    rules.TXN_CLIENT_VERDICT,
    rules.LSO_BOUNDS,
    rules.LSO_DECIDED_BELOW,
    rules.LSO_MONOTONE,
    rules.LSO_READ_COMMITTED,
    rules.OFFSETS_ATOMIC,
    rules.OFFSETS_GENERATION_FENCE,
)
"""The rules with a theorem about a system, or with facts of the decision for all inputs."""


@dataclass(frozen=True, slots=True)
class ProvedSystem:
    """A system and its obligations.

    Attributes:
        facts: names of the facts of the decision that it takes for granted.
    """

    system: System
    obligations: tuple[Obligation, ...]
    facts: frozenset[str]

    def beneath(self, rule: Rule) -> tuple[Obligation, ...]:
        """What must be proved for one rule: its own theorems and every lemma; nothing, if it has no theorem here."""
        theorems = {claim.name: claim.rule for claim in self.system.theorems}
        if rule not in theorems.values():
            return ()
        return tuple(o for o in self.obligations if theorems.get(o.claim, rule) == rule)


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
        return tuple(proved for proved in self.systems if proved.beneath(rule))

    def of(self, rule: Rule) -> tuple[Obligation, ...]:
        """What must be proved for one rule: its theorems and facts, and every lemma and fact beneath them."""
        systems = self.about(rule)
        taken = {name for proved in systems for name in proved.facts}
        beneath = tuple(o for proved in systems for o in proved.beneath(rule))
        return (*beneath, *(o for o in self.facts if o.rule == rule or o.claim in taken))

    def result(self, rule: Rule) -> Result:
        """The rule's proof as one result; it names the first obligation that is not proved."""
        obligations, systems = self.of(rule), self.about(rule)
        failed = [o for o in obligations if not isinstance(o.verdict, Proved)]
        refuted = any(isinstance(o.verdict, Refuted) for o in failed)
        verdict = Outcome.VIOLATED if refuted else Outcome.UNKNOWN if failed else Outcome.PROVED
        figures = {
            "obligations": len(obligations),
            "solved": sum(o.solved for o in obligations),
            "unchanged": sum(not o.solved for o in obligations),
            "lemmas": sum(len(proved.system.lemmas) for proved in systems),
        }
        assumed = [f"{proved.system.name}: {'; '.join(proved.system.assumptions)}" for proved in systems]
        detail = "; ".join(_failure(o) for o in failed[:3]) or "; ".join(assumed) or FOR_ALL_INPUTS
        seconds = sum(o.seconds for o in obligations)
        return Result(rule, Layer.PROOF, verdict, len(obligations), seconds, figures, detail)


FOR_ALL_INPUTS: Final = "for all inputs of the decision, without assumptions"


def _failure(obligation: Obligation) -> str:
    match obligation.verdict:
        case Unknown(reason):
            return f"{obligation}: {reason}"
        case Refuted() as refuted:
            return f"{obligation}: {refuted.claim}"
        case verdict:
            return f"{obligation}: {verdict}"


SEARCHES: Final = (
    idempotence_searches.searched(),
    partition_searches.searched(),
    ids_searches.searched(),
    transactions_searches.searched(),
    offsets_searches.of_transactions(),
    offsets_searches.of_generations(),
    replication_searches.searched(),
)
"""Every system that is searched within bounds."""


@evidences(rules.IDS_UNIQUE, Layer.PROOF)
@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.PROOF)
@evidences(rules.SEQ_EXACTLY_ONCE, Layer.PROOF)
@evidences(rules.SEQ_ORDER, Layer.PROOF)
@evidences(rules.SEQ_WINDOW_SUFFICES, Layer.PROOF)
@evidences(rules.SEQ_SUCCESSOR, Layer.PROOF)
@evidences(rules.SEQ_EPOCH_RESET, Layer.PROOF)
@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.PROOF)
@evidences(rules.FENCE_STALE_EPOCH, Layer.PROOF)
@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.PROOF)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.PROOF)
@evidences(rules.FENCE_ZOMBIE_CANNOT_COMMIT, Layer.PROOF)
@evidences(rules.FENCE_EPOCH_EXHAUSTION, Layer.PROOF)
@evidences(rules.TXN_ONE_OUTCOME, Layer.PROOF)
@evidences(rules.TXN_ATOMIC, Layer.PROOF)
@evidences(rules.TXN_MARKER_ONCE, Layer.PROOF)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.PROOF)
@evidences(rules.TXN_NO_CROSSTALK, Layer.PROOF)
@evidences(rules.TXN_CLIENT_VERDICT, Layer.PROOF)
@evidences(rules.LSO_BOUNDS, Layer.PROOF)
@evidences(rules.LSO_DECIDED_BELOW, Layer.PROOF)
@evidences(rules.LSO_MONOTONE, Layer.PROOF)
@evidences(rules.LSO_READ_COMMITTED, Layer.PROOF)
@evidences(rules.OFFSETS_ATOMIC, Layer.PROOF)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.PROOF)
def proofs(asked: Iterable[Rule] = tuple(rules.RULES.values())) -> Proofs:
    """Prove the decision's facts for all inputs, and by induction every system with a theorem of these rules."""
    rules_asked = frozenset(asked)
    wrapping, replay, arithmetic = wrapping_fact(), replay_fact(), arithmetic_fact()
    renaming = renaming_facts()
    over_integers = (*stale_epoch_facts(), replay, wrapping, *append_facts(), stable_fact(), *renaming)
    facts = (
        *(prove_fact(fact, INTEGERS) for fact in over_integers),
        prove_fact(arithmetic, WIRE),
        *(_in_width(prove_fact(fact, numbers), numbers) for numbers in (WIRE, WIDE) for fact in wire_facts()),
    )
    systems = (
        (idempotence(), frozenset({wrapping.name, replay.name, arithmetic.name})),
        (partition(), frozenset({replay.name})),
        (ids(), frozenset[str]()),
        (transactions_proved(), frozenset({wrapping.name, arithmetic.name, *(fact.name for fact in renaming)})),
    )
    due = [(each, taken) for each, taken in systems if any(one.rule in rules_asked for one in each.theorems)]
    return Proofs(tuple(ProvedSystem(each, prove(each), taken) for each, taken in due), facts)


def _in_width(obligation: Obligation, numbers: Numbers) -> Obligation:
    return replace(obligation, claim=f"{obligation.claim} in {numbers.width} bits")


def evidence(effort: Effort) -> Part:
    """Proofs, searches within bounds, and controls."""
    proved = proofs()
    results, vacuous = searched(effort, rules.RULES.values())
    return Part(
        "proofs",
        results=(*(proved.result(rule) for rule in PROVED_HERE), *results, *liveness_searches.results(effort)),
        controls=(
            *(control for each in SEARCHES for control in each.controls(effort)),
            *liveness_searches.controls(),
            *fact_controls(),
        ),
        extra={
            "obligations": len(proved.system) + len(proved.facts),
            "assumptions": list(assumptions(rules.RULES.values())),
        },
        failures=(*vacuous, *agreement.disagreements(effort)),
        sampled=_compared(effort),
    )


def _compared(effort: Effort) -> str:
    some, most = agreement.COMPARED[effort], agreement.COMPARED[Effort.DEEP]
    return "" if some == most else f"both searches: ran {some} of {most} generated configurations"


def searched(effort: Effort, asked: Iterable[Rule]) -> Found:
    """Every system searched within bounds for a violation of these rules."""
    rules_asked = tuple(asked)
    found = [each.bounded(effort, rules_asked) for each in SEARCHES]
    return tuple(r for results, _ in found for r in results), tuple(line for _, lines in found for line in lines)


def fact_controls() -> tuple[Control, ...]:
    """Facts of the decision with a guard off: some input must refute each."""
    return tuple(_fact_control(fact) for fact in broken_facts())


def _fact_control(fact: Fact) -> Control:
    verdict = prove_fact(fact).verdict
    got = "violated" if isinstance(verdict, Refuted) else "holds"
    return Control(fact.name, fact.rule, "violated", got, str(verdict))


def assumptions(asked: Iterable[Rule]) -> tuple[str, ...]:
    """What the systems with a theorem of these rules take for granted, by their names."""
    rules_asked = frozenset(asked)
    systems = (each.system for each in SEARCHES)
    about = {each.name: each for each in systems if any(one.rule in rules_asked for one in each.theorems)}
    return tuple(f"{name} {line}" for name, system in about.items() for line in system.assumptions)


def check_quickly(rule: Rule) -> list[Result]:
    """One rule's proof and a search of small instances, under the decision as it is now: nothing is kept."""
    return [proofs([rule]).result(rule), *(each.explored(rule) for each in SEARCHES if each.has_theorem_of(rule))]


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What `eos prove` found."""

    obligations: tuple[Obligation, ...]
    results: tuple[Result, ...]
    assumptions: tuple[str, ...]
    vacuous: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Whether everything holds."""
        return HOLDS if all(result.passed for result in self.results) and not self.vacuous else VIOLATED

    def to_json(self) -> dict[str, object]:
        """Obligations and results as plain values."""
        return {
            "obligations": [_as_json(o) for o in self.obligations],
            "assumptions": list(self.assumptions),
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
        for line in (*self.vacuous, *self.assumptions):
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
    proved = proofs(asked)
    listed = proved.of(rule) if rule else (*proved.system, *proved.facts)
    results = (proved.result(each) for each in asked if each in PROVED_HERE)
    found, vacuous = searched(Effort.QUICK, asked)
    live = liveness_searches.results(Effort.QUICK, asked)
    return ProofReport(listed, (*results, *found, *live), assumptions(asked), vacuous)


def _asked(rule: Rule | None) -> tuple[Rule, ...]:
    known = dict.fromkeys((*PROVED_HERE, *(each for one in SEARCHES for each in one.rules), *liveness_searches.RULES))
    if rule is None:
        return tuple(known)
    if rule not in known:
        raise BadInput(f"{rule.id} has neither proof nor search yet; known are {', '.join(each.id for each in known)}")
    return (rule,)
