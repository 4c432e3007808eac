"""What releases do otherwise, each shown by the step that distinguishes them."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, PRODUCER, ended, ending, entry
from spec.protocol import cleaning, committing, completing, groups, registering, verification, verification_queue
from spec.protocol.cleaning import MetBatch
from spec.protocol.coordinator import TransactionEntry, completed, names_of
from spec.protocol.coordinator_steps import not_logged
from spec.protocol.ending import end
from spec.protocol.ending import guards as ending_guards
from spec.protocol.groups import EpochClaim, epoch_guards
from spec.protocol.guards import branch, error_of
from spec.protocol.ids import WITHOUT_LIMIT, InitRequest, initialize
from spec.protocol.ids import guards as init_guards
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.registering import AddRequest, register
from spec.protocol.verification_queue import PendingVerification, queue
from spec.versions import (
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_9,
    KAFKA_4_0,
    KAFKA_4_1,
    KAFKA_4_2,
    KAFKA_4_3,
    NEWEST,
    SNAPSHOT_4_0,
    Profile,
)
from spec.vocabulary import ErrorCode, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
DOWNGRADED = NEWEST.under(0)
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def rotated(profile: Profile) -> TransactionEntry:
    """Memory of an id whose transaction at the last epoch has ended, with a new producer id."""
    return ended(entry(ONGOING, producer_epoch=LAST - 1), ending(commits=True, epoch=LAST - 1), profile)


def begun(before: TransactionEntry, profile: Profile, version: int = 4) -> TransactionEntry:
    """Memory after the first partition of the next transaction."""
    request = AddRequest(before.producer_id, before.producer_epoch, False, 300, registering.client_version(version))
    transition = register(before, request, profile)
    return completed(transition.entry, transition.target, profile)


# --- the producer id before -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "previous", "reported"),
    [(KAFKA_4_0, PRODUCER, ErrorCode.PRODUCER_FENCED), (KAFKA_4_1, FRESH, MAPPING), (NEWEST, FRESH, MAPPING)],
)
def test_a_late_end_by_the_producer_id_before(profile: Profile, previous: int, reported: ErrorCode) -> None:
    """Adding a partition overwrites the id before since 4.1, so that a late EndTxn of it belongs to no producer."""
    before = begun(rotated(profile), profile)

    late = end(before, ending(commits=True, epoch=LAST - 1), profile)

    assert (FRESH, 0, previous) == (before.producer_id, before.producer_epoch, before.previous_producer_id)
    assert reported == late.error


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


@pytest.mark.parametrize(("profile", "version"), [(SNAPSHOT_4_0, 1), (KAFKA_4_0, 0), (NEWEST, 0)])
def test_the_coordinators_own_abort_under_version_1(profile: Profile, version: int) -> None:
    """The snapshot writes the cluster's version down, later releases 0; versions 0 and 1 are not one in a record."""
    open_, under = entry(ONGOING, client_version=0), profile.under(1)

    aborted = end(completing.fence(open_), completing.fencing_abort(open_, FRESH, 200, under), under)

    assert version == aborted.target.client_version


@pytest.mark.parametrize("profile", [DOWNGRADED, KAFKA_4_0.under(0)])
def test_a_client_of_version_2_locks_its_id_on_a_coordinator_of_version_0(profile: Profile) -> None:
    """The record cannot hold its version: it gets an error, and the transition stays pending for ever."""
    rests = entry(EMPTY, client_version=0)
    request = AddRequest(PRODUCER, EPOCH, all_registered=False, client_version=2)

    added = register(rests, request, profile)
    stopped = end(replace(rests, state=ONGOING.value), ending(commits=True), profile)

    assert [ErrorCode.UNSUPPORTED_VERSION] * 2 == [added.error, stopped.error]
    assert not added.appends
    assert not stopped.appends
    assert [ONGOING, TransactionState.PREPARE_COMMIT] == [added.entry.pending, stopped.entry.pending]
    again = [register(added.entry, request, profile), initialize(added.entry, InitRequest(1000, FRESH), profile)]
    assert [ErrorCode.CONCURRENT_TRANSACTIONS] * 2 == [each.error for each in again]
    assert added.entry == replace(rests, pending=ONGOING.value)


def test_an_id_of_version_2_becomes_empty_on_no_coordinator_of_version_0() -> None:
    """A downgrade leaves the client's version in memory, and the record of Empty needs a field for it."""
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
    """The coordinator does not know the id -1 and refuses it; a Produce without producer id is not verified."""
    offsets = committing.to_append(-1, -1, offsets=1, log_end=0)
    batch = AppendRequest(base_offset=0, transactional=True)

    request = verification.needs_verification(ProducerEntry(), offsets, committing.as_produce(3), KAFKA_3_9)
    assert (True, False) == (request, verification.needs_verification(ProducerEntry(), batch, 9, KAFKA_3_9))


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.CORRUPT_MESSAGE, ErrorCode.CORRUPT_MESSAGE),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_an_error_of_the_coordinators_log_is_passed_on_unless_it_has_a_word(
    error: ErrorCode, reported: ErrorCode
) -> None:
    """TransactionStateManager.appendTransactionToLog: an error that it does not translate is returned as it is."""
    assert reported == not_logged(error.value)


# --- questions to coordinators --------------------------------------------------------------------------------


def test_the_same_epoch_asks_again_and_the_one_before_is_reported_to() -> None:
    """A client that retries is verified once; the copy that waited comes back with an error to retry."""
    queued = queue(PendingVerification(any_request=True, version=12, same_id=True, producer_epoch=3), 3, 12)

    assert (ErrorCode.NETWORK_EXCEPTION, ErrorCode.NONE) == (queued.waiting_error, queued.new_error)


def test_a_rotated_producer_is_reported_that_it_is_fenced() -> None:
    """Epochs are compared without the producer id: (8, 0) after (7, 32766) looks like a stale one."""
    old, new = PendingVerification(any_request=True, version=12, same_id=True, producer_epoch=LAST - 1), 0

    queued = queue(old, new, 12)

    assert (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH) == (queued.waiting_error, queued.new_error)
    risen = queue(replace(old, producer_epoch=0), 1, 12)
    assert (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NONE) == (risen.waiting_error, risen.new_error)


def test_all_in_a_request_are_answered_as_the_first_one() -> None:
    """Another client's Produce of version 10 replaces the error that one of version 11 knows."""
    pending = queue(PendingVerification(any_request=True, version=10), 3, 11)
    alone = queue(PendingVerification(), 3, 11)
    abortable = ErrorCode.TRANSACTION_ABORTABLE.value

    assert (0, 10, 11) == (pending.branch, pending.version, alone.version)
    assert ErrorCode.INVALID_TXN_STATE == verification_queue.reported(abortable, pending)
    assert ErrorCode.TRANSACTION_ABORTABLE == verification_queue.reported(abortable, alone)
    assert ErrorCode.CONCURRENT_TRANSACTIONS == verification_queue.reported(
        ErrorCode.CONCURRENT_TRANSACTIONS.value, pending
    )


# --- members of consumer groups -------------------------------------------------------------------------------

MEMBER = EpochClaim(epoch=5, named=True, member_known=True, member_epoch=7, assigned_since=4)
STALE = ErrorCode.STALE_MEMBER_EPOCH


def held(claim: EpochClaim, version: int, profile: Profile, *, transactional: bool) -> ErrorCode:
    checks = epoch_guards(claim, version, profile, transactional=transactional)
    return ErrorCode(error_of(checks, branch(checks)))


@pytest.mark.parametrize(("profile", "error"), [(KAFKA_4_2, STALE), (KAFKA_4_3, ErrorCode.NONE), (NEWEST, 0)])
def test_an_older_member_epoch_commits_since_4_3(profile: Profile, error: int) -> None:
    """As long as the partition was assigned to it by then; a newer epoch and a foreign partition never do."""
    assert error == held(MEMBER, 9, profile, transactional=False)
    assert ErrorCode.NONE == held(replace(MEMBER, epoch=7), 9, profile, transactional=False)
    assert STALE == held(replace(MEMBER, epoch=3), 9, profile, transactional=False)
    assert STALE == held(replace(MEMBER, epoch=8), 9, profile, transactional=False)
    assert STALE == held(replace(MEMBER, assigned_since=-1), 9, profile, transactional=False)


def test_how_a_stale_member_is_reported_so() -> None:
    """Classic members know generations alone, as TxnOffsetCommit does before version 6."""
    stale = replace(MEMBER, epoch=3)

    assert ErrorCode.ILLEGAL_GENERATION == held(replace(stale, classic=True), 9, NEWEST, transactional=False)
    reported = [held(stale, version, NEWEST, transactional=True) for version in (5, 6)]
    assert [ErrorCode.ILLEGAL_GENERATION, STALE] == reported


def test_who_needs_no_member_epoch() -> None:
    """A claim without a member in an empty group, and a transaction without one; but not a request without epochs."""
    no_member = EpochClaim(group_empty=True)
    inside = replace(no_member, group_empty=False)

    assert ErrorCode.NONE == held(no_member, 9, NEWEST, transactional=False)
    assert ErrorCode.NONE == held(inside, 4, NEWEST, transactional=True)
    assert ErrorCode.UNKNOWN_MEMBER_ID == held(inside, 9, NEWEST, transactional=False)
    assert ErrorCode.UNSUPPORTED_VERSION == held(MEMBER, groups.EPOCHS_SINCE - 1, NEWEST, transactional=False)
    assert ErrorCode.NONE == held(replace(MEMBER, classic=True), 8, NEWEST, transactional=False)


# --- what the cleaner leaves ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "of_round", "below"),
    [(KAFKA_3_9, False, False), (SNAPSHOT_4_0, True, False), (KAFKA_4_3, True, False), (NEWEST, False, True)],
)
def test_which_empty_batch_the_cleaner_leaves(profile: Profile, of_round: bool, below: bool) -> None:
    """That of a producer always; the last of a round in 4.0 to 4.3, and the one below the high watermark in 4.4."""
    plain = MetBatch(last_of_producer=False, last_of_round=False, below_watermark=False)

    assert not cleaning.stays_empty(plain, profile)
    assert cleaning.stays_empty(replace(plain, last_of_producer=True), profile)
    assert of_round is cleaning.stays_empty(replace(plain, last_of_round=True), profile)
    assert below is cleaning.stays_empty(replace(plain, below_watermark=True), profile)


# --- transactions in two phases -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "error"),
    [
        ({"two_phase": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"two_phase": True, "two_phase_allowed": True, "timeout": 10**9}, ErrorCode.NONE),
        ({"two_phase": True, "two_phase_allowed": True, "keeps_prepared": True}, ErrorCode.UNSUPPORTED_VERSION),
        ({"two_phase": True, "keeps_prepared": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"keeps_prepared": True, "timeout": 0}, ErrorCode.UNSUPPORTED_VERSION),
        ({"two_phase_allowed": True, "timeout": 10**9}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_a_transaction_in_two_phases_has_to_be_allowed(requested: dict[str, int], error: ErrorCode) -> None:
    """TransactionCoordinator.handleInitProducerId: refused by default, without limit where it is allowed."""
    request = replace(InitRequest(60_000, FRESH), **requested)

    transition = initialize(entry(EMPTY), request, NEWEST)

    assert error == transition.error
    if error == ErrorCode.NONE:
        assert WITHOUT_LIMIT == transition.target.timeout
        assert not completing.is_timed_out(replace(transition.target, state=ONGOING.value, start_time=0), 10**15)
