import pytest

from reference.errors import Impossible
from reference.log.batch import blank_batch
from reference.log.partition_log import PartitionLog
from spec.vocabulary import LeaderEpoch, Offset


@pytest.fixture
def log() -> PartitionLog:
    log = PartitionLog()
    for count in (3, 2, 4):
        log.append(blank_batch(count).at(log.log_end, LeaderEpoch(0)))
    return log


def offsets(log: PartitionLog, offset: int, below: int) -> list[int]:
    return [batch.base_offset for batch in log.read(offset, below)]


def test_reading_begins_with_the_batch_that_holds_the_offset(log: PartitionLog) -> None:
    """A read inside a batch returns the whole batch, and ends before the bound."""
    assert [0, 3] == offsets(log, 2, 5)
    assert [3, 5] == offsets(log, 3, 6)
    assert [] == offsets(log, 9, 9)


def test_a_log_that_is_cut_below_its_start_is_empty_and_begins_there(log: PartitionLog) -> None:
    """Its older records were deleted, and the leader that it follows now has others instead."""
    log.advance_start(7)

    log.truncate(4)

    assert (4, 4, ()) == (log.log_start, log.log_end, log.batches)


def test_truncation_drops_whole_batches(log: PartitionLog) -> None:
    """A batch that reaches the offset goes as a whole; what is beyond the end changes nothing."""
    log.truncate(100)
    assert 9 == log.log_end

    log.truncate(4)
    assert (3, 1) == (log.log_end, len(log))

    log.truncate(0)
    assert (0, 0) == (log.log_end, len(log))


def test_the_start_moves_up(log: PartitionLog) -> None:
    """Batches wholly below the new start are gone, one that holds it stays."""
    log.advance_start(4)

    assert (4, [3, 5]) == (log.log_start, offsets(log, 4, 9))


def test_offsets_do_not_go_back(log: PartitionLog) -> None:
    """Appending below the log end or moving the start beyond it is our own bug."""
    with pytest.raises(Impossible):
        log.append(blank_batch(1).at(Offset(8), LeaderEpoch(0)))
    with pytest.raises(Impossible):
        log.advance_start(10)
