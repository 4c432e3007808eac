"""The events that may happen next, by name: one list for the Hypothesis machine and for runs from a tape."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from model_tests.machines.strangers import Strangers


def always(world: Strangers) -> bool:
    """It can happen at any time."""
    return True


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


@dataclass(frozen=True, slots=True)
class WorldEvent:
    """One event.

    Attributes:
        name: of the method of the world.
        weight: how likely it is in a run from a tape.
        ready: whether it can happen now.
        fault: it goes wrong only in some runs from a tape.
        stranger: it is the doing of a client that follows no protocol.
    """

    name: str
    weight: int
    ready: Callable[[Strangers], bool] = always
    fault: bool = False
    stranger: bool = False

    def happens(self, world: Strangers, number: int) -> None:
        """Let it happen."""
        getattr(world, self.name)(number)


ACTIONS: Final = (
    WorldEvent("application_sends", 24),
    WorldEvent("producer_sends", 16, something_waits),
    WorldEvent("producer_hears", 8, answers_are_under_way),
    WorldEvent("producers_hear_everything", 8, answers_are_under_way),
    WorldEvent("network_delivers", 10, requests_are_under_way),
    WorldEvent("network_delivers_everything", 12, requests_are_under_way),
    WorldEvent("network_loses", 6, requests_are_under_way, fault=True),
    WorldEvent("network_redelivers", 6, something_was_sent, fault=True),
    WorldEvent("follower_fetches", 6, followers_are_behind),
    WorldEvent("followers_catch_up", 12, followers_are_behind),
    WorldEvent("leader_fails_over", 5, leader_can_be_replaced, fault=True),
    WorldEvent("broker_restarts", 4, fault=True),
    WorldEvent("delivery_times_out", 3, fault=True),
    WorldEvent("stranger_starts", 2, stranger=True),
    WorldEvent("stranger_continues", 8, stranger=True),
    WorldEvent("stranger_resends", 6, stranger=True),
    WorldEvent("stranger_overlaps", 4, stranger=True),
    WorldEvent("stranger_skips", 3, stranger=True),
    WorldEvent("stranger_raises_epoch", 4, stranger=True),
    WorldEvent("zombie_sends", 3, stranger=True),
    WorldEvent("stranger_nears_the_wrap", 2, stranger=True),
    WorldEvent("stranger_sends_malformed", 3, stranger=True),
)

EXPIRY: Final = WorldEvent("producer_state_expires", 3, fault=True)
"""Outside the domain of some rules, and therefore in a machine of its own."""
