"""What happens after which fault: every action after every one, and what is missing is named."""

import pytest

from model_tests.verify.liveness_searches import lacking, table
from spec.engines.explore import replayed
from spec.engines.finite import instance_of
from spec.engines.liveness import graph_of, shortest_after
from spec.systems.transactions.instances import AFTER_FAULTS, FAULTS
from spec.systems.transactions.system import transactions

SMALL = "coordinators, one after the other"


@pytest.mark.slow
def test_every_action_happens_after_every_fault() -> None:
    """In one of the instances of version 2."""
    assert [] == list(lacking(table()))


def test_what_no_instance_shows_is_named() -> None:
    """One small instance has neither offsets nor bumps, and few faults."""
    rows = table({SMALL: AFTER_FAULTS[SMALL]})

    assert "leader_appends is never seen after: a late bump comes" in set(lacking(rows))
    assert {row.instance for row in rows if row.fault == "the coordinator fails over"} == {SMALL}


def test_the_run_is_one_of_the_system_and_has_the_fault_before_its_end() -> None:
    """Replayed step by step; no shorter run has the fault and then the action."""
    system = transactions(AFTER_FAULTS[SMALL])
    finite = instance_of(system, AFTER_FAULTS[SMALL].sizes())
    fault = FAULTS["the coordinator fails over"]

    runs = shortest_after(graph_of(system, finite), lambda each: fault(each.action, each.at))

    for action, run in runs.items():
        replayed(system, finite, run)
        assert run[-1].action == action
        assert any(fault(each.action, each.at) for each in run[:-1])
    assert 2 == len(runs["coordinator_fails_over"])
