"""The steps of a transaction coordinator of the reference that stands in no world, recorded to be drawn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from model_tests.monitor.story import Story
from reference.broker.end_txn import EndTransaction
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import AddPartitions, CoordinatorAnswer, EndTxn, InitProducerId
from reference.client.producer_settings import request_versions
from reference.clock import Clock
from reference.errors import Refusal
from reference.recording.recorder import Fate, Recorder
from reference.world.coordinator_rows import known_of, memory_of
from reference.world.exchanges import exchange_rows
from reference.world.messages import CoordinatorCall, Plain, Request
from reference.world.node import TransactionRequest
from reference.world.replica_rows import node_name
from reference.world.steps import TraceSteps, sender_name
from spec.versions import Profile

COORDINATOR: Final = "coordinator"

ID: Final = "payments"
TIMEOUT_MS: Final = 60_000
"""The clients' default of `transaction.timeout.ms`."""


class CoordinatorSteps:
    """What one coordinator is asked, and what it does by itself.

    Attributes:
        story: of the run.
    """

    def __init__(self, profile: Profile, clock: Clock, clients: tuple[str, ...]) -> None:
        """Nothing has happened.

        Args:
            profile: of the coordinator.
            clock: its own.
            clients: names of those that ask it, by number.
        """
        self._recorder = Recorder(0, profile)
        self._steps = TraceSteps(self._recorder, (clock,), 1)
        self._sent = 0
        self._versions = request_versions(profile)
        self.story = Story(self._recorder, {sender_name(Plain(at)): name for at, name in enumerate(clients)})
        self.story.participants[node_name(0)] = COORDINATOR

    def initialize(
        self, coordinator: TransactionCoordinator, client: int, expected: ProducerIdentity | None = None
    ) -> ProducerIdentity:
        """InitProducerId of a client, by its number.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = InitProducerId(self._versions.init_producer_id, ID, TIMEOUT_MS, expected)
        return self._ask(coordinator, client, request, lambda: coordinator.init_producer_id(ID, TIMEOUT_MS, expected))

    def add(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        producer: ProducerIdentity,
        partition: TopicPartition,
    ) -> None:
        """AddPartitionsToTxn.

        Args:
            coordinator: that is asked.
            client: who asks, by number.
            producer: the identity in the request.
            partition: to be added.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = AddPartitions(self._versions.add_partitions, ID, producer, (partition,))

        def add() -> ProducerIdentity:
            coordinator.add_partitions(ID, producer, (partition,), self._versions.transaction_version)
            return NO_IDENTITY

        self._ask(coordinator, client, request, add)

    def end(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        producer: ProducerIdentity,
        *,
        commit: bool,
        answered: bool = True,
        again: bool = False,
    ) -> ProducerIdentity:
        """EndTxn.

        Args:
            coordinator: that is asked.
            client: who asks, by number.
            producer: the identity in the request.
            commit: else abort.
            answered: the answer arrives.
            again: it is the last request once more.

        Raises:
            Refusal: the coordinator refuses it.
        """
        request = EndTxn(self._versions.end_txn, ID, producer, commit)
        asked = EndTransaction(ID, *producer, commit, self._versions.transaction_version)
        self._sent -= again
        fate = Fate.ANSWERED if answered else Fate.ANSWER_LOST
        return self._ask(coordinator, client, request, lambda: coordinator.end_txn(asked), fate)

    def _ask(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        requested: TransactionRequest,
        act: Callable[[], ProducerIdentity],
        fate: Fate = Fate.ANSWERED,
    ) -> ProducerIdentity:
        self._sent += 1
        request = Request(self._sent, Plain(client), 0, CoordinatorCall(0, requested))
        before, answer = known_of(coordinator, requested.transactional_id), CoordinatorAnswer()
        try:
            answer = CoordinatorAnswer(identity=act())
            return answer.identity
        except Refusal as refusal:
            answer = CoordinatorAnswer(refusal.code)
            raise
        finally:
            self._steps.answered_by_coordinator(request, requested, before, coordinator, answer)
            for columns in exchange_rows(request, answer, 1):
                self._recorder.annotate(fate, requested.API, columns)

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
