"""The places where mutants are tried: sessions, steps of traces, small systems, the decisions' own tests, proofs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import cache, partial
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

import pytest

import model_tests
from model_tests.bugs import searching
from model_tests.conform.files import sample, sessions_in
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.sessions import Session
from model_tests.conform.side_by_side import SPECIFICATION, disagreements
from model_tests.corruption.catalogue import OF_COORDINATORS
from model_tests.corruption.corrupt import fits
from model_tests.judging.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.judging.log_links import LOG_LINKS
from model_tests.judging.replication_verdicts import is_of_replication
from model_tests.judging.replication_verdicts import judged as judged_replication
from model_tests.judging.verdicts import REFUSED, judged
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.functions import modules
from model_tests.simulate.simulate import STEPS, trace_of
from model_tests.traces.schema import Row, coordinator_step_of, step_of
from model_tests.verify.model_checking import Instanced
from model_tests.verify.proofs import SEARCHES
from model_tests.verify.prove import ANSWERS
from model_tests.verify.proving import facts
from model_tests.verify.results import RunEffort
from reference.simulate.simulation import simulate
from spec.bugs.bug import SearchCase
from spec.bugs.catalogue import BUGS
from spec.engines.explore import explore
from spec.engines.induction import ALWAYS, START, Obligation, Prover, prove_fact
from spec.engines.proof_cache import ProofCache, read
from spec.engines.reading_z3 import Numbers
from spec.engines.verdict import Proved, Refuted, Unknown, passed
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import judge
from spec.rules import Rule
from spec.systems.decision_lemmas import Fact
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids
from spec.systems.language import System
from spec.systems.partition.system import partition
from spec.systems.transactions.joining import joining
from spec.systems.transactions.proof import proved as transactions_proved
from spec.versions import PROFILES

ONE_IN: Final = 12
"""One of so many recorded sessions."""

SELDOM: Final = ("FX", "R", "ER", "P", "T", "ET")
"""Families of few sessions."""

Named: TypeAlias = tuple[str, ...]
"""Ids of rules."""


# --- recorded sessions ----------------------------------------------------------------------------------------


def recorded(one_in: int = ONE_IN, seldom: int = 1) -> Iterator[JudgedCall]:
    """Recorded sessions, the seldom kinds first.

    Args:
        one_in: one of so many is taken.
        seldom: likewise of the seldom kinds.
    """
    chosen = {session.id: session for session in sessions_in(sample(seldom, SELDOM).lines)}
    chosen |= {session.id: session for session in sessions_in(sample(one_in).lines)}
    return of_sessions(chosen.values())


def of_sessions(sessions: Iterable[Session]) -> Iterator[JudgedCall]:
    """Sessions, each replayed on the specification alone."""
    return (JudgedCall(each.id, partial(in_session, each)) for each in sessions if not each.unsupported)


def in_session(session: Session) -> Named:
    """The rules of the first step in which the specification disagrees with the broker."""
    found = next(disagreements([session], {SPECIFICATION: OnSpecification}), None)
    if found is None:
        return ()
    return tuple(rule.id for rule in found.rules) or ("",)


# --- traces of the reference ----------------------------------------------------------------------------------


def traced(seeds: Iterable[int]) -> Iterator[JudgedCall]:
    """Every step of the traces of these seeds that is judged by a decision."""
    for seed in seeds:
        for row in trace_of(seed):
            name = f"seed {seed} step {row['step']}"
            if row["origin"] >= 0:
                yield JudgedCall(name, partial(in_append, row))
            if is_coordinators(row):
                yield JudgedCall(f"{name} ({row['api']})", partial(in_coordinator, row))
            if is_of_replication(row):
                yield JudgedCall(f"{name} ({row['api']} of replicas or groups)", partial(of_replicas, row))
            if row["topic"] and row["after_log_end"] >= 0:
                yield JudgedCall(f"{name}, its log", partial(in_log, row))


def staked(seeds: Iterable[int]) -> Iterator[JudgedCall]:
    """Whole traces: a rule that was at stake in some step of a coordinator must be at stake in some step still."""
    return (JudgedCall(f"seed {seed}, what is at stake", Staked(seed)) for seed in seeds)


class Staked:
    """The coordinators' steps of a trace, and the rules at stake in them with nothing broken."""

    def __init__(self, seed: int) -> None:
        """The trace is made here, before anything is broken."""
        self._rows = [row for row in trace_of(seed) if is_coordinators(row)]
        self._true: frozenset[str] | None = None

    def __call__(self) -> Named:
        """The rules that are no longer at stake in any step, so that they judge nothing."""
        checks = (check for row in self._rows for check in coordinator_checks(row))
        staked = frozenset(check.rule.id for check in checks if check.at_stake)
        if self._true is None:
            self._true = staked
        return tuple(sorted(self._true - staked))


def replicated(seeds: Iterable[int], steps: int = STEPS) -> Iterator[JudgedCall]:
    """Every judged step of replicas that talk, one profile after another."""
    profiles = tuple(PROFILES.values())
    for seed in seeds:
        for row in simulate(seed, profiles[seed % len(profiles)], steps, workload="replicas"):
            if is_of_replication(row):
                yield JudgedCall(f"replicas, seed {seed} step {row['step']} ({row['api']})", partial(of_replicas, row))


def of_replicas(row: Row) -> Named:
    """The rules that a step of replicas violates."""
    _, checks = judged_replication(row["api"], row.__getitem__, PROFILES[row["profile"]])
    return _violated(checks)


def in_append(row: Row) -> Named:
    """The rules that an append violates."""
    _, checks = judged(step_of(row.__getitem__), PROFILES[row["profile"]], row[REFUSED])
    return _violated(checks)


ALONE: Final = tuple(link for link in LOG_LINKS if not any("previous" in column for column in link.columns))
"""The links that read a log after a step without the step before."""


def in_log(row: Row) -> Named:
    """The rules that a log violates after a step."""
    return _violated([link.check(row.__getitem__) for link in ALONE])


def in_coordinator(row: Row) -> Named:
    """The rules that a coordinator's step violates."""
    return _violated(coordinator_checks(row))


def coordinator_checks(row: Row) -> tuple[RuleCheck, ...]:
    """The checks of a coordinator's step."""
    profile = as_recorded(PROFILES[row["profile"]], row["transaction_version"])
    _, checks = judge(row["api"], coordinator_step_of(row.__getitem__), profile)
    return checks


def _violated(checks: Sequence[RuleCheck]) -> Named:
    return tuple(dict.fromkeys(check.rule.id for check in checks if check.at_stake and not check.holds))


# --- steps made false -----------------------------------------------------------------------------------------


def falsified(seeds: Iterable[int]) -> Iterator[JudgedCall]:
    """Steps of coordinators that are made false, the first few in each way: a judge has to name the broken rule."""
    found: Counter[str] = Counter()
    for seed in seeds:
        for row in filter(is_coordinators, trace_of(seed)):
            for corruption in OF_COORDINATORS:
                if found[corruption.name] < MADE_FALSE and fits(corruption, row):
                    false = {**row, **corruption.change(row)}
                    if corruption.rule.id in in_coordinator(false):
                        found[corruption.name] += 1
                        name = f"seed {seed} step {row['step']}, made false: {corruption.name}"
                        yield JudgedCall(name, partial(in_false_step, corruption.rule, false))


def in_false_step(rule: Rule, row: Row) -> Named:
    """The rule, if the judge no longer finds that the step breaks it."""
    return () if rule.id in in_coordinator(row) else (rule.id,)


MADE_FALSE: Final = 4
"""Steps that are made false in each way."""


# --- known bugs -----------------------------------------------------------------------------------------------


def known_bugs() -> Iterator[JudgedCall]:
    """Every search of the catalogue: fixed releases must hold, and the bug must be found in the others."""
    for bug in BUGS.values():
        for number, case in enumerate(bug.cases):
            yield JudgedCall(f"{bug.name} case {number} ({case.profile})", partial(in_case, bug.rule, case))


def in_case(rule: Rule, case: SearchCase) -> Named:
    """The bug's rule, if the search does not give the expected answer."""
    found = searching.searched(case, LARGEST_CASE)
    return () if found.as_expected or isinstance(found.verdict, Unknown) else (rule.id,)


LARGEST_CASE: Final = 60_000
"""A mutant that makes a case larger is not searched for longer."""


# --- small systems --------------------------------------------------------------------------------------------


def searched(effort: RunEffort = RunEffort.QUICK) -> Iterator[JudgedCall]:
    """Finite instances of the systems, each explored as a whole."""
    for each in SEARCHES:
        for instance in each.explored_by(effort):
            claimed = None if instance.whole else each.rules
            yield JudgedCall(f"{each.system.name}, {instance.name}", Explored(instance.built, claimed))


class Explored:
    """An instance, and the goals and actions that it reaches with nothing broken."""

    def __init__(self, built: Callable[[], Instanced], claimed: Collection[Rule] | None) -> None:
        """Theorems of these rules are checked, or every claim; the instance is made when it is explored."""
        self._built = built
        self._claimed = claimed
        self._reached: frozenset[str] | None = None
        self._most = MOST_STATES

    def __call__(self) -> Named:
        """The claim that is violated, by its rule; else the goals and actions that are no longer reached, by name."""
        instance = self._built()
        system = instance.system
        theorems = [claim for claim in system.theorems if self._claimed is None or claim.rule in self._claimed]
        claims = system.claims if self._claimed is None else theorems
        found = explore(system, instance.finite, claims, most_states=self._most)
        reached = frozenset(found.reached) | found.happened
        if self._reached is None:
            self._reached = reached
            self._most = LARGER * found.states
        if isinstance(found.verdict, Refuted):
            return (system.claim(found.verdict.claim).rule.id,)
        missing = self._reached - reached if passed(found.verdict) else ()
        return tuple(f"{name} never happens" for name in sorted(missing))


MOST_STATES: Final = 20_000
"""Every instance is smaller."""

LARGER: Final = 3
"""A mutant that makes an instance so many times as large is not searched for longer."""


FOLDER: Final = Path(model_tests.__path__[0]) / "unit" / "spec"


# --- the decisions' own tests -----------------------------------------------------------------------------------------


OF_COMPOSITIONS: Final = ("test_judge.py", "test_judge_coordinator.py", "test_releases_differ.py")
"""Tests of compositions of several modules, and of differences between releases in any of them."""

CORNERS: Final = "test_corners_of_*.py"
"""Tests of cases that nothing else reaches."""


def tested() -> Iterator[JudgedCall]:
    """The files of tests, by the modules' names."""
    own = (f"test_{module.__name__.rpartition('.')[2]}.py" for module in modules())
    for path in (*(FOLDER / name for name in (*own, *OF_COMPOSITIONS)), *sorted(FOLDER.glob(CORNERS))):
        if path.exists():
            yield JudgedCall(path.name, partial(failing, path))


def failing(path: Path) -> tuple[str, ...]:
    """The first test of a file that fails, by its name.

    Raises:
        RuntimeError: no test was run.
    """
    first = _First()
    with redirect_stdout(StringIO()) as printed:
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(path)], [first])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{path.name} was not run: {printed.getvalue()}")
    return first.failed


class _First:
    """Notes the first test that fails."""

    def __init__(self) -> None:
        self.failed: tuple[str, ...] = ()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test was run, or its setup failed."""
        if report.failed and not self.failed:
            self.failed = (report.nodeid.rpartition("/")[2],)


# --- proofs -----------------------------------------------------------------------------------------------------------


SYSTEMS: Final = (idempotence, partition, ids, transactions_proved, joining)
"""The systems that are proved by induction."""


@cache
def _answers() -> ProofCache:
    """The answers of an earlier `eos prove`, and of this process: only what is not among them is solved."""
    answers, _ = read(ANSWERS)
    return ProofCache(answers)


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
    """The common name of facts that differ only in their release, or in the width of their numbers."""
    name, _, _ = requested[0].name.partition("[")
    return name


def of_facts(requested: tuple[tuple[Fact, Numbers], ...]) -> tuple[str, ...]:
    """The rule of the first fact that some input refutes; an undecided fact names no rule."""
    found = (prove_fact(fact, numbers, kept=_answers()) for fact, numbers in requested)
    refuted = next((each for each in found if isinstance(each.verdict, Refuted)), None)
    return () if refuted is None else (refuted.rule.id,)


def of_action(build: Callable[[], System], action: str) -> tuple[str, ...]:
    """The rule of the first lemma that an action need not keep; of no action, of the first that need not hold."""
    system = build()
    prover = Prover(system, kept=_answers())
    if not action:
        return _first_failure(prover.at_the_start())
    (only,) = (each for each in system.actions if each.name == action)
    return _first_failure(prover.under(only))


def _first_failure(obligations: Iterator[Obligation]) -> tuple[str, ...]:
    failed = next((each for each in obligations if not isinstance(each.verdict, Proved)), None)
    return () if failed is None else (failed.rule.id,)
