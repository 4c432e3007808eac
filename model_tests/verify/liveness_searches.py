"""Liveness of transactions: claims about every fair run of finite instances, and changes that violate them.

A claim about what follows a fault is vacuous if nothing follows. So each action of the transactions has to happen after
each fault in one of some small instances under version 2. The table names the instance of each pair, and the length of
a shortest run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Final

from model_tests.verify.results import Control, Result, RuleVerdict, RunEffort
from spec import rules
from spec.engines.finite import Finite, instance_of
from spec.engines.liveness import Graph, Livelock, Progressed, graph_of, never_due, progresses, shortest_after
from spec.engines.verdict import Happening
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.assumptions import Assumption, in_order
from spec.systems.language import LivenessClaim
from spec.systems.transactions.broken import NOTHING, quiet
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.instances import AFTER_FAULTS, FAULTS, Happens
from spec.systems.transactions.progress import progress, with_refusals
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import Bounds, TransactionKnobs
from spec.versions import KAFKA_3_9, NEWEST

_ONE: Final = Bounds(transactions=1)

INSTANCES: Final[Mapping[str, tuple[RunEffort, TransactionKnobs]]] = MappingProxyType(
    {
        "a successor, and records that fail": (
            RunEffort.QUICK,
            quiet(NEWEST, times_out=True, appends_fail=True, bounds=replace(_ONE, instances=2)),
        ),
        "two coordinators": (RunEffort.QUICK, quiet(NEWEST, times_out=True, bounds=replace(_ONE, coordinators=2))),
        "version 0, a successor": (
            RunEffort.QUICK,
            quiet(KAFKA_3_9, times_out=True, outlive=NOTHING, bounds=replace(_ONE, instances=2)),
        ),
        "leaders that fail": (RunEffort.DEFAULT, quiet(NEWEST, times_out=True, leaders_fail=True)),
        "two coordinators, a successor, and records that fail": (
            RunEffort.DEEP,
            quiet(NEWEST, times_out=True, appends_fail=True, bounds=replace(_ONE, coordinators=2, instances=2)),
        ),
    }
)
"""Instances of the true system, each with the least effort that searches it."""

LIVELOCKS: Final[Mapping[str, tuple[str, TransactionKnobs]]] = MappingProxyType(
    {
        "KAFKA-19999: a repeated marker is refused for ever": (
            "prepared_completes",
            quiet(NEWEST, repeated_marker_accepted=False, bounds=replace(_ONE, coordinators=2)),
        ),
        "KAFKA-16352: nothing waits for the markers any more": (
            "prepared_completes",
            quiet(NEWEST, completion_is_of_operation=False, bounds=replace(_ONE, coordinators=2)),
        ),
        "KAFKA-16352: a fenced client retries for ever": (
            "fenced_is_reported",
            quiet(NEWEST, completion_is_of_operation=False, times_out=True, bounds=replace(_ONE, coordinators=2)),
        ),
        "KAFKA-19367: fences use up the last epoch": (
            "timed_out_is_ended",
            next(replace(each.knobs, times_out=True) for each in CONTROLS if each.name.startswith("KAFKA-19367")),
        ),
    }
)
"""Changes after which the named progress is not made in some fair run."""

RULES: Final = (rules.TXN_COMPLETES, rules.TXN_TIMEOUT, rules.FENCE_STALE_EPOCH)

_EFFORTS: Final = tuple(RunEffort)


@dataclass(frozen=True, slots=True)
class Live:
    """A finite instance with its reachable states, what is claimed of its runs, and what its system assumes."""

    name: str
    graph: Graph
    finite: Finite
    claims: tuple[LivenessClaim, ...]
    assumptions: tuple[Assumption, ...]

    def verdict(self, claim: LivenessClaim) -> Progressed:
        """The verdict on one progress."""
        return progresses(self.graph, self.finite, claim)


def built(name: str, knobs: TransactionKnobs) -> Live:
    """The states of an instance."""
    of = remembered(decisions(knobs))
    system = with_refusals(transactions(knobs, of), knobs, of)
    finite = instance_of(system, knobs.sizes())
    return Live(name, graph_of(system, finite), finite, progress(knobs, of), system.assumptions)


def explored_by(effort: RunEffort) -> tuple[Callable[[], Live], ...]:
    """The instances that an effort searches."""
    return tuple(
        partial(built, name, knobs)
        for name, (least, knobs) in INSTANCES.items()
        if _EFFORTS.index(least) <= _EFFORTS.index(effort)
    )


@evidences(rules.TXN_COMPLETES, Layer.EXPLORED)
@evidences(rules.TXN_TIMEOUT, Layer.EXPLORED)
@evidences(rules.FENCE_STALE_EPOCH, Layer.EXPLORED)
def results(effort: RunEffort, requested: Iterable[Rule] = RULES) -> tuple[Result, ...]:
    """What is said of the fair runs, for each of these rules."""
    due = [rule for rule in requested if rule in RULES]
    lives = [build() for build in explored_by(effort)] if due else []
    return tuple(_result(rule, lives) for rule in due)


def _result(rule: Rule, lives: Sequence[Live]) -> Result:
    started = perf_counter()
    requested = [(live, claim) for live in lives for claim in live.claims if claim.rule is rule]
    found = [(live, live.verdict(claim)) for live, claim in requested]
    failed = next((f"{live.name}: {verdict}" for live, verdict in found if isinstance(verdict, Livelock)), "")
    if all(never_due(live.graph, live.finite, claim) for live, claim in requested):
        failed = "what is claimed is never due"
    states = sum(len(live.graph.states) for live, _ in requested)
    verdict = RuleVerdict.VIOLATED if failed else RuleVerdict.HOLDS
    assumed = in_order(assumption for live, _ in requested for assumption in live.assumptions)
    seconds = perf_counter() - started
    return Result(rule, Layer.EXPLORED, verdict, states, seconds, {"states": states}, failed, assumed)


def controls() -> Iterator[Control]:
    """Each change must keep the named progress from being made."""
    for name, (claimed, knobs) in LIVELOCKS.items():
        live = built(name, knobs)
        claim = next(each for each in live.claims if each.name == claimed)
        found = live.verdict(claim)
        got = "violated" if isinstance(found, Livelock) else "holds"
        yield Control(name, claim.rule, "violated", got, str(found), "transactions")


# --- what happens after each fault ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AfterFault:
    """An action that happens after a fault.

    Attributes:
        fault: what goes wrong, or in between (`FAULTS`).
        action: of the system of transactions.
        instance: name of the first instance in which it does; empty where it does in none.
        steps: actions of a shortest run there, up to and with this one; 0 where there is none.
    """

    fault: str
    action: str
    instance: str = ""
    steps: int = 0


def table(instances: Mapping[str, TransactionKnobs] = AFTER_FAULTS) -> tuple[AfterFault, ...]:
    """A row for each fault and each action of any of the instances."""
    found: dict[tuple[str, str], AfterFault] = {}
    actions: dict[str, None] = {}
    for name, knobs in instances.items():
        system = transactions(knobs, remembered(decisions(knobs)))
        actions |= dict.fromkeys(action.name for action in system.actions)
        graph = graph_of(system, instance_of(system, knobs.sizes()))
        for fault, happens in FAULTS.items():
            for action, steps in _after(graph, happens).items():
                found.setdefault((fault, action), AfterFault(fault, action, name, steps))
    return tuple(found.get((fault, action), AfterFault(fault, action)) for fault in FAULTS for action in actions)


def _after(graph: Graph, happens: Happens) -> Mapping[str, int]:
    def is_fault(happening: Happening) -> bool:
        return happens(happening.action, happening.at)

    return {action: len(run) for action, run in shortest_after(graph, is_fault).items()}


def lacking(rows: Iterable[AfterFault]) -> Iterator[str]:
    """The pairs of which no instance shows that the action happens after the fault: a line each."""
    yield from (f"{row.action} is never seen after: {row.fault}" for row in rows if not row.instance)
