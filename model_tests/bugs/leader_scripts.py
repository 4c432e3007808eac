"""Counterexamples about a leader that verifies transactions."""

from typing import Final

from model_tests.bugs.scripted_clients import ScriptedClients
from model_tests.bugs.world import Diverged, GhostViolation, there
from reference.broker.transaction_metadata import BUMPS_EPOCH
from reference.network import NetworkMessage
from reference.recording.recorder import Fate
from reference.world.history import RecordOrigin
from reference.world.messages import Request
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

PRODUCER: Final = "producer"
NODE: Final = 0
"""Leads the partition."""


class OneTransaction(ScriptedClients):
    """One producer, whose transaction has begun on partition 0: under version 2 the leader adds it there later."""

    def __init__(self, profile: Profile) -> None:
        """No batch is sent."""
        super().__init__(profile, (PRODUCER,))
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
        if batch in self.sent:
            request = self.wires.send(*self.sent[batch][1:])
        else:
            request = self.produces(0, self.producer, 0, RecordOrigin(PRODUCER, ABSENT, batch))
        self.story.records[PRODUCER, batch] = f"batch {batch}"
        self.sent[batch] = request
        self._annotate(Fate.ARRIVED, request)
        self.arrives(request)

    def coordinator_confirms(self, batch: int) -> None:
        """The coordinator says yes."""
        question = self._question(batch)
        self.broker_receives(question)
        self.accepted(question.payload, self.answer(question.payload))

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
        """What the leader asks about a batch, once it is told about the other: it asks one question at a time.

        Raises:
            Diverged: it does not ask.
        """
        self.consents_arrive()
        for other, request in self.sent.items():
            if other != batch and self.question_about(request):
                self.coordinator_is_busy(other)
        return there(self.question_about(self.sent[batch]), f"the leader does not ask about batch {batch}")
