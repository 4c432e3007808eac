"""The Hypothesis machine of the idempotent append; its invariants carry the rules' names."""

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from model_tests.machines import actions
from model_tests.machines.accounted import AccountedMachine
from model_tests.machines.strangers import Strangers
from model_tests.machines.tape_runs import NUMBERS, SETTINGS
from model_tests.machines.world import WorldSize
from spec import rules

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""

SETTING: Final = st.builds(
    WorldSize,
    profile=st.sampled_from(SETTINGS),
    nodes=st.sampled_from((2, 3, 1)),
    partitions=st.integers(1, 2),
    producers=st.integers(1, 2),
    ordered=st.sampled_from((True, True, False)),
    before_wrap=st.sampled_from((-1, 3, 8)),
)


def when(ready: Callable[[Strangers], bool]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The rule applies while this is so of the machine's world."""
    return precondition(lambda machine: ready(machine.world))


class IdempotenceMachine(AccountedMachine):
    """Idempotent producers, strangers and zombies on a lossy network, leaders and followers that fail and return."""

    @initialize(setting=SETTING)
    def world_begins(self, setting: WorldSize) -> None:
        """A world of some size and version."""
        self.ledger.broken.clear()
        self.world = Strangers(setting, self.ledger)

    def teardown(self) -> None:
        """Everything under way comes to its end, and the rules still hold."""
        if not hasattr(self, "world") or self.ledger.broken:
            return
        for _ in self.world.comes_to_rest():
            self.world.look_at_logs()
            self.nothing_is_broken()

    # --- producers and network --------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def application_sends(self, number: int) -> None:
        """A batch is handed over, and sent if that may be."""
        self.world.application_sends(number)

    @when(actions.something_waits)
    @rule(number=NUMBER)
    def producer_sends(self, number: int) -> None:
        """A waiting batch is sent, for the first time or again."""
        self.world.producer_sends(number)

    @when(actions.answers_are_under_way)
    @rule(number=NUMBER)
    def producer_hears(self, number: int) -> None:
        """An answer arrives."""
        self.world.producer_hears(number)

    @when(actions.answers_are_under_way)
    @rule(number=NUMBER)
    def producers_hear_everything(self, number: int) -> None:
        """All answers arrive, but for a few."""
        self.world.producers_hear_everything(number)

    @when(actions.requests_are_under_way)
    @rule(number=NUMBER)
    def network_delivers(self, number: int) -> None:
        """A request arrives."""
        self.world.network_delivers(number)

    @when(actions.requests_are_under_way)
    @rule(number=NUMBER)
    def network_delivers_everything(self, number: int) -> None:
        """All requests arrive, but for a few."""
        self.world.network_delivers_everything(number)

    @when(actions.requests_are_under_way)
    @rule(number=NUMBER)
    def network_loses(self, number: int) -> None:
        """A connection breaks, or a message is lost."""
        self.world.network_loses(number)

    @when(actions.something_was_sent)
    @rule(number=NUMBER)
    def network_redelivers(self, number: int) -> None:
        """Any request ever sent arrives once more."""
        self.world.network_redelivers(number)

    @rule(number=NUMBER)
    def delivery_times_out(self, number: int) -> None:
        """Producers give up what took too long."""
        self.world.delivery_times_out(number)

    # --- brokers ----------------------------------------------------------------------------------------------

    @when(actions.followers_are_behind)
    @rule(number=NUMBER)
    def follower_fetches(self, number: int) -> None:
        """A follower copies a batch."""
        self.world.follower_fetches(number)

    @when(actions.followers_are_behind)
    @rule(number=NUMBER)
    def followers_catch_up(self, number: int) -> None:
        """Followers copy everything, or all of them but one do."""
        self.world.followers_catch_up(number)

    @when(actions.leader_can_be_replaced)
    @rule(number=NUMBER)
    def leader_fails_over(self, number: int) -> None:
        """A follower in sync becomes leader."""
        self.world.leader_fails_over(number)

    @rule(number=NUMBER)
    def broker_restarts(self, number: int) -> None:
        """A node comes back from disk."""
        self.world.broker_restarts(number)

    # --- strangers --------------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def stranger_starts(self, number: int) -> None:
        """An unknown producer begins anywhere."""
        self.world.stranger_starts(number)

    @rule(number=NUMBER)
    def stranger_continues(self, number: int) -> None:
        """The next sequence."""
        self.world.stranger_continues(number)

    @rule(number=NUMBER)
    def stranger_resends(self, number: int) -> None:
        """An exact copy of something recent."""
        self.world.stranger_resends(number)

    @rule(number=NUMBER)
    def stranger_overlaps(self, number: int) -> None:
        """Nearly a copy."""
        self.world.stranger_overlaps(number)

    @rule(number=NUMBER)
    def stranger_skips(self, number: int) -> None:
        """A gap."""
        self.world.stranger_skips(number)

    @rule(number=NUMBER)
    def stranger_raises_epoch(self, number: int) -> None:
        """A higher epoch."""
        self.world.stranger_raises_epoch(number)

    @rule(number=NUMBER)
    def zombie_sends(self, number: int) -> None:
        """A lower epoch."""
        self.world.zombie_sends(number)

    @rule(number=NUMBER)
    def stranger_nears_the_wrap(self, number: int) -> None:
        """Nearly all sequences at once."""
        self.world.stranger_nears_the_wrap(number)

    @rule(number=NUMBER)
    def stranger_sends_malformed(self, number: int) -> None:
        """What no client may send."""
        self.world.stranger_sends_malformed(number)

    # --- what must hold ---------------------------------------------------------------------------------------

    @invariant()
    def seq_well_formed(self) -> None:
        """Only well-formed requests are taken."""
        self.holds(rules.SEQ_WELL_FORMED)

    @invariant()
    def seq_duplicate_window(self) -> None:
        """Resends in the window are recognised, and nothing else is."""
        self.holds(rules.SEQ_DUPLICATE_WINDOW)

    @invariant()
    def fence_stale_epoch(self) -> None:
        """Lower epochs are refused."""
        self.holds(rules.FENCE_STALE_EPOCH)

    @invariant()
    def seq_epoch_reset(self) -> None:
        """A new epoch starts at 0."""
        self.holds(rules.SEQ_EPOCH_RESET)

    @invariant()
    def seq_first(self) -> None:
        """Unknown producers start as the version says."""
        self.holds(rules.SEQ_FIRST)

    @invariant()
    def seq_successor(self) -> None:
        """Sequences follow each other."""
        self.holds(rules.SEQ_SUCCESSOR)

    @invariant()
    def seq_refusal_is_pure(self) -> None:
        """A refusal changes nothing."""
        self.holds(rules.SEQ_REFUSAL_IS_PURE)

    @invariant()
    def fence_epoch_monotone(self) -> None:
        """Epochs never fall in a log."""
        self.holds(rules.FENCE_EPOCH_MONOTONE)

    @invariant()
    def seq_exactly_once(self) -> None:
        """What was acknowledged is in the log once."""
        self.world.look_at_logs()
        self.holds(rules.SEQ_EXACTLY_ONCE)

    @invariant()
    def seq_order(self) -> None:
        """Log order is send order."""
        self.holds(rules.SEQ_ORDER)


class ForgetfulMachine(IdempotenceMachine):
    """The same with producer state that expires: outside the domain of the rules of a stream."""

    @rule(number=NUMBER)
    def producer_state_expires(self, number: int) -> None:
        """A node forgets silent producers."""
        self.world.producer_state_expires(number)
