"""Liveness of transactions: claims about every fair run of finite instances, and changes that violate them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Final

from model_tests.verify.results import Control, Result, RuleVerdict, RunEffort
from spec import rules
from spec.engines.finite import Finite, instance_of
from spec.engines.liveness import Graph, Livelock, Progressed, graph_of, never_due, progresses
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.systems.assumptions import Assumption, in_order
from spec.systems.language import LivenessClaim
from spec.systems.transactions.broken import NOTHING, quiet
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.decisions import decisions, remembered
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
        """What is said of one progress."""
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
