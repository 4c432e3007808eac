import pytest

from reference.broker.produce import ProduceRequest, handle_produce
from reference.errors import CorruptMessage, InvalidTxnState
from reference.log.batch import CONTROL, RecordBatch, blank_batch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from reference.log.validation import parse_client_records
from spec.versions import KAFKA_2_7, KAFKA_3_6, KAFKA_3_9_UNVERIFIED, NEWEST, RELEASES, Profile
from spec.vocabulary import Epoch, ErrorCode, LeaderEpoch, Offset, ProducerId, Sequence

GOOD = blank_batch(2, producer_id=1, epoch=0, base_sequence=0)
TRANSACTIONAL = blank_batch(2, producer_id=1, epoch=0, base_sequence=0, transactional=True)


def answer(*batches: RecordBatch, transactional_id: str | None = None, acks: int = -1) -> tuple[ErrorCode, int]:
    request = ProduceRequest({0: batches}, transactional_id, acks)
    found = handle_produce(NEWEST, {0: Partition(NEWEST)}, request)[0]
    return found.error, found.log_start


@pytest.mark.parametrize(
    "bad",
    [
        GOOD._replace(last_offset_delta=0),
        GOOD._replace(record_count=0, last_offset_delta=-1),
        GOOD._replace(base_sequence=Sequence(-1)),
        GOOD._replace(attributes=CONTROL),
        GOOD.at(Offset(5), LeaderEpoch(-1)),
    ],
    ids=["count", "empty", "no-sequence", "control", "offset"],
)
def test_a_batch_of_a_wrong_form_is_refused_at_the_log(bad: RecordBatch) -> None:
    """The log refuses it, so that the answer has the log start offset."""
    assert (ErrorCode.INVALID_RECORD, 0) == answer(bad)


def test_two_batches_are_refused_before_the_log() -> None:
    """One batch per partition; the request is refused, and the answer has no log start offset."""
    assert (ErrorCode.INVALID_RECORD, -1) == answer(GOOD, GOOD)


def test_transactional_records_need_a_transactional_id() -> None:
    """None at all is unauthorised, an empty one is invalid."""
    assert (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1) == answer(TRANSACTIONAL)
    assert (ErrorCode.INVALID_REQUEST, -1) == answer(TRANSACTIONAL, transactional_id="")
    assert (ErrorCode.INVALID_TXN_STATE, 0) == answer(TRANSACTIONAL, transactional_id="t")


def test_acks_are_none_one_or_all() -> None:
    """Any other number is refused."""
    assert ErrorCode.INVALID_REQUIRED_ACKS == answer(GOOD, acks=2)[0]
    assert [ErrorCode.NONE] * 3 == [answer(GOOD, acks=acks)[0] for acks in (-1, 0, 1)]


@pytest.mark.parametrize("profile", RELEASES, ids=lambda profile: profile.name)
def test_a_transaction_is_verified_before_acks_since_3_8(profile: Profile) -> None:
    """Before, acks=2 is refused, and the coordinator is not asked."""
    asked: list[int] = []

    def refuse(transactional_id: str, number: int, batch: RecordBatch) -> int:
        asked.append(number)
        raise InvalidTxnState(transactional_id=transactional_id, producer=batch.producer_id)

    request = ProduceRequest({0: (TRANSACTIONAL,)}, "t", acks=2)
    found = handle_produce(profile, {0: Partition(profile)}, request, refuse)[0]

    old = RELEASES.index(profile) <= RELEASES.index(KAFKA_3_6)
    assert (ErrorCode.INVALID_REQUIRED_ACKS if old else ErrorCode.INVALID_TXN_STATE) == found.error
    assert asked == ([] if old else [0])


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        (KAFKA_2_7, (False, False, ErrorCode.INVALID_REQUIRED_ACKS)),
        (KAFKA_3_6, (True, False, ErrorCode.INVALID_REQUIRED_ACKS)),
        (KAFKA_3_9_UNVERIFIED, (True, True, ErrorCode.INVALID_PRODUCER_ID_MAPPING)),
        (NEWEST, (True, True, ErrorCode.INVALID_PRODUCER_ID_MAPPING)),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_a_request_has_one_producer(profile: Profile, found: tuple[bool, bool, ErrorCode]) -> None:
    """Of several ids, or epochs, and with acks=2: the whole request is refused, unknown partitions included."""

    def answers(other: RecordBatch, acks: int = -1) -> list[ErrorCode]:
        request = ProduceRequest({0: (TRANSACTIONAL,), 1: (other,), 2: (GOOD,)}, "t", acks)
        asked = handle_produce(profile, {0: Partition(profile), 1: Partition(profile)}, request, lambda *_: NO_GUARD)
        return [asked[number].error for number in range(3)]

    id_, epoch = TRANSACTIONAL._replace(producer_id=ProducerId(2)), TRANSACTIONAL._replace(producer_epoch=Epoch(1))
    mapping = [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 3

    assert (answers(id_) == mapping, answers(epoch) == mapping) == found[:2]
    assert answers(id_, acks=2)[0] == found[2]
    assert answers(TRANSACTIONAL)[2] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_all_needs_enough_replicas() -> None:
    """Fewer in sync than min.insync.replicas: refused before the log; acks=1 does not ask."""
    for acks, error in ((-1, ErrorCode.NOT_ENOUGH_REPLICAS), (1, ErrorCode.NONE)):
        request = ProduceRequest({0: (GOOD,)}, acks=acks)
        assert error == handle_produce(NEWEST, {0: Partition(NEWEST)}, request, min_insync=2, insync=1)[0].error


def test_old_answers_have_no_log_start() -> None:
    """The log start offset came with version 5."""
    request = ProduceRequest({0: (GOOD,)}, version=3)

    assert -1 == handle_produce(NEWEST, {0: Partition(NEWEST)}, request)[0].log_start


def test_an_unknown_partition_is_named() -> None:
    """A partition that the node does not host is refused alone."""
    found = handle_produce(NEWEST, {0: Partition(NEWEST)}, ProduceRequest({0: (GOOD,), 1: (GOOD,)}))

    assert [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == [found[0].error, found[1].error]


def test_damaged_bytes_are_corrupt() -> None:
    """A client's bytes are read whole or refused."""
    data = GOOD.encode()

    assert (GOOD,) == parse_client_records(data)
    with pytest.raises(CorruptMessage):
        parse_client_records(data[:-1])
