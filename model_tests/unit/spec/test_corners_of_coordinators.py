"""Corners of the coordinator's decisions that no session, trace or search meets: order, and edges by one."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, OTHER, PRODUCER, ending, entry
from spec.engines.reading_z3 import INTEGERS, evaluate, evaluate_record
from spec.protocol import blocks, completing, ids, registering
from spec.protocol.completing import is_expired, is_given_up, is_timed_out, prepare_complete
from spec.protocol.coordinator import (
    TransactionEntry,
    Transition,
    append_failed,
    choose_entry,
    loaded,
    look_up,
    names_of,
)
from spec.protocol.ending import answered, end, guards, keeps_outcome
from spec.protocol.finding import SMALLEST, partition_of
from spec.protocol.ids import WITHOUT_LIMIT, InitRequest
from spec.protocol.registering import AddRequest
from spec.versions import KAFKA_2_7, KAFKA_3_9, KAFKA_4_2, NEWEST, SNAPSHOT_4_0
from spec.vocabulary import ErrorCode, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMMITTED, ABORTED = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
FENCING = TransactionState.PREPARE_EPOCH_FENCE.value
UNKNOWN = TransactionEntry()


# --- EndTxn ---------------------------------------------------------------------------------------------------


def test_an_empty_id_is_no_unknown_one() -> None:
    """It is refused before the coordinator looks for it."""
    refused = end(UNKNOWN, ending(commits=True, id_empty=True), NEWEST)

    assert refused.error == ErrorCode.INVALID_REQUEST


def test_a_transition_under_way_comes_before_the_outcome() -> None:
    """A repetition waits, too."""
    before = entry(COMMITTED, pending=ONGOING.value, client_version=0)

    assert end(before, ending(commits=True, bumps=False), SNAPSHOT_4_0).error == ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_commit_that_meets_a_fence_is_reported_of_the_fence() -> None:
    """Though the epoch could not be raised either."""
    profile = replace(NEWEST, last_epoch_recovers=False)
    before = entry(ONGOING, pending=FENCING, producer_epoch=LAST)
    request = ending(commits=True, epoch=LAST)

    assert names_of(guards(before, request, profile))[end(before, request, profile).branch] == "fence_under_way"


def test_a_transition_under_way_comes_before_who_asks() -> None:
    """Since 4.0, and under version 2 (KAFKA-18660)."""
    before = entry(ONGOING, pending=PREPARE_COMMIT.value)
    request = replace(ending(commits=True), producer_id=OTHER)

    assert end(before, request, NEWEST).error == ErrorCode.CONCURRENT_TRANSACTIONS


def test_before_4_0_the_current_epoch_has_nothing_to_end() -> None:
    """It is fenced at once, though a transition is under way."""
    before = entry(COMMITTED, pending=ONGOING.value)

    assert end(before, ending(commits=False), SNAPSHOT_4_0).error == ErrorCode.PRODUCER_FENCED


def test_the_record_of_a_fencing_abort_owes_no_fence() -> None:
    """Whether the abort raises the epoch or the fence has."""
    before = entry(ONGOING, pending=FENCING)
    request = ending(commits=False, epoch=EPOCH + 1, by_client=False)

    assert [end(before, request, profile).target.pending for profile in (NEWEST, SNAPSHOT_4_0)] == [-1, -1]


def test_the_last_epoch_is_not_raised() -> None:
    """An abort at epoch 32767 stays there."""
    prepared = end(entry(ONGOING, producer_epoch=LAST), ending(commits=False, epoch=LAST), NEWEST)

    assert (prepared.error, prepared.target.producer_epoch) == (ErrorCode.NONE, LAST)


def test_the_record_of_an_older_client_says_so() -> None:
    """It does not rotate, though its epoch is the last one."""
    request = ending(commits=True, epoch=LAST - 1, bumps=False)

    target = end(entry(ONGOING, producer_epoch=LAST - 1, client_version=0), request, NEWEST).target

    assert (target.client_version, target.next_producer_id, target.producer_epoch) == (0, -1, LAST - 1)


@pytest.mark.parametrize(
    ("producer", "fields", "error"),
    [
        (OTHER, {"previous_producer_id": PRODUCER, "producer_epoch": 0}, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (PRODUCER, {"previous_producer_id": PRODUCER}, ErrorCode.PRODUCER_FENCED),
    ],
    ids=["of another producer id", "of an id that did not rotate"],
)
def test_no_retry_across_a_rotation(producer: int, fields: dict[str, int], error: ErrorCode) -> None:
    """Only the last epoch of the id before, and only at epoch 0, repeats the request that rotated."""
    before = entry(COMMITTED, **fields)
    request = replace(ending(commits=True, epoch=LAST - 1), producer_id=producer)

    assert end(before, request, NEWEST).error == error


def test_the_coordinators_own_abort_has_no_lower_epoch() -> None:
    """Not even by one."""
    request = ending(commits=False, epoch=EPOCH - 1, bumps=False, by_client=False)

    assert end(entry(ONGOING, client_version=0), request, KAFKA_3_9).error == ErrorCode.PRODUCER_FENCED


def test_the_next_producer_id_may_be_0() -> None:
    """The answer has it at once, and the id completes with it."""
    before = entry(ONGOING, producer_epoch=LAST - 1)
    request = replace(ending(commits=True, epoch=LAST - 1), fresh_producer_id=0)

    prepared = end(before, request, NEWEST)
    completed = prepare_complete(prepared.target, 300, NEWEST)

    assert answered(prepared, request, NEWEST).producer_id == 0
    assert (completed.target.producer_id, completed.target.producer_epoch) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PREPARE_ABORT, COMMITTED, False),
        (PREPARE_ABORT, PREPARE_COMMIT, False),
        (PREPARE_COMMIT, ABORTED, False),
        (PREPARE_ABORT, ABORTED, True),
        (PREPARE_COMMIT, COMMITTED, True),
        (ONGOING, PREPARE_ABORT, True),
    ],
)
def test_what_keeps_an_outcome(before: TransactionState, after: TransactionState, expected: bool) -> None:
    """From Prepare on; before it there is none."""
    assert keeps_outcome(entry(before), entry(after)) is expected


# --- InitProducerId, AddPartitionsToTxn -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "changes", "first"),
    [
        (entry(ONGOING, pending=PREPARE_COMMIT.value), {"timeout": 0}, "timeout"),
        (entry(ONGOING, pending=PREPARE_COMMIT.value), {"producer_id": OTHER, "producer_epoch": 1}, "pending"),
        (entry(PREPARE_COMMIT), {"producer_id": OTHER, "producer_epoch": 1}, "identity_fenced"),
        (entry(EMPTY), {"id_empty": True, "producer_id": PRODUCER}, "half_identity"),
        (entry(EMPTY), {"id_empty": True, "timeout": 0}, "id_empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_two_checks_of_an_init_the_first_decides(
    before: TransactionEntry, changes: dict[str, int], first: str
) -> None:
    """In Kafka's order, and by the rule of the first."""
    request = replace(InitRequest(timeout=1000, fresh_producer_id=FRESH), **changes)

    decided = ids.initialize(before, request, NEWEST)

    assert names_of(ids.guards(before, request, NEWEST))[decided.branch] == first


def test_adding_nothing_begins_a_transaction() -> None:
    """All of no partitions are registered; only in an open transaction is there nothing to do."""
    request = AddRequest(PRODUCER, EPOCH, all_registered=True, now=200)

    begun = [registering.register(entry(state), request, NEWEST).appends for state in (EMPTY, ONGOING)]

    assert begun == [True, False]


def test_only_what_is_open_cannot_be_fenced() -> None:
    """An id at rest is not fenced, whatever its epoch."""
    at_last = [ids.cannot_fence(entry(state, producer_epoch=LAST), KAFKA_4_2) for state in (EMPTY, ONGOING)]

    assert at_last == [False, True]


def test_brokers_add_for_clients_of_version_2() -> None:
    """Since version 4 of the request."""
    assert [registering.client_version(version) for version in (3, 4)] == [0, 2]


@pytest.mark.parametrize(("name_hash", "partition"), [(SMALLEST, 0), (SMALLEST + 1, 47), (-1, 1), (0, 0), (51, 1)])
def test_the_partition_of_a_hash(name_hash: int, partition: int) -> None:
    """Of 50; the smallest hash has no positive counterpart."""
    assert partition_of(name_hash, 50) == partition


# --- after the outcome ----------------------------------------------------------------------------------------


def test_only_a_client_of_version_2_rotates() -> None:
    """Whatever id was kept in mind."""
    before = entry(PREPARE_COMMIT, client_version=0, next_producer_id=FRESH)

    assert prepare_complete(before, 300, NEWEST).target.producer_id == PRODUCER


def test_a_marker_that_was_taken_is_not_given_up() -> None:
    """Nor is one that is tried again."""
    given_up = {error for error in ErrorCode if is_given_up(error.value)}

    assert given_up == {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}


def test_only_a_transaction_in_two_phases_has_no_limit() -> None:
    """One millisecond less is a limit."""
    timed_out = [is_timed_out(entry(ONGOING, timeout=WITHOUT_LIMIT - less), 2**40) for less in (1, 0)]

    assert timed_out == [True, False]


def test_an_unknown_id_does_not_expire() -> None:
    """There is nothing to forget."""
    assert not is_expired(UNKNOWN, 10, 0)


# --- memory and log -------------------------------------------------------------------------------------------


def test_under_version_1_a_failed_fence_keeps_its_epoch() -> None:
    """The epoch before the bump is not known any more."""
    profile = NEWEST.under(1)
    before = entry(ONGOING, pending=FENCING, last_epoch=EPOCH - 1)
    target = entry(PREPARE_ABORT, producer_epoch=EPOCH + 1, last_epoch=EPOCH)

    after = append_failed(before, Transition(0, 0, True, before, target), profile)

    assert (after.producer_epoch, after.last_epoch, after.fence_failed) == (EPOCH + 1, -1, True)


def test_since_version_1_the_log_knows_the_clients_version() -> None:
    """The flexible format of the record has it."""
    record = entry(ONGOING)

    assert [loaded(record, NEWEST.under(version)).client_version for version in (0, 1, 2)] == [0, 2, 2]


@pytest.mark.parametrize("holds", [True, False])
def test_a_choice_among_terms_is_one_of_each_scalar(holds: bool) -> None:
    """The solver's reading of an id's entry."""
    chosen = choose_entry(INTEGERS.constant("fact", bool), entry(ONGOING), UNKNOWN)

    assert evaluate_record(chosen, {"fact": holds}) == (entry(ONGOING) if holds else UNKNOWN)


@pytest.mark.parametrize(("state", "commits", "expected"), [(1, 0, 10), (1, 1, 11), (2, 1, 21), (2, 0, -9)])
def test_a_table_read_by_terms_says_its_cell(state: int, commits: int, expected: int) -> None:
    """The solver's reading, as Python's."""
    table: dict[tuple[int, ...], int] = {(1, 0): 10, (1, 1): 11, (2, 1): 21}
    requested = (INTEGERS.constant("state"), INTEGERS.constant("commits"))

    read = evaluate(look_up(table, requested, -9), {"state": state, "commits": commits})

    assert (read, look_up(table, (state, commits), -9)) == (expected, expected)


# --- blocks of producer ids -----------------------------------------------------------------------------------


def test_past_the_last_block_a_raced_claim_has_no_id_either() -> None:
    """What was read shows it already."""
    record, read = blocks.BlockRecord(7, 3), blocks.BlockRecord(6, 2)

    assert blocks.claim(record, read, size=2, profile=KAFKA_2_7, largest=7).error == ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_marker_of_a_transaction_is_of_its_identity() -> None:
    """And of the coordinator that writes it."""
    marker = completing.marker_of(entry(PREPARE_COMMIT), 4)

    assert marker == completing.MarkerRequest(PRODUCER, EPOCH, 4, 2)
