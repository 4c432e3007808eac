"""Liveness of transactions: it holds of the true systems, is not vacuous, and fails for systems that get stuck.

Every action happens after every fault, and a pair that no instance shows is named.
"""

import pytest

from model_tests.verify.liveness_searches import INSTANCES, LIVELOCKS, RULES, built, controls, lacking, results, table
from model_tests.verify.results import RuleVerdict, RunEffort
from spec.engines.explore import replayed
from spec.engines.finite import instance_of
from spec.engines.liveness import Livelock, graph_of, shortest_after
from spec.systems.transactions.instances import AFTER_FAULTS, FAULTS
from spec.systems.transactions.system import transactions

STATES = {
    "a successor, and records that fail": 394,
    "version 0, a successor": 206,
}
"""Instances with so many reachable states."""


def test_every_rule_holds_of_some_states() -> None:
    """In all fair runs of the quick instances."""
    found = results(RunEffort.QUICK)

    assert RULES == tuple(result.rule for result in found)
    assert {RuleVerdict.HOLDS} == {result.verdict for result in found}
    assert all(result.count > 0 for result in found)


@pytest.mark.parametrize("name", STATES)
def test_no_state_is_lost_unnoticed(name: str) -> None:
    """The number of states is known."""
    assert STATES[name] == len(built(name, INSTANCES[name][1]).graph.states)


def test_every_livelock_is_found_where_it_is() -> None:
    """With the rule that it breaks."""
    assert {"violated"} == {control.got for control in controls()}


def test_a_refused_marker_is_sent_for_ever() -> None:
    """KAFKA-19999 as a cycle: the new coordinator's marker is refused, and sent again."""
    name = "KAFKA-19999: a repeated marker is refused for ever"
    claimed, knobs = LIVELOCKS[name]
    live = built(name, knobs)

    found = live.verdict(next(claim for claim in live.claims if claim.name == claimed))

    assert isinstance(found, Livelock)
    assert ["leader_refuses_marker"] == [happening.action for happening in found.cycle]
    assert "coordinator_fails_over" in {happening.action for happening in found.stem}


# --- what happens after each fault ------------------------------------------------------------------------------------


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
