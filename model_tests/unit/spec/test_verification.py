from dataclasses import replace

import pytest

from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.protocol.verification import (
    NO_VERIFICATION,
    VerificationEntry,
    after_append,
    is_refused_unasked,
    met,
    needs_verification,
    reported,
    started,
)
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST
from spec.vocabulary import ErrorCode

DATA = AppendRequest(base_offset=9, producer_id=1, producer_epoch=3, base_sequence=4, transactional=True)
MARKER = replace(DATA, control=True, base_sequence=-1)
OPEN = ProducerEntry(epoch=3, txn_first_offset=5)
OLDER = ProducerEntry(epoch=2, txn_first_offset=5)


def test_only_what_would_open_a_transaction_is_asked_about() -> None:
    """Transactional data with a producer id, while none is open here."""
    assert needs_verification(ProducerEntry(), DATA, 9, KAFKA_3_9)
    assert not needs_verification(OPEN, DATA, 9, KAFKA_3_9)
    assert not needs_verification(ProducerEntry(), replace(DATA, transactional=False), 9, KAFKA_3_9)
    assert not needs_verification(ProducerEntry(), replace(DATA, producer_id=-1), 9, KAFKA_3_9)


def test_a_broker_without_verification_asks_only_where_it_has_to_add() -> None:
    """Version 12 of Produce adds the partition, whatever the setting."""
    assert [needs_verification(ProducerEntry(), DATA, version, KAFKA_3_9_UNVERIFIED) for version in (11, 12)] == [
        False,
        True,
    ]


def test_before_4_0_a_transaction_of_another_epoch_is_not_asked_about() -> None:
    """Nor is a stale epoch refused before the coordinator has answered."""
    assert [needs_verification(OLDER, DATA, 9, profile) for profile in (KAFKA_3_9, NEWEST)] == [False, True]
    stale = ProducerEntry(epoch=4)
    assert [is_refused_unasked(stale, DATA, profile) for profile in (KAFKA_3_9, NEWEST)] == [False, True]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (NO_VERIFICATION, VerificationEntry(True, 4, 3, bumps=False)),
        (VerificationEntry(True, 6, 3), VerificationEntry(True, 4, 3)),
        (VerificationEntry(True, 2, 3), VerificationEntry(True, 2, 3)),
        (VerificationEntry(True, 2, 2), VerificationEntry(True, 4, 3)),
        (VerificationEntry(True, 6, 4), VerificationEntry(True, 6, 4)),
    ],
    ids=["new", "lower sequence", "higher sequence", "higher epoch", "lower epoch"],
)
def test_the_lowest_sequence_of_the_highest_epoch_is_kept_in_mind(
    known: VerificationEntry, expected: VerificationEntry
) -> None:
    """A repeated question updates the entry."""
    assert expected == started(known, DATA, 9)
    assert met(expected, guarded=True) == MetVerification(True, True, False, expected.lowest)


def test_an_appended_transactional_batch_settles_the_question() -> None:
    """A refused one leaves it, and so does data outside of transactions."""
    known = VerificationEntry(True, 4, 3, bumps=True)

    assert after_append(known, DATA, True, NEWEST) == NO_VERIFICATION
    assert after_append(known, DATA, False, NEWEST) == known
    assert after_append(known, replace(DATA, transactional=False), True, NEWEST) == known


def test_a_marker_leaves_alone_what_the_next_transaction_asked() -> None:
    """Since 4.0, by the epoch of the question (KAFKA-18654)."""
    known = VerificationEntry(True, 0, 3, bumps=True)

    assert after_append(known, MARKER, True, NEWEST) == known
    assert after_append(known, replace(MARKER, producer_epoch=2), True, NEWEST) == NO_VERIFICATION
    assert after_append(known, MARKER, True, KAFKA_3_9) == NO_VERIFICATION


@pytest.mark.parametrize(
    ("error", "version", "expected"),
    [
        (ErrorCode.PRODUCER_FENCED, 9, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.PRODUCER_FENCED, 12, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NOT_COORDINATOR, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.NONE, 9, ErrorCode.NONE),
    ],
)
def test_a_producer_is_reported_in_the_words_of_its_version(
    error: ErrorCode, version: int, expected: ErrorCode
) -> None:
    """The client gets another error than the coordinator's."""
    assert expected == reported(error.value, version)
