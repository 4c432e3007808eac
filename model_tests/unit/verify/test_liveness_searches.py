"""Liveness of transactions: it holds of the true systems, of something, and not of those that are stuck."""

import pytest

from model_tests.verify.liveness_searches import INSTANCES, LIVELOCKS, RULES, built, controls, results
from model_tests.verify.results import RuleVerdict, RunEffort
from spec.engines.liveness import Livelock

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
