"""The append decision, check by check, in the Python reading."""

from dataclasses import replace

import pytest

from model_tests.unit.support.append_decisions import FULL, MARKED, ONE_BATCH, OPEN, data, decided_by, marker
from spec.protocol.append import append, guards
from spec.protocol.records import AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.versions import (
    KAFKA_0_11,
    KAFKA_1_0,
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_5,
    KAFKA_3_9,
    KAFKA_4_0,
    NEWEST,
    SNAPSHOT_4_0,
    Profile,
)
from spec.vocabulary import MAX_EPOCH, MAX_SEQUENCE, ErrorCode, Origin

GUARDED = MetVerification(verification_pending=True, verification_guarded=True, verification_lowest=10)


REFUSALS = [
    ("two batches in one partition", "one_batch", NEWEST, ONE_BATCH, data(10, batch_count=2), "INVALID_RECORD"),
    ("no record", "records_counted", NEWEST, ONE_BATCH, data(10, 0), "INVALID_RECORD"),
    ("delta does not count", "records_counted", NEWEST, ONE_BATCH, data(10, 2, record_count=1), "INVALID_RECORD"),
    ("control batch of a client", "control_by_client", NEWEST, ONE_BATCH, data(10, control=True), "INVALID_RECORD"),
    ("no sequence", "sequence_missing", NEWEST, ONE_BATCH, data(-1), "INVALID_RECORD"),
    ("lower epoch", "stale_epoch", NEWEST, ONE_BATCH, data(10, epoch=2), "INVALID_PRODUCER_EPOCH"),
    ("lower epoch before 2.7", "stale_epoch", KAFKA_2_5, ONE_BATCH, data(10, epoch=2), "INVALID_PRODUCER_EPOCH"),
    ("new epoch not from 0", "epoch_reset", NEWEST, ONE_BATCH, data(10, epoch=4), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("gap", "successor", NEWEST, ONE_BATCH, data(11), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("partial overlap", "successor", NEWEST, ONE_BATCH, data(8, 2), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("older than the window", "successor", NEWEST, FULL, data(4), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("after a marker not 0", "successor", NEWEST, MARKED, data(10), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("after a marker, 2.0", "sequence_forgotten", KAFKA_2_0, MARKED, data(10), "UNKNOWN_PRODUCER_ID"),
    ("after a marker, 1.0", "successor", KAFKA_1_0, MARKED, data(10), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("unknown, 0.11", "first_sequence", KAFKA_0_11, ProducerEntry(), data(1), "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("unknown, 1.0", "first_sequence", KAFKA_1_0, ProducerEntry(), data(1), "UNKNOWN_PRODUCER_ID"),
    ("unknown, 2.4", "first_sequence", KAFKA_2_4, ProducerEntry(), data(1), "UNKNOWN_PRODUCER_ID"),
    ("not verified", "unverified", NEWEST, ONE_BATCH, data(10, transactional=True), "INVALID_TXN_STATE"),
    ("plain data in a transaction", "outside_transaction", NEWEST, OPEN, data(10), "INVALID_TXN_STATE"),
    ("stale marker", "stale_marker", KAFKA_3_9, ONE_BATCH, marker(2), "INVALID_PRODUCER_EPOCH"),
    ("marker not bumped", "marker_not_bumped", NEWEST, OPEN, marker(3), "INVALID_PRODUCER_EPOCH"),
    (
        "stale coordinator",
        "stale_coordinator",
        NEWEST,
        MARKED,
        marker(4, coordinator_epoch=6),
        "TRANSACTION_COORDINATOR_FENCED",
    ),
]


@pytest.mark.parametrize(
    ("guard", "profile", "entry", "request_", "error"), [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS]
)
def test_refuses(guard: str, profile: Profile, entry: ProducerEntry, request_: AppendRequest, error: str) -> None:
    """Each refusal is by the check that Kafka makes, with Kafka's error, and leaves the entry as it was."""
    got = append(entry, request_, profile)

    assert (guard, ErrorCode[error]) == (decided_by(got, profile), got.reply.error)
    assert not got.reply.appended
    assert entry == got.entry


ACCEPTED = [
    ("successor", NEWEST, ONE_BATCH, data(10)),
    ("new epoch from 0", NEWEST, ONE_BATCH, data(0, epoch=4)),
    ("unknown producer at 0 in 0.11", KAFKA_0_11, ProducerEntry(), data(0)),
    ("unknown producer anywhere since 2.5", KAFKA_2_5, ProducerEntry(), data(77)),
    ("no producer id", NEWEST, ProducerEntry(), data(-1, 3, -1, producer_id=-1)),
    ("transactional data into an open transaction", NEWEST, OPEN, data(10, transactional=True)),
    ("higher epoch into an open transaction, 3.9", KAFKA_3_9, OPEN, data(0, epoch=4, transactional=True)),
    ("bumped marker", NEWEST, OPEN, marker(4)),
    ("marker with the epoch of the data, version 1", NEWEST, OPEN, marker(3, 1)),
    ("marker with the epoch of the data before 4.2", KAFKA_4_0, OPEN, marker(3)),
    ("repeated marker", NEWEST, MARKED, marker(3)),
    ("marker with the last epoch of all", NEWEST, replace(OPEN, epoch=MAX_EPOCH), marker(MAX_EPOCH)),
    ("replica of a falling epoch", NEWEST, ONE_BATCH, data(10, epoch=2, origin=Origin.REPLICATION.value)),
    ("replica of a gap", NEWEST, ONE_BATCH, data(99, origin=Origin.REPLICATION.value)),
]


@pytest.mark.parametrize(("profile", "entry", "request_"), [a[1:] for a in ACCEPTED], ids=[a[0] for a in ACCEPTED])
def test_appends(profile: Profile, entry: ProducerEntry, request_: AppendRequest) -> None:
    """What passes every check is appended at the end of the log."""
    got = append(entry, request_, profile)

    assert decided_by(got, profile) == "appended"
    assert (request_.base_offset, request_.base_offset + request_.last_offset_delta) == (
        got.reply.first_offset,
        got.reply.last_offset,
    )


@pytest.mark.parametrize("position", range(5))
def test_recognises_each_of_five(position: int) -> None:
    """An exact resend of any batch in the window is answered with the offsets of that batch."""
    cached = FULL.cached[position]

    got = append(FULL, data(cached.last_sequence), NEWEST)

    assert (ErrorCode.NONE, True, cached.last_offset) == (got.reply.error, got.reply.duplicate, got.reply.first_offset)
    assert FULL == got.entry


def test_recognises_a_resend_that_straddles_the_wrap() -> None:
    """A batch from 2^31-2 on with four records ends at sequence 1, and its resend is still its resend."""
    first = data(MAX_SEQUENCE - 1, 4)
    entry = append(ProducerEntry(), first, NEWEST).entry

    again = append(entry, first, NEWEST)

    assert entry.cached[0].last_sequence == 1
    assert (again.reply.duplicate, again.reply.first_offset) == (True, 200)


def test_the_window_keeps_five_and_forgets_the_oldest() -> None:
    """A sixth batch pushes the oldest out of the window."""
    after = append(FULL, data(10), NEWEST).entry

    assert [10, 9, 8, 7, 6] == [cached.last_sequence for cached in after.cached]


def test_a_new_epoch_empties_the_window() -> None:
    """Only the batch of the new epoch is remembered."""
    after = append(FULL, data(0, epoch=4), NEWEST).entry

    assert (4, [0, -1, -1, -1, -1]) == (after.epoch, [cached.last_sequence for cached in after.cached])


def test_0_11_remembers_one_batch() -> None:
    """The window of 0.11 has room for one."""
    after = append(ONE_BATCH, data(10), KAFKA_0_11).entry

    assert [10, -1, -1, -1, -1] == [cached.last_sequence for cached in after.cached]


def test_a_marker_closes_the_transaction_and_keeps_the_window_of_its_epoch() -> None:
    """The marker sets both epochs, ends the transaction, and forgets the batches of other epochs only."""
    same = append(OPEN, marker(3, 0), NEWEST).entry
    bumped = append(OPEN, marker(4), NEWEST).entry

    assert (3, 7, -1, OPEN.cached) == (same.epoch, same.coordinator_epoch, same.txn_first_offset, same.cached)
    assert (4, -1, False) == (bumped.epoch, bumped.txn_first_offset, bumped.cached[0].present)


def test_the_first_transactional_batch_opens_the_transaction() -> None:
    """The transaction's first offset is that of its first batch, and later batches leave it."""
    opened = append(ONE_BATCH, data(10, transactional=True), NEWEST, GUARDED).entry
    later = append(opened, data(11, transactional=True, base_offset=201), NEWEST).entry

    assert [200, 200] == [opened.txn_first_offset, later.txn_first_offset]


def test_a_waiting_lower_sequence_holds_back_later_ones() -> None:
    """While a lower sequence waits for verification, a higher one is out of order (KAFKA-14920)."""
    waiting = replace(GUARDED, verification_lowest=4)

    assert decided_by(append(ProducerEntry(), data(5, transactional=True), NEWEST, waiting)) == "verification_overtaken"


def test_version_2_starts_a_verified_transaction_at_0() -> None:
    """A client that bumps its epoch with each transaction starts at sequence 0 (KAFKA-18202)."""
    bumping = replace(GUARDED, verification_bumps=True)

    assert decided_by(append(ProducerEntry(), data(5, transactional=True), NEWEST, bumping)) == "first_after_bump"


def test_a_stale_epoch_comes_before_the_guard_since_4_0() -> None:
    """A fenced transactional producer gets that error, not that its transaction is unknown (KAFKA-19690)."""
    stale = data(10, epoch=2, transactional=True)

    assert decided_by(append(ONE_BATCH, stale, NEWEST)) == "stale_epoch_of_transaction"
    assert decided_by(append(ONE_BATCH, stale, SNAPSHOT_4_0), SNAPSHOT_4_0) == "unverified"


def test_names_and_rules_of_guards_are_the_same_for_all_profiles() -> None:
    """A branch number means the same everywhere."""
    listings = {tuple((g.name, g.rule.id) for g in guards(FULL, data(0), p)) for p in (NEWEST, KAFKA_0_11, KAFKA_3_9)}

    assert len(listings) == 1


def test_of_several_matches_the_oldest_answers() -> None:
    """A window that holds the same sequences twice, as a follower of a forgetful leader may, answers with the first."""
    twice = ProducerEntry(epoch=0, cached=(CachedBatch(2, 7, 2), CachedBatch(2, 2, 2), *[CachedBatch()] * 3))

    assert append(twice, data(0, 3, epoch=0), NEWEST).reply.first_offset == 0
