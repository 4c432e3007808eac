"""The events of pipelines by name, and runs of them from a seeded tape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from model_tests.machines.events import Choices
from model_tests.machines.pipeline_events import PipelineRun
from model_tests.machines.pipeline_setting import NUMBERS, drawn_pipeline
from model_tests.machines.rule_counts import Ledger
from reference.tape import Tape
from reference.world.worker import Order

STEPS: Final = 40  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 30
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


@dataclass(frozen=True, slots=True)
class PipelineAction:
    """One event: the name of the method, how likely it is, and whether it goes wrong only in some runs."""

    name: str
    weight: int
    fault: bool = False

    def happens(self, world: PipelineRun, number: int) -> None:
        """Let it happen."""
        getattr(world, self.name)(number)


PIPELINE_ACTIONS: Final = (
    PipelineAction("everything_arrives", 14),
    PipelineAction("source_goes_on", 12),
    PipelineAction("worker_takes_a_step", 10),
    PipelineAction("request_arrives", 8),
    PipelineAction("reader_reads", 3),
    PipelineAction("worker_joins", 3),
    PipelineAction("worker_goes", 4, fault=True),
    PipelineAction("worker_starts_twice", 2, fault=True),
    PipelineAction("worker_gives_up", 4),
    PipelineAction("worker_stands_still", 6, fault=True),
    PipelineAction("network_loses", 4, fault=True),
    PipelineAction("transactions_move", 2, fault=True),
    PipelineAction("group_moves", 2, fault=True),
    PipelineAction("node_restarts", 1, fault=True),
    PipelineAction("partition_changes_leader", 2, fault=True),
    PipelineAction("transactions_time_out", 1, fault=True),
)


def drawn_weights(tape: Tape, actions: Sequence[PipelineAction]) -> list[tuple[PipelineAction, int]]:
    """Which events a run has, and how often."""
    return [(a, a.weight * tape.pick((1, 1, 3))) for a in actions if not a.fault or tape.happens(600)]


def take_steps(world: PipelineRun, tape: Tape, weights: Sequence[tuple[PipelineAction, int]], steps: int) -> bool:
    """So many events; whether no invariant has seen a rule broken.

    Args:
        world: that the run is played in.
        tape: all chance.
        weights: what may happen, and how often.
        steps: how many events.
    """
    for _ in range(steps):
        tape.weighted(weights).happens(world, tape.below(NUMBERS))
        if world.ledger.seen_by_invariants():
            return False
    return True


def has_a_past(world: PipelineRun, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    tape = Tape.seeded(seed)
    take_steps(world, tape, drawn_weights(tape, PIPELINE_ACTIONS), seed % LONGEST_PAST)


def run_pipeline(
    seed: int,
    ledger: Ledger,
    order: Order = Order.IN_TRANSACTION,
    actions: Sequence[PipelineAction] = PIPELINE_ACTIONS,
    *,
    ends: bool = True,
) -> PipelineRun:
    """One run of a seed, until an invariant sees a rule broken; with `ends`, up to the totals.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        order: when offsets are committed: with the output, before, or after.
        actions: what may happen.
        ends: whether totals are compared in the end.
    """
    tape = Tape.seeded(seed)
    world = PipelineRun(drawn_pipeline(Choices(tape.below(NUMBERS)), order), ledger)
    if take_steps(world, tape, drawn_weights(tape, actions), STEPS) and ends:
        world.ends()
    return world
