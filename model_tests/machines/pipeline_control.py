"""Exactly once switched off: the same workers commit their offsets before or after their output, and count wrong."""

from dataclasses import dataclass
from typing import Final

from model_tests.machines.pipeline_runs import PIPELINE_ACTIONS, run_pipeline
from model_tests.machines.rule_counts import Ledger
from model_tests.verify.results import Control
from reference.world.worker import Order
from spec import rules

SEEDS: Final = range(60)
"""Runs after which a control has not done what it must."""

FAILING_WORKERS: Final = frozenset({"worker_stops", "worker_stands_still"})
"""The faults that it takes: a commit of offsets that the network repeats later could move the group back."""

DOCUMENTED: Final = {
    Order.OFFSETS_FIRST: ("offsets committed before the output: at most once", "lost, none twice"),
    Order.OUTPUT_FIRST: ("offsets committed after the output: at least once", "twice, none lost"),
    Order.AUTOMATIC: ("offsets committed automatically, by who has finished: at least once", "twice, none lost"),
}
"""The name of each order, and the outcome of its words."""


@dataclass(slots=True)
class WordTotals:
    """Words of some runs: those that were not counted, and those that were counted again."""

    lost: int = 0
    twice: int = 0
    stuck: int = 0

    def __str__(self) -> str:
        """What is documented, where it is that."""
        if self.stuck:
            return "not all words were read"
        message = {(True, False): "lost, none twice", (False, True): "twice, none lost", (False, False): "right"}
        return message.get((self.lost > 0, self.twice > 0), "lost and twice")


def totals_of(seed: int, order: Order) -> WordTotals:
    """What one run of a seed counts wrong."""
    actions = tuple(a for a in PIPELINE_ACTIONS if not a.fault or a.name in FAILING_WORKERS)
    world = run_pipeline(seed, Ledger(asks_decision=False), order, actions, ends=False)
    caught_up = world.run_until_idle()
    lost, twice = world.seen.wrong()
    return WordTotals(len(lost), len(twice), int(not caught_up))


def pipeline_controls(runs: int = len(SEEDS)) -> tuple[Control, ...]:
    """Run each wrong order until the words that it counts wrong show; every run before must count right."""
    return tuple(pipeline_control(order, runs) for order in DOCUMENTED)


def pipeline_control(order: Order, runs: int) -> Control:
    """The totals of one order, and the first run that shows them."""
    name, expected = DOCUMENTED[order]
    found, seed = WordTotals(), 0
    for seed in SEEDS[:runs]:
        found = totals_of(seed, order)
        if str(found) != "right":
            break
    message = f"run {seed}: {found.lost} words lost, {found.twice} counted twice"
    return Control(name, rules.OFFSETS_ATOMIC, expected, str(found), message)
