"""The machine of replicas: it holds, shows something, and does not hold where nothing is claimed."""

import pytest
from hypothesis import settings

from model_tests.machines.part import failures_of
from model_tests.machines.replica_events import ReplicaRun, run_replicas
from model_tests.machines.replica_machine import ReplicaMachine
from model_tests.machines.replica_watch import REPLICA_RULES
from model_tests.machines.rule_counts import Ledger
from model_tests.mutants.defects.of_replicas import OF_REPLICAS, hunt_in_replicas, true_replicas
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import caught, survival
from model_tests.unit.mutants.few import few
from reference.tape import Tape
from spec import rules

SOME = settings(max_examples=10, deadline=None, derandomize=True, database=None)


def test_replicas_keep_every_rule() -> None:
    """Each is at stake, and none is broken."""
    ledger = Ledger()

    failures = failures_of(ReplicaMachine, ledger, SOME)

    assert [] == failures
    assert all(ledger.at_stake[rule] for rule in REPLICA_RULES)


def test_unclean_elections_lose_what_was_replicated() -> None:
    """It is known, and no violation: the rule is not claimed there."""
    ledger = Ledger()

    for seed in range(20):
        run_replicas(seed, ledger, unclean=True)

    assert ledger.known[rules.REPL_COMMITTED_SURVIVES]
    assert [] == ledger.broken


@pytest.mark.parametrize("planted", few(OF_REPLICAS, 3))
def test_a_defect_of_replication_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that it breaks sees it in some run."""
    found = hunt_in_replicas(planted)

    assert caught(found), survival(found)


def test_the_true_replicas_survive() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert () == true_replicas(15)


def test_a_number_names_its_run() -> None:
    """The same numbers give the same steps."""
    rows = []
    for _ in range(2):
        run = ReplicaRun(7, Ledger())
        for number in range(20):
            run.no_failure_happens(Tape.of_number(number))
        rows.append(run.world.recorder.rows)

    assert rows[0] == rows[1]
    assert rows[0]
