"""Corners of the decisions at a partition that no session, trace or search meets: order, and edges by one."""

from dataclasses import replace
from typing import Any

import pytest

from spec.engines.reading_z3 import INTEGERS, evaluate_record
from spec.protocol import lso, seq
from spec.protocol.append import append, names
from spec.protocol.lso import AbortedTransaction, LogOffsets
from spec.protocol.produce import PartitionProduce, admit, answered, recovered
from spec.protocol.produce import names as admissions
from spec.protocol.records import AppendReply, AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.protocol.verification import (
    ADDS_SINCE,
    NO_VERIFICATION,
    VerificationEntry,
    after_append,
    is_refused_unasked,
    reported,
    started,
)
from spec.versions import (
    KAFKA_2_0,
    KAFKA_3_6,
    KAFKA_3_9_UNVERIFIED,
    KAFKA_4_0,
    NEWEST,
    RELEASES,
    SPLIT_OUT_OF_ORDER,
    Profile,
)
from spec.vocabulary import MAX_SEQUENCE, ErrorCode, Origin

LAST_IS_9 = ProducerEntry(epoch=3, cached=(CachedBatch(9, 109, 4), *[CachedBatch()] * 4))
ONLY_MARKERS = ProducerEntry(epoch=3, coordinator_epoch=7)
OPEN = replace(LAST_IS_9, txn_first_offset=100, coordinator_epoch=7)
DATA = AppendRequest(base_offset=200, producer_id=1, producer_epoch=3, base_sequence=10)
MARKER = replace(
    DATA,
    base_sequence=-1,
    control=True,
    transactional=True,
    origin=Origin.COORDINATOR.value,
    coordinator_epoch=7,
    marker_version=2,
)
BUMPING = MetVerification(verification_pending=True, verification_bumps=True, verification_lowest=2)
PENDING = MetVerification(verification_pending=True, verification_lowest=2)
UNWRAPPED = replace(SPLIT_OUT_OF_ORDER, max_sequence=None)
HALF = 2**30


def decided_by(
    entry: ProducerEntry, request: AppendRequest, profile: Profile = NEWEST, seen: MetVerification | None = None
) -> str:
    return names(profile)[append(entry, request, profile, seen or MetVerification()).branch]


@pytest.mark.parametrize(
    ("entry", "request_", "seen", "first"),
    [
        (ONLY_MARKERS, replace(DATA, producer_epoch=2), BUMPING, "stale_epoch"),
        (ProducerEntry(), DATA, BUMPING, "first_after_bump"),
        (LAST_IS_9, replace(DATA, producer_epoch=4), PENDING, "verification_overtaken"),
        (OPEN, replace(MARKER, coordinator_epoch=6), MetVerification(), "marker_not_bumped"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_two_checks_the_first_decides(
    entry: ProducerEntry, request_: AppendRequest, seen: MetVerification, first: str
) -> None:
    """In Kafka's order, and by the rule of the first."""
    assert decided_by(entry, request_, NEWEST, seen) == first


def test_a_marker_that_the_cleaner_has_emptied_is_no_marker() -> None:
    """A follower takes over a control batch without records; it ends nothing, whatever its epoch."""
    emptied = replace(MARKER, record_count=0, producer_epoch=2, origin=Origin.REPLICATION.value)

    got = append(OPEN, emptied, KAFKA_2_0)

    assert (got.reply.appended, got.entry) == (True, OPEN)


def test_a_follower_takes_over_a_marker_that_is_not_bumped() -> None:
    """The leader has appended it."""
    assert decided_by(OPEN, replace(MARKER, origin=Origin.REPLICATION.value)) == "appended"


def test_a_refused_append_names_no_offsets() -> None:
    """Neither a first nor a last one."""
    refused = append(LAST_IS_9, replace(DATA, base_sequence=12, last_offset_delta=2, record_count=3), NEWEST)

    assert refused.reply == AppendReply(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.value, -1, -1, duplicate=False, appended=False
    )


@pytest.mark.parametrize(
    ("entry", "request_", "profile", "seen", "expected"),
    [
        (
            ProducerEntry(),
            replace(DATA, producer_id=0, base_sequence=-1),
            NEWEST,
            MetVerification(),
            "sequence_missing",
        ),
        (ProducerEntry(), replace(DATA, base_sequence=2), KAFKA_4_0, BUMPING, "appended"),
        (ProducerEntry(), DATA, KAFKA_3_9_UNVERIFIED, PENDING, "appended"),
    ],
    ids=["producer 0", "before 4.1", "verification off"],
)
def test_a_first_batch(
    entry: ProducerEntry, request_: AppendRequest, profile: Profile, seen: MetVerification, expected: str
) -> None:
    """Producer 0 is a producer; what waits for verification counts only where the version looks at it."""
    assert decided_by(entry, request_, profile, seen) == expected


@pytest.mark.parametrize(
    ("profile", "last", "sequence", "expected"),
    [
        (SPLIT_OUT_OF_ORDER, 9, 9, "behind"),
        (SPLIT_OUT_OF_ORDER, 9, 11, "successor"),
        (SPLIT_OUT_OF_ORDER, 2, MAX_SEQUENCE, "behind"),
        (SPLIT_OUT_OF_ORDER, 2, 3 + HALF, "behind"),
        (SPLIT_OUT_OF_ORDER, 2, 3 + HALF - 1, "successor"),
        (UNWRAPPED, 9, 9, "behind"),
        (UNWRAPPED, 9, 11, "successor"),
    ],
)
def test_behind_is_the_half_turn_before_the_expected_sequence(
    profile: Profile, last: int, sequence: int, expected: str
) -> None:
    """Exactly half a turn before is still behind; without wrapping whatever is lower."""
    entry = ProducerEntry(epoch=3, cached=(CachedBatch(last, 109, 2), *[CachedBatch()] * 4))

    assert decided_by(entry, replace(DATA, base_sequence=sequence), profile) == expected


def test_a_new_epoch_is_not_behind() -> None:
    """Its sequences begin anew, with wrapping and without."""
    renewed = replace(DATA, producer_epoch=4, base_sequence=0)

    assert [decided_by(LAST_IS_9, renewed, each) for each in (SPLIT_OUT_OF_ORDER, UNWRAPPED)] == ["appended"] * 2


def test_sequences_that_never_wrap_are_numbers() -> None:
    """As proofs without bounds take them."""
    assert (seq.next_sequence(5, 3, None), seq.previous_sequence(5, 3, None)) == (8, 2)
    assert [seq.is_successor(5, sequence, None) for sequence in (5, 6, 7)] == [False, True, False]


@pytest.mark.parametrize("holds", [True, False])
def test_a_choice_among_terms_is_one_of_each_scalar(holds: bool) -> None:
    """The solver's reading of a cached batch."""
    then, otherwise = CachedBatch(1, 2, 3), CachedBatch(4, 5, 6)

    chosen = seq.choose_cached(INTEGERS.constant("fact", bool), then, otherwise)

    assert evaluate_record(chosen, {"fact": holds}) == (then if holds else otherwise)


# --- verification ---------------------------------------------------------------------------------------------


def test_what_is_not_stale_is_asked_about() -> None:
    """Only a lower epoch is refused before that."""
    assert not is_refused_unasked(LAST_IS_9, DATA, NEWEST)


@pytest.mark.parametrize(
    ("known", "version", "expected"),
    [
        (VerificationEntry(True, 11, 3), ADDS_SINCE, VerificationEntry(True, 10, 3)),
        (NO_VERIFICATION, ADDS_SINCE, VerificationEntry(True, 10, 3, bumps=True)),
        (NO_VERIFICATION, ADDS_SINCE - 1, VerificationEntry(True, 10, 3)),
        (VerificationEntry(True, 2, 3, bumps=True), ADDS_SINCE - 1, VerificationEntry(True, 2, 3, bumps=True)),
    ],
)
def test_who_asked_first_says_the_clients_version(
    known: VerificationEntry, version: int, expected: VerificationEntry
) -> None:
    """A lower sequence is kept in mind, be it lower by one."""
    assert started(known, DATA, version) == expected


def test_a_marker_settles_what_an_older_client_has_asked() -> None:
    """Its next transaction has the same epoch, so that the guard cannot be distinguished from the one before."""
    assert after_append(VerificationEntry(True, 4, 3), MARKER, True, NEWEST) == NO_VERIFICATION


def test_nothing_asked_stays_so() -> None:
    """Whatever is appended."""
    assert after_append(NO_VERIFICATION, DATA, True, NEWEST) == NO_VERIFICATION


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
def test_an_absent_coordinator_is_retried(error: ErrorCode) -> None:
    """A producer knows NOT_ENOUGH_REPLICAS as an error to retry."""
    assert reported(error.value, ADDS_SINCE) == ErrorCode.NOT_ENOUGH_REPLICAS


# --- around the log -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"any_transactional": True, "partition_exists": False}, "transactional_id_missing"),
        ({"partition_exists": False, "batch_count": 2}, "partition_unknown"),
        ({"any_transactional": True, "ids_mixed": True}, "transactional_id_missing"),
        ({"batch_count": 2, "ids_mixed": True}, "producers_mixed"),
        ({"partition_exists": False, "epochs_mixed": True}, "producers_mixed"),
        ({"ids_mixed": True, "acks": 2}, "producers_mixed"),
        ({"batch_count": 2, "acks": 2}, "several_batches"),
        ({"acks": 2}, "acks_unknown"),
        ({"acks": 2, "verified": False}, "admitted"),
        ({"acks": -2}, "acks_unknown"),
        ({"acks": 0}, "admitted"),
        ({"acks": 1}, "admitted"),
    ],
)
def test_before_the_log_the_first_check_decides(changes: dict[str, int], first: str) -> None:
    """In Kafka's order."""
    asked_for = replace(PartitionProduce(version=9), **changes)

    assert admissions()[admit(asked_for).branch] == first


@pytest.mark.parametrize("profile", RELEASES, ids=lambda profile: profile.name)
def test_acks_are_looked_at_before_the_coordinator_is_asked_up_to_3_7(profile: Profile) -> None:
    """And producers are compared after acks, by their ids, where they are verified at all."""
    wrong = PartitionProduce(version=9, names_transaction=True, any_transactional=True, acks=2, verified=False)
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"ids_mixed": True},
        {"ids_mixed": True, "acks": 1},
        {"epochs_mixed": True, "acks": 1},
    )
    seen = [admissions()[admit(replace(wrong, **each), profile).branch] for each in changes]

    mixed = "producers_mixed" if profile.partition_verification else "admitted"
    since = ["admitted", *["producers_mixed"] * 3]
    assert seen == (since if profile.verified_before_acks else [*["acks_unknown"] * 2, mixed, "admitted"])
    assert profile.verified_before_acks == (RELEASES.index(profile) > RELEASES.index(KAFKA_3_6))


def test_the_log_start_is_reported_since_version_5() -> None:
    """Before, the answer has no place for it."""
    reply = AppendReply(0, 7, 7, duplicate=False, appended=True)

    assert [answered(PartitionProduce(version), reply, 3).log_start_offset for version in (4, 5)] == [-1, 3]


def test_a_restart_keeps_the_newest_batch() -> None:
    """The snapshot has no other."""
    window = tuple(CachedBatch(9 - place, 109 - place, 0) for place in range(5))

    kept = recovered(ProducerEntry(epoch=3, cached=window), NEWEST)

    assert kept.cached == (window[0], *[CachedBatch()] * 4)


# --- what readers see -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log_start", "stable", "high_watermark", "log_end", "expected"),
    [(5, 5, 5, 5, True), (6, 5, 7, 7, False), (5, 8, 7, 9, False), (5, 6, 8, 7, False)],
    ids=["all one", "below the start", "above the high watermark", "above the end"],
)
def test_the_last_stable_offset_is_within_bounds(
    log_start: int, stable: int, high_watermark: int, log_end: int, expected: bool
) -> None:
    """Each bound by itself, missed by one."""
    assert lso.bounds(LogOffsets(log_start, -1, -1, high_watermark, log_end), stable) is expected


def test_what_begins_below_the_last_stable_offset_is_decided() -> None:
    """What begins there or above need not be."""
    undecided = [lso.is_decided_below(first, 5, decided=False) for first in (4, 5)]

    assert (undecided, lso.is_decided_below(4, 5, decided=True)) == ([False, True], True)


@pytest.mark.parametrize(("left", "right", "expected"), [(4, 5, 4), (5, 4, 4), (-1, 0, 0), (0, -1, 0)])
def test_the_smaller_of_two_offsets(left: int, right: int, expected: int) -> None:
    """Of which either may be absent; 0 is an offset."""
    assert lso.smaller(left, right) == expected


@pytest.mark.parametrize(("ongoing", "expected"), [(0, 3), (2, 3), (3, 3), (4, 4), (-1, -1)])
def test_what_is_unstable_is_never_below_the_log_start(ongoing: int, expected: int) -> None:
    """Records below it are gone."""
    assert lso.first_unstable(LogOffsets(3, ongoing, -1, 9, 9)) == expected


def test_the_index_knows_a_transaction_that_is_open_from_offset_0() -> None:
    """Nothing after it was stable when the marker came."""
    assert lso.indexed(5, 9, 0) == AbortedTransaction(5, 9, 0)


def test_the_list_ends_where_nothing_later_can_begin_below() -> None:
    """Not one entry earlier."""
    ends = [lso.ends_the_list(AbortedTransaction(1, 6, stable), 9) for stable in (8, 9)]

    assert ends == [False, True]
