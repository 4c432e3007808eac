"""Applications without transactions: idempotent producers and plain ones, beside the transactional ones."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference.broker.transaction_api import IdentityAnswer
from reference.broker.transaction_metadata import TopicPartition
from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.producer import AttemptReply, IdempotentProducer
from reference.client.producer_settings import request_versions
from reference.client.record_producer import PlainProducer
from reference.clock import Clock
from reference.recording.recorder import Fate, Row
from reference.world.applications import STALE_LEADER
from reference.world.brokers import Brokers
from reference.world.history import (
    ALL,
    NO_ACKS,
    PRODUCER,
    HistoryRows,
    RecordOrigin,
    SentBatch,
    Unreported,
    identity_columns,
    values_of,
)
from reference.world.messages import Plain, Produce, Request, Response, Wires
from reference.world.replica_rows import node_name
from reference.world.steps import TraceSteps
from reference.world.transaction_shape import TransactionShape
from spec.versions import Profile
from spec.vocabulary import Api, ErrorCode


@dataclass(slots=True, eq=False)
class PlainApplication:
    """One run of an application without transactional id.

    Attributes:
        number: among all of them.
        acks: with which its batches are produced; an idempotent producer has all.
        known_leaders: node that it takes for the leader of each partition.
        records: how many it has made.
        unreported: results that it awaits.
    """

    number: int
    producer: IdempotentProducer
    acks: int
    known_leaders: dict[TopicPartition, int]
    records: int = 0
    unreported: Unreported = field(default_factory=Unreported)

    @property
    def client(self) -> str:
        """Its name in rows."""
        return f"{PRODUCER}{self.number}"

    @property
    def principal(self) -> str:
        """The name under which it is authorized."""
        return f"User:{self.client}"


class PlainApplications:
    """All of them; each method is one event.

    Attributes:
        all: by number.
        living: those that have not crashed, oldest first.
    """

    __slots__ = ("_brokers", "_clock", "_history", "_profile", "_shape", "_steps", "_wires", "all", "living")

    def __init__(
        self,
        profile: Profile,
        shape: TransactionShape,
        clock: Clock,
        wires: Wires,
        brokers: Brokers,
        history: HistoryRows,
        steps: TraceSteps,
    ) -> None:
        """None has started."""
        self._profile = profile
        self._shape = shape
        self._clock = clock
        self._wires = wires
        self._brokers = brokers
        self._history = history
        self._steps = steps
        self.all: list[PlainApplication] = []
        self.living: list[PlainApplication] = []

    # --- applications -----------------------------------------------------------------------------------------

    def start(self, *, idempotent: bool = True, acks: int = ALL) -> PlainApplication:
        """An application starts."""
        producer = (IdempotentProducer if idempotent else PlainProducer)(
            len(self._brokers.partitions),
            self._shape.delivery_timeout_ms,
            min(MAX_IN_FLIGHT, self._profile.cached_batches),
            fenced_has_code=self._profile.fenced_has_code,
        )
        leaders = {partition: self._brokers.leader_of(partition) for partition in self._brokers.partitions}
        application = PlainApplication(len(self.all), producer, acks, leaders)
        self.all.append(application)
        self.living.append(application)
        self._history.note("ClientStart", application.client, {"acks": acks})
        return application

    def crash(self, application: PlainApplication) -> None:
        """An application is gone; what it has sent is still under way."""
        self.living.remove(application)
        application.unreported.forget()
        self._history.note("ClientCrash", application.client, {})
        for request in self._wires.waiting(Plain(application.number)):
            self._wires.give_up(request)

    def send(self, application: PlainApplication, partition: TopicPartition, count: int = 1) -> SentBatch:
        """An application hands over a batch of records with values that no other record has."""
        values = values_of(application.client, -1, application.records, count)
        batch = application.producer.send(self._number(partition), count, self._clock.now, values)
        sent = SentBatch(partition, batch, first_record=application.records, acks=application.acks)
        application.records += count
        self._history.hands_over(
            application.client, application.unreported, sent, identity_columns(application.producer.identity)
        )
        return sent

    # --- producers --------------------------------------------------------------------------------------------

    def ask_for_id(self, application: PlainApplication, node: int = 0) -> IdentityAnswer:
        """A producer asks any node for a producer id, and is answered at once."""
        requested: Row = {"node": node_name(node), "client": application.client}
        self._steps.recorder.annotate(Fate.ARRIVED, Api.INIT_PRODUCER_ID, requested)
        answer = self._brokers.new_producer_id(node, application.principal)
        self._steps.identified(node, application.client, answer)
        if answer.error is ErrorCode.NONE:
            application.producer.identified(answer.identity)
        return answer

    def sendable(self) -> Iterator[tuple[PlainApplication, TopicPartition]]:
        """The partitions for which some producer can send a batch now."""
        for application in self.living:
            for number, queue in enumerate(application.producer.queues):
                if queue.waiting and application.producer.may_drain(number):
                    yield application, self._brokers.names[number]

    def produce(self, application: PlainApplication, partition: TopicPartition) -> Request:
        """A producer sends its next batch to the node that it takes for the leader."""
        attempt = application.producer.drain(self._number(partition))
        first = int(attempt.batch.values[0].rsplit(b"/", 1)[1])
        made_by = RecordOrigin(application.client, -1, first)
        version = request_versions(self._profile).produce
        body = Produce(version, "", partition, attempt, application.acks, made_by)
        request = self._wires.send(Plain(application.number), application.known_leaders[partition], body)
        if application.acks == NO_ACKS:
            self._wires.give_up(request)
            application.producer.receive(attempt, AttemptReply(ErrorCode.NONE))
            self._report(application)
        return request

    def tick(self) -> None:
        """Every producer gives up batches that took too long, and goes up an epoch if it must."""
        for application in self.living:
            application.producer.tick(self._clock.now)
            self._report(application)

    # --- what producers receive -------------------------------------------------------------------------------

    def receive(self, application: PlainApplication, response: Response) -> None:
        """A producer handles an answer."""
        match response.request.body, response.answer:
            case Produce(partition=partition, attempt=attempt), AttemptReply() as reply:
                application.producer.receive(attempt, reply)
                if reply.error in STALE_LEADER:
                    self._refresh_leader(application, partition)
        self._report(application)

    def lose(self, application: PlainApplication, request: Request) -> None:
        """A producer gives up a request, and will send it again."""
        match request.body:
            case Produce(partition=partition, attempt=attempt):
                application.producer.lose(attempt)
                self._refresh_leader(application, partition)
        self._report(application)

    # --- inside -----------------------------------------------------------------------------------------------

    def _number(self, partition: TopicPartition) -> int:
        return self._brokers.names.index(partition)

    def _refresh_leader(self, application: PlainApplication, partition: TopicPartition) -> None:
        number = self._number(partition)
        if not any(attempt.partition == number for attempt in application.producer.on_wire.values()):
            application.known_leaders[partition] = self._brokers.leader_of(partition)

    def _report(self, application: PlainApplication) -> None:
        if application.unreported.is_over and application in self.living:
            self._history.reports(
                application.client, application.unreported, identity_columns(application.producer.identity)
            )
