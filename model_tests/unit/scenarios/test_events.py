"""What fails in a scenario is an event of its world's list, chosen as the list admits it."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Final
from unittest.mock import patch

import pytest

from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.scenarios.judged import judged
from reference.event import Event
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.schedule_replicas import REPLICAS, ReplicasScheduler
from reference.simulate.schedule_transactions import TRANSACTIONS, TransactionScheduler
from reference.simulate.scheduler import PRODUCERS, ProducerScheduler, Scheduler
from reference.world.pipelines import PipelineWorld
from reference.world.replicas import ReplicasWorld
from reference.world.transaction_world import TransactionWorld

LISTS: Final[tuple[tuple[type, type[Scheduler], Sequence[Event[Any]]], ...]] = (
    (SimulatedCluster, ProducerScheduler, PRODUCERS),
    (ReplicasWorld, ReplicasScheduler, REPLICAS),
    (TransactionWorld, TransactionScheduler, TRANSACTIONS),
)
"""A world, who picks its events, and the list of them."""

OF_WORKERS: Final = ("worker_leaves", "worker_crashes", "worker_is_suspended", "worker_resumes", "worker_will_fail")
"""What goes wrong with the workers of a pipeline, whose events are its own methods."""

BY_ITSELF: Final = ("model_tests.scenarios.", __name__)
"""Callers that let no event happen."""


def called(scheduler: type, names: Iterable[str]) -> set[str]:
    """The methods of a world that these methods of its scheduler call, by themselves or through others of it."""
    seen, left, found = set[str](), list(names), set[str]()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(scheduler, name))))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            if (
                isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and callable(getattr(scheduler, node.attr, None))
            ):
                left.append(node.attr)
            elif ast.unparse(node.value) in ("self.world", "self.cluster"):
                found.add(node.attr)
    return found


def of_faults(world: type, scheduler: type[Scheduler], events: Sequence[Event[Any]]) -> set[str]:
    """What only faults do to a world, and what mends them."""
    mends = {"fault_is_mended", "coordinator_loads", "coordinator_resigns", "partitions_come_back", "broker_is_back"}
    unusual = {event.name for event in events if event.fault} | {name for name in mends if hasattr(scheduler, name)}
    usual = {event.name for event in events} - unusual
    methods = called(scheduler, unusual) - called(scheduler, usual)
    return {name for name in methods if inspect.isfunction(getattr(world, name, None))}


@contextmanager
def watched() -> Iterator[list[str]]:
    """What only faults do to a world, and a scenario or its stage does by itself."""
    seen: list[str] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals["__name__"].startswith(BY_ITSELF):
                seen.append(function.__name__)
            return function(*args, **kwargs)

        return call

    with ExitStack() as patches:
        for world, scheduler, events in LISTS:
            for name in of_faults(world, scheduler, events):
                patches.enter_context(patch.object(world, name, noted(getattr(world, name))))
        for name in OF_WORKERS:
            patches.enter_context(patch.object(PipelineWorld, name, noted(getattr(PipelineWorld, name))))
        yield seen


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_fails_in_a_scenario_is_an_event_of_its_world(name: str) -> None:
    """A scenario cannot do to a world what its list of events does not admit."""
    with watched() as seen:
        judged(SCENARIOS[name])

    assert [] == seen


def test_a_fault_beside_the_list_is_seen() -> None:
    """The methods that only faults call are found, and one that is called by itself is noticed."""
    names = set[str]().union(*(of_faults(*each) for each in LISTS))
    assert {"broker_crashes", "coordinator_resigns", "producer_state_expires", "request_is_lost"} <= names

    with watched() as seen:
        world = TransactionWorld()
        world.partition_loses_leader(world.partitions[0])

    assert ["partition_loses_leader"] == seen
