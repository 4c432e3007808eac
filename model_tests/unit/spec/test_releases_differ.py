"""What releases do otherwise, each shown by the step that tells them apart."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, PRODUCER, ended, ending, entry
from spec.protocol import committing, completing, registering, verification
from spec.protocol.coordinator import TransactionEntry, completed, names_of
from spec.protocol.ending import end
from spec.protocol.ending import guards as ending_guards
from spec.protocol.ids import InitRequest, initialize
from spec.protocol.ids import guards as init_guards
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.registering import AddRequest, register
from spec.versions import KAFKA_2_5, KAFKA_2_7, KAFKA_3_9, KAFKA_4_0, KAFKA_4_1, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
DOWNGRADED = NEWEST.under(0)
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def rotated(profile: Profile) -> TransactionEntry:
    """Memory of an id whose transaction at the last epoch has ended, with a new producer id."""
    return ended(entry(ONGOING, producer_epoch=LAST - 1), ending(commits=True, epoch=LAST - 1), profile)


def begun(before: TransactionEntry, profile: Profile, version: int = 4) -> TransactionEntry:
    """Memory after the first partition of the next transaction."""
    asked = AddRequest(before.producer_id, before.producer_epoch, False, 300, registering.client_version(version))
    transition = register(before, asked, profile)
    return completed(transition.entry, transition.target, profile)


# --- the producer id before -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "previous", "told"),
    [(KAFKA_4_0, PRODUCER, ErrorCode.PRODUCER_FENCED), (KAFKA_4_1, FRESH, MAPPING), (NEWEST, FRESH, MAPPING)],
)
def test_a_late_end_by_the_producer_id_before(profile: Profile, previous: int, told: ErrorCode) -> None:
    """Adding a partition overwrites the id before since 4.1, so that a late EndTxn of it is of nobody's."""
    before = begun(rotated(profile), profile)

    late = end(before, ending(commits=True, epoch=LAST - 1), profile)

    assert (FRESH, 0, previous) == (before.producer_id, before.producer_epoch, before.previous_producer_id)
    assert told == late.error


@pytest.mark.parametrize(("profile", "first"), [(KAFKA_4_0, False), (KAFKA_4_1, True), (NEWEST, True)])
def test_who_expects_the_producer_id_before(profile: Profile, first: bool) -> None:
    """Since 4.1 during the first transaction after a rotation already, before that during the second one."""
    expects = InitRequest(60_000, FRESH + 1, 400, producer_id=PRODUCER, producer_epoch=LAST - 1)
    open_first = begun(rotated(profile), profile)
    open_second = begun(ended(open_first, replace(ending(commits=True, epoch=0), producer_id=FRESH), profile), profile)

    guards = [
        names_of(init_guards(before, expects, profile))[initialize(before, expects, profile).branch]
        for before in (rotated(profile), open_first, open_second)
    ]

    assert "identity_fenced" != guards[0]
    assert [first, True] == ["identity_fenced" == guard for guard in guards[1:]]


# --- the client's version -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "version"), [(SNAPSHOT_4_0, 0), (KAFKA_4_0, 2), (NEWEST, 2)])
def test_who_adds_a_partition_is_written_down_since_4_0(profile: Profile, version: int) -> None:
    """The snapshot names a version only at the end of a transaction."""
    assert version == begun(entry(EMPTY, client_version=0), profile).client_version


@pytest.mark.parametrize("profile", [DOWNGRADED, KAFKA_4_0.under(0)])
def test_a_client_of_version_2_locks_its_id_on_a_coordinator_of_version_0(profile: Profile) -> None:
    """The record cannot hold its version: it is told so, and the transition stays pending for ever."""
    rests = entry(EMPTY, client_version=0)
    asked = AddRequest(PRODUCER, EPOCH, all_registered=False, client_version=2)

    added = register(rests, asked, profile)
    stopped = end(replace(rests, state=ONGOING.value), ending(commits=True), profile)

    assert [ErrorCode.UNSUPPORTED_VERSION] * 2 == [added.error, stopped.error]
    assert not added.appends
    assert not stopped.appends
    assert [ONGOING, TransactionState.PREPARE_COMMIT] == [added.entry.pending, stopped.entry.pending]
    again = [register(added.entry, asked, profile), initialize(added.entry, InitRequest(1000, FRESH), profile)]
    assert [ErrorCode.CONCURRENT_TRANSACTIONS] * 2 == [each.error for each in again]
    assert added.entry == replace(rests, pending=ONGOING.value)


def test_an_id_of_version_2_becomes_empty_on_no_coordinator_of_version_0() -> None:
    """A downgrade leaves the client's version in memory, and the record of Empty would have it."""
    before = entry(TransactionState.COMPLETE_COMMIT, client_version=2)

    assert ErrorCode.UNSUPPORTED_VERSION == initialize(before, InitRequest(1000, FRESH), DOWNGRADED).error
    assert ErrorCode.NONE == initialize(before, InitRequest(1000, FRESH), NEWEST.under(1)).error
    assert ErrorCode.PRODUCER_FENCED == initialize(before, InitRequest(1000, FRESH, 0, False, 7, 2), DOWNGRADED).error


def test_older_clients_go_on_under_version_0() -> None:
    """A question, a repetition and the coordinator's own abort write no such record either."""
    open_ = entry(ONGOING, client_version=0)
    question = AddRequest(PRODUCER, EPOCH, all_registered=True, client_version=2)

    assert ErrorCode.NONE == register(open_, replace(question, verify_only=True), DOWNGRADED).error
    assert ErrorCode.NONE == register(open_, question, DOWNGRADED).error
    assert register(open_, replace(question, all_registered=False, client_version=0), DOWNGRADED).appends
    assert end(completing.fence(open_), completing.fencing_abort(open_, FRESH, 200, DOWNGRADED), DOWNGRADED).appends


# --- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "error"),
    [(KAFKA_2_5, ErrorCode.INVALID_PRODUCER_EPOCH), (KAFKA_2_7, ErrorCode.PRODUCER_FENCED), (NEWEST, 90)],
)
def test_a_stale_epoch_at_the_coordinator(profile: Profile, error: int) -> None:
    """Before 2.7 code 90 does not exist: coordinators say 47, as leaders always do."""
    open_ = entry(ONGOING, client_version=0)
    late = ending(commits=True, epoch=EPOCH - 1, bumps=False)

    assert error == end(open_, late, profile).error
    assert error == register(open_, AddRequest(PRODUCER, EPOCH - 1, all_registered=False), profile).error
    expects = InitRequest(1000, FRESH, producer_id=PRODUCER, producer_epoch=EPOCH - 2)
    assert error == initialize(entry(EMPTY, client_version=0), expects, profile).error
    assert error == {guard.name: guard.error for guard in ending_guards(open_, late, profile)}["fenced"]


@pytest.mark.parametrize(
    ("error", "done"),
    [
        (ErrorCode.NONE, True),
        (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, True),
        (ErrorCode.UNSUPPORTED_VERSION, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
    ],
)
def test_which_answers_to_a_marker_let_the_partition_go(error: ErrorCode, done: bool) -> None:
    """A partition that cannot hold markers is not waited for (TransactionMarkerRequestCompletionHandler)."""
    assert done is completing.is_done(error.value)


def test_offsets_of_no_producer_are_asked_about() -> None:
    """The coordinator does not know the id -1 and says so; of a Produce without producer id nobody is asked."""
    offsets = committing.to_append(-1, -1, offsets=1, log_end=0)
    batch = AppendRequest(base_offset=0, transactional=True)

    asked = verification.is_asked(ProducerEntry(), offsets, committing.as_produce(3), KAFKA_3_9)
    assert (True, False) == (asked, verification.is_asked(ProducerEntry(), batch, 9, KAFKA_3_9))
