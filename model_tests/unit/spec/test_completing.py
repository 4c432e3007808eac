from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, PRODUCER, ended, ending, entry
from spec.protocol.completing import (
    expire,
    fence,
    fencing_abort,
    is_expired,
    is_timed_out,
    marker_of,
    may_be_forgotten,
    prepare_complete,
    to_append,
)
from spec.protocol.coordinator import TransactionEntry, append_failed, completed, loaded
from spec.protocol.ending import end
from spec.protocol.ids import WITHOUT_LIMIT
from spec.protocol.records import ProducerEntry
from spec.versions import NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, Origin, TransactionState

ONGOING = TransactionState.ONGOING
VERSION_0 = NEWEST.under(0)


def fenced(before: TransactionEntry, profile: Profile) -> TransactionEntry:
    request = fencing_abort(before, FRESH, 500, profile)
    return ended(fence(before), request, profile)


@pytest.mark.parametrize(
    ("profile", "epoch", "last"),
    [(NEWEST, EPOCH + 1, EPOCH), (SNAPSHOT_4_0, EPOCH + 2, EPOCH + 2), (VERSION_0, EPOCH + 1, -1)],
    ids=["once", "twice", "version 0"],
)
def test_a_fencing_abort_raises_the_epoch(profile: Profile, epoch: int, last: int) -> None:
    """Once; before 4.0 under version 2 once for the fence and once for the abort (KAFKA-19367)."""
    after = fenced(entry(ONGOING), profile)

    assert (after.state, after.producer_epoch, after.last_epoch) == (TransactionState.COMPLETE_ABORT, epoch, last)


def test_a_fence_at_epoch_32766_rotates_or_overflows() -> None:
    """Where the epoch is bumped twice there is no room: memory keeps 32767 and the id stays Ongoing."""
    before = entry(ONGOING, producer_epoch=LAST - 1)
    request = fencing_abort(fence(before), FRESH, 500, SNAPSHOT_4_0)

    stuck = end(fence(before), request, SNAPSHOT_4_0)

    assert fenced(before, NEWEST).producer_id == FRESH
    assert stuck.error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (stuck.entry.state, stuck.entry.producer_epoch, stuck.entry.pending) == (ONGOING, LAST, -1)


def test_a_marker_has_the_epoch_of_prepare() -> None:
    """It goes to the log as the coordinator's control batch."""
    prepared = end(entry(ONGOING), ending(commits=True), NEWEST).target

    batch = to_append(marker_of(prepared, coordinator_epoch=4), log_end=10)

    assert (batch.producer_id, batch.producer_epoch, batch.coordinator_epoch) == (PRODUCER, EPOCH + 1, 4)
    assert (batch.base_offset, batch.origin, batch.control, batch.marker_version) == (10, Origin.COORDINATOR, True, 2)


def test_complete_is_pending_while_markers_are_on_their_way() -> None:
    """The outcome is that of Prepare."""
    for prepare, complete in (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
        (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    ):
        transition = prepare_complete(entry(prepare), 300, NEWEST)
        assert (transition.entry.state, transition.entry.pending) == (prepare, complete)
        assert transition.target.state == complete


def test_a_failed_append_forgets_the_transition() -> None:
    """Under versions 0 and 1 a failed fence keeps its epoch, so that the next attempt does not raise it again."""
    before = entry(ONGOING)
    plain = end(before, ending(commits=True), NEWEST)
    fencing = fence(before)
    abort = end(fencing, fencing_abort(fencing, FRESH, 500, VERSION_0), VERSION_0)

    failed = append_failed(fencing, abort, VERSION_0)

    assert append_failed(before, plain, NEWEST) == before
    assert (failed.producer_epoch, failed.fence_failed, failed.pending) == (EPOCH + 1, True, -1)
    assert fenced(failed, VERSION_0).producer_epoch == EPOCH + 1
    assert not fenced(failed, VERSION_0).fence_failed


def test_a_fence_that_bumps_twice_keeps_its_own_epoch_when_the_append_fails() -> None:
    """Before 4.0 the fence raises the epoch in memory, under version 2 too; the abort's bump is in the record alone."""
    fencing = fence(entry(ONGOING))
    abort = end(fencing, fencing_abort(fencing, FRESH, 500, SNAPSHOT_4_0), SNAPSHOT_4_0)

    failed = append_failed(fencing, abort, SNAPSHOT_4_0)

    assert abort.target.producer_epoch == EPOCH + 2
    assert (failed.producer_epoch, failed.fence_failed) == (EPOCH + 1, True)
    assert append_failed(fence(entry(ONGOING)), abort, NEWEST).producer_epoch == EPOCH


def test_a_transaction_times_out_after_its_timeout() -> None:
    """Not while a transition is pending, nor without limit."""
    before = entry(ONGOING)

    assert [is_timed_out(before, now) for now in (1100, 1101)] == [False, True]
    assert not is_timed_out(replace(before, pending=ONGOING.value), 9999)
    assert not is_timed_out(replace(before, timeout=WITHOUT_LIMIT), 2**40)
    assert not is_timed_out(entry(TransactionState.EMPTY), 9999)


@pytest.mark.parametrize("state", [s for s in TransactionState if s.value < TransactionState.DEAD.value])
def test_an_id_expires_only_at_rest(state: TransactionState) -> None:
    """Empty or Complete; then nothing is known of it."""
    at_rest = state.name in ("EMPTY", "COMPLETE_COMMIT", "COMPLETE_ABORT")

    assert is_expired(entry(state), 1100, 1000) == at_rest
    assert not is_expired(entry(state), 1099, 1000)
    assert not is_expired(entry(state, pending=ONGOING.value), 1100, 1000)


def test_a_tombstone_leaves_nothing() -> None:
    """The next InitProducerId finds no metadata."""
    transition = expire(entry(TransactionState.EMPTY))

    assert transition.target.state == TransactionState.DEAD
    assert completed(transition.entry, transition.target, NEWEST) == TransactionEntry()


def test_an_open_transaction_keeps_its_producer_in_mind() -> None:
    """However long it is idle."""
    assert may_be_forgotten(ProducerEntry(epoch=1))
    assert not may_be_forgotten(ProducerEntry(epoch=1, txn_first_offset=4))


def test_a_failover_forgets_the_last_epoch_and_what_was_pending() -> None:
    """The version of the client is in the flexible record only."""
    record = entry(ONGOING, last_epoch=4, pending=ONGOING.value, fence_failed=True, previous_producer_id=3)

    after = loaded(record, NEWEST)
    old = loaded(record, SNAPSHOT_4_0.under(0))

    assert (after.last_epoch, after.pending, after.fence_failed, after.previous_producer_id) == (-1, -1, False, 3)
    assert (after.client_version, old.client_version, old.previous_producer_id) == (2, 0, -1)
