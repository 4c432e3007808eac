"""Probing sessions: each distinguishes what it is kept for, and what no session distinguishes has its reason.

Of the planted defects of brokers, each is seen by sessions, or has a reason why they do not see it.
"""

from dataclasses import fields, replace

import pytest

from model_tests.conform.on_reference import OnReference
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.side_by_side import MakeSide
from model_tests.probe import covering
from model_tests.probe.covering import reachable
from model_tests.probe.directed import directed
from model_tests.probe.distinguishing import (
    Candidates,
    ImaginedSession,
    differs,
    imagined,
    shortened,
    shortest,
)
from model_tests.probe.families import DRAWS, drawn
from model_tests.probe.imagined import ImaginedBroker
from model_tests.probe.planted import ALIKE, UNREACHED, WHY, found_by, is_seen, of_brokers, unseen, written
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
from model_tests.probe.script import ScriptAction
from model_tests.unit.support.release_names import named
from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.engines.induction import prove_fact
from spec.engines.verdict import Proved, Refuted
from spec.judging.judge import entries_agree
from spec.protocol.append import Append, append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.protocol.verification import ADDS_SINCE, needs_verification
from spec.systems.decision_lemmas import Fact
from spec.versions import KAFKA_2_4, KAFKA_2_5, KAFKA_4_1, KAFKA_4_2, KAFKA_4_3, KAFKA_4_4, RELEASES, Profile

MOST_STEPS = 6


@pytest.mark.parametrize("probe", probes(), ids=lambda probe: f"{probe.script.family}{probe.script.seed}")
def test_a_probe_distinguishes_what_it_says(probe: Probe) -> None:
    """In each release that it names, the one behaviour makes a difference; each step is needed for some of that."""
    assert len(probe.script.actions) <= MOST_STEPS
    assert probe.distinctions
    assert all(
        distinction.other != getattr(distinction.sound, distinction.behaviour) for distinction in probe.distinctions
    )
    assert all(distinction.holds_of(probe.script) for distinction in probe.distinctions)
    for action in probe.script.actions:
        fewer = [each for each in probe.script.actions if each is not action and each.original != action.key]
        assert not all(distinction.holds_of(probe.script.keeping(fewer)) for distinction in probe.distinctions), action


def test_every_difference_of_neighbours_is_seen_or_has_a_reason() -> None:
    """A behaviour that no probe distinguishes anywhere says where it shows."""
    distinction = {each.behaviour for probe in probes() for each in probe.distinctions}
    differences = {name for one, other in neighbours() for name in differing(one, other)}

    assert set() == differences - distinction - set(UNSEEN)
    assert set() == distinction & set(UNSEEN)
    assert set() == set(UNSEEN) - {behaviour.name for behaviour in fields(Profile)}


def test_what_no_client_can_distinguish_is_said() -> None:
    """4.3 and 4.4 differ in what the cleaner leaves; 4.1 and 4.2 in what a request shows that 4.1 does not take."""
    alike = [(one.name, other.name) for one, other in neighbours() if not any(seen_between(one, other))]

    assert [("4.1", "4.2"), ("4.3", "4.4")] == alike
    (line,) = indistinct(KAFKA_4_4)
    assert "no client can distinguish Kafka 4.3 from 4.4: they differ in cleaner_keeps_last_of_round" in line
    assert {"it shows in what the cleaner leaves"} == {why for _, why in unseen_in(KAFKA_4_3, KAFKA_4_4)}
    assert [("marker_epoch_strict", "4.2 shows it in versions of requests that not both take")] == list(
        unseen_in(KAFKA_4_1, KAFKA_4_2)
    )


def test_what_is_sent_between_two_releases_is_what_both_take() -> None:
    """WriteTxnMarkers 2 is sent to 4.2 alone, and so the same script says nothing between 4.1 and 4.2."""
    distinction = Distinction("4.2", "marker_epoch_strict", False, 2, "4.2")
    scripts = [probe.script for probe in probes() if distinction in probe.distinctions]

    assert scripts
    assert all(distinction.holds_of(script) for script in scripts)
    assert not any(replace(distinction, beside="4.1").holds_of(script) for script in scripts)


@pytest.mark.parametrize("guarded", [True, False])
def test_only_something_under_way_shows_when_a_stale_epoch_is_refused(guarded: bool) -> None:
    """The two orders of the checks decide alike if the guard that a verification began with is still there.

    A client that waits for its answers always meets it. Where something else has ended the verification they differ.
    """
    profiles = [replace(KAFKA_4_3, stale_epoch_before_verification=value) for value in (True, False)]

    def alike(entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
        asked = needs_verification(entry, request, ADDS_SINCE, KAFKA_4_3)
        one, other = (append(entry, request, profile, seen) for profile in profiles)
        met = any_of(negate(asked), same(seen.verification_guarded, guarded))
        written = implies(request.control, request.record_count > 0)  # a coordinator writes no empty marker
        return implies(all_of(met, written), decides_alike(one, other))

    about = (("entry", ProducerEntry), ("request", AppendRequest), ("seen", MetVerification))
    verdict = prove_fact(Fact("alike", rules.FENCE_STALE_EPOCH, "both orders decide alike", about, alike)).verdict

    assert (Proved() == verdict) if guarded else isinstance(verdict, Refuted), verdict


def decides_alike(one: Append, other: Append) -> Term:
    """Whether the same comes of an append, however it was decided."""
    numbers = [
        getattr(one.reply, each) == getattr(other.reply, each) for each in ("error", "first_offset", "last_offset")
    ]
    facts = [same(getattr(one.reply, each), getattr(other.reply, each)) for each in ("duplicate", "appended")]
    return all_of(*numbers, *facts, entries_agree(one.entry, other.entry))


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


def test_the_branches_are_those_of_the_scripts_that_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make tables` renews them; another family, or an action more, makes them stale."""
    assert not covering.is_stale()
    monkeypatch.setattr(covering, "scripts", lambda *_: directed()[1:])
    assert covering.is_stale()


def test_a_probe_is_read_as_it_was_written() -> None:
    """With the fields of its actions that have no default."""
    for probe in probes():
        actions = tuple(ScriptAction(**written) for written in probe.to_json()["actions"])
        assert probe.script.actions == actions


# --- planted defects of brokers ---------------------------------------------------------------------------------------


def test_every_defect_is_seen_or_has_a_reason() -> None:
    """The table has them all, and no reason is left over."""
    assert set(of_brokers()) == set(written())
    reasons = {reason for _, reason in unseen()}
    assert reasons == set(WHY.values())
    assert len(reasons) < len(list(unseen())) < len(written()) / 3


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("duplicate over the wrap not found", True),
        ("empty batch accepted", True),
        ("nothing times out", True),
        ("KAFKA-14055: the key of a marker is compared", False),
        ("any guard will do (KAFKA-14884)", False),
    ],
)
def test_a_defect_is_seen_or_not_as_the_table_says(name: str, seen: bool) -> None:
    """By the sessions that are in every run."""
    found = found_by(of_brokers()[name], "4.3", seeds=0)

    assert seen == is_seen(found) == any(map(is_seen, written()[name].values()))
    assert seen or found == (UNREACHED if "14055" in name else ALIKE)
