"""What the log of older releases does otherwise, each as in its source."""

from dataclasses import replace

import pytest

from model_tests.unit.reference.broker.coordinated import CoordinatedBroker
from model_tests.unit.support.append_decisions import produced
from model_tests.unit.support.release_names import named
from reference.broker.produce import ProduceRequest, handle_produce
from reference.broker.verification import NetworkException
from reference.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    Refusal,
    TransactionCoordinatorFenced,
)
from reference.log.batch import CONTROL, RecordBatch, blank_batch, marker_batch
from reference.log.partition import AppendResult, Partition
from spec import rules
from spec.versions import (
    KAFKA_0_11,
    KAFKA_1_0,
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_4_2,
    KAFKA_4_3,
    NEWEST,
    Profile,
)
from spec.vocabulary import (
    MAX_EPOCH,
    MAX_SEQUENCE,
    ControlType,
    ErrorCode,
    LeaderEpoch,
    Offset,
    Origin,
    ProducerId,
    Sequence,
)

PID = ProducerId(7)
GOOD = blank_batch(2, producer_id=PID, epoch=0, base_sequence=0)


def batch(base: int, count: int = 1, epoch: int = 0, transactional: bool = False) -> RecordBatch:
    return blank_batch(count, producer_id=PID, epoch=epoch, base_sequence=base, transactional=transactional)


def marker(epoch: int, coordinator_epoch: int = 0) -> RecordBatch:
    return marker_batch(PID, epoch, ControlType.ABORT, coordinator_epoch)


def write(partition: Partition, one: RecordBatch, version: int = 0) -> AppendResult:
    return partition.append(one, Origin.COORDINATOR, marker_version=version)


def copy(partition: Partition, one: RecordBatch) -> None:
    partition.replicate(one.at(partition.log_end, LeaderEpoch(0)))


def answer(profile: Profile, *batches: RecordBatch) -> ErrorCode:
    return handle_produce(profile, {0: Partition(profile)}, ProduceRequest({0: batches}))[0].error


# --- the form of a batch ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [KAFKA_0_11, KAFKA_1_0, KAFKA_2_0, KAFKA_2_4, NEWEST], ids=named)
@pytest.mark.parametrize(
    "bad",
    [
        GOOD._replace(record_count=0, last_offset_delta=-1),
        GOOD._replace(record_count=-1),
        GOOD._replace(base_sequence=Sequence(-1)),
        GOOD._replace(attributes=CONTROL),
        GOOD.at(Offset(5), LeaderEpoch(-1)),
    ],
    ids=["empty", "negative", "no-sequence", "control", "offset"],
)
def test_what_is_ill_formed_has_a_code_since_2_4(profile: Profile, bad: RecordBatch) -> None:
    """Before, InvalidRecordException is one of CorruptRecordException and has no code of its own."""
    known = profile not in (KAFKA_0_11, KAFKA_1_0, KAFKA_2_0)

    assert answer(profile, bad) is (ErrorCode.INVALID_RECORD if known else ErrorCode.CORRUPT_MESSAGE)


def test_what_is_ill_formed_breaks_the_same_rule_in_every_release() -> None:
    """Whatever its code."""
    for profile in (KAFKA_2_0, NEWEST):
        with pytest.raises(Refusal) as caught:
            Partition(profile).append(GOOD._replace(base_sequence=Sequence(-1)))
        assert rules.SEQ_WELL_FORMED == caught.value.rule


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        (KAFKA_0_11, ErrorCode.NONE),
        (KAFKA_1_0, ErrorCode.NONE),
        (KAFKA_2_0, ErrorCode.CORRUPT_MESSAGE),
        (KAFKA_2_4, ErrorCode.INVALID_RECORD),
    ],
    ids=named,
)
@pytest.mark.parametrize("delta", [0, 2])
def test_a_count_that_is_not_that_of_the_offsets(profile: Profile, error: ErrorCode, delta: int) -> None:
    """It is compared since 2.0 (LogValidator.validateBatch)."""
    assert error is answer(profile, GOOD._replace(last_offset_delta=delta))


def test_a_count_that_is_not_compared_places_the_batch() -> None:
    """The records are counted from the log end on, and the last gets the last offset: the batch begins elsewhere."""
    partition = Partition(KAFKA_1_0)
    partition.append(batch(0, 3))

    found = partition.append(batch(3, 2)._replace(last_offset_delta=3))

    assert (3, 4, 5) == (found.first_offset, found.last_offset, partition.log_end)
    assert [0, 1] == [one.base_offset for one in partition.log]


@pytest.mark.parametrize(
    ("profile", "errors"),
    [
        (KAFKA_0_11, (ErrorCode.NETWORK_EXCEPTION,) * 2),
        (KAFKA_2_0, (ErrorCode.NETWORK_EXCEPTION,) * 2),
        (KAFKA_2_4, (ErrorCode.INVALID_RECORD, ErrorCode.NONE)),
        (NEWEST, (ErrorCode.INVALID_RECORD, ErrorCode.NONE)),
    ],
    ids=named,
)
def test_several_batches_of_a_partition(profile: Profile, errors: tuple[ErrorCode, ErrorCode]) -> None:
    """Before 2.4 they are found while the request is read, and the connection is closed (SocketServer.Processor)."""
    request = ProduceRequest({0: (GOOD, GOOD), 1: (GOOD,)})

    found = handle_produce(profile, {number: Partition(profile) for number in (0, 1)}, request)

    assert errors == (found[0].error, found[1].error)


# --- across the wrap ----------------------------------------------------------------------------------------------

PROFILES_AT_THE_WRAP = pytest.mark.parametrize(
    ("profile", "first"),
    [
        (KAFKA_0_11, 2 + MAX_SEQUENCE),
        (KAFKA_1_0, 2 + MAX_SEQUENCE),
        (KAFKA_2_0, 1),
        (NEWEST, 1),
    ],
    ids=named,
)


def before_the_wrap(profile: Profile) -> Partition:
    """A producer whose next sequence is the last but one; unverified."""
    partition = Partition(replace(profile, partition_verification=False))
    vast = batch(0)._replace(record_count=MAX_SEQUENCE - 1, last_offset_delta=MAX_SEQUENCE - 2)
    copy(partition, vast.at(Offset(0), LeaderEpoch(0)))
    return partition


@PROFILES_AT_THE_WRAP
def test_a_resend_across_the_wrap(profile: Profile, first: int) -> None:
    """Every release recognises it; 0.11 and 1.0 work its first offset out by its sequences (ProducerStateManager)."""
    partition = before_the_wrap(profile)
    start = partition.log_end - 1

    resent = partition.append(batch(MAX_SEQUENCE - 1, 3))
    again = partition.append(batch(MAX_SEQUENCE - 1, 3))

    assert (start + 1, start + 3, False) == resent[:3]
    assert (start + first, start + 3, True) == again[:3]


@PROFILES_AT_THE_WRAP
def test_a_transaction_that_begins_across_the_wrap(profile: Profile, first: int) -> None:
    """By the difference of its sequences it begins far beyond the log end, and holds nothing back."""
    partition = before_the_wrap(profile)
    start = partition.log_end - 1

    partition.append(batch(MAX_SEQUENCE - 1, 3, transactional=True))

    assert start + first == partition.state.entry(PID).txn_first_offset
    assert partition.last_stable == (start + 1 if first == 1 else partition.log_end)


# --- markers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_0_11, 3), (KAFKA_1_0, 2), (NEWEST, 2)], ids=named)
def test_a_resend_after_a_marker(profile: Profile, offset: int) -> None:
    """In 0.11 the marker stands for the last record: its sequence alone is recognised, at the marker's offset."""
    partition = Partition(replace(profile, partition_verification=False))
    partition.append(batch(0, 2, transactional=True))
    partition.append(batch(2, transactional=True))
    write(partition, marker(0))

    again = partition.append(batch(2, transactional=True))

    assert (offset, offset, True, 4) == (*again[:3], partition.log_end)


@pytest.mark.parametrize(("profile", "recognised"), [(KAFKA_0_11, False), (KAFKA_1_0, True)], ids=named)
def test_a_resend_of_several_records_after_a_marker(profile: Profile, recognised: bool) -> None:
    """In 0.11 the marker has one record, and the batch is out of order."""
    partition = Partition(profile)
    partition.append(batch(0, 2, transactional=True))
    write(partition, marker(0))

    if recognised:
        assert (0, 1, True) == partition.append(batch(0, 2, transactional=True))[:3]
        return
    with pytest.raises(OutOfOrderSequence):
        partition.append(batch(0, 2, transactional=True))


def test_a_marker_of_another_epoch_leaves_its_offset_alone() -> None:
    """It begins an epoch of which no sequence is known, in 0.11 too, and a second marker only moves the offset on."""
    partition = Partition(KAFKA_0_11)
    partition.append(batch(0, 2, transactional=True))
    write(partition, marker(1))
    write(partition, marker(1))

    (left,) = partition.state.entry(PID).batches
    assert (-1, 3, 0) == (left.last_sequence, left.last_offset, left.offset_delta)
    assert 4 == partition.append(batch(0, epoch=1)).first_offset


def test_the_last_sequence_continues_after_a_marker() -> None:
    """0.11 expects the sequence after the one that the marker stands for."""
    partition = Partition(KAFKA_0_11)
    partition.append(batch(0, 2, transactional=True))
    write(partition, marker(0))

    assert 3 == partition.append(batch(2, transactional=True)).first_offset


@pytest.mark.parametrize(("profile", "taken"), [(KAFKA_4_2, False), (KAFKA_4_3, True)], ids=named)
def test_a_marker_of_the_last_epoch(profile: Profile, taken: bool) -> None:
    """No bump is left above 32767: let through since 4.3 (ProducerAppendInfo.checkProducerEpoch)."""
    partition = Partition(replace(profile, partition_verification=False))
    partition.append(batch(0, epoch=MAX_EPOCH, transactional=True))

    if taken:
        assert 1 == write(partition, marker(MAX_EPOCH), version=2).first_offset
        return
    with pytest.raises(InvalidProducerEpoch) as caught:
        write(partition, marker(MAX_EPOCH), version=2)
    assert rules.TXN_MARKER_ONCE == caught.value.rule


# --- who is held to an epoch --------------------------------------------------------------------------------------

OLD = (KAFKA_0_11, KAFKA_1_0, KAFKA_2_0)


@pytest.mark.parametrize("profile", [*OLD, KAFKA_2_4, NEWEST], ids=named)
def test_a_replica_copies_data_of_a_past_epoch(profile: Profile) -> None:
    """In every release; its epoch falls with that."""
    follower = Partition(profile, leads=False, alone=False)
    copy(follower, batch(0, epoch=5))

    copy(follower, batch(0, epoch=4))

    assert (2, 4) == (follower.log_end, follower.state.entry(PID).epoch)


@pytest.mark.parametrize("profile", [*OLD, KAFKA_2_4, NEWEST], ids=named)
@pytest.mark.parametrize(
    ("stale", "refusal"),
    [(marker(4, 3), InvalidProducerEpoch), (marker(5, 2), TransactionCoordinatorFenced)],
    ids=["producer", "coordinator"],
)
def test_a_replica_and_a_stale_marker(profile: Profile, stale: RecordBatch, refusal: type[Refusal]) -> None:
    """It only notes it since 2.4."""
    follower = Partition(profile, leads=False, alone=False)
    copy(follower, batch(0, epoch=5))
    copy(follower, marker(5, 3))

    if profile not in OLD:
        copy(follower, stale)
        assert 3 == follower.log_end
        return
    with pytest.raises(refusal):
        copy(follower, stale)


@pytest.mark.parametrize("profile", [*OLD, KAFKA_2_4, KAFKA_3_9], ids=named)
def test_a_leader_refuses_data_and_markers_of_a_past_epoch(profile: Profile) -> None:
    """In every release."""
    partition = Partition(profile)
    partition.append(batch(0, epoch=5))
    write(partition, marker(5, 3))

    for stale, origin in ((batch(0, epoch=4), Origin.CLIENT), (marker(4, 3), Origin.COORDINATOR)):
        with pytest.raises(InvalidProducerEpoch):
            partition.append(stale, origin)
    with pytest.raises(TransactionCoordinatorFenced):
        write(partition, marker(5, 2))


@pytest.mark.parametrize("profile", [*OLD, KAFKA_2_4, KAFKA_2_7], ids=named)
def test_a_coordinators_data_of_a_past_epoch(profile: Profile) -> None:
    """It is checked against the producer's epoch since 2.4; before, it lowers that."""
    partition = Partition(profile)
    write(partition, batch(0, epoch=5, transactional=True))

    if profile in OLD:
        write(partition, batch(0, epoch=4, transactional=True))
        assert 4 == partition.state.entry(PID).epoch
        return
    with pytest.raises(InvalidProducerEpoch):
        write(partition, batch(0, epoch=4, transactional=True))


# --- verification -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "taken"), [(KAFKA_3_6, True), (KAFKA_3_9, False)], ids=named)
def test_a_coordinators_data_needs_a_guard(profile: Profile, taken: bool) -> None:
    """3.6 asks clients alone for it."""
    partition = Partition(profile)

    if taken:
        assert 0 == write(partition, batch(0, transactional=True)).first_offset
    else:
        with pytest.raises(InvalidTxnState):
            write(partition, batch(0, transactional=True))
    with pytest.raises(InvalidTxnState):
        Partition(profile).append(batch(0, transactional=True))


@pytest.mark.parametrize(
    ("profile", "error"),
    [(KAFKA_3_6, ErrorCode.NETWORK_EXCEPTION), (KAFKA_3_9, ErrorCode.NOT_ENOUGH_REPLICAS)],
    ids=named,
)
def test_a_verification_without_an_answer(profile: Profile, error: ErrorCode, monkeypatch: pytest.MonkeyPatch) -> None:
    """3.6 passes it on as it is (ReplicaManager.appendEntries)."""
    world = CoordinatedBroker(profile)

    def lost(*_: object) -> dict[object, ErrorCode]:
        raise NetworkException

    monkeypatch.setattr(type(world.coordinator), "verify_partitions", lost)

    assert error is produced(world, {0: (batch(0, epoch=5, transactional=True),)})[0].error
