"""Where each known bug is carried out on the reference: with its defect it must show, without it a step is refused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.bugs.client_world import ClientWorld
from model_tests.bugs.defects import DEFECTS
from model_tests.bugs.leader_world import ExpiryWorld, VerifyingWorld
from model_tests.bugs.stream_world import StreamWorld
from model_tests.bugs.world import Make, Staging
from spec.bugs.bug import Bug, Case
from spec.versions import NEWEST, PROFILES, Profile

WORLDS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "client": ClientWorld,
        "idempotence": StreamWorld,
        "expiry": ExpiryWorld,
        "verifying": VerifyingWorld,
    }
)
"""By what the system is called."""

BETWEEN: Final[Mapping[str, Profile]] = MappingProxyType({"3.5": PROFILES["3.6"], "librdkafka": NEWEST})
"""Releases, and clients, without a profile of their own, and the one in which they are carried out."""


def profile_of(case: Case) -> Profile:
    """The behaviours of the release that a case is about."""
    return BETWEEN.get(case.profile) or PROFILES[case.profile]


def staged(bug: Bug) -> Staging | None:
    """Where the bug is carried out; None where the reference has no world for it."""
    world = WORLDS.get(bug.broken.instance.of) if bug.cases else None
    if world is None:
        return None
    return Staging(world, profile_of(bug.broken), NEWEST, DEFECTS.get(bug.name))
