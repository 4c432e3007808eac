"""The Hypothesis machines of transactions: one set of events for four stories; invariants carry the rules' names."""

from typing import Any, ClassVar, Final

from hypothesis.stateful import initialize

from model_tests.machines import transaction_runs as runs
from model_tests.machines.accounted import NUMBER, RestingMachine, made_of
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_setting import FAILOVER, INSTANCES, SHARED, WORKERS, WorldSetting
from reference.event import Event
from reference.tape import Tape
from spec import rules

TRANSACTION_RULES: Final = (
    rules.IDS_UNIQUE,
    rules.IDS_IDENTITY_NEVER_REPEATS,
    rules.FENCE_ZOMBIE_CANNOT_COMMIT,
    rules.FENCE_COORDINATOR_EPOCH,
    rules.FENCE_EPOCH_EXHAUSTION,
    rules.SEQ_SUCCESSOR,
    rules.TXN_LEGAL_TRANSITION,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_ATOMIC,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_NO_CROSSTALK,
    rules.TXN_CLIENT_VERDICT,
    rules.TXN_TIMEOUT,
    rules.TXN_COMPLETES,
    rules.TXN_FAILOVER,
    rules.TXN_EXPIRY,
    rules.OFFSETS_ATOMIC,
    rules.OFFSETS_STABLE_FETCH,
    rules.OFFSETS_GENERATION_FENCE,
    rules.LSO_READ_COMMITTED,
)
"""The rules that these machines have invariants for."""


@made_of(runs.ACTIONS, TRANSACTION_RULES)
class TransactionMachine(RestingMachine):
    """One transactional id with several instances on a network that loses, copies and delays; brokers fail.

    Attributes:
        story: the worlds that it draws.
    """

    story: ClassVar[WorldSetting] = INSTANCES

    @initialize(number=NUMBER, past=NUMBER)
    def world_begins(self, number: int, past: int) -> None:
        """A world of the story, in which something has happened."""
        self.ledger.broken.clear()
        self.world = TransactionRun(self.story.setting(Tape.of_number(number)), self.ledger)
        runs.has_a_past(self.world, self.story, past)

    def may_happen(self, event: Event[Any]) -> bool:
        """Whether an event is one of the story, and can be chosen now."""
        return event.name not in self.story.never and super().may_happen(event)

    def run_to_completion(self) -> None:
        """Everything under way comes to its end."""
        self.world.run_until_idle()


class SharedPartitionsMachine(TransactionMachine):
    """Several transactional ids over the same partitions, and ids that expire."""

    story = SHARED


class WorkersMachine(TransactionMachine):
    """Consume, transform, produce, with offsets in the transaction and workers that replace each other."""

    story = WORKERS


class FailoverMachine(TransactionMachine):
    """Coordinators that fail at every point, continue as zombies, and whose log refuses records or seems to."""

    story = FAILOVER


MACHINES: Final = (TransactionMachine, SharedPartitionsMachine, WorkersMachine, FailoverMachine)
