"""What of the replicas is proved without bounds: a leader's high watermark never falls, and is within its log."""

from dataclasses import replace

import pytest

from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.induction import Prover
from spec.engines.verdict import Holds, passed
from spec.systems.replication.proof import LEMMAS, UNBOUNDED, proved
from spec.systems.replication.world import ReplicationKnobs
from spec.versions import KAFKA_4_0, Profile


def unproved(knobs: ReplicationKnobs) -> list[str]:
    return [str(each) for each in Prover(proved(knobs)).obligations() if not passed(each.verdict)]


@pytest.mark.parametrize("profile", [UNBOUNDED.profile, KAFKA_4_0], ids=lambda profile: profile.name)
def test_every_obligation_is_proved(profile: Profile) -> None:
    """A broker that is in sync, restarts, loses records, learns late, or leads as a zombie."""
    system = proved(replace(UNBOUNDED, profile=profile))
    found = list(Prover(system).obligations())

    assert [] == [str(each) for each in found if not passed(each.verdict)]
    assert len(LEMMAS) * (len(system.actions) + 1) + 2 == len(found)
    assert [] == list(Prover(system).contradictions())


def test_a_high_watermark_that_may_fall_is_not_proved() -> None:
    """The control, and the step that breaks it."""
    found = unproved(replace(UNBOUNDED, falls=True))

    assert [
        "lengths_are_natural under leader_raises_high_watermark",
        "reported_is_not_taken_back under leader_raises_high_watermark",
    ] == found


@pytest.mark.parametrize("lemma", [sentence.__name__ for sentence, _ in LEMMAS[:-2]])
def test_no_lemma_is_idle(lemma: str) -> None:
    """Without any one of them something is not proved."""
    system = proved()
    without = replace(system, lemmas=tuple(each for each in system.lemmas if each.name != lemma))

    found = [str(each) for each in Prover(without).obligations() if not passed(each.verdict)]

    assert [] != found


def test_the_lemmas_hold_in_every_state_of_an_instance() -> None:
    """They are about the system that is searched."""
    knobs = ReplicationKnobs(appends=1, elections=1, min_in_sync=2, losses=1, restarts=True, hears_late=True)
    system = proved(knobs)

    verdict = explore(system, instance_of(system, knobs.sizes()), system.claims).verdict

    assert isinstance(verdict, Holds)
    assert verdict.complete
