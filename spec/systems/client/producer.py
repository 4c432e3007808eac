"""The state of one producer over several partitions: its numbering, its epoch, and the leaders' state.

The system of the idempotent producer looks at one partition and leaves the raising of the epoch to chance. Here is
what makes a client raise it: a batch that a leader refuses with a fatal error. Batches drained after it can no
longer be appended, so it goes up one epoch and numbers these batches again. A batch has at most one number in an
epoch; the network is the set of all of them, and any may arrive at any time, any number of times, or never.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol import append as decision
from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.language import Function, Sort, State, Variable
from spec.systems.system_append import UNWRAPPED, Decide
from spec.versions import Profile
from spec.vocabulary import ABSENT

PARTITION: Final = Sort("partition", opaque=True)
BATCH: Final = Sort("batch")
POSITION: Final = Sort("position")
EPOCH: Final = Sort("epoch")


@dataclass(frozen=True, slots=True)
class ClientKnobs:
    """What the system is made of; the defaults are the true client.

    Attributes:
        profile: the release whose decision the leaders take.
        renumbers_others: a raised epoch numbers again what is in flight for every partition, not only for the one
            that refused (librdkafka#4953).
        idle_restart: a partition that has nothing in flight counts from 0 under a raised epoch (KAFKA-12152).
        renumbers_in_order: batches are numbered again in the order in which they were sent (KAFKA-8483).
        batches: batches for each partition in a finite instance.
        epochs: epochs in a finite instance.
    """

    profile: Profile = UNWRAPPED
    renumbers_others: bool = False
    idle_restart: bool = True
    renumbers_in_order: bool = True
    batches: int = 2
    epochs: int = 2

    def decide(self, entry: ProducerEntry, request: AppendRequest) -> Append:
        """The one append decision, with these knobs."""
        return decision.append(entry, request, self.profile)


VARIABLES: Final = (
    # the producer, and its count of each partition
    Variable("epoch", (), 0),
    Variable("refused", (), ABSENT),
    Variable("counted_under", (PARTITION,), 0),
    Variable("next_sequence", (PARTITION,), 0),
    Variable("batches", (PARTITION,), 0),
    Variable("settled", (PARTITION,), 0),
    # the network: the sequence that a batch got under an epoch
    Variable("sequence", (PARTITION, BATCH, EPOCH), ABSENT),
    # a batch that no leader takes, whatever its number
    Variable("bad", (PARTITION, BATCH), initial=False),
    # the leaders
    Variable("length", (PARTITION,), 0),
    Variable("written", (PARTITION, POSITION), ABSENT),
    Variable("entry", (PARTITION,), ProducerEntry()),
)


class ClientProducer:
    """The producer and one of its partitions in one state, and the words of the protocol about them."""

    def __init__(self, knobs: ClientKnobs, decide: Decide, state: State, partition: Term) -> None:
        self.knobs = knobs
        self.decide = decide
        self.state = state
        self.partition = partition

    def __getattr__(self, name: str) -> Function:
        return partial(getattr(self.state, name), self.partition)

    def in_flight(self, batch: Term) -> Term:
        """The batch was sent and has no answer yet; answers arrive in order."""
        return all_of(batch >= self.settled(), batch < self.batches())

    def nothing_in_flight(self) -> Term:
        """Every batch of the partition has its answer."""
        return self.settled() == self.batches()

    def current(self, batch: Term) -> Term:
        """The sequence that the batch has now."""
        return self.sequence(batch, self.counted_under())

    def request(self, batch: Term, epoch: Term) -> AppendRequest:
        """The batch as it is numbered under an epoch; each has one record."""
        return AppendRequest(
            base_offset=self.length(),
            producer_id=0,  # any other that is not negative would do
            producer_epoch=epoch,
            base_sequence=self.sequence(batch, epoch),
        )

    def decided(self, batch: Term, epoch: Term) -> Append:
        """The leader's decision on the batch as it is numbered under an epoch."""
        entry: ProducerEntry = self.entry()
        return self.decide(entry, self.request(batch, epoch))

    def arrives_in_order(self, batch: Term, epoch: Term) -> Term:
        """What a leader that does not know the producer meets first is the first of an epoch."""
        entry: ProducerEntry = self.entry()
        return any_of(entry.epoch >= 0, self.sequence(batch, epoch) == 0)

    def is_due(self, batch: Term) -> Term:
        """The lowest batch in flight, which a leader takes: nothing stands between it and the log."""
        lowest = all_of(batch == self.settled(), self.in_flight(batch))
        return all_of(lowest, negate(self.bad(batch)), self.state.refused() == ABSENT)
