from typing import Any

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, OTHER, PRODUCER, entry
from spec.protocol.coordinator import TransactionEntry, completed, is_fencing, names_of, worded
from spec.protocol.ids import FENCED_SINCE, InitRequest, created, fencing_epoch, guards, initialize
from spec.versions import KAFKA_4_0, KAFKA_4_1, KAFKA_4_2, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
COMMITTED, ABORTED = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
AT_REST = (EMPTY, COMMITTED, ABORTED)


def request(**fields: Any) -> InitRequest:
    plain = {"timeout": 60_000, "fresh_producer_id": FRESH, "now": 500}
    return InitRequest(**{**plain, **fields})


def row(before: TransactionEntry, requested: InitRequest) -> str:
    transition = initialize(before, requested, NEWEST)
    return names_of(guards(created(before, requested), requested, NEWEST))[transition.branch]


ROWS = [
    ("half_identity", EMPTY, {}, {"producer_id": PRODUCER}),
    ("half_identity", EMPTY, {}, {"producer_epoch": EPOCH}),
    ("id_empty", EMPTY, {}, {"id_empty": True}),
    ("timeout", EMPTY, {}, {"timeout": 0}),
    ("timeout", EMPTY, {}, {"timeout": -1}),
    ("timeout", EMPTY, {}, {"timeout": 900_001}),
    ("pending", EMPTY, {"pending": EMPTY.value}, {}),
    ("identity_fenced", COMMITTED, {}, {"producer_id": OTHER, "producer_epoch": EPOCH}),
    (
        "identity_fenced",
        EMPTY,
        {"previous_producer_id": OTHER},
        {"producer_id": OTHER, "producer_epoch": EPOCH},
    ),
    ("preparing", TransactionState.PREPARE_COMMIT, {}, {}),
    ("preparing", TransactionState.PREPARE_ABORT, {}, {}),
    *(("rotates", state, {"producer_epoch": LAST - 1}, {}) for state in AT_REST),
    ("rotates", EMPTY, {"producer_epoch": LAST}, {}),
    (
        "rotates",
        EMPTY,
        {"producer_epoch": LAST - 1},
        {"producer_id": PRODUCER, "producer_epoch": LAST - 1},
    ),
    (
        "exhausted",
        EMPTY,
        {"producer_epoch": LAST - 1},
        {"producer_id": PRODUCER, "producer_epoch": EPOCH},
    ),
    *(("bumps", state, {}, {}) for state in AT_REST),
    *(("bumps_expected", state, {}, {"producer_id": PRODUCER, "producer_epoch": EPOCH}) for state in AT_REST),
    ("bumps_expected", EMPTY, {"producer_epoch": -1}, {"producer_id": OTHER, "producer_epoch": 3}),
    ("repeats", EMPTY, {"last_epoch": EPOCH - 1}, {"producer_id": PRODUCER, "producer_epoch": EPOCH - 1}),
    (
        "repeats",
        EMPTY,
        {"producer_epoch": 0, "last_epoch": LAST - 1, "previous_producer_id": OTHER},
        {"producer_id": OTHER, "producer_epoch": LAST - 1},
    ),
    ("epoch_fenced", EMPTY, {}, {"producer_id": PRODUCER, "producer_epoch": EPOCH - 1}),
    ("epoch_fenced", ABORTED, {}, {"producer_id": PRODUCER, "producer_epoch": EPOCH + 1}),
    ("fences", ONGOING, {}, {}),
    ("fences", ONGOING, {}, {"producer_id": PRODUCER, "producer_epoch": EPOCH}),
]


@pytest.mark.parametrize(("expected", "state", "before", "requested"), ROWS)
def test_every_row_of_the_table(
    expected: str, state: TransactionState, before: dict[str, Any], requested: dict[str, Any]
) -> None:
    """The first row that applies decides."""
    assert expected == row(entry(state, **before), request(**requested))


def test_a_new_id_gets_a_fresh_producer_id_at_epoch_0() -> None:
    """Its metadata is in memory until the record is durable."""
    transition = initialize(TransactionEntry(), request(), NEWEST)

    after = completed(transition.entry, transition.target, NEWEST)

    assert (after.producer_id, after.producer_epoch, after.state) == (FRESH, 0, EMPTY)
    assert after.timeout == 60_000
    assert (transition.entry.producer_epoch, transition.entry.update_time) == (-1, 500)


@pytest.mark.parametrize(("profile", "version"), [(SNAPSHOT_4_0, 0), (KAFKA_4_0, 2), (NEWEST, 2)])
def test_an_id_at_rest_is_of_the_last_clients_version(profile: Profile, version: int) -> None:
    """Records of Empty after a transaction of version 2 say so; those of the snapshot say version 0."""
    transition = initialize(entry(COMMITTED, client_version=2), request(), profile)

    assert transition.target.client_version == version


def test_a_refused_request_creates_nothing() -> None:
    """An impossible timeout leaves an unknown id unknown."""
    transition = initialize(TransactionEntry(), request(timeout=0), NEWEST)

    assert transition.entry == TransactionEntry()
    assert transition.error == ErrorCode.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize(
    ("requested", "epoch", "last"),
    [({}, EPOCH + 1, -1), ({"producer_id": PRODUCER, "producer_epoch": EPOCH}, EPOCH + 1, EPOCH)],
    ids=["new instance", "expected identity"],
)
def test_an_epoch_is_bumped_and_the_expected_one_remembered(requested: dict[str, Any], epoch: int, last: int) -> None:
    """Only a client that names its identity may ask again."""
    target = initialize(entry(COMMITTED), request(**requested), NEWEST).target

    assert (target.producer_epoch, target.last_epoch) == (epoch, last)
    assert target.previous_producer_id == PRODUCER


def test_a_repetition_keeps_the_identity() -> None:
    """The same request again is given the same epoch, once the client knows only the one before."""
    expects = request(producer_id=PRODUCER, producer_epoch=EPOCH)
    first = initialize(entry(EMPTY), expects, NEWEST)

    again = initialize(completed(first.entry, first.target, NEWEST), expects, NEWEST)

    assert again.error == ErrorCode.NONE
    assert again.target.producer_epoch == first.target.producer_epoch == EPOCH + 1


def test_a_retry_after_rotation_works_exactly_once() -> None:
    """Every transition to Empty takes the current producer id for the one before."""
    expects = request(producer_id=PRODUCER, producer_epoch=LAST - 1)
    rotated = initialize(entry(EMPTY, producer_epoch=LAST - 1), expects, NEWEST)
    second = initialize(completed(rotated.entry, rotated.target, NEWEST), expects, NEWEST)
    third = initialize(completed(second.entry, second.target, NEWEST), expects, NEWEST)

    assert (rotated.target.producer_id, rotated.target.producer_epoch) == (FRESH, 0)
    assert (second.error, third.error) == (ErrorCode.NONE, ErrorCode.PRODUCER_FENCED)


@pytest.mark.parametrize(("profile", "kept"), [(KAFKA_4_0, 100), (KAFKA_4_1, -1), (NEWEST, -1)])
def test_memory_keeps_the_start_of_the_transaction_before_up_to_4_0(profile: Profile, kept: int) -> None:
    """The record of an Empty id has none; 4.1 clears it in memory too (KAFKA-15370)."""
    transition = initialize(entry(COMMITTED), request(), profile)

    assert transition.target.start_time == -1
    assert completed(transition.entry, transition.target, profile).start_time == kept


def test_an_open_transaction_is_fenced_and_the_client_comes_again() -> None:
    """The fencing epoch is pending and nothing is appended yet."""
    transition = initialize(entry(ONGOING), request(), NEWEST)

    assert is_fencing(transition.entry)
    assert not transition.appends
    assert transition.error == ErrorCode.CONCURRENT_TRANSACTIONS
    assert fencing_epoch(transition.entry, NEWEST) == EPOCH + 1
    assert fencing_epoch(entry(ONGOING, fence_failed=True), NEWEST) == EPOCH


def test_at_epoch_32767_an_open_transaction_cannot_be_fenced_before_4_3() -> None:
    """The id stays Ongoing; since then the abort does without a bump."""
    before = entry(ONGOING, producer_epoch=LAST)

    assert initialize(before, request(), KAFKA_4_2).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert initialize(before, request(), NEWEST).error == ErrorCode.CONCURRENT_TRANSACTIONS
    assert fencing_epoch(before, NEWEST) == LAST


def test_old_clients_know_a_fence_by_another_name() -> None:
    """Before version 4 it is INVALID_PRODUCER_EPOCH."""
    fenced = ErrorCode.PRODUCER_FENCED.value

    reported = [worded(fenced, version, FENCED_SINCE) for version in (3, 4)]

    assert reported == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED]
    assert worded(ErrorCode.INVALID_REQUEST.value, 3, FENCED_SINCE) == ErrorCode.INVALID_REQUEST
