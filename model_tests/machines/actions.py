"""The events of producers and strangers: one list for the machine and for runs from a tape."""

from typing import Final

from model_tests.machines.strangers import Strangers
from reference.event import Event


def requests_are_under_way(world: Strangers) -> bool:
    """The network carries a request."""
    return bool(world.cluster.requests.in_transit)


def answers_are_under_way(world: Strangers) -> bool:
    """The network carries an answer."""
    return bool(world.cluster.replies.in_transit)


def something_was_sent(world: Strangers) -> bool:
    """There is a request to deliver again."""
    return bool(world.sent)


def something_waits(world: Strangers) -> bool:
    """A producer may send a batch."""
    return bool(world.cluster.sendable())


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

ACTIONS: Final = (
    Event(Strangers.application_sends, 24),
    Event(Strangers.producer_sends, 16, something_waits),
    Event(Strangers.producer_receives_answer, 8, answers_are_under_way),
    Event(Strangers.deliver_most_answers, 8, answers_are_under_way),
    Event(Strangers.network_delivers, 10, requests_are_under_way),
    Event(Strangers.deliver_most_requests, 12, requests_are_under_way),
    Event(Strangers.network_loses, 6, requests_are_under_way, fault="loss"),
    Event(Strangers.network_redelivers, 6, something_was_sent, fault="duplication"),
    Event(Strangers.follower_fetches, 6, followers_are_behind),
    Event(Strangers.followers_catch_up, 12, followers_are_behind),
    Event(Strangers.leader_fails_over, 5, leader_can_be_replaced, fault="failover"),
    Event(Strangers.broker_restarts, 4, fault="restart"),
    Event(Strangers.delivery_times_out, 3, fault="late"),
    *STRANGE,
)

EXPIRY: Final = Event(Strangers.producer_state_expires, 3, fault="expiry")
"""Outside the domain of some rules, and therefore in a machine of its own."""
