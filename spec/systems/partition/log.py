"""The state of one partition with transactions: its log, the replicas' producer state, and its readers.

The log is a sequence of batches; position i is the one that i batches precede. What a replica knows of a producer
is a function of how many batches it has, so that a new leader knows what its own log says. Partitions share
nothing. Of a producer only its identity is known: any of them may send anything, at any time, and any coordinator
any marker. The leader's answer is the append decision, and the last stable offset that of the protocol; nothing
of either is stated again here. What is called a ghost below is read by no decision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from spec.algebra import Term, all_of, choose, negate
from spec.protocol import append as decision
from spec.protocol import lso
from spec.protocol.append import Append
from spec.protocol.lso import LogOffsets
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.systems.language import Function, Least, Sort, State, Variable
from spec.systems.system_append import Decide
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

PARTITION: Final = Sort("partition", opaque=True)
PRODUCER: Final = Sort("producer", opaque=True)
POSITION: Final = Sort("position")
OFFSET: Final = Sort("offset")
EPOCH: Final = Sort("epoch")
COORDINATOR_EPOCH: Final = Sort("coordinator_epoch")
SEQUENCE: Final = Sort("sequence")
DELTA: Final = Sort("last_offset_delta")

CONFIRMED: Final = MetVerification(verification_guarded=True)
"""The coordinator has confirmed the partition: whatever is let in without that is let in with it."""


@dataclass(frozen=True, slots=True)
class PartitionKnobs:
    """What the system is made of; the defaults are the true system, without bounds.

    Attributes:
        profile: the release whose decision the leader takes.
        without: guards of the decision that never apply.
        last_stable: the last stable offset, from the offsets that bound the log.
        marker_ends: a marker ends the open transaction of its producer.
        clean_elections: a new leader has all that was below a high watermark.
        replays: a new leader knows of producers what replay of its log gives; otherwise nothing.
        watermark_after_start: the high watermark of a new leader is not behind the log start.
        failed_append_undone: an append that fails leaves what is known of its producer as it was.
        state_expires: the leader may forget a producer that has no open transaction.
        fails_over: leaders may fail.
        log_start_rises: records may be deleted.
        plain_data: there is data outside transactions.
        offset_commits: the group coordinator writes into transactions, without sequences.
        appends: most batches in the log of a finite instance.
    """

    profile: Profile = NEWEST
    without: frozenset[str] = frozenset()
    last_stable: Callable[[LogOffsets], Term] = lso.last_stable
    marker_ends: bool = True
    clean_elections: bool = True
    replays: bool = True
    watermark_after_start: bool = True
    failed_append_undone: bool = True
    state_expires: bool = False
    fails_over: bool = True
    log_start_rises: bool = True
    plain_data: bool = True
    offset_commits: bool = True
    appends: int | None = None

    def decide(self, entry: ProducerEntry, request: AppendRequest) -> Append:
        """The one append decision, with these knobs."""
        return decision.append(entry, request, self.profile, CONFIRMED, self.without)


VARIABLES: Final = (
    # the log: how many batches, the offset after so many of them, and whose transactions they are of
    Variable("length", (PARTITION,), 0),
    Variable("end", (PARTITION, POSITION), 0),
    Variable("data", (PARTITION, PRODUCER, POSITION), initial=False),
    Variable("marker", (PARTITION, PRODUCER, POSITION), initial=False),
    Variable("log_start", (PARTITION,), 0),
    # what a replica with so many batches knows of a producer
    Variable("entry", (PARTITION, PRODUCER, POSITION), ProducerEntry()),
    # batches below the leader's high watermark, and batches that every replica has which may be elected
    Variable("visible", (PARTITION,), 0),
    Variable("copied", (PARTITION,), 0),
    # ghosts: the batch that opened the open transaction, and the marker that decided a batch's transaction
    Variable("opened", (PARTITION, PRODUCER, POSITION), ABSENT),
    Variable("decided_by", (PARTITION, PRODUCER, POSITION), ABSENT),
    # ghosts: the greatest last stable offset that this leader returned, and the offsets that readers were given
    Variable("reported", (PARTITION,), 0),
    Variable("given", (PARTITION, OFFSET), initial=False),
    # ghosts: the epochs that were known of a producer below a high watermark
    Variable("safe_epoch", (PARTITION, PRODUCER), ABSENT),
    Variable("safe_coordinator_epoch", (PARTITION, PRODUCER), ABSENT),
)


class PartitionView:
    """One partition in one state: its functions, and the words of the protocol about them."""

    def __init__(self, knobs: PartitionKnobs, decide: Decide, state: State, partition: Term) -> None:
        self.knobs = knobs
        self.decide = decide
        self._state = state
        self._partition = partition

    def __getattr__(self, name: str) -> Function:
        return partial(getattr(self._state, name), self._partition)

    def known(self, producer: Term) -> ProducerEntry:
        """What the leader knows of a producer."""
        entry: ProducerEntry = self.entry(producer, self.length())
        return entry

    def decided(self, producer: Term, request: AppendRequest) -> Append:
        """The leader's decision on a batch."""
        return self.decide(self.known(producer), request)

    def high_watermark(self) -> Term:
        """The first offset that is not known to be replicated."""
        return self.end(self.visible())

    def is_replicated(self, marker: Term) -> Term:
        """The marker at this position is below the high watermark."""
        return lso.is_replicated(self.end(marker), self.high_watermark())

    def completed(self, producer: Term, position: Term) -> Term:
        """First offset of the transaction that a marker here ended and that is not yet replicated; -1 none."""
        ended = all_of(self.marker(producer, position), negate(self.is_replicated(position)))
        return choose(ended, self.entry(producer, position).txn_first_offset, ABSENT)

    def offsets(self) -> LogOffsets:
        """The offsets that bound the log, and its first undecided ones."""
        return LogOffsets(
            log_start=self.log_start(),
            first_ongoing=self.first_ongoing(),
            first_unreplicated=self.first_unreplicated(),
            high_watermark=self.high_watermark(),
            log_end=self.end(self.length()),
        )

    def stable(self) -> Term:
        """The last stable offset."""
        return self.knobs.last_stable(self.offsets())

    def holds(self, position: Term, offset: Term) -> Term:
        """The batch at this position has a record with this offset, which is still in the log or was."""
        return all_of(self.end(position) <= offset, offset < self.end(position + 1))

    def is_decided(self, producer: Term, position: Term, below: Term) -> Term:
        """The transaction of the producer's batch here has its marker among the first so many batches."""
        marker = self.decided_by(producer, position)
        return all_of(marker >= 0, marker < below)


def derived(knobs: PartitionKnobs, decide: Decide) -> tuple[Least, ...]:
    """First offset of the oldest open transaction, and of the oldest one whose marker is not yet replicated."""
    of = partial(PartitionView, knobs, decide)

    def ongoing(state: State, partition: Term, producer: Term) -> Term:
        return of(state, partition).known(producer).txn_first_offset

    def unreplicated(state: State, partition: Term, producer: Term, position: Term) -> Term:
        return of(state, partition).completed(producer, position)

    return (
        Least("first_ongoing", (PARTITION,), (PRODUCER,), ongoing),
        Least("first_unreplicated", (PARTITION,), (PRODUCER, POSITION), unreplicated),
    )
