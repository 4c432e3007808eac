"""Where each known bug is carried out on the reference: with its defect it must show, without it a step is refused."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.bugs.cleaning_world import CleaningWorld
from model_tests.bugs.client_world import ClientWorld
from model_tests.bugs.coordinator_world import CoordinatorWorld
from model_tests.bugs.defects import DEFECTS
from model_tests.bugs.groups_world import MembershipWorld, OffsetsWorld
from model_tests.bugs.leader_world import ExpiryWorld, VerifyingWorld
from model_tests.bugs.markers_world import MarkersWorld
from model_tests.bugs.mendings import MENDINGS
from model_tests.bugs.stream_world import StreamWorld
from model_tests.bugs.transactions_world import TransactionsWorld
from model_tests.bugs.world import Make, Staging
from spec.bugs.bug import Bug, ExpectedAnswer, SearchCase
from spec.bugs.of_coordinator import BEFORE_18660, LOWERED_TO_1, PENDING_CLEARED
from spec.bugs.of_transactions import BEFORE_18654, IDENTITY_COMPARED
from spec.systems.coordinator.transactional_id import CoordinatorKnobs
from spec.systems.marking import WAITS_FOR_LEADER
from spec.versions import BEFORE_3_7, NEWEST, PROFILES, Profile


def coordinator_world(case: SearchCase) -> Make:
    """The coordinator's world with as many epochs as the instance has, and the version to which it may be lowered.

    Raises:
        TypeError: the case is of another system than the coordinator's.
    """
    knobs = case.instance.knobs
    if not isinstance(knobs, CoordinatorKnobs):
        raise TypeError(f"{case.claim} is asked of another system")
    return partial(CoordinatorWorld, epochs=knobs.profile.max_epoch, lowered_to=knobs.lowered_to)


WORLDS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "cleaning": CleaningWorld,
        "client": ClientWorld,
        "idempotence": StreamWorld,
        "expiry": ExpiryWorld,
        "verifying": VerifyingWorld,
        "offsets": OffsetsWorld,
        "membership": MembershipWorld,
        "marking": MarkersWorld,
        "transactions": TransactionsWorld,
    }
)
"""By what the system is called."""

BETWEEN: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "3.5": PROFILES["3.6"],
        "librdkafka": NEWEST,
        "4.2-before-19999": PROFILES["4.2"],
        BEFORE_3_7.name: BEFORE_3_7,
        BEFORE_18654.name: BEFORE_18654,
        BEFORE_18660.name: BEFORE_18660,
        LOWERED_TO_1.name: LOWERED_TO_1,
        PENDING_CLEARED.name: PENDING_CLEARED,
        IDENTITY_COMPARED.name: IDENTITY_COMPARED,
        WAITS_FOR_LEADER.name: WAITS_FOR_LEADER,
    }
)
"""Releases, and clients, without a profile of their own, and the one in which they are carried out."""


def profile_of(case: SearchCase) -> Profile:
    """The behaviours of the release that a case is about."""
    return BETWEEN.get(case.profile) or PROFILES[case.profile]


def staged(bug: Bug, case: SearchCase | None = None) -> Staging | None:
    """Where the bug is carried out; None where the reference has no world for it.

    Args:
        bug: whose defect is planted where no profile has it.
        case: one of its cases, whose instance says how the world is made; by default the bug's own.
    """
    world = _world(case or bug.broken)
    if world is None:
        return None
    true = _without_it(bug)
    return Staging(world, profile_of(bug.broken), true, DEFECTS.get(bug.name), MENDINGS.get(true.name))


def _without_it(bug: Bug) -> Profile:
    """The newest release, or where the newest that was asked has the bug what would mend it."""
    requested = {case.profile: case.expected for case in bug.cases}
    newest = [requested[name] for name in PROFILES if name in requested]
    is_open = newest[-1:] == [ExpectedAnswer.VIOLATED]
    return profile_of(bug.mended[-1]) if is_open and bug.mended else NEWEST


def _world(case: SearchCase) -> Make | None:
    if case.instance.of == "coordinator":
        return coordinator_world(case)
    return WORLDS.get(case.instance.of)
