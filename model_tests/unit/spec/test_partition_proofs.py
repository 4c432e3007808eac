"""The partition is proved without bounds, and a partition with something changed is not."""

from dataclasses import replace

import pytest

from model_tests.unit.by_default import by_default
from model_tests.unit.support.obligations import obligation
from model_tests.verify.prove import run
from model_tests.verify.proving import here
from spec import rules
from spec.engines.induction import Obligation, Prover, prove
from spec.engines.verdict import Proved, passed
from spec.systems.partition.controls import (
    high_watermark,
    without_high_watermark,
    without_log_start,
    without_ongoing,
    without_unreplicated,
)
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition
from spec.versions import KAFKA_1_0, KAFKA_2_0, PROFILES, Profile


def open_of(knobs: PartitionKnobs) -> set[str]:
    """What is not proved of a partition."""
    return {str(each) for each in prove(partition(knobs)) if not passed(each.verdict)}


@pytest.fixture(scope="module")
def proved() -> tuple[Obligation, ...]:
    return prove(partition())


@pytest.mark.slow
def test_every_obligation_is_proved(proved: tuple[Obligation, ...]) -> None:
    """No lemma and no theorem is open."""
    assert [] == [str(o) for o in proved if not isinstance(o.verdict, Proved)]


@pytest.mark.slow
def test_there_is_an_obligation_for_each_lemma_and_action(proved: tuple[Obligation, ...]) -> None:
    """Theorems follow in one state; lemmas hold at the start and under each action."""
    system = partition()

    assert len(proved) == len(system.theorems) + len(system.lemmas) * (1 + len(system.actions))
    assert 95 <= sum(o.solved for o in proved) <= 115


@pytest.mark.parametrize("profile", by_default(PROFILES, ["0.11", "4.0"]))
def test_every_release_keeps_the_rules(profile: Profile) -> None:
    """What a leader of any release lets in leaves epochs and the last stable offset as they should be.

    Before 2.2 only where no coordinator appends offsets, and before 2.0 only where no sequence wraps.
    """
    release = replace(profile, max_sequence=None) if profile.first_offset_by_sequences else profile

    assert set() == open_of(PartitionKnobs(profile=release, offset_commits=profile.coordinator_data_checked))


@pytest.mark.parametrize(
    ("knobs", "lemma"),
    [
        (PartitionKnobs(profile=KAFKA_2_0), "epochs_rise under group_coordinator_commits"),
        (PartitionKnobs(profile=KAFKA_1_0, offset_commits=False), "open_is_in_log under producer_appends"),
    ],
    ids=["offsets lower the epoch", "a batch that wraps begins beyond the log"],
)
def test_old_releases_do_not_keep_them_otherwise(knobs: PartitionKnobs, lemma: str) -> None:
    """What the proof for them leaves out is what breaks it."""
    assert not passed(obligation(Prover(partition(knobs)), partition(knobs), lemma).verdict)


BROKEN = {
    "transactions not yet replicated are ignored": (
        PartitionKnobs(last_stable=without_unreplicated),
        "below_stable_is_decided under in every state",
    ),
    "open transactions are ignored": (
        PartitionKnobs(last_stable=without_ongoing),
        "below_stable_is_decided under in every state",
    ),
    "all that is replicated is stable": (
        PartitionKnobs(last_stable=high_watermark),
        "below_stable_is_decided under in every state",
    ),
    "not clamped to the log start": (
        PartitionKnobs(last_stable=without_log_start),
        "stable_is_within_bounds under in every state",
    ),
    "not bounded by the high watermark": (
        PartitionKnobs(last_stable=without_high_watermark),
        "stable_is_within_bounds under in every state",
    ),
    "a marker does not end the transaction": (
        PartitionKnobs(marker_ends=False),
        "open_is_in_log under coordinator_writes_marker",
    ),
    "stale epoch checks off": (
        PartitionKnobs(without=frozenset({"stale_epoch", "stale_epoch_of_transaction"})),
        "epochs_rise under producer_appends",
    ),
    "coordinator check off": (
        PartitionKnobs(without=frozenset({"stale_coordinator"})),
        "epochs_rise under coordinator_writes_marker",
    ),
    "stale marker checks off": (
        PartitionKnobs(without=frozenset({"stale_marker", "stale_epoch_of_transaction"})),
        "epochs_rise under coordinator_writes_marker",
    ),
    "expiry on": (PartitionKnobs(state_expires=True), "epochs_rise under leader_forgets"),
    "unclean election": (PartitionKnobs(clean_elections=False), "given_is_safe under leader_fails_over"),
}


@pytest.mark.parametrize(
    "broken", by_default(BROKEN, ["a marker does not end the transaction", "stale epoch checks off"])
)
def test_a_broken_partition_is_not_proved(broken: tuple[PartitionKnobs, str]) -> None:
    """The obligation that fails is the one that the change breaks."""
    knobs, wanted = broken

    found = obligation(Prover(partition(knobs)), partition(knobs), wanted)

    assert str(found) == wanted
    assert not passed(found.verdict)


@pytest.mark.slow
def test_bounds_hold_whatever_is_lost_or_forgotten() -> None:
    """In unclean elections and with expired producers the last stable offset stays between its bounds."""
    system = partition(PartitionKnobs(state_expires=True, clean_elections=False))
    needed = {"counts", "offsets_rise", "stable_is_within_bounds"}

    assert not [str(o) for o in Prover(system).obligations() if o.claim in needed and not passed(o.verdict)]


def test_no_lemma_speaks_of_a_derived_offset() -> None:
    """The oldest open transaction after an action would have to be looked for anew."""
    system = partition()
    speaks = system.claim("stable_is_within_bounds")

    with pytest.raises(AttributeError, match="first_ongoing"):
        prove(replace(system, lemmas=(speaks,), theorems=()))
    with pytest.raises(ValueError, match="first_ongoing of the state after"):
        Prover(system).keeps(speaks, system.action("followers_copy"))


@pytest.mark.slow
def test_one_rule_is_proved_and_searched() -> None:
    """Its report has the proof, the search, and the assumptions of the partition."""
    report = run(rules.LSO_BOUNDS, kept=None, spread=here)

    assert 0 == report.exit_code
    assert ["proof", "bounded"] == [str(result.layer) for result in report.results]
    assert {partition().assumptions} == {result.assumptions for result in report.results}
