"""The part `proofs` of `eos verify`: proofs without bounds, and their assumptions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Final

from model_tests.verify import (
    agreement,
    assumed,
    breaking,
    group_searches,
    idempotence_searches,
    liveness_searches,
    partition_searches,
    replication_searches,
    transactions_searches,
)
from model_tests.verify.model_checking import Found
from model_tests.verify.proved import Proofs, ProvedSystem, SecondOpinions, open_among, why_open
from model_tests.verify.proving import (
    CONSISTENCY,
    FACTS,
    Done,
    ProofTask,
    ProofWorker,
    Spread,
    here,
    taken_by,
    tasks,
    tasks_of_facts,
)
from model_tests.verify.results import Control, PartResult, Result, RunEffort
from model_tests.verify.theorems import CLAIMED, SYSTEMS, theorems
from spec import rules
from spec.engines.induction import Obligation, Prover, prove_fact
from spec.engines.proof_cache import Entries
from spec.engines.solving import FEW, GLANCE, USUAL, SecondSolver, SolverSettings
from spec.engines.verdict import Refuted
from spec.evidence import Layer, checks, evidences
from spec.rules import Rule
from spec.systems.append_lemmas import broken_facts
from spec.systems.assumptions import registered
from spec.systems.broken_lemmas import facts_of_bugs
from spec.systems.coordinator_decision_lemmas import broken_transition_facts
from spec.systems.decision_lemmas import Fact
from spec.systems.group.controls import takes_more
from spec.systems.idempotence.controls import misjudged_streams
from spec.systems.misjudged import Misjudged
from spec.systems.partition.controls import misjudged_partitions
from spec.systems.partition.durable import undurable
from spec.systems.transactions.lemma_controls import misjudged_transactions, uncompleted, unframed, unread

SEARCHES: Final = (
    idempotence_searches.searched(),
    partition_searches.searched(),
    idempotence_searches.searched_ids(),
    transactions_searches.searched(),
    group_searches.of_transactions(),
    group_searches.of_generations(),
    group_searches.searched(),
    replication_searches.searched(),
    partition_searches.searched_cleaning(),
)
"""Every system that is searched within bounds."""


@evidences(rules.IDS_UNIQUE, Layer.PROOF)
@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.PROOF)
@evidences(rules.SEQ_FIRST, Layer.PROOF)
@evidences(rules.SEQ_WELL_FORMED, Layer.PROOF)
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
@evidences(rules.TXN_LEGAL_TRANSITION, Layer.PROOF)
@evidences(rules.TXN_ONE_OUTCOME, Layer.PROOF)
@evidences(rules.TXN_ATOMIC, Layer.PROOF)
@evidences(rules.TXN_MARKER_ONCE, Layer.PROOF)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.PROOF)
@evidences(rules.TXN_NO_CROSSTALK, Layer.PROOF)
@evidences(rules.TXN_CLIENT_VERDICT, Layer.PROOF)
@evidences(rules.TXN_COMPLETES, Layer.PROOF)
@evidences(rules.LSO_BOUNDS, Layer.PROOF)
@evidences(rules.LSO_DECIDED_BELOW, Layer.PROOF)
@evidences(rules.LSO_MONOTONE, Layer.PROOF)
@evidences(rules.LSO_READ_COMMITTED, Layer.PROOF)
@evidences(rules.LSO_ABORTED_INDEX, Layer.PROOF)
@evidences(rules.OFFSETS_ATOMIC, Layer.PROOF)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.PROOF)
@evidences(rules.OFFSETS_STABLE_FETCH, Layer.PROOF)
@evidences(rules.REPL_HW_BOUNDS, Layer.PROOF)
@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.PROOF)
@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.PROOF)
def proofs(requested: Iterable[Rule] = tuple(rules.RULES.values())) -> Proofs:
    """Prove the decision's facts for all inputs, and by induction every system with a theorem of these rules."""
    return attempted(requested).proofs


PROVED_HERE: Final = tuple(
    rule for rule in rules.RULES.values() if f"{__name__}.{proofs.__name__}" in checks().get((rule.id, Layer.PROOF), ())
)
"""The rules with a theorem about a system, or with facts of the decision for all inputs: those of the marks."""


@dataclass(frozen=True, slots=True)
class ProofAttempt:
    """What came of proving some rules.

    Attributes:
        contradictions: what would prove anything, a line each.
        answers: all that were found or made.
    """

    proofs: Proofs
    contradictions: tuple[str, ...]
    answers: Entries

    @property
    def beside(self) -> tuple[str, ...]:
        """Facts and theorems of each rule that they do not prove: a line each."""
        counts = Counter(fact.rule for fact in self.proofs.facts if fact.rule not in PROVED_HERE)
        facts = (
            f"{rule.id}: {count} facts of single decisions are proved for all inputs, which is less than the rule"
            for rule, count in counts.items()
        )
        parts = (
            f"{claim.rule.id}: {claim.name} is a theorem of {each.system.name}, which is less than the rule"
            for each in self.proofs.systems
            for claim in each.system.theorems
            if claim.rule not in PROVED_HERE
        )
        return (*facts, *parts)

    @property
    def unproved(self) -> tuple[str, ...]:
        """Facts and theorems that are not proved, of rules which no result speaks of: a line each."""
        of_facts = (fact for fact in self.proofs.facts if fact.rule not in PROVED_HERE)
        parts = {claim.rule for each in self.proofs.systems for claim in each.system.theorems} - set(PROVED_HERE)
        of_parts = (o for each in self.proofs.systems for rule in parts for o in each.beneath(rule))
        beside = (*of_facts, *of_parts)
        return tuple(f"{fact.rule.id}: {why_open(fact)}" for fact in open_among(beside))


def attempted(
    requested: Iterable[Rule],
    spread: Spread = here,
    settings: SolverSettings = USUAL,
    entries: Entries | None = None,
    version: int = CLAIMED,
) -> ProofAttempt:
    """Prove what some rules rest on.

    Args:
        requested: the rules.
        spread: where the tasks are done.
        settings: the solver's settings.
        entries: answers of earlier runs; without them everything is solved.
        version: the transaction version.
    """
    rules_asked = frozenset(requested)
    due = systems_of(rules_asked)
    to_do = (*tasks(due, version), *tasks_of_facts(rules_asked, due))
    done = dict(zip(to_do, spread(to_do, settings, entries), strict=True))
    systems = tuple(ProvedSystem(SYSTEMS[name](version), _of(name, done), taken_by(name)) for name in due)
    answers = {key: entry for each in done.values() for key, entry in each.answers.items()}
    contradictions = tuple(line for each in done.values() for line in each.contradictions)
    return ProofAttempt(Proofs(systems, _of(FACTS, done)), contradictions, answers)


def _of(name: str, done: Mapping[ProofTask, Done]) -> tuple[Obligation, ...]:
    return tuple(o for task, each in done.items() if task.of == name for o in each.obligations)


def systems_of(requested: Iterable[Rule]) -> tuple[str, ...]:
    """Names of the systems with a theorem of some of these rules, and of those whose lemmas these take."""
    wanted = frozenset(requested)
    built = {name: build(CLAIMED) for name, build in SYSTEMS.items()}
    due = {name for name, system in built.items() if any(one.rule in wanted for one in system.theorems)}
    due |= {built[name].taken_from for name in due}
    return tuple(name for name in SYSTEMS if name in due)


def evidence(effort: RunEffort) -> PartResult:
    """Proofs, searches within bounds, and controls."""
    second = SecondSolver() if effort is RunEffort.DEEP else None
    glance = FEW if effort is RunEffort.DEEP else GLANCE
    attempt = attempted(rules.RULES.values(), settings=replace(USUAL, second=second, glance=glance))
    proved = attempt.proofs
    opinions = SecondOpinions.of((*proved.system, *proved.facts))
    results, vacuous = searched(effort, rules.RULES.values())
    behind = liveness_searches.table()
    of_searches = tuple(control for each in SEARCHES for control in each.controls(effort))
    controls = (
        *of_searches,
        *liveness_searches.controls(),
        *breaking.lemma_controls(frozenset(rules.RULES.values())),
        *fact_controls(),
        *step_controls(),
    )
    return PartResult(
        "proofs",
        results=(*(proved.result(rule) for rule in PROVED_HERE), *results, *liveness_searches.results(effort)),
        controls=controls,
        extra={
            "obligations": len(proved.system) + len(proved.facts),
            "second_opinions": list(opinions.notes()),
            "after_faults": [asdict(each) for each in behind],
            "theorems": [theorem.to_json() for theorem in theorems(rules.RULES.values())],
            "assumptions": [assumed.as_json(assumption) for assumption in registered()],
        },
        failures=(
            *attempt.contradictions,
            *attempt.unproved,
            *opinions.wrong(),
            *vacuous,
            *breaking.lacking(),
            *liveness_searches.lacking(behind),
            *agreement.disagreements(effort),
            *assumed.unshown(controls),
            *assumed.unbroken_links(controls),
        ),
        sampled="; ".join(_sampled(effort, of_searches)),
    )


def _sampled(effort: RunEffort, of_searches: Sequence[Control]) -> Iterator[str]:
    some, most = agreement.COMPARED[effort], agreement.COMPARED[RunEffort.DEEP]
    if some != most:
        yield f"both searches: ran {some} of {most} generated configurations"
    confirmed = sum(control.confirmed for control in of_searches)
    if confirmed != len(of_searches):
        yield f"bounded search of controls: ran {confirmed} of {len(of_searches)}, and explicit search all"


def searched(effort: RunEffort, requested: Iterable[Rule]) -> Found:
    """Every system searched within bounds for a violation of these rules."""
    rules_asked = tuple(requested)
    found = [each.bounded(effort, rules_asked) for each in SEARCHES]
    return tuple(r for results, _ in found for r in results), tuple(line for _, lines in found for line in lines)


def controls_of(requested: Iterable[Rule]) -> tuple[Control, ...]:
    """Every change that must break one of these rules, searched as deep as a default run does, and every such fact.

    Of the replicas also what each change takes from the proof.
    """
    due = frozenset(requested)
    of_searches = (control for each in SEARCHES for control in each.controls(RunEffort.DEFAULT, due))
    of_proofs = (*fact_controls(), *step_controls())
    return (
        *of_searches,
        *breaking.lemma_controls(due),
        *(control for control in of_proofs if control.rule in due),
    )


def fact_controls() -> tuple[Control, ...]:
    """Facts of the decision with a guard off, and of releases that had a bug: some input must refute each."""
    return tuple(_fact_control(fact) for fact in (*broken_facts(), *broken_transition_facts(), *facts_of_bugs()))


def _fact_control(fact: Fact) -> Control:
    verdict = prove_fact(fact).verdict
    got = "violated" if isinstance(verdict, Refuted) else "holds"
    return Control(fact.name, fact.rule, "violated", got, str(verdict))


def step_controls() -> tuple[Control, ...]:
    """Steps of systems with a defect, of each of which some state has to show that it breaks its lemma."""
    found = groupby(misjudged(), lambda each: id(each.system))
    return tuple(control for _, some in found for control in _refused(tuple(some)))


def misjudged() -> tuple[Misjudged, ...]:
    """Those steps, of every system."""
    of_judges = (*misjudged_streams(), *misjudged_partitions(), *misjudged_transactions())
    return (*of_judges, *uncompleted(), *unframed(), *unread(), *undurable(), *takes_more())


def _refused(some: Sequence[Misjudged]) -> Iterator[Control]:
    prover = Prover(some[0].system)
    yield from (_step_control(each, prover) for each in some)


def _step_control(each: Misjudged, prover: Prover) -> Control:
    verdict = prover.judged(each.lemma).verdict
    got = "violated" if isinstance(verdict, Refuted) else "holds"
    return Control(each.name, each.lemma.rule, "violated", got, str(verdict), each.system.name)


def check_quickly(rule: Rule) -> list[Result]:
    """One rule's proof and a search of small instances, under the decision as it is now: nothing is kept.

    The proof goes no further than to the first system in which it fails.
    """
    return [_quickly(rule), *(each.explored(rule) for each in SEARCHES if each.has_theorem_of(rule))]


def _quickly(rule: Rule) -> Result:
    worker = ProofWorker()
    due = systems_of((rule,))
    found = Proofs((), _obligations(worker, tasks_of_facts((rule,), due)))
    for name in due if found.result(rule).passed or not found.of(rule) else ():
        here_too = ProvedSystem(SYSTEMS[name](CLAIMED), _obligations(worker, tasks((name,))), taken_by(name))
        found = Proofs((*found.systems, here_too), found.facts)
        if not found.result(rule).passed:
            break
    return found.result(rule)


def _obligations(worker: ProofWorker, due: Iterable[ProofTask]) -> tuple[Obligation, ...]:
    return tuple(o for task in due if task.what != CONSISTENCY for o in worker.do(task).obligations)
