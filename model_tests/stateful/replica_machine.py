"""The Hypothesis machine of replicas: brokers and controllers fail, and the invariants carry the rules' names."""

from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from model_tests.stateful.ledger import Broken, Ledger
from model_tests.stateful.replica_events import NUMBERS, ReplicaRun
from spec import rules
from spec.rules import Rule

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


class ReplicaMachine(RuleBasedStateMachine):
    """Producers write to brokers that replicate, while brokers, controllers, clocks and the network fail.

    Attributes:
        ledger: the account of all runs of this machine; a run of the part makes a class with one of its own.
        unclean: elections may be unclean, and disks may lose what was not flushed.
    """

    ledger: ClassVar[Ledger] = Ledger()
    unclean: ClassVar[bool] = False

    @initialize(number=NUMBER)
    def world_begins(self, number: int) -> None:
        """Brokers that are all in sync."""
        self.ledger.broken.clear()
        self.run = ReplicaRun(number, self.ledger, unclean=self.unclean)

    def teardown(self) -> None:
        """The world comes to rest, and all replicas are alike."""
        if not hasattr(self, "run") or self.ledger.broken:
            return
        self.run.comes_to_rest()
        if self.ledger.broken:
            raise Broken(self.ledger.broken[0])

    # --- what may happen --------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def everything_goes_on(self, number: int) -> None:
        """For some turns nothing goes wrong."""
        self.run.happens("everything_goes_on", number)

    @rule(number=NUMBER)
    def application_sends(self, number: int) -> None:
        """A batch is handed over."""
        self.run.happens("application_sends", number)

    @rule(number=NUMBER)
    def producer_sends(self, number: int) -> None:
        """A batch is sent."""
        self.run.happens("producer_sends", number)

    @rule(number=NUMBER)
    def message_arrives(self, number: int) -> None:
        """A message arrives."""
        self.run.happens("message_arrives", number)

    @rule(number=NUMBER)
    def follower_fetches(self, number: int) -> None:
        """A follower asks its leader."""
        self.run.happens("follower_fetches", number)

    @rule(number=NUMBER)
    def time_passes(self, number: int) -> None:
        """Timers fire."""
        self.run.happens("time_passes", number)

    @rule(number=NUMBER)
    def broker_is_back(self, number: int) -> None:
        """A broker starts, or goes on."""
        self.run.happens("broker_is_back", number)

    @rule(number=NUMBER)
    def network_fails(self, number: int) -> None:
        """Messages are lost."""
        self.run.happens("network_fails", number)

    @rule(number=NUMBER)
    def broker_crashes(self, number: int) -> None:
        """A broker is killed."""
        self.run.happens("broker_crashes", number)

    @rule(number=NUMBER)
    def broker_pauses(self, number: int) -> None:
        """A broker stands still, and may be a zombie when it goes on."""
        self.run.happens("broker_pauses", number)

    @rule(number=NUMBER)
    def broker_begins_shutdown(self, number: int) -> None:
        """A broker is told to shut down."""
        self.run.happens("broker_begins_shutdown", number)

    @rule(number=NUMBER)
    def controller_is_elected(self, number: int) -> None:
        """Another controller."""
        self.run.happens("controller_is_elected", number)

    @rule(number=NUMBER)
    def preferred_leader_is_elected(self, number: int) -> None:
        """A partition gets its preferred leader back."""
        self.run.happens("preferred_leader_is_elected", number)

    @rule(number=NUMBER)
    def clock_drifts(self, number: int) -> None:
        """A broker's clock is set."""
        self.run.happens("clock_drifts", number)

    @rule(number=NUMBER)
    def leader_deletes_records(self, number: int) -> None:
        """Replicated records are deleted."""
        self.run.happens("leader_deletes_records", number)

    # --- what must hold ---------------------------------------------------------------------------------------

    def holds(self, broken: Rule) -> None:
        """The invariants of a rule have seen nothing wrong in the events so far."""
        violation = self.ledger.seen_by_invariants(broken)
        if violation is not None:
            raise Broken(violation)

    @invariant()
    def repl_hw_bounds(self) -> None:
        """A high watermark is within the log of each in-sync replica, and never falls on a leader."""
        self.holds(rules.REPL_HW_BOUNDS)

    @invariant()
    def repl_committed_survives(self) -> None:
        """Whoever leads has all that was ever below a high watermark."""
        self.holds(rules.REPL_COMMITTED_SURVIVES)

    @invariant()
    def repl_prefix_agreement(self) -> None:
        """Nobody has another batch below its high watermark than was below one before."""
        self.holds(rules.REPL_PREFIX_AGREEMENT)


class UncleanReplicaMachine(ReplicaMachine):
    """The same, where replicated records may be lost: no rule is claimed, and what is broken is known."""

    unclean = True
