"""Narration of the system of one transaction's markers: its producer, its coordinator, and the leaders."""

from collections.abc import Iterator
from typing import Final

from model_tests.bugs.narrate_coordinator import state_of
from model_tests.bugs.narration import ActionNarration, Moment
from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note
from spec.vocabulary import Api

PRODUCER: Final = "producer"
COORDINATOR: Final = "coordinator"
PARTITIONS: Final = ("partition 0", "partition 1")
OUTCOMES: Final = ("commit", "abort")
MARKERS: Final = ("COMMIT", "ABORT")


def _known(moment: Moment) -> Note:
    waited = [name for partition, name in enumerate(PARTITIONS) if moment.after.registered(partition)]
    return Note(COORDINATOR, f"{state_of(moment.after.entry())}, with {' and '.join(waited) or 'no partition'}")


def producer_writes(moment: Moment) -> Iterator[Event]:
    """Produce, by which the partition joins the transaction."""
    (partition,) = moment.at
    yield DrawnMessage(PRODUCER, PARTITIONS[partition], Api.PRODUCE)
    yield DrawnMessage(PARTITIONS[partition], COORDINATOR, Api.ADD_PARTITIONS_TO_TXN)
    yield _known(moment)
    yield DrawnMessage(PARTITIONS[partition], PRODUCER, "NONE")


def producer_ends(moment: Moment) -> Iterator[Event]:
    """EndTxn, and its answer."""
    (outcome,) = moment.at
    yield DrawnMessage(PRODUCER, COORDINATOR, f"EndTxn {OUTCOMES[outcome]}")
    yield _known(moment)
    yield DrawnMessage(COORDINATOR, PRODUCER, "NONE")


def leader_writes_marker(moment: Moment) -> Iterator[Event]:
    """A marker, and its answer."""
    (partition,) = moment.at
    yield DrawnMessage(COORDINATOR, PARTITIONS[partition], f"marker {MARKERS[moment.after.data(partition)]}")
    yield DrawnMessage(PARTITIONS[partition], COORDINATOR, "written")


def coordinator_drops_marker(moment: Moment) -> Iterator[Event]:
    """The partition counts as deleted."""
    (partition,) = moment.at
    why = "it has no leader" if moment.before.exists(partition) else "there is none"
    yield DrawnMessage(COORDINATOR, PARTITIONS[partition], "marker", Mark.LOST)
    yield Note(COORDINATOR, f"no endpoint for {PARTITIONS[partition]}: {why}")
    yield _known(moment)


def transaction_completes(moment: Moment) -> Iterator[Event]:
    """No marker is waited for."""
    yield _known(moment)


def broker_leaves(moment: Moment) -> Iterator[Event]:
    """The partition has no leader."""
    yield Note(PARTITIONS[moment.at[0]], "its only broker is away: it has no leader")


def broker_returns(moment: Moment) -> Iterator[Event]:
    """The partition is led again."""
    yield Note(PARTITIONS[moment.at[0]], "its broker is back, with the log as it was")


def topic_is_deleted(moment: Moment) -> Iterator[Event]:
    """There is no such partition any more."""
    yield Note(PARTITIONS[moment.at[0]], "is deleted with its topic")


MARKING: Final = ActionNarration(
    (PRODUCER, COORDINATOR, *PARTITIONS),
    {
        "producer_writes": producer_writes,
        "producer_ends": producer_ends,
        "leader_writes_marker": leader_writes_marker,
        "coordinator_drops_marker": coordinator_drops_marker,
        "transaction_completes": transaction_completes,
        "broker_leaves": broker_leaves,
        "broker_returns": broker_returns,
        "topic_is_deleted": topic_is_deleted,
    },
)
