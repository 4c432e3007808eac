"""The Hypothesis machine of the idempotent append; its invariants carry the rules' names."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize

from model_tests.machines.accounted import AccountedMachine, made_of
from model_tests.machines.actions import ACTIONS, EXPIRY
from model_tests.machines.strangers import Strangers
from model_tests.machines.tape_runs import SETTINGS
from model_tests.machines.world import WorldSize
from spec import rules

IDEMPOTENCE_RULES: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_DUPLICATE_WINDOW,
    rules.SEQ_EXACTLY_ONCE,
    rules.SEQ_ORDER,
    rules.SEQ_REFUSAL_IS_PURE,
    rules.SEQ_WELL_FORMED,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_EPOCH_MONOTONE,
)
"""The rules that the machine over producers and replicas has invariants for."""

SETTING: Final = st.builds(
    WorldSize,
    profile=st.sampled_from(SETTINGS),
    nodes=st.sampled_from((2, 3, 1)),
    partitions=st.integers(1, 2),
    producers=st.integers(1, 2),
    ordered=st.sampled_from((True, True, False)),
    before_wrap=st.sampled_from((-1, 3, 8)),
)


@made_of(ACTIONS, IDEMPOTENCE_RULES)
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
        for _ in self.world.run_until_idle():
            self.world.after_event()
            self.no_rule_is_broken()


@made_of([EXPIRY])
class ForgetfulMachine(IdempotenceMachine):
    """The same with producer state that expires: outside the domain of the rules of a stream."""
