"""Narration of the systems of a group's offsets: commits in transactions, markers, and generations."""

from collections.abc import Iterator
from typing import Final

from model_tests.bugs.narration import ActionNarration, Moment
from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note

ZOMBIE: Final = "its fenced instance"
PRODUCER: Final = "producer"
COORDINATOR: Final = "transaction coordinator"
GROUP: Final = "group coordinator"
MEMBERS: Final = ("member of generation 0", "member of generation 1", "member of generation 2")
OUTCOMES: Final = ("ABORT", "COMMIT")


# --- markers --------------------------------------------------------------------------------------------------


def offset_is_pending(moment: Moment) -> Iterator[Event]:
    """TxnOffsetCommit."""
    transaction = moment.before.now_in()
    yield DrawnMessage(PRODUCER, GROUP, f"TxnOffsetCommit of transaction {transaction}")
    yield Note(GROUP, f"offset {transaction} is pending for the producer id")


def zombie_is_refused(_: Moment) -> Iterator[Event]:
    """TxnOffsetCommit of a fenced instance."""
    yield DrawnMessage(ZOMBIE, GROUP, "TxnOffsetCommit, with its own lower epoch")
    yield Note(GROUP, "drops what the producer id has pending")
    yield DrawnMessage(GROUP, ZOMBIE, "the log refuses the epoch", Mark.REFUSED)


def marker_is_written(moment: Moment) -> Iterator[Event]:
    """EndTxn, and the marker on the offsets partition."""
    (outcome,) = moment.at
    transaction = moment.before.now_in()
    yield DrawnMessage(PRODUCER, COORDINATOR, f"EndTxn of transaction {transaction}: {OUTCOMES[outcome]}")
    yield DrawnMessage(COORDINATOR, GROUP, f"marker {OUTCOMES[outcome]}")
    yield DrawnMessage(GROUP, COORDINATOR, "written")


def marker_is_applied(moment: Moment) -> Iterator[Event]:
    """The coordinator takes over what is pending."""
    yield Note(GROUP, f"applies the marker to all that is pending; the offset is {moment.after.committed().offset}")


MARKERS: Final = ActionNarration(
    (ZOMBIE, PRODUCER, COORDINATOR, GROUP),
    {
        "producer_commits_offset": offset_is_pending,
        "zombie_commits_offset": zombie_is_refused,
        "coordinator_writes_marker": marker_is_written,
        "group_coordinator_catches_up": marker_is_applied,
    },
)


# --- generations ----------------------------------------------------------------------------------------------


def member_commits(moment: Moment) -> Iterator[Event]:
    """TxnOffsetCommit of a member, and the question about its transaction."""
    (generation,) = moment.at
    yield DrawnMessage(MEMBERS[generation], GROUP, f"TxnOffsetCommit, generation {generation}")
    yield DrawnMessage(GROUP, COORDINATOR, "is the offsets partition in the transaction?")


def coordinator_confirms(_: Moment) -> Iterator[Event]:
    """The answer."""
    yield DrawnMessage(COORDINATOR, GROUP, "yes")


def group_rebalances(moment: Moment) -> Iterator[Event]:
    """The next generation."""
    yield Note(GROUP, f"rebalance: generation {moment.after.group().generation}")


def offsets_are_written(moment: Moment) -> Iterator[Event]:
    """The offsets are in the log."""
    (generation,) = moment.at
    yield Note(GROUP, f"writes the offsets of generation {generation}")


GENERATIONS: Final = ActionNarration(
    (*MEMBERS, GROUP, COORDINATOR),
    {
        "member_commits": member_commits,
        "coordinator_confirms": coordinator_confirms,
        "group_rebalances": group_rebalances,
        "offsets_are_written": offsets_are_written,
    },
)
