"""The events of the world of transactions, and runs of its stories from a seeded tape."""

from collections.abc import Callable, Sequence
from typing import Final

from model_tests.machines.playing import NUMBERS, of_simulation, play, weighed
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_setting import STORIES, WorldSetting
from reference.event import Event
from reference.simulate.schedule_transactions import TRANSACTIONS
from reference.tape import Tape
from reference.world.messages import Produce

STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 60
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


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


def batches_are_under_way(world: TransactionRun) -> bool:
    """A producer waits for the answer about a batch."""
    return any(isinstance(request.body, Produce) for request in world.wires.open.values())


def is_replicated(world: TransactionRun) -> bool:
    """Partitions have followers."""
    return world.shape.replicas > 1


def markers_are_owed(world: TransactionRun) -> bool:
    """A coordinator has markers to send."""
    return any(world.owes_markers(node) for node in range(world.shape.nodes))


def something_is_broken(world: TransactionRun) -> bool:
    """A fault can be mended."""
    return bool(world.simulated.mendable())


OTHERWISE: Final = ("application_crashes", "transactions_time_out", "ids_expire", "epochs_are_used_up")
"""What happens in another way than in a simulation: a crashed application is started again, and time passes or not."""

USUAL: Final[dict[str, tuple[int, Callable[[TransactionRun], bool]]]] = {
    "broker_receives": (16, requests_are_under_way),
    "sender_receives": (12, replies_are_under_way),
    "coordinator_sends_markers": (5, markers_are_owed),
    "fault_is_mended": (10, something_is_broken),
}
"""What usually happens as in a simulation, with its weight beside what applications do, and when it can happen."""

ACTIONS: Final[tuple[Event[TransactionRun], ...]] = (
    Event(TransactionRun.application_continues, 40, anybody_lives),
    Event(TransactionRun.deliver_most_messages, 32),
    Event(TransactionRun.followers_catch_up, 6, is_replicated),
    Event(TransactionRun.consumer_reads, 9),
    Event(TransactionRun.group_looks_up_offsets, 2),
    Event(TransactionRun.consumer_commits, 2),
    Event(TransactionRun.worker_takes_over, 4, anybody_lives),
    Event(TransactionRun.producer_starts_without_id, 1),
    Event(TransactionRun.instance_starts, 3, fault="zombie"),
    Event(TransactionRun.instance_crashes, 3, anybody_lives, fault="crash"),
    Event(TransactionRun.late_request_arrives, 6, requests_are_late, fault="late"),
    Event(TransactionRun.network_holds_up, 3, fault="late"),
    Event(TransactionRun.request_arrives_twice, 9, requests_are_under_way, fault="duplication"),
    Event(TransactionRun.batch_outlives_its_transaction, 3, batches_are_under_way, fault="abandonment"),
    Event(TransactionRun.transactions_time_out, 2, fault="timeout"),
    Event(TransactionRun.transactional_ids_expire, 1, fault="forgetting"),
    *of_simulation(TRANSACTIONS, USUAL, OTHERWISE),
)


def happening(tape: Tape, story: WorldSetting) -> list[Event[TransactionRun]]:
    """The events of one run of a story: half of the faults, and all that the story is about."""
    of_story = [each for each in ACTIONS if each.name not in story.never]
    return [each for each in of_story if not each.fault or each.name in story.often or tape.happens(500)]


def take_steps(world: TransactionRun, tape: Tape, story: WorldSetting, steps: int) -> bool:
    """So many events; whether no invariant has seen a rule broken, which ends it.

    Args:
        world: that the run is played in.
        tape: all chance.
        story: what happens more often than other things.
        steps: how many events.
    """
    weights = weighed(happening(tape, story), tape)
    return play(world, tape, [(each, n * (2 if each.name in story.often else 1)) for each, n in weights], steps)


def has_a_past(world: TransactionRun, story: WorldSetting, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    take_steps(world, Tape.seeded(seed), story, seed % LONGEST_PAST)


def run_transactions(seed: int, ledger: Ledger, stories: Sequence[WorldSetting] = STORIES) -> None:
    """One run of a seed, until an invariant sees a rule broken; the seed also says of which story."""
    tape = Tape.seeded(seed)
    story = stories[seed % len(stories)]
    world = TransactionRun(story.setting(Tape.of_number(tape.below(NUMBERS))), ledger)
    if take_steps(world, tape, story, STEPS):
        world.run_until_idle()
