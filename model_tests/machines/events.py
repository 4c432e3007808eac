"""Events of producers, network and brokers beside those of a simulation."""

from collections.abc import Iterator
from typing import Final

from model_tests.machines.memory import SEQUENCES
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.streams import ProducerStream
from model_tests.machines.world import ObservedCluster, WorldSize
from reference.broker.ids import ProducerIdentity
from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.errors import Impossible
from reference.event import NO_FAULTS
from reference.log.batch import RecordBatch, blank_batch
from reference.network import NetworkMessage
from reference.simulate.scheduler import ProducerScheduler
from reference.tape import Tape
from spec.vocabulary import Sequence as SequenceNumber
from spec.vocabulary import Timestamp

LONGEST_QUEUE: Final = 5
"""Batches of a stream that wait to be sent, at most."""

LONGEST_ENDING: Final = 300
"""Events after which a world that does not come to rest is left alone."""


class StreamEvents(ObservedCluster):
    """A world whose producers have their ids, and what may happen in it next.

    Attributes:
        simulated: the same world with the events of a simulation.
    """

    def __init__(self, setting: WorldSize, ledger: Ledger) -> None:
        super().__init__(setting, ledger)
        self.simulated = ProducerScheduler(self, Tape.of_number(0), NO_FAULTS)
        self.everyone = [ProducerStream(p, n) for p in range(setting.producers) for n in range(setting.partitions)]
        for producer in range(setting.producers):
            self.producer_asks_for_id(producer)
        if setting.before_wrap > 0:
            for stream in self.everyone:
                self.has_a_past(stream, setting.before_wrap)

    def has_a_past(self, stream: ProducerStream, left: int) -> None:
        """A producer has used all sequence numbers but the last `left`, and every replica knows it."""
        self.happens(f"producer {stream.producer} had written until {left} sequences were left")
        batch = vast_batch(identity_of(self, stream), 0, SEQUENCES - left, self.clock.now)
        self.stranger_asks(stream.partition, (batch,))
        queue = self.producers[stream.producer].queues[stream.partition]
        queue.adopt(identity_of(self, stream))
        queue.next_sequence, queue.last_acked = SequenceNumber(SEQUENCES - left), SequenceNumber(SEQUENCES - left - 1)
        self.has_numbered(stream, batch)
        self.followers_catch_up(Tape.of_number(0))

    # --- producers --------------------------------------------------------------------------------------------

    def application_writes(self, choose: Tape) -> None:
        """An application hands over a batch, which its producer sends at once if it may."""
        stream, records = choose.pick(self.everyone), 1 + choose.below(3)
        self.happens("an application writes")
        producer = self.producers[stream.producer]
        if len(producer.queues[stream.partition].waiting) < LONGEST_QUEUE:
            self.application_makes(*stream, records)
        if producer.may_drain(stream.partition):
            self.producer_sends(*stream)

    def deliver_most_answers(self, choose: Tape) -> None:
        """All answers under way reach their producers, but for a few."""
        for _ in range(len(self.replies.in_transit) - choose.below(3)):
            self.happens("an answer arrives")
            self.producer_receives(self.replies.deliverable()[0])

    def delivery_times_out(self, choose: Tape) -> None:
        """So much time passes that the producers give up what is not acknowledged, or only what is older."""
        self.happens("time passes for deliveries")
        self.clock.advance(DELIVERY_TIMEOUT_MS // (1 + choose.below(2)))
        for producer in range(len(self.producers)):
            self.producer_ticks(producer)

    # --- the network ------------------------------------------------------------------------------------------

    def deliver_most_requests(self, choose: Tape) -> None:
        """All requests under way reach their nodes, but for a few."""
        for _ in range(len(self.requests.in_transit) - choose.below(3)):
            self.happens("a request arrives")
            self.broker_receives(self.requests.deliverable()[0])

    def network_redelivers(self, choose: Tape) -> None:
        """A request that was ever sent arrives once more."""
        request = choose.pick(self.sent[::-1])
        self.faults.reordered = True
        copy = NetworkMessage(-1, (request.producer, request.node), request, copy=True)
        self.requests.in_transit.append(copy)
        self.happens("a request arrives once more")
        self.broker_receives(copy)

    # --- brokers ----------------------------------------------------------------------------------------------

    def followers_catch_up(self, choose: Tape) -> None:
        """Followers copy everything, in some runs but one of them."""
        self.happens("followers catch up")
        spared = choose.below(self.setting.nodes + 1) - 1
        for place, partition in enumerate(self.partitions):
            for _ in range(LONGEST_ENDING):
                behind = [node for node in partition.behind() if node != spared]
                if not behind:
                    break
                self.follower_fetches(place, behind[0])

    # --- the end ----------------------------------------------------------------------------------------------

    def run_until_idle(self) -> Iterator[None]:
        """Without further faults and work, let everything under way come to its end, event by event."""
        first = Tape.of_number(0)
        for _ in range(LONGEST_ENDING):
            self.happens("what is under way ends")
            if not self.simulated.broker_receives(first):
                if any(partition.behind() for partition in self.partitions):
                    self.followers_catch_up(first)
                elif not (self.simulated.producer_receives(first) or self.simulated.producer_sends(first)):
                    return
            yield


def identity_of(world: ObservedCluster, stream: ProducerStream) -> ProducerIdentity:
    """Producer id and epoch of a stream's producer.

    Raises:
        Impossible: it has none yet.
    """
    identity = world.producers[stream.producer].identity
    if identity is None:
        raise Impossible(f"producer {stream.producer} has no producer id")
    return identity


def vast_batch(identity: ProducerIdentity, first: int, records: int, now: Timestamp) -> RecordBatch:
    """A batch of very many records, of which only the header exists.

    Args:
        identity: producer id and epoch.
        first: sequence of the first record.
        records: how many.
        now: milliseconds.
    """
    batch = blank_batch(1, producer_id=identity.producer_id, epoch=identity.epoch, base_sequence=first, timestamp=now)
    return batch._replace(record_count=records, last_offset_delta=records - 1)
