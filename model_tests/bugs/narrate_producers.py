"""Narration of the systems of the idempotent producer: its batches, its epochs, and the leaders' answers."""

from collections.abc import Iterator
from typing import Final

from model_tests.bugs.narration import ActionNarration, Moment
from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note

PRODUCER: Final = "producer"
LEADER: Final = "leader"
FOLLOWERS: Final = "followers"
COORDINATOR: Final = "coordinator"
PARTITIONS: Final = ("partition 0", "partition 1")


def batch_named(number: int) -> str:
    """A batch as the application counts it."""
    return f"batch {number}"


# --- one partition --------------------------------------------------------------------------------------------


def stream_sends(moment: Moment) -> Iterator[Event]:
    """A batch is sent; when it arrives is another step."""
    stream = moment.at[0]
    request = moment.before.requests(stream)
    sequence, epoch = moment.after.base(stream, request), moment.after.epoch(stream, request)
    yield Note(PRODUCER, f"sends {batch_named(request)}: epoch {epoch}, sequence {sequence}")


def stream_appends(moment: Moment) -> Iterator[Event]:
    """A request arrives."""
    stream, request = moment.at[:2]
    number = batch_named(moment.before.batch(stream, request))
    place = moment.before.length(stream)
    yield DrawnMessage(PRODUCER, LEADER, f"Produce {number}, sequence {moment.before.base(stream, request)}")
    yield Note(LEADER, f"appends {number} at position {place}")


def stream_copied(moment: Moment) -> Iterator[Event]:
    """Followers have more of the log."""
    count = moment.at[1]
    yield DrawnMessage(LEADER, FOLLOWERS, "the first batch" if count == 1 else f"the first {count} batches")


def stream_receives_answer(moment: Moment) -> Iterator[Event]:
    """A batch is acknowledged."""
    yield DrawnMessage(LEADER, PRODUCER, f"NONE for {batch_named(moment.at[1])}")


def stream_answers(moment: Moment) -> Iterator[Event]:
    """A request is recognised as a resend, or refused."""
    stream, request = moment.at
    yield DrawnMessage(PRODUCER, LEADER, f"Produce {batch_named(moment.before.batch(stream, request))}", Mark.AGAIN)
    yield DrawnMessage(LEADER, PRODUCER, "a duplicate, or refused")


def leader_forgets(_: Moment) -> Iterator[Event]:
    """The producer's state is gone."""
    yield Note(LEADER, "forgets the producer")


STREAM: Final = ActionNarration(
    (PRODUCER, LEADER, FOLLOWERS),
    {
        "client_sends": stream_sends,
        "leader_appends": stream_appends,
        "leader_answers": stream_answers,
        "followers_copy": stream_copied,
        "client_receives_acknowledgement": stream_receives_answer,
        "client_receives_duplicate_answer": stream_receives_answer,
        "leader_forgets": leader_forgets,
    },
)


# --- several partitions ---------------------------------------------------------------------------------------


def client_sends(moment: Moment) -> Iterator[Event]:
    """A batch gets its number."""
    (partition,) = moment.at
    batch, epoch = moment.before.batches(partition), moment.before.epoch()
    sequence = moment.after.sequence(partition, batch, epoch)
    yield Note(PRODUCER, f"sends {batch_named(batch)} to {PARTITIONS[partition]}: epoch {epoch}, sequence {sequence}")


def client_appends(moment: Moment) -> Iterator[Event]:
    """A batch arrives."""
    partition, batch, epoch = moment.at
    before = [moment.before.written(partition, place) for place in range(moment.before.length(partition))]
    sequence = moment.before.sequence(partition, batch, epoch)
    mark = Mark.AGAIN if batch in before else Mark.PLAIN
    yield DrawnMessage(
        PRODUCER, PARTITIONS[partition], f"Produce {batch_named(batch)}, epoch {epoch}, sequence {sequence}", mark
    )
    yield Note(PARTITIONS[partition], f"the log is {[*before, batch]}")


def client_receives_answer(moment: Moment) -> Iterator[Event]:
    """The lowest batch in flight is acknowledged."""
    (partition,) = moment.at
    yield DrawnMessage(PARTITIONS[partition], PRODUCER, f"NONE for {batch_named(moment.before.settled(partition))}")


def client_refused(moment: Moment) -> Iterator[Event]:
    """The lowest batch in flight gets a fatal error."""
    (partition,) = moment.at
    batch = batch_named(moment.before.settled(partition))
    yield DrawnMessage(PARTITIONS[partition], PRODUCER, f"INVALID_RECORD for {batch}", Mark.REFUSED)


def client_raises(moment: Moment) -> Iterator[Event]:
    """The client numbers batches again."""
    epoch = moment.after.epoch()
    yield Note(PRODUCER, f"raises its epoch to {epoch}")
    for partition, name in enumerate(PARTITIONS):
        numbers = _numbers(moment, partition, epoch)
        if numbers:
            yield Note(PRODUCER, f"{name}: {', '.join(numbers)}")


def _numbers(moment: Moment, partition: int, epoch: int) -> list[str]:
    in_flight = range(moment.after.settled(partition), moment.after.batches(partition))
    numbered = ((batch, moment.after.sequence(partition, batch, epoch)) for batch in in_flight)
    return [f"{batch_named(batch)} is now sequence {sequence}" for batch, sequence in numbered if sequence >= 0]


CLIENT: Final = ActionNarration(
    (PRODUCER, *PARTITIONS),
    {
        "client_sends": client_sends,
        "leader_appends": client_appends,
        "client_receives_answer": client_receives_answer,
        "leader_refuses": client_refused,
        "client_raises_epoch": client_raises,
    },
)


# --- expiry ---------------------------------------------------------------------------------------------------


def expiry_appends(_: Moment) -> Iterator[Event]:
    """One batch opens a transaction."""
    yield DrawnMessage(PRODUCER, LEADER, "Produce, of a transaction")


def expiry_marker(moment: Moment) -> Iterator[Event]:
    """A marker of one of two coordinators."""
    (coordinator,) = moment.at
    late = coordinator < moment.before.newest_coordinator()
    yield DrawnMessage(
        COORDINATORS[coordinator], LEADER, f"marker, coordinator epoch {coordinator}", Mark.LATE if late else Mark.PLAIN
    )
    yield Note(LEADER, f"takes it; the producer's last timestamp is {moment.after.last_timestamp()}")


def clock_ticks(moment: Moment) -> Iterator[Event]:
    """Time passes."""
    yield Note(LEADER, f"the time is {moment.after.now()}")


COORDINATORS: Final = ("old coordinator", "new coordinator")

EXPIRY: Final = ActionNarration(
    (PRODUCER, *COORDINATORS, LEADER),
    {
        "producer_appends": expiry_appends,
        "coordinator_writes_marker": expiry_marker,
        "clock_ticks": clock_ticks,
        "leader_forgets": leader_forgets,
    },
)


# --- verification ---------------------------------------------------------------------------------------------


def verifying_sends(moment: Moment) -> Iterator[Event]:
    """A batch arrives, and the partition asks about its transaction."""
    (batch,) = moment.at
    yield DrawnMessage(PRODUCER, LEADER, f"Produce {batch_named(batch)}, sequence {batch}")
    if moment.after.asking(batch):
        yield DrawnMessage(LEADER, COORDINATOR, "is the partition in the transaction?")


def coordinator_confirms(moment: Moment) -> Iterator[Event]:
    """The coordinator says yes."""
    yield DrawnMessage(COORDINATOR, LEADER, f"yes, for {batch_named(moment.at[0])}")


def coordinator_is_busy(moment: Moment) -> Iterator[Event]:
    """The coordinator says neither yes nor no."""
    yield DrawnMessage(COORDINATOR, LEADER, f"CONCURRENT_TRANSACTIONS, for {batch_named(moment.at[0])}", Mark.REFUSED)
    yield DrawnMessage(LEADER, PRODUCER, f"NOT_ENOUGH_REPLICAS for {batch_named(moment.at[0])}", Mark.REFUSED)


def verifying_appends(moment: Moment) -> Iterator[Event]:
    """A batch is in the log."""
    yield Note(LEADER, f"appends {batch_named(moment.at[0])} at position {moment.before.length()}")


def verifying_refuses(moment: Moment) -> Iterator[Event]:
    """A batch is refused."""
    yield DrawnMessage(LEADER, PRODUCER, f"{batch_named(moment.at[0])} is out of order", Mark.REFUSED)


VERIFYING: Final = ActionNarration(
    (PRODUCER, LEADER, COORDINATOR),
    {
        "producer_sends": verifying_sends,
        "coordinator_confirms": coordinator_confirms,
        "coordinator_is_busy": coordinator_is_busy,
        "leader_appends": verifying_appends,
        "leader_refuses": verifying_refuses,
    },
)
