"""A world of transactions whose clients send what a script says; each request may arrive again and again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple
from unittest.mock import patch

from model_tests.bugs.script import Diverged, there
from model_tests.scenarios.transaction_stage import TransactionScene, coordinator, partition_name
from model_tests.traces.schema import Row
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import PendingMarkers
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_metadata import BUMPS_EPOCH, TransactionMetadata
from reference.client.coordinator_channel import (
    AddPartitions,
    CoordinatorAnswer,
    CoordinatorRequest,
    EndTxn,
    InitProducerId,
)
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import Attempt
from reference.client.producer_settings import request_versions
from reference.client.transactional_producer import TRANSACTION_TIMEOUT_MS
from reference.errors import Refusal
from reference.log.batch import blank_batch
from reference.log.partition import Partition
from reference.network import NetworkMessage
from reference.recording.recorder import FATE, Fate
from reference.world.exchanges import api_of, exchange_rows
from reference.world.history import NOBODYS, RecordOrigin
from reference.world.messages import (
    BrokerSender,
    CoordinatorCall,
    Plain,
    Produce,
    Request,
    Response,
    Verify,
    WriteMarker,
)
from reference.world.steps import sender_name
from reference.world.transaction_shape import TransactionShape
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Timestamp

ID: Final = "payments"
SHAPE: Final = TransactionShape(topics=("orders",))
"""One topic with two partitions."""


class Outcome(NamedTuple):
    """What an answer says: an error, and the identity that it hands out, if any."""

    error: ErrorCode
    identity: ProducerIdentity


class ScriptedClients(TransactionScene):
    """Clients of one transactional id, its coordinator, and two partitions.

    Attributes:
        clients: their names, by number.
        names: the partitions, by number.
        versions: of the clients' requests.
    """

    def __init__(self, profile: Profile, clients: Sequence[str], shape: TransactionShape = SHAPE) -> None:
        """Nothing is sent."""
        super().__init__(profile, shape)
        self.clients = tuple(clients)
        self.names = self.partitions
        self.versions = request_versions(profile)
        self._refused: list[Refusal] = []
        self._sequences: dict[tuple[ProducerIdentity, int], int] = {}
        self.story.transaction = transaction_of
        self.story.participants |= {sender_name(Plain(number)): name for number, name in enumerate(clients)}

    @property
    def cast(self) -> tuple[str, ...]:
        """Clients, coordinators, partitions."""
        return (*self.clients, *map(coordinator, range(self.shape.nodes)), *map(partition_name, self.names))

    @property
    def coordinating(self) -> int:
        """The node that coordinates the id."""
        return self.brokers.log_leaders[0]

    @property
    def metadata(self) -> TransactionMetadata:
        """What its coordinator knows of the id."""
        return self.brokers.nodes[self.coordinating].transactions.states.known(ID).metadata

    def leader(self, partition: int) -> Partition:
        """The leader's replica of a partition."""
        return self.brokers.partitions[self.names[partition]].leader

    # --- what clients send ------------------------------------------------------------------------------------

    def ask(self, client: int, request: CoordinatorRequest, transaction: int = ABSENT) -> Request:
        """A client sends a request to the coordinator.

        Args:
            client: by its number.
            request: of the client.
            transaction: the client's, by its number.
        """
        return self.wires.send(Plain(client), self.coordinating, CoordinatorCall(0, request, transaction))

    def asks_for_identity(self, client: int, expected: ProducerIdentity | None = None) -> Request:
        """A client sends InitProducerId: with the identity that it has, if it resumes."""
        return self.ask(client, InitProducerId(self.versions.init_producer_id, ID, TRANSACTION_TIMEOUT_MS, expected))

    def asks_to_end(
        self, client: int, producer: ProducerIdentity, *, commit: bool, transaction: int = ABSENT
    ) -> Request:
        """A client sends EndTxn.

        Args:
            client: by its number.
            producer: the identity in the request.
            commit: else abort.
            transaction: the client's, by its number.
        """
        return self.ask(client, EndTxn(self.versions.end_txn, ID, producer, commit), transaction)

    def asks_to_add(
        self, client: int, producer: ProducerIdentity, partition: int, transaction: int = ABSENT
    ) -> Request:
        """A client sends AddPartitionsToTxn.

        Args:
            client: by its number.
            producer: the identity in the request.
            partition: by its number.
            transaction: the client's, by its number.
        """
        request = AddPartitions(self.versions.add_partitions, ID, producer, (self.names[partition],))
        return self.ask(client, request, transaction)

    def produces(
        self, client: int, producer: ProducerIdentity, partition: int, made_by: RecordOrigin = NOBODYS
    ) -> Request:
        """A client sends the next batch of an identity for a partition: one record, in a transaction.

        Args:
            client: by its number.
            producer: the identity in the batch.
            partition: by its number.
            made_by: whose record it is.
        """
        sequence = self._sequences.get((producer, partition), 0)
        self._sequences[producer, partition] = sequence + 1
        producer_id, epoch = producer
        records = blank_batch(1, producer_id=producer_id, epoch=epoch, base_sequence=sequence, transactional=True)
        attempt = Attempt(partition, 0, ProducerBatch(sequence, 1, Timestamp(0)), records)
        body = Produce(self.versions.produce, ID, self.names[partition], attempt, made_by=made_by)
        return self.wires.send(Plain(client), self.brokers.leader_of(self.names[partition]), body)

    # --- what arrives -----------------------------------------------------------------------------------------

    def arrives(self, request: Request) -> None:
        """A request arrives; a copy of it stays under way."""
        under_way = reversed(self.wires.requests.in_transit)
        self.broker_receives(next(each for each in under_way if each.payload is request), leave_copy=True)

    def answers(self, request: Request) -> list[NetworkMessage[Response]]:
        """The answers to a request that are under way, oldest first."""
        return [each for each in self.wires.replies.in_transit if each.payload.request is request]

    def answer(self, request: Request) -> Outcome:
        """What the oldest answer to a request that is under way says.

        Raises:
            Diverged: no node has answered.
        """
        message = there(next(iter(self.answers(request)), None), f"{api_of(request.body)} waits for its answer")
        columns = next(exchange_rows(*message.payload, self.shape.offsets_partitions))
        answer = message.payload.answer
        identity = answer.identity if isinstance(answer, CoordinatorAnswer) else NO_IDENTITY
        return Outcome(ErrorCode(int(columns["error"])), identity)

    def answer_arrives(self, request: Request) -> Outcome:
        """The oldest answer to a request of a client arrives, if it still waits for one; what it says.

        Raises:
            Diverged: no node has answered.
        """
        outcome, message = self.answer(request), self.answers(request)[0]
        if self.wires.deliver_reply(message, leave_copy=False) is not None:
            self._annotate(Fate.ANSWERED, *message.payload)
        return outcome

    def succeeds(self, request: Request) -> ProducerIdentity:
        """A request of a client arrives, and so does the answer; the identity in it, if there is one.

        Raises:
            Diverged: it is refused.
        """
        return self.accepted(request, self.is_answered(request))

    def is_answered(self, request: Request) -> Outcome:
        """A request arrives, its node asks the coordinator about it if it must, and the answer arrives; what it says.

        Raises:
            Diverged: no node has answered.
        """
        self.arrives(request)
        question = self.question_about(request)
        if question is not None:
            self._annotate(Fate.ARRIVED, request)
            self.broker_receives(question)
            self.consents_arrive()
        return self.answer_arrives(request)

    def accepted(self, request: Request, outcome: Outcome) -> ProducerIdentity:
        """The identity in the answer to a request, if there is one.

        Raises:
            Diverged: the answer is a refusal.
        """
        if outcome.error is not ErrorCode.NONE:
            raise Diverged(self.refusal(request, outcome))
        return outcome.identity

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """A request reaches its node; what the node refuses with is kept."""
        with noted(self._refused):
            super().broker_receives(message, leave_copy)

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """An answer reaches its node, likewise."""
        with noted(self._refused):
            super().sender_receives(message, leave_copy)

    def refusal(self, request: Request, outcome: Outcome) -> str:
        """A refusal in words: the answer to a request, with the rule and the values that decided."""
        refused = (str(each) for each in reversed(self._refused) if each.code is outcome.error)
        return f"{api_of(request.body)} is answered {next(refused, outcome.error.name)}"

    def step_of(self, request: Request) -> Row:
        """The latest step in which a node has handled a request; empty if it left none."""
        steps = (row for row in reversed(self.recorder.rows) if FATE not in row and row["message"] == request.number)
        return next(steps, {})

    # --- between nodes ----------------------------------------------------------------------------------------

    @property
    def owed(self) -> list[PendingMarkers]:
        """The transactions that the coordinator has decided and not completed."""
        return self.brokers.nodes[self.coordinating].transactions.markers.owed

    def question_about(self, request: Request) -> NetworkMessage[Request] | None:
        """What the node that has a request asks the coordinator about it, if that has not arrived yet."""
        asking = self.brokers.nodes[request.node]
        for message in self.wires.requests.in_transit:
            if any(each.request is request for each in asking.waiting_for(message.payload.number)):
                return message
        return None

    def markers(self) -> list[Request]:
        """The markers that are under way, those that have arrived before too, oldest first."""
        under_way = (each.payload for each in self.wires.requests.in_transit)
        return list({each.number: each for each in under_way if isinstance(each.body, WriteMarker)}.values())

    def joins(self, client: int, producer: ProducerIdentity, partition: int) -> tuple[Request, Outcome]:
        """A partition joins the transaction, as it does in the release: the request of the client, and the answer.

        Args:
            client: by its number.
            producer: the identity in the request.
            partition: by its number.
        """
        joins = self.asks_to_add if self.profile.transaction_version < BUMPS_EPOCH else self.produces
        request = joins(client, producer, partition)
        return request, self.is_answered(request)

    def coordinator_agrees(self, question: NetworkMessage[Request]) -> None:
        """The coordinator gets what a node asks, and agrees.

        Raises:
            Diverged: it refuses.
        """
        self.broker_receives(question)
        self.accepted(question.payload, self.answer(question.payload))

    def consents_arrive(self) -> None:
        """Leaders get all answers of coordinators to their questions, and go on with what waits for these."""
        self._arrive(Verify)

    def answers_to_markers_arrive(self) -> None:
        """Coordinators get all answers to their markers."""
        self._arrive(WriteMarker)

    def _arrive(self, asked: type[Verify | WriteMarker]) -> None:
        for message in list(self.wires.replies.in_transit):
            if isinstance(message.payload.request.body, asked):
                self.sender_receives(message)

    def coordinator_fails_over(self, partition: int = 0, node: int = 1, *, loads: bool = True) -> None:
        """Another node coordinates the id."""
        super().coordinator_fails_over(partition, node, loads=loads)

    def _lose(self, request: Request) -> None:
        """Scripted clients do nothing by themselves."""
        if isinstance(request.sender, BrokerSender):
            super()._lose(request)


@contextmanager
def noted(refused: list[Refusal]) -> Iterator[None]:
    """Whatever the reference refuses inside is added to a list: an answer has the code alone."""
    make = Refusal.__init__

    def note(refusal: Refusal, rule: Rule | None = None, /, **values: object) -> None:
        make(refusal, rule, **values)
        refused.append(refusal)

    with patch.object(Refusal, "__init__", note):
        yield


def transaction_of(row: Row) -> str:
    """The client's transaction that a request belongs to."""
    return f"of transaction {row['transaction']}" if row["transaction"] >= 0 else ""
