"""The events of pipelines, and runs of them from a seeded tape."""

from collections.abc import Sequence
from typing import Final

from model_tests.machines.pipeline_events import PipelineRun
from model_tests.machines.pipeline_setting import drawn_pipeline
from model_tests.machines.playing import NUMBERS, play, weighed, with_faults
from model_tests.machines.rule_counts import Ledger
from reference.event import Event
from reference.tape import Tape
from reference.world.worker import Order

STEPS: Final = 40  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 30
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


PIPELINE_ACTIONS: Final = (
    Event(PipelineRun.deliver_most_messages, 14),
    Event(PipelineRun.source_continues, 12),
    Event(PipelineRun.worker_takes_a_step, 10),
    Event(PipelineRun.request_arrives, 8),
    Event(PipelineRun.reader_reads, 3),
    Event(PipelineRun.worker_joins, 3),
    Event(PipelineRun.worker_stops, 4, fault="crash"),
    Event(PipelineRun.worker_starts_twice, 2, fault="zombie"),
    Event(PipelineRun.worker_aborts_next, 4),
    Event(PipelineRun.worker_stands_still, 6, fault="pause"),
    Event(PipelineRun.network_loses, 4, fault="loss"),
    Event(PipelineRun.transactions_move, 2, fault="coordinator"),
    Event(PipelineRun.group_moves, 2, fault="coordinator"),
    Event(PipelineRun.node_restarts, 1, fault="restart"),
    Event(PipelineRun.partition_changes_leader, 2, fault="failover"),
    Event(PipelineRun.transactions_time_out, 1, fault="timeout"),
)


def happening(tape: Tape, events: Sequence[Event[PipelineRun]]) -> list[tuple[Event[PipelineRun], int]]:
    """Which events a run has, and how often."""
    return weighed(with_faults(events, tape, 600), tape)


def has_a_past(world: PipelineRun, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    tape = Tape.seeded(seed)
    play(world, tape, happening(tape, PIPELINE_ACTIONS), seed % LONGEST_PAST)


def run_pipeline(
    seed: int,
    ledger: Ledger,
    order: Order = Order.IN_TRANSACTION,
    events: Sequence[Event[PipelineRun]] = PIPELINE_ACTIONS,
    *,
    ends: bool = True,
) -> PipelineRun:
    """One run of a seed, until an invariant sees a rule broken; with `ends`, up to the totals.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        order: when offsets are committed: with the output, before, or after.
        events: what may happen.
        ends: whether totals are compared in the end.
    """
    tape = Tape.seeded(seed)
    world = PipelineRun(drawn_pipeline(Tape.of_number(tape.below(NUMBERS)), order), ledger)
    if play(world, tape, happening(tape, events), STEPS) and ends:
        world.ends()
    return world
