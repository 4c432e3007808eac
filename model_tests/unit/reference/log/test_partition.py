from dataclasses import replace

import pytest

from reference.client.consumer import delivered
from reference.errors import (
    Impossible,
    InvalidProducerEpoch,
    InvalidTxnState,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    OutOfOrderSequence,
    Refusal,
    TransactionCoordinatorFenced,
    UnknownProducerId,
)
from reference.log.batch import RecordBatch, blank_batch, marker_batch, value_batch
from reference.log.partition import READ_COMMITTED, AppendResult, Partition
from reference.log.record import MalformedRecords
from spec import rules
from spec.versions import KAFKA_0_11, KAFKA_2_0, KAFKA_2_4, KAFKA_3_9, KAFKA_4_0, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import (
    MAX_EPOCH,
    MAX_SEQUENCE,
    ControlType,
    Epoch,
    Offset,
    Origin,
    ProducerId,
    Sequence,
    Timestamp,
)

PID = ProducerId(1000)
UNVERIFIED = replace(NEWEST, partition_verification=False)


def batch(base: int, count: int = 1, epoch: int = 0, transactional: bool = False, pid: int = PID) -> RecordBatch:
    return blank_batch(
        count, producer_id=pid, epoch=epoch, base_sequence=base, timestamp=1, transactional=transactional
    )


def marker(epoch: int, kind: ControlType = ControlType.COMMIT, coordinator_epoch: int = 0) -> RecordBatch:
    return marker_batch(PID, epoch, kind, coordinator_epoch, 1)


def write(partition: Partition, one: RecordBatch, version: int = 0) -> AppendResult:
    return partition.append(one, Origin.COORDINATOR, marker_version=version)


def filled(profile: Profile, *batches: RecordBatch) -> Partition:
    partition = Partition(profile)
    for one in batches:
        partition.append(one)
    return partition


# --- sequences ----------------------------------------------------------------------------------------------------


def test_sequences_follow_each_other_across_the_wrap() -> None:
    """After 2^31-1 comes 0, also inside a batch."""
    partition = filled(NEWEST, batch(MAX_SEQUENCE - 1), batch(MAX_SEQUENCE, 3), batch(2))

    assert 5 == partition.log_end
    with pytest.raises(OutOfOrderSequence):
        partition.append(batch(4))


@pytest.mark.parametrize(
    ("profile", "refusal"),
    [(KAFKA_0_11, OutOfOrderSequence), (KAFKA_2_0, UnknownProducerId), (NEWEST, None)],
    ids=["0.11", "2.0", "newest"],
)
def test_an_unknown_producer_starts_as_the_version_allows(profile: Profile, refusal: type[Refusal] | None) -> None:
    """Anywhere since 2.5; before, at 0, with the version's own answer."""
    if refusal is None:
        assert 0 == Partition(profile).append(batch(7)).first_offset
        return
    with pytest.raises(refusal) as caught:
        Partition(profile).append(batch(7))
    assert rules.SEQ_FIRST == caught.value.rule


def test_a_new_epoch_starts_at_zero() -> None:
    """A known producer's new epoch begins at sequence 0 only."""
    partition = filled(NEWEST, batch(0, 3))

    with pytest.raises(OutOfOrderSequence) as caught:
        partition.append(batch(3, epoch=1))
    assert rules.SEQ_EPOCH_RESET == caught.value.rule
    assert 3 == partition.append(batch(0, epoch=1)).first_offset


def test_after_a_marker_alone_the_versions_differ() -> None:
    """Where only a marker is known of an epoch, 2.0 to 2.4 answer UNKNOWN_PRODUCER_ID."""
    for profile, refusal in ((KAFKA_2_4, UnknownProducerId), (KAFKA_3_9, OutOfOrderSequence)):
        partition = Partition(profile)
        write(partition, marker(1))

        with pytest.raises(refusal):
            partition.append(batch(3, epoch=1))


def test_within_the_append_that_makes_it_known_a_producer_is_not_checked() -> None:
    """The second batch of the same append follows any sequence since 2.5 (clients send one batch only)."""
    assert 1 == Partition(NEWEST).append_all((batch(5), batch(9))).last_offset
    with pytest.raises(OutOfOrderSequence):
        Partition(KAFKA_2_4).append_all((batch(0), batch(9)))


# --- duplicates ---------------------------------------------------------------------------------------------------


def test_the_last_five_batches_are_recognised() -> None:
    """An exact resend is answered with its first offsets; a sixth is out of order, as is a partial overlap."""
    partition = filled(NEWEST, *(batch(base, 2) for base in range(0, 12, 2)))

    again = partition.append(batch(2, 2))

    assert (2, 3, True, 1) == again[:4]
    assert 12 == partition.log_end
    for stranger in (batch(0, 2), batch(3, 2), batch(2, 1)):
        with pytest.raises(OutOfOrderSequence):
            partition.append(stranger)


def test_the_first_release_recognises_one() -> None:
    """0.11 knows the last batch only."""
    partition = filled(KAFKA_0_11, batch(0), batch(1))

    assert partition.append(batch(1)).duplicate
    with pytest.raises(OutOfOrderSequence):
        partition.append(batch(0))


def test_a_straddling_batch_is_recognised() -> None:
    """The first sequence of a cached batch is derived modulo 2^31."""
    partition = filled(NEWEST, batch(MAX_SEQUENCE, 3))

    assert partition.append(batch(MAX_SEQUENCE, 3)).duplicate


def test_a_duplicate_comes_before_the_transaction_checks() -> None:
    """A cached batch of a finished transaction is acknowledged, verified or not, in the same epoch."""
    partition = filled(UNVERIFIED, batch(0, transactional=True))
    write(partition, marker(0))

    assert partition.append(batch(0, transactional=True)).duplicate
    assert partition.append(batch(0)).duplicate


# --- epochs -------------------------------------------------------------------------------------------------------


def test_a_stale_epoch_is_refused() -> None:
    """A lower epoch is code 47 in every release; those before 2.7 have no other."""
    for profile in (NEWEST, KAFKA_2_4):
        partition = filled(profile, batch(0, epoch=1))

        with pytest.raises(InvalidProducerEpoch) as caught:
            partition.append(batch(0, epoch=0))
        assert rules.FENCE_STALE_EPOCH == caught.value.rule


# --- transactions -------------------------------------------------------------------------------------------------


def test_a_transactional_batch_needs_its_guard() -> None:
    """Without the guard of a verification nothing joins a transaction; with it, the entry is used up."""
    partition = Partition(NEWEST)
    guard = partition.state.start_verification(PID, Sequence(0), Epoch(0), True, Timestamp(0))

    for wrong in (0, guard + 1):
        with pytest.raises(InvalidTxnState):
            partition.append(batch(0, transactional=True), guard=wrong)
    partition.append(batch(0, transactional=True), guard=guard)

    assert {} == partition.state.verifications
    assert 0 == partition.state.start_verification(PID, Sequence(1), Epoch(0), True, Timestamp(0))
    assert (1, 0) == (partition.append(batch(1, transactional=True)).first_offset, partition.last_stable)


def test_no_batch_overtakes_one_that_waits_for_verification() -> None:
    """A sequence above the lowest waiting one is out of order, transactional or not."""
    partition = Partition(NEWEST)
    guard = partition.state.start_verification(PID, Sequence(0), Epoch(0), False, Timestamp(0))

    for later in (batch(1, transactional=True), batch(1)):
        with pytest.raises(OutOfOrderSequence) as caught:
            partition.append(later, guard=guard)
        assert rules.SEQ_ORDER == caught.value.rule


def test_a_client_that_bumps_starts_at_zero_since_4_1() -> None:
    """The first batch of a verified transaction of an unknown producer has sequence 0."""
    for profile, accepted in ((NEWEST, False), (KAFKA_4_0, True)):
        partition = Partition(profile)
        guard = partition.state.start_verification(PID, Sequence(5), Epoch(0), True, Timestamp(0))
        first = batch(5, transactional=True)

        if accepted:
            assert 0 == partition.append(first, guard=guard).first_offset
        else:
            with pytest.raises(OutOfOrderSequence):
                partition.append(first, guard=guard)


def test_a_stale_transactional_batch_is_stale_before_it_is_unverified_since_4_0() -> None:
    """Which of the two refusals comes first depends on the version."""
    for profile, refusal in ((NEWEST, InvalidProducerEpoch), (SNAPSHOT_4_0, InvalidTxnState)):
        partition = filled(profile, batch(0, epoch=1))

        with pytest.raises(refusal):
            partition.append(batch(0, epoch=0, transactional=True))


def test_inside_a_transaction_nothing_else_is_written() -> None:
    """A non-transactional batch within the producer's open transaction is refused."""
    partition = filled(UNVERIFIED, batch(0, transactional=True))

    with pytest.raises(InvalidTxnState) as caught:
        partition.append(batch(1))
    assert rules.TXN_ATOMIC == caught.value.rule


def test_an_older_broker_takes_a_higher_epoch_into_the_open_transaction() -> None:
    """Before 4.0 an open transaction of any epoch stands for a verification."""
    partition = Partition(KAFKA_3_9)
    guard = partition.state.start_verification(PID, Sequence(0), Epoch(0), False, Timestamp(0))
    partition.append(batch(0, transactional=True), guard=guard)

    assert 1 == partition.append(batch(0, epoch=1, transactional=True)).first_offset


# --- markers ------------------------------------------------------------------------------------------------------


def test_a_marker_ends_the_transaction_and_frees_the_last_stable_offset() -> None:
    """A commit makes the records stable; an abort puts them into the index, and readers skip them."""
    partition = filled(UNVERIFIED, batch(0, 2, transactional=True))
    assert 0 == partition.last_stable

    write(partition, marker(0, ControlType.ABORT))

    fetched = partition.fetch(0, READ_COMMITTED)
    assert (3, 3) == (partition.last_stable, partition.high_watermark)
    assert [(PID, 0, 2)] == [txn[:3] for txn in fetched.aborted or ()]
    assert [] == list(delivered(fetched, 0))
    assert 2 == len(list(delivered(partition.fetch(0), 0)))


def test_a_marker_of_a_replaced_coordinator_is_refused() -> None:
    """Coordinator epochs do not fall on a leader."""
    partition = filled(UNVERIFIED, batch(0, transactional=True))
    write(partition, marker(0, coordinator_epoch=3))

    with pytest.raises(TransactionCoordinatorFenced):
        write(partition, marker(0, coordinator_epoch=2))


@pytest.mark.parametrize(
    ("open_transaction", "bump", "broken"),
    [
        (True, 0, rules.TXN_MARKER_ONCE),
        (True, 1, None),
        (False, 0, None),
        (False, -1, rules.FENCE_STALE_EPOCH),
    ],
    ids=["open-same", "open-bumped", "closed-retry", "closed-lower"],
)
def test_under_version_2_a_marker_carries_a_bumped_epoch(
    open_transaction: bool, bump: int, broken: rules.Rule | None
) -> None:
    """The current epoch is accepted only as a retry, when no transaction is open."""
    partition = filled(UNVERIFIED, batch(0, epoch=5, transactional=open_transaction))
    request = marker(5 + bump)

    if broken is None:
        assert 1 == write(partition, request, version=2).first_offset
        return
    with pytest.raises(InvalidProducerEpoch) as caught:
        write(partition, request, version=2)
    assert broken == caught.value.rule


def test_the_last_epoch_can_still_be_ended() -> None:
    """Past epoch 32767 there is no bump, so that its marker ends the transaction."""
    partition = filled(UNVERIFIED, batch(0, epoch=MAX_EPOCH, transactional=True))

    assert 1 == write(partition, marker(MAX_EPOCH), version=2).first_offset


def test_a_control_batch_of_another_type_ends_no_transaction() -> None:
    """What is neither commit nor abort cannot come from a producer id."""
    partition = Partition(NEWEST)

    with pytest.raises(MalformedRecords):
        write(partition, marker(0, ControlType.LEADER_CHANGE))

    assert partition.log_end == 0


def test_a_marker_without_transaction_version_is_our_bug() -> None:
    """Where markers are judged by it, the version must be given."""
    with pytest.raises(Impossible):
        Partition(NEWEST).append(marker(0), Origin.COORDINATOR)


def test_a_marker_keeps_the_guard_of_the_next_transaction_since_4_0() -> None:
    """A verification under the marker's own epoch belongs to the transaction after it."""
    for profile, kept in ((NEWEST, True), (KAFKA_3_9, False)):
        partition = filled(replace(profile, partition_verification=False), batch(0, transactional=True))
        partition.state.verifications.clear()
        partition.profile = profile
        entry = partition.state.entry(PID)._replace(txn_first_offset=Offset(-1))
        partition.state.producers[PID] = entry
        partition.state.start_verification(PID, Sequence(0), Epoch(1), True, Timestamp(0))

        write(partition, marker(1), version=2)

        assert kept == (PID in partition.state.verifications)


# --- origins, reading, recovery -----------------------------------------------------------------------------------


def test_a_coordinators_data_has_no_sequence_to_check() -> None:
    """Data of a coordinator is neither checked for sequence nor taken for a duplicate."""
    partition = Partition(UNVERIFIED)
    offsets = blank_batch(1, producer_id=PID, epoch=0, transactional=True)

    for expected in (0, 1):
        assert expected == partition.append(offsets, Origin.COORDINATOR).first_offset


def test_a_follower_does_not_append() -> None:
    """Only the leader takes appends."""
    with pytest.raises(NotLeaderOrFollower):
        Partition(NEWEST, leads=False).append(batch(0))


def test_reading_outside_the_log_is_refused() -> None:
    """Offsets beyond the log end are out of range; the log end itself is not."""
    partition = filled(NEWEST, batch(0))

    assert () == partition.fetch(1).batches
    for offset in (-1, 2):
        with pytest.raises(OffsetOutOfRange):
            partition.fetch(offset)


def test_between_high_watermark_and_log_end_there_is_nothing_to_read() -> None:
    """What a new leader has not seen replicated yet is no error: a consumer that gets one would begin anew."""
    leader = Partition(NEWEST, alone=False)
    leader.append(batch(0))

    assert (0, 1) == (leader.high_watermark, leader.log_end)
    assert ((), ()) == (leader.fetch(0).batches, leader.fetch(1).batches)


def test_a_restart_keeps_one_batch_per_producer() -> None:
    """The newest batch is still recognised, the ones before are not; open transactions stay open."""
    partition = filled(UNVERIFIED, batch(0), batch(1), batch(0, pid=7, transactional=True))

    partition.restart(Timestamp(0))

    assert partition.append(batch(1)).duplicate
    with pytest.raises(OutOfOrderSequence):
        partition.append(batch(0))
    assert 2 == partition.last_stable


def test_truncation_forgets_what_was_cut_off() -> None:
    """Producer state, open transactions and the aborted index follow the log that is left."""
    partition = filled(UNVERIFIED, batch(0), batch(1, transactional=True))
    write(partition, marker(0, ControlType.ABORT))

    partition.truncate(2, Timestamp(0))

    assert (2, 1) == (partition.log_end, partition.last_stable)
    assert [] == list(partition.aborted)
    assert 1 == partition.state.entry(PID).last_sequence


def test_a_silent_producer_is_forgotten_unless_its_transaction_is_open() -> None:
    """Expiry counts from the producer's own timestamps."""
    partition = filled(UNVERIFIED, batch(0), batch(0, pid=7, transactional=True))

    partition.state.expire(Timestamp(1 + partition.state.expiration_ms))

    assert [7] == [producer.producer_id for producer in partition.describe_producers()]


def test_a_batch_without_producer_id_leaves_no_state() -> None:
    """Even a transactional one: it needs no verification and holds up nothing."""
    partition = Partition(NEWEST)

    partition.append(value_batch([b"x"], transactional=True))

    assert () == partition.describe_producers()
    assert 1 == partition.last_stable
