"""The events of producers and strangers: those of their simulation, many at once, and what strangers do."""

from collections.abc import Callable
from typing import Final

from model_tests.machines.playing import of_simulation
from model_tests.machines.strangers import Strangers
from reference.event import Event
from reference.simulate.scheduler import PRODUCERS


def requests_are_under_way(world: Strangers) -> bool:
    """The network carries a request."""
    return bool(world.requests.in_transit)


def answers_are_under_way(world: Strangers) -> bool:
    """The network carries an answer."""
    return bool(world.replies.in_transit)


def something_was_sent(world: Strangers) -> bool:
    """There is a request to deliver again."""
    return bool(world.sent)


def something_waits(world: Strangers) -> bool:
    """A producer may send a batch."""
    return bool(world.sendable())


def followers_are_behind(world: Strangers) -> bool:
    """A follower has something to copy."""
    return any(partition.behind() for partition in world.partitions)


def leader_can_be_replaced(world: Strangers) -> bool:
    """A follower is in sync."""
    return any(partition.candidates() for partition in world.partitions)


STRANGE: Final = (
    Event(Strangers.stranger_starts, 2),
    Event(Strangers.stranger_continues, 8),
    Event(Strangers.stranger_resends, 6),
    Event(Strangers.stranger_overlaps, 4),
    Event(Strangers.stranger_skips, 3),
    Event(Strangers.stranger_raises_epoch, 4),
    Event(Strangers.zombie_sends, 3),
    Event(Strangers.stranger_nears_the_wrap, 2),
    Event(Strangers.stranger_sends_malformed, 3),
)
"""What clients do that follow no protocol."""

USUAL: Final[dict[str, tuple[int, Callable[[Strangers], bool]]]] = {
    "producer_sends": (16, something_waits),
    "producer_receives": (8, answers_are_under_way),
    "broker_receives": (10, requests_are_under_way),
    "network_fails": (12, requests_are_under_way),
    "follower_fetches": (6, followers_are_behind),
    "leader_fails_over": (5, leader_can_be_replaced),
}
"""What happens as in a simulation, with its weight beside many such events at once, and when it can happen."""

OTHERWISE: Final = ("delivery_times_out",)
"""What happens in another way than in a simulation: some of what waits is too young for it."""

(EXPIRY,) = of_simulation([event for event in PRODUCERS if event.fault == "expiry"], {})
"""Outside the domain of some rules, and therefore in a machine of its own."""

ACTIONS: Final[tuple[Event[Strangers], ...]] = (
    Event(Strangers.application_writes, 24),
    Event(Strangers.deliver_most_answers, 8, answers_are_under_way),
    Event(Strangers.deliver_most_requests, 12, requests_are_under_way),
    Event(Strangers.network_redelivers, 6, something_was_sent, fault="duplication"),
    Event(Strangers.followers_catch_up, 12, followers_are_behind),
    Event(Strangers.delivery_times_out, 3, fault="late"),
    *of_simulation(PRODUCERS, USUAL, (*OTHERWISE, EXPIRY.name)),
    *STRANGE,
)
