"""The mutants of `eos verify`: every planted defect must be caught by the rule that it breaks.

Some mutants are seen by recorded sessions: each is planted, and sessions are replayed until one disagrees and names
the rule.
"""

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from model_tests.conform.files import sample, sessions_in
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.sessions import Session
from model_tests.conform.side_by_side import REFERENCE, disagreements
from model_tests.machines.disk_runs import run_on_disk
from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.tape_runs import ANYWHERE
from model_tests.mutants.decisions.made import mutants as made
from model_tests.mutants.decisions.table import counted
from model_tests.mutants.decisions.tried import tried
from model_tests.mutants.defects.of_disk import OF_DISK
from model_tests.mutants.defects.of_groups import OF_GROUPS
from model_tests.mutants.defects.of_pipelines import OF_PIPELINES
from model_tests.mutants.defects.of_replicas import OF_REPLICAS, hunt_in_replicas, true_replicas
from model_tests.mutants.defects.of_sending import OF_SENDING, hunt_in_sending, true_sending
from model_tests.mutants.defects.of_small_inputs import OF_SMALL_INPUTS, hunt_side_by_side
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.mutants.on_spark import BROKEN, OF_THE_LOG, broken_guard
from model_tests.mutants.reference import (
    OF_TRANSACTIONS,
    PLANTED,
    hunt,
    hunt_in_transactions,
    run_once,
    true_transactions,
)
from model_tests.verify.results import PartResult, PlantedDefect, RunEffort
from spec.rules import Rule

# --- mutants that recorded sessions see -------------------------------------------------------------------------------


GROUPS: Final = ("C", "EC", "FC")
"""Families whose sessions have groups."""

ONE_IN: Final = 3  # one session of so many is replayed, since this hunt is part of every `eos verify`


@cache
def sessions_of_groups() -> tuple[Session, ...]:
    """A third of the bundled sessions with groups; those with restarts first, since they are few."""
    return tuple(sorted(sessions_in(sample(ONE_IN, GROUPS).lines), key=lambda session: session.family != "FC"))


def hunt_in_sessions(planted: Planted, sessions: Sequence[Session] | None = None) -> PlantedDefect:
    """Replay sessions on the reference with the defect, until it disagrees in a step about the rule that it breaks."""
    started = time.monotonic()
    seen: dict[str, None] = {}
    with planted.in_place():
        for found in _of_reference(sessions_of_groups() if sessions is None else sessions):
            if planted.rule in found.rules:
                seen = {f"session {planted.rule.id} in {found.session} step {found.step}": None} | seen
                break
            seen |= {f"session {rule.id}": None for rule in found.rules}
    return PlantedDefect(planted.name, planted.rule, tuple(seen), round(time.monotonic() - started, 3))


def _of_reference(sessions: Iterable[Session]) -> Iterable[SessionDisagreement]:
    return (found for found in disagreements(sessions) if found.by == REFERENCE)


# --- the part of `eos verify` -----------------------------------------------------------------------------------------


CONTROL: Final = {RunEffort.QUICK: 20, RunEffort.DEFAULT: 120, RunEffort.DEEP: 2000}
"""Runs of the true reference in each terrain: it must survive where the mutants are caught."""

PLANTED_SAMPLE: Final = {RunEffort.QUICK: 20, RunEffort.DEFAULT: 30}
"""Mutants of partitions and producers that are hunted; a deep run hunts all of them."""

DISK_SAMPLE: Final = {RunEffort.QUICK: 10, RunEffort.DEFAULT: 20}
"""Mutants of the log on disk that are hunted; likewise."""

TRANSACTIONS_SAMPLE: Final = {RunEffort.QUICK: 5, RunEffort.DEFAULT: 12}
"""Mutants of transactions that are hunted; likewise."""

PIPELINES_SAMPLE: Final = {RunEffort.QUICK: 2, RunEffort.DEFAULT: 6}
"""Mutants of pipelines that are hunted; likewise."""

REPLICAS_SAMPLE: Final = {RunEffort.QUICK: 2, RunEffort.DEFAULT: 5}
"""Mutants of replicas that are hunted; likewise."""

REPLICA_RUNS: Final = {RunEffort.QUICK: 5, RunEffort.DEFAULT: 40, RunEffort.DEEP: 2000}
"""Runs of the true replicas."""

PIPELINE_RUNS: Final = {RunEffort.QUICK: 2, RunEffort.DEFAULT: 10, RunEffort.DEEP: 1000}
"""Runs of the true pipelines."""

SEED: Final = 20261121  # draws the order of the defects; any seed does, and a fixed one repeats it


def evidence(effort: RunEffort) -> PartResult:
    """Catch the mutants of the reference and of the specification, and run the true reference as they were."""
    started = time.monotonic()
    of_append, of_disk = sampled(PLANTED, effort, PLANTED_SAMPLE), sampled(OF_DISK, effort, DISK_SAMPLE)
    of_transactions = sampled(OF_TRANSACTIONS, effort, TRANSACTIONS_SAMPLE)
    of_pipelines = sampled(OF_PIPELINES, effort, PIPELINES_SAMPLE)
    of_replicas = sampled(OF_REPLICAS, effort, REPLICAS_SAMPLE)
    mutants = (
        *(hunt_in_replicas(planted) for planted in of_replicas),
        *(hunted(planted, run_pipeline) for planted in of_pipelines),
        *(hunt_in_transactions(planted) for planted in of_transactions),
        *(hunt(planted) for planted in of_append),
        *(hunt_in_sending(planted) for planted in OF_SENDING),
        *(hunted(planted, run_on_disk) for planted in of_disk),
        *(hunt_in_sessions(planted) for planted in OF_GROUPS),
        *(hunt_side_by_side(planted) for planted in OF_SMALL_INPUTS),
    )
    runs, failures = true_reference(CONTROL[effort])
    failures += without_defect(run_on_disk, CONTROL[effort], "log on disk")
    failures += true_transactions(CONTROL[effort])
    failures += without_defect(run_pipeline, PIPELINE_RUNS[effort], "pipelines")
    failures += true_sending(CONTROL[effort])
    failures += true_replicas(REPLICA_RUNS[effort])
    deep = effort is RunEffort.DEEP
    guards = tuple(broken_guard(each, on_spark=deep) for each in (BROKEN if deep else OF_THE_LOG))
    of_decisions = tried(effort)
    failures += tuple(f"mutants of decisions: {failure}" for failure in of_decisions.failures)
    return PartResult(
        name="mutants",
        mutants=(*mutants, *guards, *of_decisions.detected),
        extra={
            "of_the_reference": len(mutants),
            "of_the_specification": len(guards),
            "of_decisions": counted(of_decisions.fates),
            "control_runs": runs + 3 * CONTROL[effort] + PIPELINE_RUNS[effort] + REPLICA_RUNS[effort],
            "seconds": round(time.monotonic() - started, 1),
        },
        failures=(*(survival(mutant) for mutant in mutants if not caught(mutant)), *failures),
        sampled=f"Spark ran {len(guards) if deep else 0} of {len(BROKEN)} broken guards; "
        f"ran {len(of_append)} of {len(PLANTED)} mutants of partitions and producers, "
        f"{len(of_disk)} of {len(OF_DISK)} of the log on disk, "
        f"{len(of_transactions)} of {len(OF_TRANSACTIONS)} of transactions, "
        f"{len(of_pipelines)} of {len(OF_PIPELINES)} of pipelines, "
        f"{len(of_replicas)} of {len(OF_REPLICAS)} of replicas, "
        f"{len(of_decisions.fates):,} of {len(made()):,} of decisions",
    )


# --- the reference --------------------------------------------------------------------------------------------


def caught(mutant: PlantedDefect) -> bool:
    """Whether an invariant of its rule, or a recorded session, has detected it; nothing else counts."""
    by_its_rule = (f"invariant {mutant.rule.id} ", f"session {mutant.rule.id} ")
    return any(killer.startswith(by_its_rule) for killer in mutant.killed_by)


def survival(mutant: PlantedDefect) -> str:
    """A line about a mutant that its rule has not seen."""
    others = ", ".join(mutant.killed_by) or "nothing"
    return f"mutant survives: {mutant.name} breaks {mutant.rule.id}, which did not see it; seen by {others}"


def sampled(planted: Sequence[Planted], effort: RunEffort, sizes: Mapping[RunEffort, int]) -> list[Planted]:
    """The mutants that an effort hunts, in their order.

    Args:
        planted: all of a kind.
        effort: how much runs.
        sizes: how many of them; of an effort that is not listed, all.
    """
    return chosen_of(planted, sizes[effort]) if effort in sizes else list(planted)


def chosen_of(planted: Sequence[Planted], count: int) -> list[Planted]:
    """So many of these, the same every time, in their order: of each rule one before a second, the rarest rules first.

    Args:
        planted: all of a kind.
        count: at most so many.
    """
    of_rule = Counter(each.rule for each in planted)
    taken: Counter[Rule] = Counter()
    ranks = []
    for number in random.Random(SEED).sample(range(len(planted)), len(planted)):
        rule = planted[number].rule
        ranks.append((taken[rule], of_rule[rule], number))
        taken[rule] += 1
    return [planted[number] for number in sorted(number for *_, number in sorted(ranks)[:count])]


def true_reference(runs: int) -> tuple[int, tuple[str, ...]]:
    """Run the reference without any defect: how many runs, and what broke."""
    failures = []
    terrains = dict.fromkeys((ANYWHERE, *(planted.terrain for planted in PLANTED)))
    for terrain in terrains:
        for seed in range(runs):
            ledger, stopped = run_once(seed, Ledger(asks_decision=False), terrain)
            failures += [f"the true reference, run {seed}: {broken}" for broken in ledger.broken]
            failures += [f"the true reference, run {seed}: {stopped}"] if stopped else []
    return runs * len(terrains), tuple(failures)
