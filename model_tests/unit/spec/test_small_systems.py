"""The small systems that show known bugs: true, not vacuous, alike to both searches, and of known size."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from spec.engines.bmc import search
from spec.engines.explore import Exploration, explore
from spec.engines.finite import demand_all_happen, instance_of
from spec.engines.verdict import Holds, Refuted
from spec.systems import cleaning, expiry, marking, membership, offsets, verifying
from spec.systems.client import producer as clients
from spec.systems.client.system import client
from spec.systems.client.system import sizes as client_sizes
from spec.systems.coordinator import transactional_id as ids
from spec.systems.coordinator.system import coordinating
from spec.systems.coordinator.system import sizes as coordinator_sizes
from spec.systems.language import System
from spec.versions import BEFORE_3_7, KAFKA_2_7, KAFKA_3_9, NEWEST

CLIENT, EXPIRY, ASKING = clients.ClientKnobs(), expiry.ExpiryKnobs(), verifying.VerificationKnobs()
MARKERS, GROUP = offsets.OffsetsKnobs(), membership.MembershipKnobs()
OTHERS = offsets.OffsetsKnobs(others=2)
ZOMBIES = offsets.OffsetsKnobs(zombies=2)
LEADERS = marking.MarkingKnobs(departures=2)
EMPTYING = membership.MembershipKnobs(generations=4, apart=True)
COMPACTED = cleaning.CleaningKnobs()
ONE_ID = ids.CoordinatorKnobs(ids.early(NEWEST), loses_replies=True, fails_over=True, append_fails=True, starts=2)
LOWERED = ids.CoordinatorKnobs(ids.early(NEWEST), lowered_to=0, times_out=False)

TRUE: Mapping[str, tuple[System, Mapping[str, int], int]] = {
    "client": (client(CLIENT), client_sizes(CLIENT), 512),
    "expiry": (expiry.expiry(EXPIRY), expiry.sizes(EXPIRY), 130),
    "verifying": (verifying.verifying(ASKING), verifying.sizes(ASKING), 18),
    "offsets": (offsets.committing(MARKERS), offsets.sizes(MARKERS), 10),
    "offsets of others": (offsets.committing(OTHERS), offsets.sizes(OTHERS), 245),
    "offsets of zombies": (offsets.committing(ZOMBIES), offsets.sizes(ZOMBIES), 28),
    "marking": (marking.marking(LEADERS), marking.sizes(LEADERS), 474),
    "membership": (membership.membership(GROUP), membership.sizes(GROUP), 20),
    "membership apart": (membership.membership(EMPTYING), membership.sizes(EMPTYING), 272),
    "cleaning": (cleaning.cleaning(COMPACTED), cleaning.sizes(COMPACTED), 1311),
    "coordinator": (coordinating(ONE_ID), coordinator_sizes(ONE_ID), 578),
}
"""The true systems with their instances, and how many states each has."""

BROKEN: Mapping[str, tuple[Callable[[], System], Mapping[str, int], str]] = {
    "renumbered in any order": (
        lambda: client(replace(CLIENT, renumbers_in_order=False, batches=3)),
        client_sizes(replace(CLIENT, batches=3), partitions=1),
        "log_order_is_send_order",
    ),
    "markers do not refresh": (
        lambda: expiry.expiry(replace(EXPIRY, marker_refreshes=False)),
        expiry.sizes(EXPIRY),
        "marker_coordinators_never_fall",
    ),
    "nothing waits": (
        lambda: verifying.verifying(replace(ASKING, without=frozenset({"verification_overtaken"}))),
        verifying.sizes(ASKING),
        "batches_stay_in_order",
    ),
    "markers lag": (
        lambda: offsets.committing(offsets.OffsetsKnobs(KAFKA_3_9)),
        offsets.sizes(MARKERS),
        "visible_is_of_committed",
    ),
    "pending offsets outlive what expires": (
        lambda: offsets.committing(replace(OTHERS, profile=offsets.PENDING_SURVIVES, expires=True)),
        offsets.sizes(OTHERS),
        "deleted_stays_deleted",
    ),
    "a refused commit drops what is pending": (
        lambda: offsets.committing(replace(ZOMBIES, profile=replace(NEWEST, refused_commit_drops_pending=True))),
        offsets.sizes(ZOMBIES),
        "committed_is_visible",
    ),
    "a partition without a leader is taken for deleted": (
        lambda: marking.marking(replace(LEADERS, profile=NEWEST)),
        marking.sizes(LEADERS),
        "complete_has_every_marker",
    ),
    "a marker's key is compared": (
        lambda: cleaning.cleaning(cleaning.CleaningKnobs(KAFKA_2_7)),
        cleaning.sizes(COMPACTED),
        "decided_stays_decided",
    ),
    "looked at first": (
        lambda: membership.membership(membership.MembershipKnobs(BEFORE_3_7)),
        membership.sizes(GROUP),
        "past_generations_write_nothing",
    ),
    "what cannot be written stays pending": (
        lambda: coordinating(LOWERED),
        coordinator_sizes(LOWERED),
        "open_can_time_out",
    ),
    "a timeout does not fence": (
        lambda: coordinating(ids.CoordinatorKnobs(ids.early(NEWEST.under(0), 3), timeout_fences=False)),
        coordinator_sizes(ids.CoordinatorKnobs()),
        "commit_is_of_the_whole",
    ),
}
"""A change of each, its instance, and the claim that it violates."""


def explored(system: System, sizes: Mapping[str, int]) -> Exploration:
    """The whole instance."""
    return explore(system, instance_of(system, sizes))


@pytest.mark.parametrize("name", TRUE)
def test_the_true_system_holds_in_every_state(name: str) -> None:
    """All claims, everywhere; the number of states is known, so that none is lost unnoticed."""
    system, sizes, states = TRUE[name]

    found = explored(system, sizes)

    assert isinstance(found.verdict, Holds)
    assert found.verdict.complete
    assert states == found.states


@pytest.mark.parametrize("name", TRUE)
def test_nothing_is_claimed_of_nothing(name: str) -> None:
    """Every action happens, and every goal is reached."""
    system, sizes, _ = TRUE[name]

    found = explored(system, sizes)

    demand_all_happen(system, frozenset(found.happened))
    assert {goal.name for goal in system.goals} == found.reached.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_both_searches_find_the_same_depth(name: str) -> None:
    """Explicit search over values and bounded search over bit-vectors read one text of the system."""
    make, sizes, violated = BROKEN[name]
    system = make()
    finite, claims = instance_of(system, sizes), [system.claim(violated)]

    explicit = explore(system, finite, claims).verdict
    assert isinstance(explicit, Refuted)
    bounded = search(system, finite, explicit.depth, claims, stride=explicit.depth).verdict

    assert isinstance(bounded, Refuted)
    assert explicit.depth == bounded.depth


def test_the_coordinator_holds_with_two_instances_and_expiry() -> None:
    """What is claimed of one id holds when another instance takes over and the id expires, in two releases."""
    for profile, last_epoch in ((NEWEST, 2), (KAFKA_3_9, 3)):
        knobs = ids.CoordinatorKnobs(ids.early(profile, last_epoch), expires=True, starts=2, instances=2, faults=1)

        assert isinstance(explored(coordinating(knobs), coordinator_sizes(knobs)).verdict, Holds)
