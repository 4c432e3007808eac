"""The steps of a transaction coordinator of the reference that stands in no world, recorded to be drawn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from model_tests.monitor.story import Story
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.client.coordinator_channel import CoordinatorAnswer
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

Answered = TypeVar("Answered", ProducerIdentity, None)


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
        self.story = Story(self._recorder, {sender_name(Plain(at)): name for at, name in enumerate(clients)})
        self.story.participants[node_name(0)] = COORDINATOR

    def ask(
        self,
        coordinator: TransactionCoordinator,
        client: int,
        requested: TransactionRequest,
        act: Callable[[], Answered],
        *,
        answer_arrives: bool = True,
        again: bool = False,
    ) -> Answered:
        """A request, which `act` puts to the coordinator.

        Args:
            coordinator: that is asked.
            client: by number.
            requested: the request.
            act: asks, and returns the identity that is answered, if one is.
            answer_arrives: at the client.
            again: it is the last request once more.

        Raises:
            Refusal: the coordinator refuses it.
        """
        self._sent += not again
        request = Request(self._sent, Plain(client), 0, CoordinatorCall(0, requested))
        before, answer = known_of(coordinator, requested.transactional_id), CoordinatorAnswer()
        try:
            identity = act()
        except Refusal as refusal:
            answer = CoordinatorAnswer(refusal.code)
            raise
        else:
            answer = CoordinatorAnswer(identity=identity or NO_IDENTITY)
            return identity
        finally:
            self._steps.answered_by_coordinator(request, requested, before, coordinator, answer)
            for columns in exchange_rows(request, answer, 1):
                fate = Fate.ANSWERED if answer_arrives else Fate.ANSWER_LOST
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
