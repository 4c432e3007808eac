"""Applications with transactional ids, and the producers that work for them."""

from typing import Final

from reference.broker.group_requests import NO_CLAIM, MemberClaim, OffsetAndMetadata, Offsets
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import NO_NODE, CoordinatorAnswer, PendingResult
from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.producer import AttemptReply
from reference.client.producer_settings import request_versions
from reference.client.transactional_producer import TransactionalProducer
from reference.clock import Clock
from reference.recording.recorder import Row
from reference.world.brokers import Brokers
from reference.world.history import ALL, NOBODYS, HistoryRows, SentBatch, note_of, origin_of
from reference.world.instances import ApplicationRun, ClientTransaction, SentOffsets
from reference.world.messages import Body, ClientSender, CoordinatorCall, Produce, Request, Response, Wires
from reference.world.transaction_shape import TransactionShape
from spec.versions import Profile
from spec.vocabulary import ErrorCode

STALE_LEADER: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NETWORK_EXCEPTION)
"""Answers after which a producer asks who leads."""


class Applications:
    """All applications; each method is one event.

    Attributes:
        profile: of brokers and producers.
        shape: sizes and settings.
        clock: the common time of all.
        wires: what is under way.
        brokers: the nodes.
        history: calls and results of applications, as rows.
        instances: of all transactional ids, by number.
        living: those that have not crashed, oldest first.
    """

    def __init__(
        self,
        profile: Profile,
        shape: TransactionShape,
        clock: Clock,
        wires: Wires,
        brokers: Brokers,
        history: HistoryRows,
    ) -> None:
        """No application has started."""
        self.profile = profile
        self.shape = shape
        self.clock = clock
        self.wires = wires
        self.brokers = brokers
        self.history = history
        self.instances: list[ApplicationRun] = []
        self.living: list[ApplicationRun] = []

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """The data partitions, in the order of a producer's queues."""
        return self.brokers.names

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self, transactional_id: str) -> ApplicationRun:
        """An application starts with a transactional id; others with the same id may still run."""
        producer = TransactionalProducer(
            transactional_id,
            self.partitions,
            request_versions(self.profile),
            self.shape.transaction_timeout_ms,
            self.shape.delivery_timeout_ms,
            min(MAX_IN_FLIGHT, self.profile.cached_batches),
        )
        leaders = {partition: self.brokers.leader_of(partition) for partition in self.partitions}
        instance = ApplicationRun(len(self.instances), transactional_id, producer, leaders)
        self.instances.append(instance)
        self.living.append(instance)
        self.history.note("ClientStart", instance.client, {"transactional_id": transactional_id, "acks": ALL})
        return instance

    def application_crashes(self, instance: ApplicationRun) -> None:
        """An application is gone; what it has sent is still under way, and the answers are lost."""
        if instance.alive:
            instance.alive = False
            self.living.remove(instance)
            instance.unreported.forget()
            self.history.note("ClientCrash", instance.client, {"transactional_id": instance.transactional_id})
        for request in self.wires.waiting(ClientSender(instance.number)):
            self.wires.give_up(request)

    def application_initializes(self, instance: ApplicationRun) -> PendingResult:
        """An application asks for its producer id."""
        result = instance.initialized = instance.producer.init_transactions()
        named: Row = {"transactional_id": instance.transactional_id}
        self.history.calls(instance.client, instance.unreported, "ClientInitTransactions", result, named)
        return result

    def application_begins(self, instance: ApplicationRun) -> ClientTransaction:
        """An application begins a transaction."""
        instance.producer.begin()
        identity = instance.producer.manager.identity
        instance.transactions.append(ClientTransaction(len(instance.transactions), identity))
        self.history.note("ClientBeginTransaction", instance.client, session_columns(instance))
        return instance.transaction

    def application_sends(self, instance: ApplicationRun, partition: TopicPartition, count: int = 1) -> SentBatch:
        """An application hands over a batch of records with values that no other record has."""
        number = self.partitions.index(partition)
        batch = instance.producer.send(number, count, self.clock.now, instance.next_values(count))
        sent = SentBatch(partition, batch, instance.ordinal, instance.records)
        instance.records += count
        instance.transaction.batches.append(sent)
        self.history.hands_over(instance.client, instance.unreported, sent, session_columns(instance))
        return sent

    def application_sends_offsets(
        self, instance: ApplicationRun, group: str, offsets: Offsets, claim: MemberClaim = NO_CLAIM
    ) -> PendingResult:
        """An application commits what it has read as part of the transaction.

        Args:
            instance: of the application, in a transaction.
            group: whose offsets they are.
            offsets: by partition: that of the next record to read.
            claim: as which member of which generation (KIP-447), `NO_CLAIM` before.
        """
        note = note_of(instance.client, instance.ordinal)
        offsets = {partition: committed._replace(metadata=note) for partition, committed in offsets.items()}
        result = instance.producer.send_offsets_to_transaction(group, offsets, claim)
        instance.transaction.offsets.append(SentOffsets(group, offsets, result))
        member: Row = {"group": group, "generation": claim.generation, "member": claim.member_id}
        named, parts = session_columns(instance) | member, [committed_columns(*each) for each in offsets.items()]
        self.history.calls(instance.client, instance.unreported, "ClientSendOffsets", result, named, parts)
        return result

    def application_commits(self, instance: ApplicationRun) -> PendingResult:
        """An application commits; again, while the first call is under way, changes nothing."""
        return self._ended(instance, instance.producer.commit(), commits=True)

    def application_aborts(self, instance: ApplicationRun) -> PendingResult:
        """An application aborts, likewise; also what it could not commit."""
        return self._ended(instance, instance.producer.abort(), commits=False)

    def _ended(self, instance: ApplicationRun, result: PendingResult, commits: bool) -> PendingResult:
        instance.transaction.commits = commits
        instance.transaction.result = result
        named = session_columns(instance) | ended_columns(instance.transaction) | {"committed": commits}
        self.history.calls(instance.client, instance.unreported, "ClientEndTransaction", result, named)
        self._report(instance)
        return result

    def _report(self, instance: ApplicationRun) -> None:
        """An application gets the results of its batches and calls."""
        if instance.alive and instance.unreported.is_over:
            self.history.reports(instance.client, instance.unreported, session_columns(instance))

    # --- producers --------------------------------------------------------------------------------------------

    def producer_asks(self, instance: ApplicationRun, node: int = 0) -> Request | None:
        """A producer sends its next coordinator request; one that any node can answer goes to `node`.

        Returns:
            What was sent; None if nothing need be.
        """
        outgoing = instance.producer.poll()
        self._report(instance)
        if outgoing is None:
            return None
        to = node if outgoing.node == NO_NODE else outgoing.node
        return self._send(instance, to, CoordinatorCall(outgoing.number, outgoing.request, instance.ordinal))

    def sendable(self, instance: ApplicationRun) -> list[TopicPartition]:
        """The partitions for which a batch can be sent now."""
        if not instance.alive:
            return []
        producer = instance.producer
        waiting = (number for number, queue in enumerate(producer.queues) if queue.waiting)
        return [producer.partitions[number] for number in waiting if producer.may_drain(number)]

    def producer_sends(self, instance: ApplicationRun, partition: TopicPartition) -> Request:
        """A producer sends its next batch to the node that it takes for the leader."""
        producer = instance.producer
        attempt = producer.drain(self.partitions.index(partition))
        version = producer.manager.versions.produce
        values = attempt.batch.values
        made_by = origin_of(values[0]) if values else NOBODYS
        body = Produce(version, instance.transactional_id, partition, attempt, made_by=made_by)
        return self._send(instance, instance.known_leaders[partition], body)

    def producer_ticks(self, instance: ApplicationRun) -> None:
        """A producer gives up batches that took too long, and drops what cannot be committed any more."""
        instance.producer.tick(self.clock.now)
        self._report(instance)

    def _send(self, instance: ApplicationRun, node: int, body: Body) -> Request:
        return self.wires.send(ClientSender(instance.number), node, body)

    def _principal(self, instance: int) -> str:
        return f"User:{self.instances[instance].transactional_id}"

    # --- what producers receive -------------------------------------------------------------------------------

    def client_receives(self, instance: ApplicationRun, response: Response) -> None:
        """A producer handles an answer."""
        producer = instance.producer
        match response.request.body, response.answer:
            case CoordinatorCall(number=number), CoordinatorAnswer() as answer:
                producer.answer(number, answer)
            case Produce(partition=partition, attempt=attempt), AttemptReply() as reply:
                producer.receive(attempt, reply)
                if reply.error in STALE_LEADER:
                    self._refresh_leader(instance, partition)
        self._report(instance)

    def client_loses(self, instance: ApplicationRun, request: Request) -> None:
        """A producer gives up a request, and will send it again."""
        match request.body:
            case CoordinatorCall(number=number):
                instance.producer.manager.lose(number)
            case Produce(partition=partition, attempt=attempt):
                instance.producer.lose(attempt)
                self._refresh_leader(instance, partition)
        self._report(instance)

    def _refresh_leader(self, instance: ApplicationRun, partition: TopicPartition) -> None:
        """A producer learns who leads, unless batches are still under way to the leader it knows."""
        number = self.partitions.index(partition)
        if not any(attempt.partition == number for attempt in instance.producer.on_wire.values()):
            instance.known_leaders[partition] = self.brokers.leader_of(partition)


def session_columns(instance: ApplicationRun) -> Row:
    """The transactional id, the producer's identity and the transaction, as a row of the client names them."""
    producer_id, epoch = instance.producer.manager.identity or NO_IDENTITY
    return {
        "transactional_id": instance.transactional_id,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction": instance.ordinal,
    }


def ended_columns(transaction: ClientTransaction) -> Row:
    """Of the offsets that a transaction commits the first that was sent last; nothing of one without offsets."""
    if not transaction.offsets:
        return {}
    group, offsets, _ = transaction.offsets[-1]
    first = next(iter(offsets.items()), None)
    return {} if first is None else {"group": group, **committed_columns(*first)}


def committed_columns(partition: TopicPartition, committed: OffsetAndMetadata) -> Row:
    """An offset that a group commits."""
    return {"topic": partition.topic, "partition": partition.partition, "offset": committed.offset}
