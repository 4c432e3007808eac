from typing import Any

import pytest

from model_tests.unit.spec.transactional import EPOCH, OTHER, PRODUCER, entry
from spec.protocol.coordinator import TransactionEntry, completed, names_of
from spec.protocol.registering import AddRequest, guards, refused_together, register, verified
from spec.versions import NEWEST, SNAPSHOT_4_0
from spec.vocabulary import ErrorCode, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PENDING = {"pending": EMPTY.value}


def request(**fields: Any) -> AddRequest:
    plain = {"producer_id": PRODUCER, "producer_epoch": EPOCH, "all_registered": False, "now": 500}
    return AddRequest(**{**plain, **fields})


def row(before: TransactionEntry, requested: AddRequest) -> str:
    return names_of(guards(before, requested, NEWEST))[register(before, requested, NEWEST).branch]


@pytest.mark.parametrize(
    ("expected", "state", "before", "requested"),
    [
        ("id_empty", EMPTY, {}, {"id_empty": True}),
        ("id_unknown", EMPTY, {"known": False}, {}),
        ("pending_first", EMPTY, PENDING, {"producer_id": OTHER}),
        ("producer_other", EMPTY, {}, {"producer_id": OTHER, "producer_epoch": 1}),
        ("epoch_other", EMPTY, {}, {"producer_epoch": EPOCH - 1}),
        ("epoch_other", EMPTY, {}, {"producer_epoch": EPOCH + 1}),
        ("preparing", TransactionState.PREPARE_COMMIT, {}, {}),
        ("preparing", TransactionState.PREPARE_ABORT, {}, {"verify_only": True}),
        ("registered", ONGOING, {}, {"all_registered": True}),
        ("verified", ONGOING, {}, {"all_registered": True, "verify_only": True}),
        ("verified", EMPTY, PENDING, {"verify_only": True}),
        ("passed", EMPTY, {}, {}),
        ("passed", TransactionState.COMPLETE_COMMIT, {}, {}),
        ("passed", TransactionState.COMPLETE_ABORT, {}, {}),
        ("passed", ONGOING, {}, {}),
    ],
)
def test_every_row_of_the_table(
    expected: str, state: TransactionState, before: dict[str, Any], requested: dict[str, Any]
) -> None:
    """The first row that applies decides; where none does, the partitions join."""
    assert expected == row(entry(state, **before), request(**requested))


def test_before_4_0_the_identity_is_looked_at_first() -> None:
    """Another producer id is refused as such even while a transition is under way."""
    before, requested = entry(EMPTY, **PENDING), request(producer_id=OTHER)

    assert register(before, requested, SNAPSHOT_4_0).error == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert register(before, requested, NEWEST).error == ErrorCode.CONCURRENT_TRANSACTIONS
    assert register(before, request(), SNAPSHOT_4_0).error == ErrorCode.CONCURRENT_TRANSACTIONS


def test_the_first_partition_begins_the_transaction() -> None:
    """Its start is now; a later partition leaves it alone."""
    first = register(entry(EMPTY), request(client_version=2), NEWEST)
    begun = completed(first.entry, first.target, NEWEST)
    second = register(begun, request(now=900), NEWEST)

    assert (begun.state, begun.start_time, begun.client_version) == (ONGOING, 500, 2)
    assert second.target.start_time == 500


def test_who_verifies_is_reported_of_each_partition() -> None:
    """What is not in the transaction is abortable; an error goes to all."""
    requested = request(verify_only=True)
    seen = register(entry(ONGOING), requested, NEWEST)
    fenced = register(entry(ONGOING), request(verify_only=True, producer_epoch=1), NEWEST)

    assert verified(seen, registered=True, profile=NEWEST) == ErrorCode.NONE
    assert verified(seen, registered=False, profile=NEWEST) == ErrorCode.TRANSACTION_ABORTABLE
    assert verified(fenced, registered=False, profile=NEWEST) == ErrorCode.PRODUCER_FENCED
    assert not seen.appends


def test_one_unknown_partition_fails_all() -> None:
    """The others were not attempted."""
    errors = [refused_together(0, exists, all_exist=False) for exists in (True, False)]

    assert errors == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert refused_together(ErrorCode.PRODUCER_FENCED.value, True, all_exist=True) == ErrorCode.PRODUCER_FENCED
