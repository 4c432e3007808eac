"""What the logs of old releases do otherwise, by release: each change is shown by a step that differs."""

from dataclasses import replace

import pytest

from model_tests.unit.support.append_decisions import FULL, MARKED, ONE_BATCH, OPEN, data, decided_by, marker
from spec import rules
from spec.judging import judge
from spec.protocol import electing, produce, repl, verification
from spec.protocol.append import append
from spec.protocol.electing import Proposal, altered
from spec.protocol.produce import PartitionProduce
from spec.protocol.records import AppendRequest, CachedBatch, ProducerEntry
from spec.protocol.repl import EpochEnd, FollowerFetch, Leading
from spec.versions import (
    KAFKA_0_11,
    KAFKA_1_0,
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_4_2,
    KAFKA_4_3,
    NEWEST,
    Profile,
)
from spec.vocabulary import MAX_EPOCH, MAX_SEQUENCE, ErrorCode, Origin

OLDEST = (KAFKA_0_11, KAFKA_1_0, KAFKA_2_0)
"""Those that look at less on replicas, and at nothing of what a coordinator appends but markers."""
RELEASES = (*OLDEST, KAFKA_2_4, KAFKA_2_7, KAFKA_3_6, NEWEST)
COORDINATOR, REPLICATION = Origin.COORDINATOR.value, Origin.REPLICATION.value
WRAPS = data(MAX_SEQUENCE - 1, 4)
"""Sequences 2^31-2 to 1, at offsets 200 to 203."""


def by_name(profile: Profile) -> str:
    return profile.name


def offsets_of_transaction(epoch: int, records: int = 1, **changes: object) -> AppendRequest:
    """What the coordinator of a group appends: transactional, without sequences."""
    return data(-1, records, epoch, transactional=True, origin=COORDINATOR, **changes)


def after(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> ProducerEntry:
    got = append(entry, request, profile)
    assert decided_by(got, profile) == "appended"
    return got.entry


# --- what is ill formed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
@pytest.mark.parametrize(
    ("guard", "request_"),
    [
        ("base_offset_given", data(10, sent_base_offset=1)),
        ("control_by_client", data(10, control=True)),
        ("records_counted", data(10, 0)),
        ("sequence_missing", data(-1)),
    ],
)
def test_what_is_ill_formed(guard: str, request_: AppendRequest, profile: Profile) -> None:
    """INVALID_RECORD has a code since 2.4 (KIP-467); before, it is one of the corrupt ones."""
    got = append(ONE_BATCH, request_, profile)
    answered = ErrorCode.CORRUPT_MESSAGE if profile in OLDEST else ErrorCode.INVALID_RECORD

    assert (guard, answered) == (decided_by(got, profile), got.reply.error)
    assert got.entry == ONE_BATCH


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_several_batches(profile: Profile) -> None:
    """Since 2.4 the log counts them too; before, the request is not read, and its client's connection breaks."""
    log = decided_by(append(ONE_BATCH, data(10, batch_count=2), profile), profile)
    broker = produce.admit(PartitionProduce(9, any_transactional=True, partition_exists=False, batch_count=2), profile)
    alone = produce.admit(PartitionProduce(9, batch_count=2), profile)
    named = produce.names()

    if profile in OLDEST:
        assert (log, named[broker.branch], named[alone.branch]) == ("appended", "unreadable", "unreadable")
        assert alone.error == ErrorCode.NETWORK_EXCEPTION
    else:
        assert (log, named[broker.branch]) == ("one_batch", "transactional_id_missing")
        assert (named[alone.branch], alone.error) == ("several_batches", ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_records_are_compared_with_offsets(profile: Profile) -> None:
    """Since 2.0; before, offsets are given by the records that there are."""
    got = append(ONE_BATCH, data(10, 2, record_count=1), profile)

    if profile in (KAFKA_0_11, KAFKA_1_0):
        assert (True, 200, 200) == (got.reply.appended, got.reply.first_offset, got.reply.last_offset)
        assert CachedBatch(11, 200, 1) == got.entry.cached[0]
        copied = append(ONE_BATCH, data(10, 2, record_count=1, origin=REPLICATION), profile)
        assert copied.reply.last_offset == 201
    else:
        assert decided_by(got, profile) == "records_counted"


# --- sequences of old releases --------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_a_resend_across_the_wrap(profile: Profile) -> None:
    """Every release recognises it; 0.11 and 1.0 answer a first offset by the sequences, beyond the log's end."""
    by_sequences = profile in (KAFKA_0_11, KAFKA_1_0)
    before = ProducerEntry(epoch=3, cached=(CachedBatch(MAX_SEQUENCE - 2, 199, 0), *[CachedBatch()] * 4))
    entry = after(before, WRAPS, profile)

    again = append(entry, WRAPS, profile).reply

    delta = 1 - (MAX_SEQUENCE - 1) if by_sequences else 3
    assert entry.cached[0] == CachedBatch(1, 203, delta)
    assert (True, 203 - delta, 203) == (again.duplicate, again.first_offset, again.last_offset)


@pytest.mark.parametrize(("profile", "again"), [(KAFKA_0_11, False), (KAFKA_1_0, False), (KAFKA_2_0, True)])
def test_a_resend_across_the_wrap_after_a_downgrade(profile: Profile, again: bool) -> None:
    """What 2.0 remembered, a difference of offsets, is subtracted by older releases without wrapping."""
    entry = ProducerEntry(epoch=3, cached=(CachedBatch(1, 203, 3), *[CachedBatch()] * 4))

    assert again == append(entry, WRAPS, profile).reply.duplicate


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_another_batch_with_the_same_last_sequence_is_no_resend(profile: Profile) -> None:
    """Its first one is another."""
    entry = after(
        ProducerEntry(epoch=3, cached=(CachedBatch(MAX_SEQUENCE - 2, 199, 0), *FULL.cached[1:])), WRAPS, profile
    )

    assert not append(entry, data(MAX_SEQUENCE, 3), profile).reply.duplicate


@pytest.mark.parametrize(
    ("profile", "entry", "request_", "first"),
    [
        *(
            (profile, ONE_BATCH, data(10, 3, transactional=True), 200)
            for profile in (KAFKA_0_11, KAFKA_1_0, KAFKA_2_0, KAFKA_2_7)
        ),
        *(
            (profile, ProducerEntry(2), replace(WRAPS, base_sequence=0, transactional=True), 200)
            for profile in (KAFKA_0_11, KAFKA_2_0)
        ),
        (KAFKA_0_11, MARKED, offsets_of_transaction(3, 3), 202),
        (KAFKA_1_0, MARKED, offsets_of_transaction(3, 3), 202),
        (KAFKA_2_0, MARKED, offsets_of_transaction(3, 3), 200),
        (KAFKA_1_0, OPEN, offsets_of_transaction(3, 3), 100),
        (KAFKA_0_11, MARKED, replace(WRAPS, transactional=True, origin=REPLICATION), 203 + MAX_SEQUENCE - 2),
        (KAFKA_1_0, MARKED, replace(WRAPS, transactional=True, origin=REPLICATION), 203 + MAX_SEQUENCE - 2),
        (KAFKA_2_0, MARKED, replace(WRAPS, transactional=True, origin=REPLICATION), 200),
    ],
)
def test_where_a_transaction_begins(
    profile: Profile, entry: ProducerEntry, request_: AppendRequest, first: int
) -> None:
    """By sequences in 0.11 and 1.0: beyond the log's end where the batch wraps, too late where there are none."""
    assert first == after(entry, request_, profile).txn_first_offset


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_a_marker_in_the_window(profile: Profile) -> None:
    """In 0.11 it is the last batch, so that of the one before only the last record is known again, at its offset."""
    left = after(replace(OPEN, coordinator_epoch=6), marker(3, 0), profile)
    bumped = after(replace(OPEN, coordinator_epoch=6), marker(4), profile)
    whole, last = append(left, data(5, 5), profile), append(left, data(9), profile)

    if profile is KAFKA_0_11:
        assert (CachedBatch(9, 200, 0), CachedBatch(-1, 200, 0)) == (left.cached[0], bumped.cached[0])
        assert (decided_by(whole, profile), last.reply.duplicate, last.reply.first_offset) == ("successor", True, 200)
    else:
        assert (ONE_BATCH.cached[0], CachedBatch()) == (left.cached[0], bumped.cached[0])
        assert (whole.reply.first_offset, decided_by(last, profile)) == (105, "successor")
    assert decided_by(append(left, data(10), profile), profile) == "appended"


# --- epochs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_a_stale_epoch_of_what_a_coordinator_appends(profile: Profile) -> None:
    """Since 2.2 it is refused; before, it is appended and lowers the epoch. A marker's is refused by every leader."""
    stale = replace(offsets_of_transaction(2), transactional=False)
    got = append(ONE_BATCH, stale, profile)

    assert append(ONE_BATCH, marker(2), profile).reply.error == ErrorCode.INVALID_PRODUCER_EPOCH
    if profile in OLDEST:
        assert (0, 2, False) == (got.reply.error, got.entry.epoch, got.entry.cached[1].present)
    else:
        assert ("stale_epoch", ErrorCode.INVALID_PRODUCER_EPOCH) == (decided_by(got, profile), got.reply.error)


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_a_falling_epoch_breaks_a_rule_where_it_counts(profile: Profile) -> None:
    """Of a coordinator's data that is since 2.2; of a client's always."""
    lowered = replace(ONE_BATCH, epoch=2)

    def rule_of(request: AppendRequest) -> judge.RuleCheck:
        reply = append(ProducerEntry(), request, profile).reply
        checks = judge.judge(judge.AppendStep(ONE_BATCH, request, reply, lowered), profile)[1]
        return next(check for check in checks if check.rule is rules.FENCE_EPOCH_MONOTONE)

    of_coordinator = rule_of(replace(offsets_of_transaction(2), transactional=False))
    of_client = rule_of(data(0, epoch=2))

    assert (of_coordinator.at_stake, of_client.at_stake) == (profile not in OLDEST, True)
    assert not of_client.holds


@pytest.mark.parametrize("profile", RELEASES, ids=by_name)
def test_what_a_replica_refuses(profile: Profile) -> None:
    """Data never; before 2.2 the marker of a past epoch or of a past coordinator, at which the replica stops."""
    copied = {"origin": REPLICATION}
    refusals = {
        "appended": data(10, epoch=2, **copied),
        "stale_marker": marker(2, 0, **copied),
        "stale_coordinator": marker(3, 0, coordinator_epoch=6, **copied),
    }

    got = [
        decided_by(append(replace(MARKED, cached=FULL.cached), each, profile), profile) for each in refusals.values()
    ]

    assert got == (list(refusals) if profile in OLDEST else ["appended"] * 3)


@pytest.mark.parametrize(
    ("profile", "entry", "decides"),
    [
        (KAFKA_4_2, OPEN, "marker_not_bumped"),
        (KAFKA_4_2, ONE_BATCH, "appended"),
        (KAFKA_4_3, OPEN, "appended"),
        (NEWEST, OPEN, "appended"),
    ],
)
def test_a_marker_of_the_last_epoch(profile: Profile, entry: ProducerEntry, decides: str) -> None:
    """Refused like any other in 4.2, unless it is a copy; let through since 4.3 (KAFKA-20090)."""
    got = append(replace(entry, epoch=MAX_EPOCH), marker(MAX_EPOCH), profile)

    assert decides == decided_by(got, profile)


# --- verification ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "decides"), [(KAFKA_3_6, "appended"), (KAFKA_3_9, "unverified"), (NEWEST, "unverified")]
)
def test_offsets_that_were_not_verified(profile: Profile, decides: str) -> None:
    """3.6 takes them; a client's data it does not take."""
    assert decides == decided_by(append(ONE_BATCH, offsets_of_transaction(3), profile), profile)
    assert "unverified" == decided_by(append(ONE_BATCH, data(10, transactional=True), profile), profile)


@pytest.mark.parametrize(
    ("profile", "answered"),
    [
        (KAFKA_3_6, ErrorCode.NETWORK_EXCEPTION),
        (KAFKA_3_9, ErrorCode.NOT_ENOUGH_REPLICAS),
        (NEWEST, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
def test_a_coordinator_that_is_not_reached(profile: Profile, answered: ErrorCode) -> None:
    """3.6 passes on that it is not; any other absence is renamed there, too."""
    assert answered == verification.reported(ErrorCode.NETWORK_EXCEPTION.value, 9, profile)
    assert verification.reported(ErrorCode.NOT_COORDINATOR.value, 9, profile) == ErrorCode.NOT_ENOUGH_REPLICAS


# --- replicas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "sent", "error"),
    [
        (KAFKA_2_7, 3, ErrorCode.NONE),
        (KAFKA_3_6, 3, ErrorCode.NONE),
        (KAFKA_3_9, 3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (NEWEST, 3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (NEWEST, 4, ErrorCode.NONE),
        (NEWEST, -1, ErrorCode.NONE),
    ],
)
def test_a_fetch_of_a_past_incarnation(profile: Profile, sent: int, error: ErrorCode) -> None:
    """Refused since 3.7, if it names one."""
    leading = Leading(True, 7, log_start=0, log_end=9, incarnation=4)
    request = FollowerFetch(7, 5, incarnation=sent)

    assert error == repl.fetched(leading, request, EpochEnd(), profile=profile).error


PRESENT = Proposal(leads=True, leader_epoch=4, partition_epoch=9, ineligible=False)


@pytest.mark.parametrize(
    ("changes", "in_2_7", "since"),
    [
        ({}, ErrorCode.NONE, ErrorCode.NONE),
        ({"registered": False}, ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_BROKER_EPOCH),
        ({"leader_epoch": 5}, ErrorCode.NONE, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 10}, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leads": False}, ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 8}, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_UPDATE_VERSION),
        ({"ill_formed": True}, ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
        ({"ineligible": True}, ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_the_controller_looks_at(changes: dict[str, int], in_2_7: ErrorCode, since: ErrorCode) -> None:
    """In 2.7 at registration, leader epoch and version of the set; with KRaft at all of the proposal."""
    request = replace(PRESENT, **changes)

    answered = [altered(request, 4, 9, profile=profile).error for profile in (KAFKA_2_7, KAFKA_3_6, NEWEST)]

    assert answered == [in_2_7, since, since]


def test_before_2_7_the_leader_writes_the_set_itself() -> None:
    """On condition of its version alone."""
    (guard,) = electing.proposal_guards(PRESENT, 5, 8, KAFKA_2_5)

    assert (guard.name, guard.applies) == ("stale_in_sync_set", True)
