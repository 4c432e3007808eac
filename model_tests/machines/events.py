"""The events of producers, network and brokers."""

from collections.abc import Iterator
from typing import Final

from model_tests.machines.memory import SEQUENCES
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.streams import ProducerStream
from model_tests.machines.world import ObservedCluster, WorldSize
from reference.broker.ids import ProducerIdentity
from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.errors import Impossible
from reference.log.batch import RecordBatch, blank_batch
from reference.network import NetworkMessage
from reference.simulate.cluster import SentProduce, SentReply
from reference.tape import Tape
from spec.vocabulary import Sequence as SequenceNumber
from spec.vocabulary import Timestamp

LONGEST_QUEUE: Final = 5
"""Batches of a stream that wait to be sent, at most."""

LONGEST_ENDING: Final = 300
"""Events after which a world that does not come to rest is left alone."""


class StreamEvents(ObservedCluster):
    """A world whose producers have their ids, and what may happen in it next."""

    def __init__(self, setting: WorldSize, ledger: Ledger) -> None:
        super().__init__(setting, ledger)
        self.everyone = [ProducerStream(p, n) for p in range(setting.producers) for n in range(setting.partitions)]
        for producer in range(setting.producers):
            self.cluster.producer_asks_for_id(producer)
        if setting.before_wrap > 0:
            for stream in self.everyone:
                self.has_a_past(stream, setting.before_wrap)

    def has_a_past(self, stream: ProducerStream, left: int) -> None:
        """A producer has used all sequence numbers but the last `left`, and every replica knows it."""
        self.happens(f"producer {stream.producer} had written until {left} sequences were left")
        batch = vast_batch(identity_of(self, stream), 0, SEQUENCES - left, self.cluster.clock.now)
        self.asks_directly(stream.partition, (batch,))
        queue = self.cluster.producers[stream.producer].queues[stream.partition]
        queue.adopt(identity_of(self, stream))
        queue.next_sequence, queue.last_acked = SequenceNumber(SEQUENCES - left), SequenceNumber(SEQUENCES - left - 1)
        self.has_numbered(stream, batch)
        self.followers_catch_up(Tape.of_number(0))

    def asks_directly(self, partition: int, batches: tuple[RecordBatch, ...]) -> None:
        """Ask the leader of a partition to append, over no network."""
        leader = self.partitions[partition].leader_node
        self.watch(partition, leader, batches, lambda: self.cluster.stranger_asks(partition, batches))

    # --- producers --------------------------------------------------------------------------------------------

    def application_sends(self, choose: Tape) -> None:
        """An application hands over a batch, which its producer sends at once if it may."""
        stream, records = choose.pick(self.everyone), 1 + choose.below(3)
        self.happens(f"producer {stream.producer} sends {records} records to partition {stream.partition}")
        producer = self.cluster.producers[stream.producer]
        if len(producer.queues[stream.partition].waiting) < LONGEST_QUEUE:
            self.hands_over(stream, records)
        if producer.may_drain(stream.partition):
            self.sends(stream)

    def producer_sends(self, choose: Tape) -> None:
        """A producer sends a batch that waits, new or to be sent again."""
        stream = ProducerStream(*choose.pick(self.cluster.sendable()))
        self.happens(f"producer {stream.producer} sends what waits for partition {stream.partition}")
        self.sends(stream)

    def producer_receives_answer(self, choose: Tape) -> None:
        """An answer reaches its producer."""
        self.receive(choose.pick(self.cluster.replies.deliverable()))

    def receive(self, message: NetworkMessage[SentReply]) -> None:
        """This answer reaches its producer."""
        request, reply = message.payload
        self.happens(f"producer {request.producer} gets {reply.error.name} at {reply.offset}")
        self.cluster.producer_receives(message)

    def deliver_most_answers(self, choose: Tape) -> None:
        """All answers under way reach their producers, but for a few."""
        for _ in range(len(self.cluster.replies.in_transit) - choose.below(3)):
            self.receive(self.cluster.replies.deliverable()[0])

    def delivery_times_out(self, choose: Tape) -> None:
        """So much time passes that the producers give up what is not acknowledged, or only what is older."""
        self.happens("time passes for deliveries")
        self.cluster.clock.advance(DELIVERY_TIMEOUT_MS // (1 + choose.below(2)))
        for producer in range(len(self.cluster.producers)):
            self.cluster.producer_ticks(producer)

    # --- the network ------------------------------------------------------------------------------------------

    def network_delivers(self, choose: Tape) -> None:
        """A request reaches its node."""
        self.delivers(choose.pick(self.cluster.requests.deliverable()))

    def deliver_most_requests(self, choose: Tape) -> None:
        """All requests under way reach their nodes, but for a few."""
        for _ in range(len(self.cluster.requests.in_transit) - choose.below(3)):
            self.delivers(self.cluster.requests.deliverable()[0])

    def delivers(self, message: NetworkMessage[SentProduce]) -> None:
        """This request reaches its node."""
        request = message.payload
        partition, records = request.attempt.partition, request.attempt.records
        copy = "a copy of " if message.copy else ""
        self.happens(
            f"broker {request.node} receives {copy}(producer {request.producer}, epoch {records.producer_epoch}, "
            f"sequence {records.base_sequence})"
        )
        self.watch(partition, request.node, (records,), lambda: self.cluster.broker_receives(message))

    def network_redelivers(self, choose: Tape) -> None:
        """A request that was ever sent arrives once more."""
        request = choose.pick(self.sent[::-1])
        self.faults.reordered = True
        copy = NetworkMessage(-1, (request.producer, request.node), request, copy=True)
        self.cluster.requests.in_transit.append(copy)
        self.delivers(copy)

    def network_loses(self, choose: Tape) -> None:
        """A connection breaks; where there are none, a request or an answer is lost."""
        if self.setting.ordered:
            self.connection_breaks(choose)
            return
        answer = choose.below(2) == 1
        if self.cluster.replies.in_transit and answer:
            self.happens("an answer is lost")
            self.cluster.reply_is_lost(choose.pick(self.cluster.replies.in_transit))
        elif self.cluster.requests.in_transit:
            self.happens("a request is lost")
            self.cluster.request_is_lost(choose.pick(self.cluster.requests.in_transit))

    def connection_breaks(self, choose: Tape) -> None:
        """A connection breaks: some of its requests still arrive, no answer does."""
        producer = choose.below(self.setting.producers)
        under_way = [node for node in range(self.setting.nodes) if self.cluster.on_wire(producer, node)]
        node = choose.pick(under_way or [0])
        arriving = choose.below(1 + len(self.cluster.requests.of_channel((producer, node))))
        self.happens(f"the connection of producer {producer} to broker {node} breaks")
        self.cluster.connection_breaks(producer, node, arriving)

    # --- brokers ----------------------------------------------------------------------------------------------

    def follower_fetches(self, choose: Tape) -> None:
        """A follower copies a batch."""
        behind = [(place, node) for place, partition in enumerate(self.partitions) for node in partition.behind()]
        partition, node = choose.pick(behind)
        self.happens(f"broker {node} fetches partition {partition}")
        self.followers_copy(partition, node)

    def followers_catch_up(self, choose: Tape) -> None:
        """Followers copy everything, in some runs but one of them."""
        self.happens("followers catch up")
        spared = choose.below(self.setting.nodes + 1) - 1
        for place, partition in enumerate(self.partitions):
            for _ in range(LONGEST_ENDING):
                behind = [node for node in partition.behind() if node != spared]
                if not behind:
                    break
                self.followers_copy(place, behind[0])

    def leader_fails_over(self, choose: Tape) -> None:
        """A follower in sync becomes leader."""
        partition = choose.below(self.setting.partitions)
        candidates = self.partitions[partition].candidates()
        if candidates:
            node = choose.pick(candidates)
            self.happens(f"broker {node} becomes leader of partition {partition}")
            self.changes_leaders(lambda: self.cluster.leader_fails_over(partition, node))

    def broker_restarts(self, choose: Tape) -> None:
        """A node goes down and comes back from disk."""
        node = choose.below(self.setting.nodes)
        self.happens(f"broker {node} restarts")
        self.restarts(node)

    def producer_state_expires(self, choose: Tape) -> None:
        """A day passes, and a node forgets the producers that were silent."""
        node = choose.below(self.setting.nodes)
        self.happens(f"broker {node} forgets silent producers")
        self.expires(node)

    # --- the end ----------------------------------------------------------------------------------------------

    def run_until_idle(self) -> Iterator[None]:
        """Without further faults and work, let everything under way come to its end, event by event."""
        for _ in range(LONGEST_ENDING):
            if self.cluster.requests.in_transit:
                self.delivers(self.cluster.requests.deliverable()[0])
            elif any(partition.behind() for partition in self.partitions):
                self.followers_catch_up(Tape.of_number(0))
            elif self.cluster.replies.in_transit:
                self.receive(self.cluster.replies.deliverable()[0])
            elif self.cluster.sendable():
                self.producer_sends(Tape.of_number(0))
            else:
                return
            yield


def identity_of(world: ObservedCluster, stream: ProducerStream) -> ProducerIdentity:
    """Producer id and epoch of a stream's producer.

    Raises:
        Impossible: it has none yet.
    """
    identity = world.cluster.producers[stream.producer].identity
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
