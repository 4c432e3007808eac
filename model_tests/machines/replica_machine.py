"""The Hypothesis machine of replicas: brokers and controllers fail, and the invariants carry the rules' names."""

from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from model_tests.machines.accounted import RestingMachine
from model_tests.machines.replica_events import NUMBERS, ReplicaRun
from spec import rules

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


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

    def comes_to_its_end(self) -> None:
        """All replicas are alike."""
        self.world.comes_to_rest()

    # --- what may happen --------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def nothing_goes_wrong(self, number: int) -> None:
        """For some turns nothing goes wrong."""
        self.world.happens("everything_goes_on", number)

    @rule(number=NUMBER)
    def application_sends(self, number: int) -> None:
        """A batch is handed over."""
        self.world.happens("application_sends", number)

    @rule(number=NUMBER)
    def producer_sends(self, number: int) -> None:
        """A batch is sent."""
        self.world.happens("producer_sends", number)

    @rule(number=NUMBER)
    def message_arrives(self, number: int) -> None:
        """A message arrives."""
        self.world.happens("message_arrives", number)

    @rule(number=NUMBER)
    def follower_fetches(self, number: int) -> None:
        """A follower asks its leader."""
        self.world.happens("follower_fetches", number)

    @rule(number=NUMBER)
    def time_passes(self, number: int) -> None:
        """Timers fire."""
        self.world.happens("time_passes", number)

    @rule(number=NUMBER)
    def broker_is_back(self, number: int) -> None:
        """A broker starts, or continues."""
        self.world.happens("broker_is_back", number)

    @rule(number=NUMBER)
    def network_fails(self, number: int) -> None:
        """Messages are lost."""
        self.world.happens("network_fails", number)

    @rule(number=NUMBER)
    def broker_crashes(self, number: int) -> None:
        """A broker is killed."""
        self.world.happens("broker_crashes", number)

    @rule(number=NUMBER)
    def broker_pauses(self, number: int) -> None:
        """A broker is paused, and may be a zombie when it continues."""
        self.world.happens("broker_pauses", number)

    @rule(number=NUMBER)
    def broker_begins_shutdown(self, number: int) -> None:
        """A broker gets the order to shut down."""
        self.world.happens("broker_begins_shutdown", number)

    @rule(number=NUMBER)
    def controller_is_elected(self, number: int) -> None:
        """Another controller."""
        self.world.happens("controller_is_elected", number)

    @rule(number=NUMBER)
    def preferred_leader_is_elected(self, number: int) -> None:
        """A partition gets its preferred leader back."""
        self.world.happens("preferred_leader_is_elected", number)

    @rule(number=NUMBER)
    def clock_drifts(self, number: int) -> None:
        """A broker's clock is set."""
        self.world.happens("clock_drifts", number)

    @rule(number=NUMBER)
    def leader_deletes_records(self, number: int) -> None:
        """Replicated records are deleted."""
        self.world.happens("leader_deletes_records", number)

    # --- what must hold ---------------------------------------------------------------------------------------

    @invariant()
    def repl_hw_bounds(self) -> None:
        """A high watermark is within the log of each in-sync replica, and never falls on a leader."""
        self.holds(rules.REPL_HW_BOUNDS)

    @invariant()
    def repl_committed_survives(self) -> None:
        """Every leader has all that was ever below a high watermark."""
        self.holds(rules.REPL_COMMITTED_SURVIVES)

    @invariant()
    def repl_prefix_agreement(self) -> None:
        """No replica has another batch below its high watermark than was below one before."""
        self.holds(rules.REPL_PREFIX_AGREEMENT)


class UncleanReplicaMachine(ReplicaMachine):
    """The same, where replicated records may be lost: no rule is claimed, and what is broken is known."""

    unclean = True
