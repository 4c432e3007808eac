"""Probing sessions: each distinguishes what it is kept for, and what none distinguishes has its reason."""

from dataclasses import fields, replace

import pytest

from model_tests.conform.on_reference import OnReference
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.side_by_side import MakeSide
from model_tests.probe.covering import reachable
from model_tests.probe.distinguishing import (
    Candidates,
    ImaginedSession,
    differs,
    distinguishes,
    imagined,
    shortened,
    shortest,
)
from model_tests.probe.imagined import ImaginedBroker
from model_tests.probe.probes import (
    UNSEEN,
    Distinction,
    Probe,
    differing,
    indistinct,
    neighbours,
    probes,
    seen_between,
    unseen_in,
)
from model_tests.probe.script import DRAWS, Script, ScriptAction, directed, drawn
from spec.versions import KAFKA_2_4, KAFKA_2_5, KAFKA_4_3, KAFKA_4_4, PROFILES, RELEASES, Profile

MOST_STEPS = 6
UNMET = {"last_epoch_recovers", "stale_epoch_before_verification", "client_version_kept"}
"""Behaviours that a client may be able to see, and that no script of those that were drawn shows."""


def named(value: object) -> str | None:
    return value.name if isinstance(value, Profile) else None


@pytest.mark.parametrize("probe", probes(), ids=lambda probe: f"{probe.script.family}{probe.script.seed}")
def test_a_probe_distinguishes_what_it_says(probe: Probe) -> None:
    """In each release that it names, the one behaviour makes a difference; each step is needed for some of that."""
    assert len(probe.script.actions) <= MOST_STEPS
    assert probe.distinctions
    assert all(shows_distinction(probe.script, distinction) for distinction in probe.distinctions)
    for action in probe.script.actions:
        fewer = [each for each in probe.script.actions if each is not action and each.original != action.key]
        assert not all(
            shows_distinction(probe.script.keeping(fewer), distinction) for distinction in probe.distinctions
        ), action


def shows_distinction(script: Script, distinction: Distinction) -> bool:
    release = PROFILES[distinction.release]
    assert distinction.other != getattr(release, distinction.behaviour)
    return distinguishes(script, release, replace(release, **{distinction.behaviour: distinction.other}))


def test_every_difference_of_neighbours_is_seen_or_has_a_reason() -> None:
    """A behaviour that no probe distinguishes anywhere says where it shows."""
    distinction = {each.behaviour for probe in probes() for each in probe.distinctions}
    differences = {name for one, other in neighbours() for name in differing(one, other)}

    assert UNMET == differences - distinction - set(UNSEEN)
    assert set() == distinction & set(UNSEEN)
    assert set() == set(UNSEEN) - {behaviour.name for behaviour in fields(Profile)}


def test_what_no_client_can_distinguish_is_said() -> None:
    """Of all neighbours these alone: they differ in what the cleaner leaves."""
    alike = [(one.name, other.name) for one, other in neighbours() if not any(seen_between(one, other))]

    assert [("4.3", "4.4")] == alike
    (line,) = indistinct(KAFKA_4_4)
    assert "no client can distinguish Kafka 4.3 from 4.4: they differ in cleaner_keeps_last_of_round" in line
    assert {"it shows in what the cleaner leaves"} == {why for _, why in unseen_in(KAFKA_4_3, KAFKA_4_4)}


@pytest.mark.parametrize("make", [OnSpecification, OnReference])
@pytest.mark.parametrize("release", RELEASES, ids=named)
def test_an_imagined_broker_answers_as_its_release_does(release: Profile, make: MakeSide) -> None:
    """Whoever is behind it: a script of each family that is drawn, and the directed ones."""
    scripts = [drawn(family, 1, implicit=release.transaction_version == 2) for family in DRAWS if family != "X"]

    for script in (*scripts, *directed()):
        broker = ImaginedBroker(release, script, make)
        played = tuple(broker.steps())
        steps = tuple(step for _, step in played)
        session = ImaginedSession(script, broker.partitions, tuple(key for key, _ in played), steps)
        assert differs(session, release) is None
        assert len(session.steps) >= min(3, len(script.actions))


def test_the_shortest_session_is_searched_for() -> None:
    """A producer that begins in the middle distinguishes 2.5 from 2.4."""
    found = shortest(Candidates(KAFKA_2_5, 2), KAFKA_2_5, replace(KAFKA_2_5, any_first_sequence=False))

    assert found is not None
    assert ["InitProducerId", "Produce"] == [action.api for action in found.actions]
    assert differs(imagined(KAFKA_2_5, found), KAFKA_2_4) == 1


def test_what_does_not_distinguish_stays_as_it_is() -> None:
    """There is nothing that a shorter script could show."""
    script = drawn("A", 0, implicit=True)

    assert script is shortened(script, KAFKA_4_3, KAFKA_4_3)
    assert shortest([imagined(KAFKA_4_3, script)], KAFKA_4_3, KAFKA_4_4) is None


def test_branches_that_sessions_can_reach_are_known_of_every_release() -> None:
    """Under each transaction version that it can be run with; a directed script reaches none beside these."""
    for release in RELEASES:
        for version in range(release.transaction_version + 1):
            assert len(reachable(release.under(version))) > 25
    assert not reachable(replace(KAFKA_4_3, name="unheard of"))


def test_a_probe_is_read_as_it_was_written() -> None:
    """With the fields of its actions that have no default."""
    for probe in probes():
        actions = tuple(ScriptAction(**written) for written in probe.to_json()["actions"])
        assert probe.script.actions == actions
