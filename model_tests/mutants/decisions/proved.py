"""The proofs as places: each fact of a decision, and each action of a proved system with what it must keep."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Final

from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.verify.proving import facts
from spec.engines.induction import ALWAYS, START, Obligation, Prover, prove_fact
from spec.engines.proof_cache import ProofCache
from spec.engines.reading_z3 import Numbers
from spec.engines.verdict import Proved, Refuted
from spec.systems.decision_lemmas import Fact
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids
from spec.systems.language import System
from spec.systems.partition.system import partition
from spec.systems.transactions.proof import proved as transactions_proved

SYSTEMS: Final = (idempotence, partition, ids, transactions_proved)
"""What is proved by induction."""

ANSWERS: Final = ProofCache()
"""What has been proved in this process: of a mutant only those obligations are solved whose formula is another."""


def proved() -> Iterator[JudgedCall]:
    """Every obligation of `eos prove`: those of one action together, and facts that differ in their release."""
    for name, alike in groupby(_by_family(), key=_family):
        yield JudgedCall(f"fact {name}", partial(of_facts, tuple(alike)))
    for build in SYSTEMS:
        system = build()
        yield JudgedCall(f"{system.name} {START}, and {ALWAYS}", partial(of_action, build, ""))
        for action in system.actions:
            yield JudgedCall(f"{system.name} under {action.name}", partial(of_action, build, action.name))


def _by_family() -> list[tuple[Fact, Numbers]]:
    return sorted(facts(), key=_family)


def _family(requested: tuple[Fact, Numbers]) -> str:
    """What facts are called that differ in their release, or in the width of their numbers."""
    name, _, _ = requested[0].name.partition("[")
    return name


def of_facts(requested: tuple[tuple[Fact, Numbers], ...]) -> tuple[str, ...]:
    """The rule of the first fact that some input refutes; what the solver does not decide names none."""
    found = (prove_fact(fact, numbers, kept=ANSWERS) for fact, numbers in requested)
    refuted = next((each for each in found if isinstance(each.verdict, Refuted)), None)
    return () if refuted is None else (refuted.rule.id,)


def of_action(build: Callable[[], System], action: str) -> tuple[str, ...]:
    """The rule of the first lemma that an action need not keep; of no action, of the first that need not hold."""
    system = build()
    prover = Prover(system, kept=ANSWERS)
    if not action:
        return _first_failure(prover.at_the_start())
    (only,) = (each for each in system.actions if each.name == action)
    return _first_failure(prover.under(only))


def _first_failure(obligations: Iterator[Obligation]) -> tuple[str, ...]:
    failed = next((each for each in obligations if not isinstance(each.verdict, Proved)), None)
    return () if failed is None else (failed.rule.id,)
