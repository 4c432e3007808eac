"""The facts of a variant's decisions for all inputs, its proof by induction, and what keeps it from being proved."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from model_tests.common.processes import started_anew
from model_tests.kip.loading import loaded, located_errors
from model_tests.verify.proved import open_among
from spec.engines.counterexample import InductionCounterexample, InductionSearch
from spec.engines.finite import instance_of
from spec.engines.induction import ALWAYS, START, Obligation, Prover, prove_fact
from spec.engines.proof_cache import Entries, ProofCache, read, write
from spec.systems.assumptions import Assumption
from spec.systems.language import System
from spec.systems.transactions.broken import NEAR_THE_END
from spec.systems.transactions.proof import ONE_ID
from spec.systems.transactions.variant import Variant, facts_of
from spec.systems.transactions.world import Bounds, finite

SHARES: Final = 4
"""Into how many shares the actions are dealt."""

MOST_DRAWN: Final = 12
"""Obligations for which a counterexample to induction is looked for, the first ones."""

DRAWN_IN: Final = Bounds(instances=2, coordinators=2, producer_ids=2, generations=2)
"""The instance in which it is looked for."""


@dataclass(frozen=True, slots=True)
class OpenObligation:
    """An obligation that is not proved.

    Attributes:
        found: a state in which every lemma holds, and an action that breaks the claim; None if there is none.
        reason: why there is none.
    """

    obligation: Obligation
    found: InductionCounterexample | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VariantProof:
    """What came of proving a variant.

    Attributes:
        theorems: names of what follows from the lemmas.
        assumptions: what is taken for granted.
        open: what is not proved.
        contradictions: what would prove anything, a line each.
    """

    theorems: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    obligations: tuple[Obligation, ...]
    open: tuple[OpenObligation, ...]
    contradictions: tuple[str, ...]

    @property
    def closed(self) -> bool:
        """Everything is proved, of something."""
        return not self.open and not self.contradictions


def proved_facts(variant: Variant) -> tuple[Obligation, ...]:
    """Every fact with its verdict."""
    return tuple(prove_fact(fact) for fact in facts_of(variant))


def proved_variant(file: Path, variant: Variant, kept: Path | None) -> VariantProof:
    """Prove a variant by induction, on every core, with the answers of earlier runs.

    Args:
        file: where the variant is from: other processes load it for themselves.
        variant: the same.
        kept: where answers are kept from one run to the next; without it everything is solved.
    """
    system = variant.proved()
    entries = read(kept)[0] if kept is not None else {}
    names = [None, *(action.name for action in system.actions)]
    shares = [names[number::SHARES] for number in range(SHARES)]
    work = partial(_share, file, entries)
    with started_anew(min(os.cpu_count() or 1, SHARES), tasks_of_each=1) as pool:
        done = list(pool.map(work, shares))
    if kept is not None:
        write(kept, entries | {key: entry for each in done for key, entry in each.answers.items()})
    by_name = {name: found for each in done for name, found in each.obligations}
    obligations = tuple(obligation for name in names for obligation in by_name[name])
    contradictions = tuple(line for each in done for line in each.contradictions)
    theorems = tuple(theorem.name for theorem in system.theorems)
    found = drawn(variant, open_among(obligations))
    return VariantProof(theorems, system.assumptions, obligations, found, contradictions)


@dataclass(frozen=True, slots=True)
class _ShareDone:
    obligations: tuple[tuple[str | None, tuple[Obligation, ...]], ...]
    contradictions: tuple[str, ...]
    answers: Entries


def _share(file: Path, entries: Entries, names: Sequence[str | None]) -> _ShareDone:
    """The obligations of some actions; without a name those of what follows and of the start."""
    with located_errors(file):
        system = loaded(file).proved()
        cache = ProofCache(entries)
        prover = Prover(system, kept=cache)
        found = tuple((name, _obligations(prover, system, name)) for name in names)
        contradictions = tuple(prover.contradictions()) if None in names else ()
        return _ShareDone(found, contradictions, cache.taken())


def _obligations(prover: Prover, system: System, name: str | None) -> tuple[Obligation, ...]:
    return tuple(prover.at_the_start() if name is None else prover.under(system.action(name)))


def drawn(variant: Variant, failing: Sequence[Obligation]) -> tuple[OpenObligation, ...]:
    """Each obligation that is not proved, the first of them with a counterexample to induction, if there is one."""
    if not failing:
        return ()
    knobs = replace(ONE_ID, profile=finite(ONE_ID.profile, NEAR_THE_END))
    system = variant.proved(knobs)
    sizes = replace(variant.under(knobs), bounds=DRAWN_IN).sizes()
    search = InductionSearch(system, instance_of(system, sizes))
    later = f"not looked for: it is not among the first {MOST_DRAWN}"
    return (
        *(_drawn(search, system, each) for each in failing[:MOST_DRAWN]),
        *(OpenObligation(each, None, later) for each in failing[MOST_DRAWN:]),
    )


def _drawn(search: InductionSearch, system: System, failing: Obligation) -> OpenObligation:
    try:
        found = _counterexample(search, system, failing)
    except ValueError as gave_up:
        return OpenObligation(failing, None, str(gave_up))
    return OpenObligation(failing, found, "" if found else "there is none in the bounded instance")


def _counterexample(search: InductionSearch, system: System, failing: Obligation) -> InductionCounterexample | None:
    if failing.claim.endswith(NEVER_HAPPENS):
        return search.happens(failing.claim.removesuffix(NEVER_HAPPENS))
    claim = system.claim(failing.claim)
    match failing.action:
        case _ if failing.action == START:
            return search.starts(claim)
        case _ if failing.action == ALWAYS:
            return search.follows(claim)
    return search.keeps(claim, failing.action)


NEVER_HAPPENS: Final = "_never_happens"
"""How the obligation of a dormant action is called, after its name."""
