"""Counterexamples about a leader that verifies transactions, and about one that forgets producers."""

from dataclasses import replace
from typing import Final

from model_tests.bugs.script import Diverged, GhostViolation, there
from model_tests.bugs.scripted_clients import SHAPE, ScriptedClients
from model_tests.scenarios.transaction_stage import partition_name
from reference.broker.transaction_metadata import BUMPS_EPOCH
from reference.network import NetworkMessage
from reference.recording.recorder import Fate
from reference.world.history import RecordOrigin
from reference.world.messages import Request
from reference.world.transaction_shape import TransactionShape
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

PRODUCER: Final = "producer"
NODE: Final = 0
"""Leads the partition."""

TICK_MS: Final = 100
"""A tick lasts as long as producer state is kept, so that each tick expires what is idle."""


class OneTransaction(ScriptedClients):
    """One producer, whose transaction has begun on partition 0: under version 2 the leader adds it there later."""

    def __init__(self, profile: Profile, shape: TransactionShape = SHAPE) -> None:
        """No batch is sent."""
        super().__init__(profile, (PRODUCER,), shape)
        with self.story.offstage():
            self.producer = self.succeeds(self.asks_for_identity(0))
            if profile.transaction_version < BUMPS_EPOCH:
                self.succeeds(self.asks_to_add(0, self.producer, 0))


class VerifyingScript(OneTransaction):
    """A leader that asks the coordinator about the first batches of a producer that it does not know."""

    def __init__(self, profile: Profile) -> None:
        """No batch is sent."""
        super().__init__(profile)
        self.sent: dict[int, Request] = {}

    def producer_sends_batch(self, batch: int) -> None:
        """Produce arrives, maybe not for the first time, and the leader asks about the batch if it must."""
        self._sequences[self.producer, 0] = batch
        self.story.records[PRODUCER, batch] = f"batch {batch}"
        self.sent[batch] = request = self.produces(0, self.producer, 0, RecordOrigin(PRODUCER, ABSENT, batch))
        self._annotate(Fate.ARRIVED, request)
        self.arrives(request)

    def coordinator_confirms(self, batch: int) -> None:
        """The coordinator says yes."""
        self.coordinator_agrees(self._question(batch))

    def coordinator_is_busy(self, batch: int) -> None:
        """The coordinator has not read its log when the question arrives, and the batch is answered with an error."""
        question = self._question(batch)
        self.coordinator_fails_over(0, self.coordinating, loads=False)
        self.broker_receives(question)
        self.consents_arrive()
        self.answer_arrives(self.sent[batch])
        self.coordinator_loads(0)

    def leader_appends(self, batch: int) -> None:
        """The batch is appended.

        Raises:
            Diverged: the batch is refused, or waits for the coordinator.
        """
        self.consents_arrive()
        self.accepted(self.sent[batch], self.answer_arrives(self.sent[batch]))

    def leader_refuses(self, batch: int) -> None:
        """The batch is refused, and will be sent again.

        Raises:
            Diverged: the batch is appended, or waits for the coordinator.
        """
        self.consents_arrive()
        if self.answer_arrives(self.sent[batch]).error is ErrorCode.NONE:
            raise Diverged(f"the leader appends batch {batch}")

    def broken(self) -> GhostViolation | None:
        """A batch is in the log before an earlier one."""
        logged = self._logged()
        if logged == list(range(len(logged))):
            return None
        return GhostViolation(rules.SEQ_ORDER, f"the log begins with batch {logged[0]}: {logged}")

    def instead(self) -> str:
        """The batches in the log."""
        return f"the log holds the batches {self._logged()}"

    def _logged(self) -> list[int]:
        return [batch.base_sequence for batch in self.leader(0).log]

    def _question(self, batch: int) -> NetworkMessage[Request]:
        """What the leader asks about a batch, once the other batch is answered: it asks one question at a time.

        Raises:
            Diverged: it does not ask.
        """
        self.consents_arrive()
        for other, request in self.sent.items():
            if other != batch and self.question_about(request):
                self.coordinator_is_busy(other)
        return there(self.question_about(self.sent[batch]), f"the leader does not ask about batch {batch}")


class ExpiryScript(OneTransaction):
    """A leader that forgets an idle producer after one tick of the clock, and the markers of two coordinators."""

    def __init__(self, profile: Profile) -> None:
        """No batch is sent."""
        super().__init__(profile, replace(SHAPE, producer_expiration_ms=TICK_MS))
        self.sent: list[Request] = []

    def producer_appends(self) -> None:
        """One batch opens the transaction."""
        self.succeeds(self.produces(0, self.producer, 0))

    def clock_ticks(self) -> None:
        """Time passes."""
        self.clock.advance(TICK_MS)
        self.story.remark(partition_name(self.names[0]), f"the time is {self.clock.now} ms")

    def coordinator_writes_marker(self, coordinator: int) -> None:
        """A marker of one of the two coordinators arrives; both have sent theirs when the first one does.

        Args:
            coordinator: by its epoch.

        Raises:
            Diverged: the marker is refused.
        """
        if not self.sent:
            self._transaction_ends()
        self.arrives(self.sent[coordinator])
        self.accepted(self.sent[coordinator], self.answer(self.sent[coordinator]))

    def _transaction_ends(self) -> None:
        """The coordinator that decides is replaced while its marker is under way, and its successor sends its own."""
        self.succeeds(self.asks_to_end(0, self.producer, commit=True))
        for node in range(self.shape.nodes):
            if self.coordinating != node:
                self.coordinator_fails_over(0, node)
            self.coordinator_sends_markers(node)
            self.sent += self.markers()[node:]
            self._annotate(Fate.SENT, self.sent[node])

    def leader_forgets(self) -> None:
        """The leader looks for producers that have expired.

        Raises:
            Diverged: this one has not.
        """
        newest = self.leader(0).state.entry(self.producer.producer_id).last_timestamp
        self.story.remark(partition_name(self.names[0]), f"the producer's last timestamp is {newest} ms")
        self.producer_state_expires(NODE)
        if self.producer.producer_id in self.leader(0).state.producers:
            age = self.clock.now - newest
            raise Diverged(f"the producer is not forgotten: its marker makes it {age} ms old, and counts")

    def broken(self) -> GhostViolation | None:
        """A marker of an older coordinator after one of a newer."""
        if sorted(self._marked()) == self._marked():
            return None
        return GhostViolation(rules.FENCE_COORDINATOR_EPOCH, self.instead())

    def instead(self) -> str:
        """The markers in the log."""
        return f"the log's markers are of the coordinators {self._marked()}"

    def _marked(self) -> list[int]:
        markers = (batch.marker() for batch in self.leader(0).log if batch.is_control)
        return [marker.coordinator_epoch for marker in markers if marker is not None]
