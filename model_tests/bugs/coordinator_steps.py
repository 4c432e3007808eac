"""The steps of a transaction coordinator and of leaders of the reference that stand in no world, recorded to be drawn.

Requests with the same `sending` are copies of one; None is a request of its own.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from model_tests.monitor.story import Story
from reference.broker.coordinator_errors import TransactionAbortable
from reference.broker.end_txn import EndTransaction
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import AddPartitions, CoordinatorAnswer, EndTxn, InitProducerId
from reference.client.producer_settings import request_versions
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.partition import Partition
from reference.recording.recorder import Fate, Recorder, observe
from reference.world.coordinator_rows import known_of, memory_of
from reference.world.exchanges import api_of, exchange_rows
from reference.world.messages import (
    Answer,
    Body,
    BrokerSender,
    CoordinatorCall,
    MarkerAnswer,
    Plain,
    Request,
    Sender,
    Verified,
    Verify,
    WriteMarker,
)
from reference.world.node import TransactionRequest
from reference.world.replica_rows import node_name
from reference.world.steps import TraceSteps, sender_name
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

COORDINATOR: Final = "coordinator"

ID: Final = "payments"
TIMEOUT_MS: Final = 60_000
"""The clients' default of `transaction.timeout.ms`."""

MARKERS_VERSION: Final = 2  # the newest version of WriteTxnMarkers


class CoordinatorSteps:
    """What one coordinator is asked, what it does by itself, and the markers that leaders write.

    The coordinator is node 0, and the leader of partition p node 1 + p.

    Attributes:
        story: of the run.
    """

    def __init__(self, profile: Profile, clock: Clock, clients: Sequence[str], leaders: Sequence[str] = ()) -> None:
        """Nothing has happened.

        Args:
            profile: of the nodes.
            clock: of all of them.
            clients: names of those that ask, by number.
            leaders: names of the leaders, by the number of their partition.
        """
        self._clock = clock
        self._recorder = Recorder(0, profile)
        self._steps = TraceSteps(self._recorder, (clock,) * (1 + len(leaders)), 1)
        self._numbers: dict[Hashable, int] = {}
        self._versions = request_versions(profile)
        self.story = Story(self._recorder, {sender_name(Plain(at)): name for at, name in enumerate(clients)})
        self.story.participants |= {node_name(at): name for at, name in enumerate((COORDINATOR, *leaders))}

    def message(self, sending: Hashable = None) -> int:
        """The number of a request."""
        return self._numbers.setdefault(object() if sending is None else sending, 1 + len(self._numbers))

    def initialize(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        expected: ProducerIdentity | None = None,
        sending: Hashable = None,
    ) -> ProducerIdentity:
        """InitProducerId of a client.

        Args:
            coordinator: that is asked.
            client: who asks, by number.
            expected: the identity in the request, None if it has none.
            sending: of which the request is a copy.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = InitProducerId(self._versions.init_producer_id, ID, TIMEOUT_MS, expected)
        asked = self._request(Plain(client), 0, CoordinatorCall(0, request), sending)
        return self._ask(coordinator, asked, request, lambda: coordinator.init_producer_id(ID, TIMEOUT_MS, expected))

    def add(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        producer: ProducerIdentity,
        partition: TopicPartition,
        sending: Hashable = None,
    ) -> None:
        """AddPartitionsToTxn of a client.

        Args:
            coordinator: that is asked.
            client: who asks, by number.
            producer: the identity in the request.
            partition: to be added.
            sending: of which the request is a copy.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = AddPartitions(self._versions.add_partitions, ID, producer, (partition,))

        def add() -> ProducerIdentity:
            coordinator.add_partitions(ID, producer, (partition,), self._versions.transaction_version)
            return NO_IDENTITY

        self._ask(coordinator, self._request(Plain(client), 0, CoordinatorCall(0, request), sending), request, add)

    def end(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        producer: ProducerIdentity,
        *,
        commit: bool,
        answered: bool = True,
        sending: Hashable = None,
    ) -> ProducerIdentity:
        """EndTxn.

        Args:
            coordinator: that is asked.
            client: who asks, by number.
            producer: the identity in the request.
            commit: else abort.
            answered: the answer arrives.
            sending: of which the request is a copy.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = EndTxn(self._versions.end_txn, ID, producer, commit)
        requested = EndTransaction(ID, *producer, commit, self._versions.transaction_version)
        fate = Fate.ANSWERED if answered else Fate.ANSWER_LOST
        asked = self._request(Plain(client), 0, CoordinatorCall(0, request), sending)
        return self._ask(coordinator, asked, request, lambda: coordinator.end_txn(requested), fate)

    def verify(self, coordinator: TransactionCoordinator, question: Verify) -> None:
        """AddPartitionsToTxn of the leader of a partition, for a batch that waits there.

        Args:
            coordinator: that is asked.
            question: whose transaction, and whether the partition is added to it.

        Raises:
            TransactionAbortable: the partition is not in the transaction, and is not to be added.
            Refusal: the coordinator refuses it.
        """
        request = self._request(BrokerSender(1 + question.partition.partition), 0, question)
        before, answer = known_of(coordinator, ID), Verified({})
        try:
            self._answer(coordinator, question)
        except Refusal as refusal:
            answer = Verified({}, refusal)
            raise
        finally:
            error = ErrorCode.NONE if answer.refusal is None else answer.refusal.code
            self._steps.verified(request, question, before, coordinator, error)
            self._annotate(Fate.ANSWERED, request, answer)

    def _answer(self, coordinator: TransactionCoordinator, question: Verify) -> None:
        asked = (ID, question.producer, (question.partition,))
        if question.adds:
            coordinator.add_partitions(*asked, self._versions.transaction_version)
        elif coordinator.verify_partitions(*asked)[question.partition] is not ErrorCode.NONE:
            raise TransactionAbortable(partition=question.partition)

    def write_marker(
        self, partition: TopicPartition, leader: Partition, marker: TxnMarker, sending: Hashable = None
    ) -> None:
        """WriteTxnMarkers of one marker, and its answer.

        Args:
            partition: where it goes.
            leader: its leader's log.
            marker: as a coordinator sends it.
            sending: of which the request is a copy.

        Raises:
            Refusal: the leader refuses it.
        """
        requested = WriteMarker(MARKERS_VERSION, partition, marker)
        request = self._request(BrokerSender(0), 1 + partition.partition, requested, sending)
        before, error, last = observe(leader, marker.producer_id), ErrorCode.NONE, ABSENT
        try:
            last = write_marker(leader, marker, MARKERS_VERSION, self._clock.now).last_offset
        except Refusal as refusal:
            error = refusal.code
            raise
        finally:
            self._steps.marked(request, requested, leader, before, error, last)
            self._annotate(Fate.ANSWERED, request, MarkerAnswer(error))

    def _ask(
        self,
        coordinator: TransactionCoordinator,
        request: Request,
        requested: TransactionRequest,
        act: Callable[[], ProducerIdentity],
        fate: Fate = Fate.ANSWERED,
    ) -> ProducerIdentity:
        before, answer = known_of(coordinator, requested.transactional_id), CoordinatorAnswer()
        try:
            answer = CoordinatorAnswer(identity=act())
            return answer.identity
        except Refusal as refusal:
            answer = CoordinatorAnswer(refusal.code)
            raise
        finally:
            self._steps.answered_by_coordinator(request, requested, before, coordinator, answer)
            self._annotate(fate, request, answer)

    def _request(self, sender: Sender, node: int, body: Body, sending: Hashable = None) -> Request:
        return Request(self.message(sending), sender, node, body)

    def _annotate(self, fate: Fate, request: Request, answer: Answer) -> None:
        for columns in exchange_rows(request, answer, 1):
            self._recorder.annotate(fate, api_of(request.body), columns)

    @contextmanager
    def by_itself(self, coordinator: TransactionCoordinator, api: str) -> Iterator[None]:
        """What the coordinator does inside, without being asked."""
        before = memory_of(coordinator)
        yield
        self._steps.changed(api, 0, before, coordinator)

    def loads(self, coordinator: TransactionCoordinator) -> None:
        """A coordinator that is elected has read its log."""
        self._steps.changed("CoordinatorLoad", 0, {}, coordinator)

    def lower_version(self, version: int) -> None:
        """Another transaction version is in force from now on."""
        self.story.remark(COORDINATOR, f"the cluster's transaction.version is lowered to {version}")
        self._recorder.rename = lambda row: row.update(transaction_version=version)
