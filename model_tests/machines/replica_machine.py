"""The Hypothesis machine of replicas: brokers and controllers fail, and the invariants carry the rules' names."""

from typing import ClassVar

from hypothesis.stateful import initialize

from model_tests.machines.accounted import NUMBER, RestingMachine, made_of
from model_tests.machines.replica_events import ACTIONS, ReplicaRun
from model_tests.machines.replica_watch import REPLICA_RULES


@made_of(ACTIONS, REPLICA_RULES)
class ReplicaMachine(RestingMachine):
    """Producers write to brokers that replicate, while brokers, controllers, clocks and the network fail.

    Attributes:
        unclean: elections may be unclean, and disks may lose what was not flushed.
    """

    unclean: ClassVar[bool] = False

    @initialize(number=NUMBER)
    def world_begins(self, number: int) -> None:
        """Brokers that are all in sync."""
        self.ledger.broken.clear()
        self.world = ReplicaRun(number, self.ledger, unclean=self.unclean)

    def run_to_completion(self) -> None:
        """All replicas are alike."""
        self.world.run_until_idle()


class UncleanReplicaMachine(ReplicaMachine):
    """The same, where replicated records may be lost: no rule is claimed, and what is broken is known."""

    unclean = True
