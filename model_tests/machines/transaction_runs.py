"""The events of the world of transactions by name, and runs of its stories from a seeded tape."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from model_tests.machines.events import Choices
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_setting import NUMBERS, STORIES, Story
from reference.tape import Tape
from reference.world.messages import Produce

STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 60
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""

Ready = Callable[[TransactionRun], bool]


def always(world: TransactionRun) -> bool:
    """It can happen at any time."""
    return True


def anybody_lives(world: TransactionRun) -> bool:
    """An instance is alive."""
    return any(instance.alive for instance in world.instances)


def requests_are_under_way(world: TransactionRun) -> bool:
    """A request may arrive."""
    return bool(world.wires.requests.in_transit)


def requests_are_late(world: TransactionRun) -> bool:
    """A request is under way whose answer is not awaited."""
    waiting = world.wires.open
    return any(message.copy or message.payload.number not in waiting for message in world.wires.requests.in_transit)


def replies_are_under_way(world: TransactionRun) -> bool:
    """An answer may arrive."""
    return bool(world.wires.replies.in_transit)


def somebody_waits(world: TransactionRun) -> bool:
    """A sender waits for an answer."""
    return bool(world.wires.open)


def batches_are_under_way(world: TransactionRun) -> bool:
    """A producer waits for the answer about a batch."""
    return any(isinstance(request.body, Produce) for request in world.wires.open.values())


def markers_are_owed(world: TransactionRun) -> bool:
    """A coordinator has markers to send."""
    return any(world.owes_markers(node) for node in range(world.shape.nodes))


def is_replicated(world: TransactionRun) -> bool:
    """Partitions have followers."""
    return world.shape.replicas > 1


@dataclass(frozen=True, slots=True)
class TransactionAction:
    """One event: the name of its method, how likely it is, when it can happen, whether it is a fault."""

    name: str
    weight: int
    ready: Ready = always
    fault: bool = False

    def happens(self, world: TransactionRun, number: int) -> None:
        """Let it happen."""
        getattr(world, self.name)(number)


ACTIONS: Final = (
    TransactionAction("application_goes_on", 30, anybody_lives),
    TransactionAction("everything_arrives", 24),
    TransactionAction("request_arrives", 16, requests_are_under_way),
    TransactionAction("reply_arrives", 12, replies_are_under_way),
    TransactionAction("coordinator_goes_on", 5, markers_are_owed),
    TransactionAction("followers_catch_up", 6, is_replicated),
    TransactionAction("consumer_reads", 9),
    TransactionAction("group_looks_up_offsets", 2),
    TransactionAction("consumer_commits", 2),
    TransactionAction("worker_takes_over", 3, anybody_lives),
    TransactionAction("producer_starts_without_id", 1),
    TransactionAction("instance_starts", 3, fault=True),
    TransactionAction("instance_crashes", 3, anybody_lives, fault=True),
    TransactionAction("late_request_arrives", 6, requests_are_late, fault=True),
    TransactionAction("network_holds_up", 3, fault=True),
    TransactionAction("request_arrives_twice", 9, requests_are_under_way, fault=True),
    TransactionAction("batch_outlives_its_transaction", 3, batches_are_under_way, fault=True),
    TransactionAction("network_loses", 4, fault=True),
    TransactionAction("sender_loses_patience", 4, somebody_waits, fault=True),
    TransactionAction("delivery_times_out", 1, fault=True),
    TransactionAction("coordinator_is_replaced", 3, fault=True),
    TransactionAction("coordinators_load", 3, fault=True),
    TransactionAction("zombie_resigns", 2, fault=True),
    TransactionAction("coordinator_log_refuses", 3, fault=True),
    TransactionAction("transactions_time_out", 2, fault=True),
    TransactionAction("transactional_ids_expire", 1, fault=True),
    TransactionAction("partition_changes_leader", 3, is_replicated, fault=True),
    TransactionAction("partition_is_unavailable", 2, fault=True),
    TransactionAction("node_restarts", 2, fault=True),
    TransactionAction("group_coordinator_is_replaced", 2, fault=True),
    TransactionAction("silent_producers_are_forgotten", 1, fault=True),
)


def of_story(story: Story) -> tuple[TransactionAction, ...]:
    """The events of a story."""
    return tuple(action for action in ACTIONS if action.name not in story.never)


def drawn_weights(tape: Tape, story: Story) -> list[tuple[TransactionAction, int]]:
    """Which events a run has, and how often: half of the faults, and some things more often."""
    enabled = [a for a in of_story(story) if not a.fault or a.name in story.often or tape.happens(500)]
    return [(a, a.weight * tape.pick((1, 1, 3)) * (2 if a.name in story.often else 1)) for a in enabled]


def take_steps(world: TransactionRun, tape: Tape, story: Story, steps: int) -> None:
    """So many events, until an invariant sees a rule broken.

    Args:
        world: that the run is played in.
        tape: all chance.
        story: what has happened, for the report.
        steps: how many events.
    """
    weights = drawn_weights(tape, story)
    for _ in range(steps):
        ready = [(action, weight) for action, weight in weights if action.ready(world)]
        tape.weighted(ready).happens(world, tape.below(NUMBERS))
        if world.ledger.seen_by_invariants():
            return


def has_a_past(world: TransactionRun, story: Story, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    take_steps(world, Tape.seeded(seed), story, seed % LONGEST_PAST)


def run_transactions(seed: int, ledger: Ledger, stories: Sequence[Story] = STORIES) -> None:
    """One run of a seed, until an invariant sees a rule broken; the seed also says of which story."""
    tape = Tape.seeded(seed)
    story = stories[seed % len(stories)]
    world = TransactionRun(story.setting(Choices(tape.below(NUMBERS))), ledger)
    take_steps(world, tape, story, STEPS)
    if not ledger.seen_by_invariants():
        world.comes_to_rest()
