"""The world that scenarios of transactions begin with."""

import pytest

from model_tests.unit.reference.world.scenes import new_world
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile


@pytest.fixture
def world(profile: Profile) -> TransactionWorld:
    """Two nodes and two partitions, under the release of the test."""
    return new_world(profile)
