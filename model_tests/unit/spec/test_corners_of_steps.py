"""Corners of what a coordinator's step is as a whole, and of the cleaner, that no session, trace or search meets."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, OTHER, PRODUCER, entry
from model_tests.unit.support.coordinator_judging import (
    ASKED,
    COMMITTED,
    COMMITTING,
    EMPTY,
    LATE,
    ONGOING,
    broken,
    step,
)
from spec.protocol.cleaning import CleanedRecord, stays
from spec.protocol.completing import MarkerRequest, prepare_complete, to_append
from spec.protocol.coordinator import TransactionEntry, completed
from spec.protocol.coordinator_steps import DECISIONS
from spec.protocol.ending import EndRequest, IdAndEpoch, end
from spec.versions import KAFKA_3_6, KAFKA_3_9, KAFKA_4_2, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, TransactionState

UNKNOWN = TransactionEntry()
COMPLETE = replace(COMMITTED, update_time=150, previous_producer_id=PRODUCER)
NOT_TAKEN = ErrorCode.COORDINATOR_NOT_AVAILABLE.value
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.value
EXHAUSTED = entry(TransactionState.ONGOING, producer_epoch=LAST - 1)


# --- markers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "partitions"),
    [
        (COMMITTING, replace(COMPLETE, update_time=-1), (1, 0)),
        (COMMITTING, replace(COMPLETE, update_time=201), (1, 0)),
        (entry(TransactionState.PREPARE_COMMIT), COMPLETE, (1, 0)),
        (COMMITTING, COMMITTING, (2, 2)),
        (
            entry(TransactionState.ONGOING, pending=TransactionState.COMPLETE_ABORT.value),
            entry(TransactionState.COMPLETE_ABORT, update_time=150),
            (1, 0),
        ),
    ],
    ids=["at no time", "in the future", "not yet owed", "no partition fewer", "of an open transaction"],
)
def test_a_step_of_markers_that_cannot_be(
    before: TransactionEntry, after: TransactionEntry, partitions: tuple[int, int]
) -> None:
    """Complete has a time, not after the present, and comes once it is owed; until then partitions become fewer."""
    found = step(before, ASKED, after=after, partitions=partitions[0], partitions_after=partitions[1])

    assert broken("MarkerAnswered", found)


@pytest.mark.parametrize("time", [0, 99, 100, 150, 200])
def test_the_last_marker_completes(time: int) -> None:
    """At any time until now; where another coordinator wrote Prepare by a clock that is ahead, before its time."""
    found = step(COMMITTING, ASKED, after=replace(COMPLETE, update_time=time), partitions_after=0)

    assert broken("MarkerAnswered", found) == set()


@pytest.mark.parametrize(("profile", "completes"), [(NEWEST.under(0), False), (NEWEST.under(1), True), (NEWEST, True)])
def test_a_completion_that_no_record_can_hold_is_not_written(profile: Profile, completes: bool) -> None:
    """A transaction that a client of version 2 prepared stays so, without partitions, after a downgrade to 0."""
    prepared = step(COMMITTING, ASKED, after=COMMITTING, partitions_after=0)
    complete = replace(prepared, after=COMPLETE)

    assert not broken("MarkerAnswered", prepared, profile)
    assert completes is not bool(broken("MarkerAnswered", complete, profile))


def test_a_record_of_completion_owes_nothing() -> None:
    """Neither a pending state nor a next producer id is left in it."""
    before = entry(TransactionState.PREPARE_COMMIT, pending=4, next_producer_id=FRESH)

    target = prepare_complete(before, 300, NEWEST).target

    assert (target.pending, target.next_producer_id, target.producer_id) == (-1, -1, FRESH)


def test_memory_after_a_record_owes_nothing() -> None:
    """A failed fence is remembered until the outcome is decided, and Complete is pending from then on."""
    before = replace(ONGOING, fence_failed=True)
    prepared = entry(TransactionState.PREPARE_ABORT, pending=5)

    assert completed(before, prepared, NEWEST).pending == -1
    assert completed(before, prepared, NEWEST).fence_failed
    assert not prepare_complete(replace(prepared, pending=-1, fence_failed=True), 300, NEWEST).entry.fence_failed


def test_a_marker_is_a_transactional_control_batch() -> None:
    """Of the coordinator."""
    batch = to_append(MarkerRequest(PRODUCER, EPOCH, 4, 2), 9)

    assert (batch.transactional, batch.control, batch.coordinator_epoch) == (True, True, 4)


def test_an_id_that_is_about_to_become_empty_is_in_transition() -> None:
    """The state with number 0 is pending, too."""
    request = EndRequest(PRODUCER, EPOCH, commits=False, bumps=True)

    assert end(entry(TransactionState.EMPTY, pending=0), request, NEWEST).error == ErrorCode.CONCURRENT_TRANSACTIONS


# --- aborts by the coordinator --------------------------------------------------------------------------------


def test_within_its_timeout_a_transaction_stays() -> None:
    """Whatever outcome the step has."""
    early = step(ONGOING, ASKED, after=entry(TransactionState.PREPARE_ABORT))

    assert DECISIONS["TransactionTimeout"](early, NEWEST).entry == ONGOING


@pytest.mark.parametrize("version", [0, 2])
def test_what_cannot_be_fenced_does_not_time_out(version: int) -> None:
    """Before 4.3 there is no epoch above the last one."""
    before = entry(TransactionState.ONGOING, producer_epoch=LAST, client_version=version)
    late = step(before, LATE, after=replace(before, state=TransactionState.PREPARE_ABORT.value))

    assert DECISIONS["TransactionTimeout"](late, KAFKA_4_2.under(version)).entry == before


def test_an_abort_without_a_next_epoch_leaves_the_fence_alone() -> None:
    """The last epoch is in memory, and nothing is in the log."""
    outcome = DECISIONS["TransactionTimeout"](step(EXHAUSTED, LATE), SNAPSHOT_4_0)

    assert (outcome.entry.producer_epoch, outcome.entry.state, outcome.entry.pending) == (
        LAST,
        TransactionState.ONGOING.value,
        -1,
    )


@pytest.mark.parametrize("error", [0, NOT_TAKEN])
def test_an_init_whose_abort_fails_is_reported_so(error: int) -> None:
    """No record was on its way, so that no log can have refused it."""
    outcome = DECISIONS["InitProducerId"](step(EXHAUSTED, ASKED, error=error), SNAPSHOT_4_0)

    assert outcome.error == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_fenced_client_was_not_refused_by_the_log() -> None:
    """It would have fenced, had it been the one that it claims to be."""
    fenced = replace(ASKED, expected=IdAndEpoch(OTHER, 1))
    open_one = replace(ONGOING, client_version=0)

    outcome = DECISIONS["InitProducerId"](step(open_one, fenced, error=NOT_TAKEN), KAFKA_3_9)

    assert outcome.error == ErrorCode.PRODUCER_FENCED


# --- nodes that do not answer ---------------------------------------------------------------------------------


def test_a_repetition_needs_no_log() -> None:
    """Nothing is appended that the log could refuse."""
    again = replace(ASKED, producer=IdAndEpoch(PRODUCER, EPOCH - 1))

    assert DECISIONS["EndTxn"](step(COMMITTED, again, error=NOT_TAKEN), NEWEST).error == ErrorCode.NONE


def test_a_node_that_knows_the_id_is_not_loading() -> None:
    """Neither before the step nor after it."""
    known = step(ONGOING, ASKED, error=LOADING)

    outcomes = [
        DECISIONS["EndTxn"](each, NEWEST).error
        for each in (known, replace(known, after=UNKNOWN), replace(known, before=UNKNOWN, after=ONGOING))
    ]

    assert outcomes == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING]


def test_a_node_that_is_loading_does_nothing() -> None:
    """It answers so, and has no entry afterwards; partitions are not its own."""
    outcome = DECISIONS["InitProducerId"](step(UNKNOWN, ASKED, error=LOADING), NEWEST)

    assert (outcome.error, outcome.entry, outcome.partitions) == (LOADING, UNKNOWN, True)


@pytest.mark.parametrize("error", [LOADING, ErrorCode.NOT_COORDINATOR.value])
def test_a_node_that_knows_nothing_may_not_be_the_coordinator(error: int) -> None:
    """It answers that the id is unknown only where it is."""
    assert DECISIONS["EndTxn"](step(UNKNOWN, ASKED, error=error), NEWEST).error == error


def test_the_coordinator_of_an_unknown_id_says_that_it_is_unknown() -> None:
    """Any other answer is wrong."""
    found = step(UNKNOWN, ASKED, error=ErrorCode.PRODUCER_FENCED.value)

    assert DECISIONS["EndTxn"](found, NEWEST).error == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_node_that_lost_the_id_while_it_appended_says_so() -> None:
    """NOT_COORDINATOR is an answer of the log as well; memory is as before."""
    error = ErrorCode.NOT_COORDINATOR.value

    outcome = DECISIONS["EndTxn"](step(ONGOING, ASKED, error=error), NEWEST)

    assert (outcome.error, outcome.entry) == (error, ONGOING)


def test_offsets_are_added_by_older_clients_alone() -> None:
    """Whatever the number of the request's version."""
    added = step(EMPTY, replace(ASKED, version=4))

    assert DECISIONS["AddOffsetsToTxn"](added, NEWEST).entry.client_version == 0


def test_an_id_is_forgotten_as_soon_as_it_may_be() -> None:
    """In the very moment."""
    idle = step(EMPTY, replace(ASKED, now=100))

    assert DECISIONS["TransactionalIdExpiry"](idle, NEWEST).entry == UNKNOWN


@pytest.mark.parametrize("api", ["TransactionTimeout", "TransactionalIdExpiry", "CoordinatorLoad"])
def test_what_a_coordinator_does_by_itself_has_one_check(api: str) -> None:
    """It applies always, and carries the rule."""
    outcome = DECISIONS[api](step(ONGOING, LATE), NEWEST)

    assert [check.applies for check in outcome.checks] == [True]


# --- the cleaner ----------------------------------------------------------------------------------------------

DATA = CleanedRecord(control=False, superseded=False)
MARKER = CleanedRecord(control=True, superseded=False)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (DATA, True),
        (replace(DATA, superseded=True), False),
        (replace(DATA, aborted=True), False),
        (replace(DATA, has_value=False), False),
        (replace(DATA, has_value=False, past_horizon=False), True),
        (replace(DATA, spent=True), True),
        (MARKER, True),
        (replace(MARKER, superseded=True), True),
        (replace(MARKER, has_value=False), True),
        (replace(MARKER, spent=True), False),
        (replace(MARKER, spent=True, past_horizon=False), True),
    ],
)
def test_what_stays_after_a_pass_of_the_cleaner(record: CleanedRecord, expected: bool) -> None:
    """The newest value of each key, tombstones for a while, and markers as long as they are needed."""
    assert stays(record) is expected


def test_before_its_fix_a_marker_was_taken_for_a_record_with_a_key() -> None:
    """KAFKA-14055: a later record with the same bytes for a key removed it; without one it stayed."""
    markers = (MARKER, replace(MARKER, superseded=True))

    assert [stays(each, replace(KAFKA_3_6, cleaner_compares_marker_keys=True)) for each in markers] == [True, False]
