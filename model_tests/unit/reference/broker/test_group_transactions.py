"""What a transaction makes of the offsets that are committed in it."""

from typing import Final

import pytest

from model_tests.unit.reference.broker.grouped import (
    CLASSIC_AND_NEW,
    PRODUCER,
    T0,
    T1,
    GroupWorld,
    code_of,
    marker_of,
)
from reference.broker.ids import ProducerIdentity
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, Profile
from spec.vocabulary import Epoch, ErrorCode, ProducerId

OTHER: Final = ProducerIdentity(ProducerId(8), Epoch(0))


@pytest.mark.parametrize(("committed", "offset"), [(True, 8), (False, 3)], ids=["commit", "abort"])
@CLASSIC_AND_NEW
def test_a_marker_decides(profile: Profile, committed: bool, offset: int) -> None:
    """Until then a fetch gets the last committed offset, or none if it requires a stable one."""
    world = GroupWorld(profile)
    world.commit(3)
    world.pend(8)

    assert 3 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error
    assert -1 == world.fetch(stable=True).offset
    assert ErrorCode.NONE == world.fetch(stable=True, partition=T1).error
    world.mark(committed)
    assert offset == world.committed()
    assert offset == world.fetch(stable=True).offset


@CLASSIC_AND_NEW
def test_the_later_record_wins(profile: Profile) -> None:
    """A plain commit after the transaction's own stays, whichever offset is higher; an earlier one gives way."""
    world = GroupWorld(profile)
    world.commit(50)
    world.commit(60, partition=T1)
    world.pend(8)
    world.pend(9, partition=T1)
    world.commit(5)

    world.mark(committed=True)

    assert 5 == world.committed()
    assert 9 == world.committed(T1)


def test_a_marker_without_pending_offsets() -> None:
    """Nothing changes, and the next transaction is not touched by the marker of the one before."""
    world = GroupWorld()
    world.commit(3)
    world.mark(committed=True)
    world.pend(8)

    assert 3 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error


def test_transactions_of_two_producers() -> None:
    """Each marker ends its own; the offset is stable when both are decided."""
    world = GroupWorld()
    world.pend(8)
    world.pend(9, producer=OTHER)

    world.mark(committed=True)
    assert 8 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error
    world.mark(committed=False, producer_id=8, epoch=0)
    assert 8 == world.fetch(stable=True).offset


def test_every_open_transaction_is_waited_for() -> None:
    """Not only the one that began first."""
    world = GroupWorld()
    world.pend(8)
    world.pend(9, producer=OTHER, partition=T1)

    unstable = [world.fetch(stable=True, partition=partition).error for partition in (T0, T1)]

    assert [ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.UNSTABLE_OFFSET_COMMIT] == unstable


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "error"),
    [(4, 9, ErrorCode.INVALID_PRODUCER_EPOCH), (5, 0, ErrorCode.TRANSACTION_COORDINATOR_FENCED)],
    ids=["producer epoch", "coordinator epoch"],
)
def test_a_refused_marker_decides_nothing(epoch: int, coordinator_epoch: int, error: ErrorCode) -> None:
    """A marker of a past producer or of a replaced coordinator leaves the offsets pending."""
    world = GroupWorld()
    world.mark(committed=True, epoch=5, coordinator_epoch=1)
    world.pend(8)

    assert error == code_of(lambda: world.mark(True, epoch, coordinator_epoch))
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, -1), (NEWEST, 8)], ids=["classic", "new"])
def test_a_refused_commit_of_a_zombie(profile: Profile, offset: int) -> None:
    """The classic coordinator forgets with it what the producer has pending: the offset of a committed transaction."""
    world = GroupWorld(profile)
    world.pend(8)
    zombie = PRODUCER._replace(epoch=Epoch(4))

    assert ErrorCode.INVALID_PRODUCER_EPOCH == code_of(lambda: world.pend(9, producer=zombie, verified=lambda: 0))
    world.mark(committed=True)
    assert offset == world.committed()
    world.crash()
    assert 8 == world.committed()


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, 9), (NEWEST, 8)], ids=["lagging", "at once"])
def test_offsets_that_lag_the_marker(profile: Profile, offset: int) -> None:
    """Where they are taken over late, the abort of one transaction meets the offsets of the next (KAFKA-17507)."""
    world = GroupWorld(profile)
    lagging = profile.offsets_lag_marker
    world.pend(8)
    world.groups.write_marker(0, marker_of(committed=True), 2)
    assert lagging == (world.fetch(stable=True).error is ErrorCode.UNSTABLE_OFFSET_COMMIT)

    world.pend(9)
    world.groups.take_over_decided()

    assert offset == world.committed()


@pytest.mark.parametrize("guard", [0, 99], ids=["none", "another"])
def test_an_append_without_its_guard(guard: int) -> None:
    """Offsets that were not verified do not open a transaction on the partition."""
    world = GroupWorld()

    assert ErrorCode.INVALID_TXN_STATE == code_of(lambda: world.pend(8, verified=lambda: guard))
    assert 0 == world.partition.log_end
    unverified = GroupWorld(KAFKA_3_9_UNVERIFIED)
    assert ErrorCode.NONE == code_of(lambda: unverified.pend(8, verified=lambda: 0))
