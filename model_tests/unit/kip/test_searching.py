"""Variants searched: what breaks a rule is red by its name, and what changes nothing reaches the same states."""

import sys
from dataclasses import replace

import pytest

from model_tests.kip.command import KipReport
from model_tests.kip.searching import InstanceResult, controls, searched, searched_system
from model_tests.unit.kip.variants import IN_ONE_WORKER, TWO, UNCHANGED, found_in, instance, shown
from spec.engines.explore import walked
from spec.engines.verdict import Refuted
from spec.systems.language import System
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.variant import NEWEST_RELEASE, Variant, VariantView, without_action

pytestmark = IN_ONE_WORKER

MENDING = {
    "late_bump": ("a bump that is late", "bump_ends_no_other", "txn.no_crosstalk"),
    "add_partitions_manager": (
        "a producer id that runs out",
        "newest_is_never_fenced_as_stale",
        "fence.stale_epoch",
    ),
    "kip_1319": ("a topic that is made again", "read_offset_is_of_its_topic", "offsets.atomic"),
    "kip_939": ("a prepared transaction", "prepared_is_ended_by_its_client", "txn.timeout"),
}
"""Each variant that mends something: where, which claim, and whose rule it is."""


def reported(variant: Variant, *results: InstanceResult) -> KipReport:
    return KipReport(variant, None, None, results, None)


def test_a_variant_that_changes_nothing_reaches_the_same_states() -> None:
    """Its verdict is that all holds."""
    result = searched(UNCHANGED, TWO)

    assert result.difference.equal
    assert result.difference.here == result.states > 100
    assert () == result.runs
    assert 0 == reported(UNCHANGED, result).exit_code


@pytest.mark.parametrize("name", MENDING)
def test_a_shown_variant_mends_what_was_violated_before(name: str) -> None:
    """Every theorem holds in the instance in which what was before violates one."""
    where, claim, _ = MENDING[name]

    result = found_in(name, where)

    assert isinstance(result.before, Refuted)
    assert claim == result.before.claim
    assert result.passed
    assert not result.difference.equal


@pytest.mark.parametrize("name", MENDING)
def test_without_its_change_a_variant_is_red_by_the_name_of_the_rule(name: str) -> None:
    """The change taken out, the same instance violates the claim, with a run that ends in the violation."""
    where, claim, rule = MENDING[name]
    variant = shown(name)
    before = variant.before or NEWEST_RELEASE
    changed = replace(variant, system=before.system, decisions=before.decisions)

    result = searched(changed, replace(instance(variant, where), mends=""))

    report = reported(changed, result)
    assert 1 == report.exit_code
    assert report.failures[0].startswith(f"{rule}: {claim} is violated")
    assert result.violating is not None
    assert claim in result.violating.lost[-1]


def test_kip_939_takes_the_next_transactions_guard_and_mended_it_does_not() -> None:
    """The marker of a kept transaction has another epoch than the next transaction (KAFKA-18654)."""
    found, held = found_in("kip_939", "a successor"), found_in("kip_939_mended", "a successor")

    assert isinstance(found.verdict, Refuted)
    assert "marker_leaves_next_guard" == found.verdict.claim
    assert held.passed


def test_kip_939_needs_the_second_epoch_in_the_log() -> None:
    """Without it the next coordinator lets nobody end a transaction that is kept."""
    variant, where = shown("kip_939"), "a successor, and the next coordinator"
    forgetting = replace(variant, system=sys.modules[variant.system.__module__].forgetting)

    held, found = found_in("kip_939", where), searched(forgetting, instance(variant, where))

    assert held.passed
    assert isinstance(found.verdict, Refuted)
    assert "who_recovers_may_end" == found.verdict.claim


def test_the_runs_to_states_of_one_system_alone_can_be_made_in_it() -> None:
    """Each run is drawn step by step, and names what its steps lose."""
    variant = shown("add_partitions_manager")
    where = instance(variant, "a producer id that runs out")
    assert variant.before is not None

    result = found_in("add_partitions_manager", where.name)

    for run, of in ((result.only_here, variant), (result.only_there, variant.before)):
        assert run is not None
        here = searched_system(of, where.knobs)
        assert len(list(walked(here.system, here.finite, run.trace))) == len(run.trace) + 1
        assert len(run.picture.steps) == len(run.lost) == len(run.trace)


def test_a_control_that_no_longer_breaks_a_variant_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the action that times out, the control of timeouts finds nothing."""

    def calm(system: System, _: VariantView) -> System:
        return without_action(system, "transaction_times_out")

    variant = replace(UNCHANGED, system=calm)
    (of_timeouts,) = (each for each in CONTROLS if each.name.startswith("KAFKA-6119"))
    monkeypatch.setattr("model_tests.kip.searching.CONTROLS", (of_timeouts,))

    (control,) = controls(variant)

    assert (of_timeouts.name, "holds", False) == (control.name, control.got, control.passed)
