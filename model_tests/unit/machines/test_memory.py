"""What a replica should know of a producer, from its log and from what happened to it."""

from model_tests.machines.memory import UNKNOWN, Memory
from reference.log.batch import RecordBatch, blank_batch
from spec.versions import NEWEST, PROFILES
from spec.vocabulary import LeaderEpoch, Offset, ProducerId, Timestamp

PRODUCER = ProducerId(7)
DAY = 1000


def log_of(count: int, epoch: int = 0) -> list[RecordBatch]:
    """So many batches of one record each."""
    batches = [
        blank_batch(1, producer_id=PRODUCER, epoch=epoch, base_sequence=number, timestamp=number)
        for number in range(count)
    ]
    return [batch.at(Offset(place), LeaderEpoch(0)) for place, batch in enumerate(batches)]


def test_the_newest_five_are_known() -> None:
    """The window holds five batches, the newest first."""
    known = Memory(NEWEST, DAY).known(log_of(8), PRODUCER)

    assert [7, 6, 5, 4, 3] == [remembered.first_sequence for remembered in known.window]


def test_before_1_0_one_is_known() -> None:
    """0.11 keeps the last batch only."""
    assert 1 == len(Memory(PROFILES["0.11"], DAY).known(log_of(8), PRODUCER).window)


def test_a_restart_leaves_one_and_what_comes_later() -> None:
    """Of the batches before a restart the newest is known, and all after it."""
    memory, log = Memory(NEWEST, DAY), log_of(8)

    memory.restarts(log[:5], Timestamp(0))

    assert [7, 6, 5, 4] == [remembered.first_sequence for remembered in memory.known(log, PRODUCER).window]


def test_a_truncated_log_is_read_again() -> None:
    """A replica that rebuilds its state knows a whole window."""
    memory, log = Memory(NEWEST, DAY), log_of(8)
    memory.restarts(log, Timestamp(0))

    memory.truncates(log[:6], Timestamp(0))

    assert 5 == len(memory.known(log[:6], PRODUCER).window)


def test_a_silent_producer_is_forgotten() -> None:
    """After the time of expiry nothing is known, until the producer writes again."""
    memory, log = Memory(NEWEST, DAY), log_of(3)

    memory.forget_silent(tuple(log[:2]), Timestamp(DAY + 1))

    assert UNKNOWN == memory.known(log[:2], PRODUCER)
    assert [2] == [remembered.first_sequence for remembered in memory.known(log, PRODUCER).window]


def test_another_epoch_ends_the_window() -> None:
    """Batches of the epoch before do not count."""
    log = log_of(3)
    newer = blank_batch(1, producer_id=PRODUCER, epoch=1, base_sequence=0).at(Offset(3), LeaderEpoch(0))

    known = Memory(NEWEST, DAY).known([*log, newer], PRODUCER)

    assert (1, 1) == (known.epoch, len(known.window))
