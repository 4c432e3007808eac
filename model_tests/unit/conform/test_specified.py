from dataclasses import replace

import pytest

from model_tests.conform.answers import (
    Added,
    EndTxnAnswer,
    Initialized,
    ProduceAnswer,
    RecordedFetchAnswer,
    SeenTransaction,
)
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.requests import (
    AddPartitionsToTxn,
    RecordedBatch,
    RecordedEndTxn,
    RecordedFetch,
    RecordedInitProducerId,
    RecordedMarker,
    RecordedProduce,
    Restart,
    WriteTxnMarkers,
)
from model_tests.conform.specified_partition import size_of
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0
from spec.vocabulary import ErrorCode

SMALL = 160
"""A segment that holds two batches of one record or marker."""


def batch(epoch: int, sequence: int, *, transactional: bool = True) -> RecordedBatch:
    return RecordedBatch("t-0", 0, epoch, sequence, 1, 0, transactional, "", -1, 1, ("s0r0",))


def produce(epoch: int, sequence: int, version: int = 9) -> RecordedProduce:
    return RecordedProduce(version, "t0", -1, (batch(epoch, sequence),), 0, several=False)


def add(epoch: int) -> AddPartitionsToTxn:
    return AddPartitionsToTxn(3, "t0", 0, epoch, ("t-0",), verify_only=False)


def end(epoch: int, *, committed: bool, version: int = 3) -> RecordedEndTxn:
    return RecordedEndTxn(version, "t0", 0, epoch, committed)


def error(side: OnSpecification, request: RecordedProduce) -> ErrorCode:
    answer = side.answer(request)
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions["t-0"].error


def fetched(side: OnSpecification, offset: int, limit: int = 2**31 - 1) -> RecordedFetchAnswer:
    answer = side.answer(RecordedFetch(11, "t-0", offset, committed_only=True, max_bytes=limit))
    assert isinstance(answer, RecordedFetchAnswer)
    return answer


def begun(segment_bytes: int = 2**30, profile: object = KAFKA_3_9) -> OnSpecification:
    """A broker on which t0 has an open transaction with one record."""
    assert isinstance(profile, type(KAFKA_3_9))
    side = OnSpecification(profile, ["t-0"], segment_bytes)
    assert side.answer(RecordedInitProducerId(4, "t0")) == Initialized(ErrorCode.NONE, 0, 0)
    assert side.answer(add(0)) == Added({"t-0": ErrorCode.NONE})
    assert error(side, produce(0, 0)) is ErrorCode.NONE
    return side


@pytest.mark.parametrize(
    ("values", "size"),
    [((), 61), (("s4r0",), 72), (("s10r0",), 73), (("x" * 60,), 129), (("s4r0", "s4r1"), 83)],
    ids=["empty", "one", "longer", "length of two bytes", "two"],
)
def test_a_batch_takes_its_header_and_its_records(values: tuple[str, ...], size: int) -> None:
    """Lengths are numbers of seven bits a byte."""
    assert size == size_of(values)


def test_a_transaction_from_begin_to_commit() -> None:
    """Its record is below the last stable offset once the marker is written."""
    side = begun()
    open_bound = fetched(side, 0)
    side.answer(end(0, committed=True))

    assert (open_bound.lso, open_bound.batches) == (0, ())
    assert fetched(side, 0).delivered == ((0, "s0r0"),)
    assert side.seen().transactions["t0"] == SeenTransaction("CompleteCommit", 0, 0, 60_000, True, ())


def test_an_aborted_record_is_listed_and_not_delivered() -> None:
    """The client hides it by the list of its own answer."""
    side = begun()
    side.answer(end(0, committed=False))

    answer = fetched(side, 0)

    assert (answer.aborted, answer.delivered) == (((0, 0),), ())
    assert [seen.marker for seen in answer.batches] == ["", "ABORT"]


def test_a_fetch_reads_one_segment_and_lists_what_begins_in_it() -> None:
    """The aborted index of later segments is searched too, up to the end of the one that is read."""
    side = begun(SMALL)
    side.answer(end(0, committed=False))
    for sequence in (1, 2):
        side.answer(add(0))
        assert error(side, produce(0, sequence)) is ErrorCode.NONE
        side.answer(end(0, committed=False))

    first, second = fetched(side, 0), fetched(side, 2)

    assert ([seen.base_offset for seen in first.batches], first.aborted) == ([0, 1], ((0, 0),))
    assert ([seen.base_offset for seen in second.batches], second.aborted) == ([2, 3], ((0, 2),))


def test_a_limit_of_bytes_leaves_at_least_one_batch() -> None:
    """Whole batches as far as they fit."""
    side = begun()
    side.answer(end(0, committed=True))

    assert [len(fetched(side, 0, limit).batches) for limit in (1, 149, 150)] == [1, 1, 2]


def test_a_refused_marker_leaves_the_id_in_prepare() -> None:
    """A higher epoch on the partition fences the coordinator's marker, and the transaction is never complete."""
    side = begun()
    side.answer(WriteTxnMarkers(1, (RecordedMarker(0, 3, True, 0, ("t-0",)),)))

    side.answer(end(0, committed=True))
    answer = side.answer(end(0, committed=True))

    assert side.seen().transactions["t0"].state == "PrepareCommit"
    assert answer == EndTxnAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)


def test_a_restart_keeps_an_open_transaction_open() -> None:
    """Memory follows from the log; EndTxn proceeds as before."""
    side = begun()
    side.answer(Restart(clean=True, coordinator_epoch=2))

    assert side.seen().transactions["t0"].state == "Ongoing"
    assert side.answer(end(0, committed=True)) == EndTxnAnswer(ErrorCode.NONE)
    assert side.seen().partitions["t-0"].producers[0].coordinator_epoch == 2


def test_under_version_2_the_next_transaction_has_the_next_epoch() -> None:
    """EndTxn of version 5 returns it, and the epoch before is refused by coordinator and partition."""
    side = begun(profile=SNAPSHOT_4_0)

    assert side.answer(end(0, committed=True, version=5)) == EndTxnAnswer(ErrorCode.NONE, 0, 1)
    assert side.answer(add(0)) == Added({"t-0": ErrorCode.PRODUCER_FENCED})
    assert error(side, produce(0, 1)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_data_of_no_transaction_is_refused_by_the_words_of_the_version() -> None:
    """The coordinator does not know the partition in the transaction."""
    side = OnSpecification(KAFKA_3_9, ["t-0"])
    side.answer(RecordedInitProducerId(4, "t0"))

    assert [error(side, produce(0, 0, version)) for version in (10, 11)] == [
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    ]


def test_since_4_0_a_stale_epoch_is_refused_without_asking() -> None:
    """The coordinator's decision is not among those of the step."""
    for profile, request in ((replace(NEWEST, transaction_version=0), False), (KAFKA_3_9, True)):
        side = begun(profile=profile)
        side.answer(WriteTxnMarkers(1, (RecordedMarker(0, 3, True, 0, ("t-0",)),)))

        assert error(side, produce(0, 1)) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert any(getattr(decision, "subject", "") == "t0" for decision in side.decided) == request
