"""Proof tasks: systems by induction, and facts for all inputs. Any process can do a task by itself.

Tasks are spread over processes of this machine; the results are in the order of the tasks.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Final, TypeAlias

from model_tests.common.processes import started_anew
from model_tests.verify.theorems import CLAIMED, SYSTEMS
from spec.engines.induction import Obligation, Prover, prove_fact
from spec.engines.proof_cache import Entries, ProofCache
from spec.engines.reading_z3 import INTEGERS, WIDE, WIRE, Numbers
from spec.engines.solving import USUAL, SolverSettings
from spec.rules import Rule
from spec.systems.answer_lemmas import answer_facts, step_answer_facts
from spec.systems.append_lemmas import append_facts, stable_fact, wire_facts
from spec.systems.coordinator_decision_lemmas import renaming_facts, transition_facts
from spec.systems.decision_lemmas import (
    Fact,
    arithmetic_fact,
    offsets_fact,
    replay_fact,
    stale_epoch_facts,
    wrapping_fact,
)
from spec.systems.election_lemmas import election_facts
from spec.systems.group_lemmas import group_facts
from spec.systems.language import System
from spec.systems.overdue_lemmas import overdue_facts
from spec.systems.produce_lemmas import produce_facts
from spec.systems.replica_lemmas import replica_facts
from spec.systems.retention_lemmas import keeping_facts
from spec.systems.step_lemmas import step_facts

BEGINNING: Final = "what follows, and what holds at the start"
STEPS: Final = "whether the steps are those that recorded steps are judged by"
CONSISTENCY: Final = "whether the lemmas contradict each other"
FACTS: Final = "facts of the decisions"


def taken_by(system: str) -> frozenset[str]:
    """Names of the facts of the decision that a system takes for granted."""
    match system:
        case "idempotence":
            return frozenset({wrapping_fact().name, replay_fact().name, arithmetic_fact().name})
        case "partition":
            return frozenset({replay_fact().name})
        case "transactions":
            renaming = (fact.name for fact in renaming_facts())
            return frozenset({wrapping_fact().name, arithmetic_fact().name, offsets_fact().name, *renaming})
        case _:
            return frozenset()


def facts() -> Iterator[tuple[Fact, Numbers]]:
    """Every fact, and the numbers over which it is proved."""
    renaming = renaming_facts()
    appends = (*stale_epoch_facts(), replay_fact(), wrapping_fact(), offsets_fact(), *append_facts(), stable_fact())
    of_coordinators = (*transition_facts(), *step_facts(), *step_answer_facts(), *overdue_facts())
    of_requests = (*produce_facts(), *answer_facts(), *keeping_facts(), *group_facts())
    of_replicas = (*election_facts(), *replica_facts())
    over_integers = (*appends, *renaming, *of_coordinators, *of_requests, *of_replicas)
    yield from ((fact, INTEGERS) for fact in over_integers)
    yield arithmetic_fact(), WIRE
    yield from ((replace(fact, name=_in_width(fact, numbers)), numbers) for numbers in (WIRE, WIDE) for fact in _wire())


def _wire() -> tuple[Fact, ...]:
    return tuple(wire_facts())


def _in_width(fact: Fact, numbers: Numbers) -> str:
    return f"{fact.name} in {numbers.width} bits"


@dataclass(frozen=True, slots=True)
class ProofTask:
    """Some obligations: of a system under one of its actions, of its start, or some of the facts.

    Attributes:
        of: name of the system, or `FACTS`.
        what: name of an action, `BEGINNING`, `STEPS`, `CONSISTENCY`, or how the names of the facts begin.
        version: the transaction version.
    """

    of: str
    what: str
    version: int = CLAIMED


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task.

    Attributes:
        contradictions: hypotheses that contradict each other and so would prove anything, a line each.
        answers: those that the task found or made, to be kept.
    """

    obligations: tuple[Obligation, ...] = ()
    contradictions: tuple[str, ...] = ()
    answers: Entries = field(default_factory=dict)


def tasks(names: Iterable[str], version: int = CLAIMED) -> tuple[ProofTask, ...]:
    """Everything that is to be proved of these systems, in order."""
    return tuple(task for name in names for task in _tasks_of(name, version))


def tasks_of_facts(request: Container[Rule], systems: Iterable[str]) -> tuple[ProofTask, ...]:
    """The facts that these rules make, or that these systems take for granted."""
    taken = frozenset[str]().union(*map(taken_by, systems))
    due = (fact.name.partition("[")[0] for fact, _ in facts() if fact.rule in request or fact.name in taken)
    return tuple(ProofTask(FACTS, family) for family in dict.fromkeys(due))


def _tasks_of(name: str, version: int) -> Iterator[ProofTask]:
    yield ProofTask(name, BEGINNING, version)
    system = SYSTEMS[name](version)
    yield from (ProofTask(name, action.name, version) for action in system.actions)
    if system.steps:
        yield ProofTask(name, STEPS, version)
    if version == CLAIMED:
        yield ProofTask(name, CONSISTENCY, version)


class ProofWorker:
    """Does tasks, one after the other, in whatever process it is.

    Args:
        settings: the solver's settings.
        entries: answers of earlier runs; without them everything is solved, and nothing is kept.
    """

    def __init__(self, settings: SolverSettings = USUAL, entries: Entries | None = None) -> None:
        self._settings = settings
        self._kept = None if entries is None else ProofCache(entries)
        self._provers: dict[tuple[str, int], Prover] = {}
        self._systems: dict[tuple[str, int], System] = {}

    def do(self, task: ProofTask) -> Done:
        """The result of a task."""
        if task.of == FACTS:
            return self._done(obligations=tuple(self._facts(task.what)))
        prover = self._prover(task)
        if task.what == CONSISTENCY:
            return self._done(contradictions=tuple(prover.contradictions()))
        if task.what == BEGINNING:
            return self._done(obligations=tuple(prover.at_the_start()))
        if task.what == STEPS:
            return self._done(obligations=tuple(prover.steps()))
        action = self._systems[task.of, task.version].action(task.what)
        return self._done(obligations=tuple(prover.under(action)))

    def _done(self, obligations: tuple[Obligation, ...] = (), contradictions: tuple[str, ...] = ()) -> Done:
        answers = {} if self._kept is None else self._kept.taken()
        return Done(obligations, contradictions, answers)

    def _facts(self, family: str) -> Iterator[Obligation]:
        for fact, numbers in facts():
            if fact.name.partition("[")[0] == family:
                yield prove_fact(fact, numbers, self._settings, self._kept)

    def _prover(self, task: ProofTask) -> Prover:
        of = task.of, task.version
        if of not in self._provers:
            self._systems[of] = SYSTEMS[task.of](task.version)
            self._provers[of] = Prover(self._systems[of], self._settings, self._kept)
        return self._provers[of]


# --- processes --------------------------------------------------------------------------------------------------------


Spread: TypeAlias = Callable[[Sequence[ProofTask], SolverSettings, Entries | None], list[Done]]
"""Does tasks under some settings, with answers of earlier runs or without."""

SHARES: Final = 4
"""The number of shares of tasks: the same on every machine."""

FEW: Final = 16
"""Fewer tasks are not worth the start of another process."""


def here(tasks: Sequence[ProofTask], settings: SolverSettings, entries: Entries | None) -> list[Done]:
    """One after the other, in this process."""
    worker = ProofWorker(settings, entries)
    return [worker.do(task) for task in tasks]


def on_cores(tasks: Sequence[ProofTask], settings: SolverSettings, entries: Entries | None) -> list[Done]:
    """In processes of this machine, a share for each."""
    cores = os.cpu_count() or 1
    if cores == 1 or len(tasks) < FEW:
        return here(tasks, settings, entries)
    shares = [tasks[number::SHARES] for number in range(SHARES)]
    with started_anew(min(cores, SHARES), tasks_of_each=1) as pool:
        done = list(pool.map(here, shares, repeat(settings), repeat(entries)))
    return [done[number % SHARES][number // SHARES] for number, _ in enumerate(tasks)]
