"""What may happen in a world: each world has one list of events, and fault rates that apply to it.

A list has several readers. A scheduler picks events by weights and rates, with choices from a seed or a recorded tape.
The machines of Hypothesis have a rule for each event. A scenario lets events happen that it names, with its own choices
(`let_happen`). A server draws the faults of its nodes from their list (`reference.server.node_events`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from reference.tape import ImpossibleChoice, ScriptedTape, Tape

World = TypeVar("World", contravariant=True)


def always(_: object) -> bool:
    """It can happen at any time."""
    return True


@dataclass(frozen=True, slots=True)
class Event(Generic[World]):
    """One event of a world.

    Attributes:
        act: lets the event happen, with choices from a tape; False if nothing happened.
        weight: how likely it is among the others.
        ready: whether it is one of those that can be chosen now.
        fault: what goes wrong, empty if it is no fault; in a simulation the name of its rate (`FaultRates`).
    """

    act: Callable[[World, Tape], bool | None]
    weight: int
    ready: Callable[[World], bool] = always
    fault: str = ""

    @property
    def name(self) -> str:
        """The name of the function that lets it happen."""
        return self.act.__name__


def let_happen(event: Event[World], world: World, choices: Sequence[object], happening: Sequence[int] = ()) -> None:
    """Let an event happen with choices that a script makes.

    Args:
        event: of the world's list.
        world: whose events they are, or who picks them.
        choices: in the order in which the event makes them, as values.
        happening: rates of what happens by chance within the event.

    Raises:
        ImpossibleChoice: the event cannot happen now, or not so.
    """
    tape = ScriptedTape(choices, happening)
    if not event.ready(world) or event.act(world, tape) is False:
        raise ImpossibleChoice(f"{event.name} cannot happen now")
    tape.end()


# --- faults -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Rates per thousand turns, and the switches of the network.

    Attributes:
        loss: a connection breaks (in order), or a message is lost (out of order).
        duplication: per thousand deliveries, a copy stays behind and comes again later.
        failover: a follower in sync becomes leader.
        restart: a node goes down and comes back from disk.
        expiry: so much time passes that silent producers are forgotten.
        late: so much time passes that batches reach their delivery timeout.
        ordered: connections deliver in the order of sending.

    Of worlds of transactions alone:
        abandonment: a request times out at its sender while it is still under way.
        crash: an application is gone.
        coordinator: another node, or the same again, is elected for a partition of a coordinator's log.
        log: the next append of a coordinator to its log fails.
        unavailability: a partition cannot be written to for a while.
        timeout: so much time passes that open transactions are aborted.
        forgetting: so much time passes that transactional ids at rest are forgotten.
        exhaustion: so many sessions of a transactional id come and go that its epochs are nearly used up.

    Of worlds of replicas alone:
        pause: a broker stands still, often for longer than its session lasts.
        controller: another controller is elected.
        preference: a partition is to get its preferred leader back.
        shutdown: a broker gets the order to shut down.
        drift: a broker's clock is set forward or back.
        deletion: a leader deletes what is replicated.
        strange: a request comes that no broker has sent as it is now, and is refused.
        power: per thousand starts of a broker that was killed, those after which the ends of its logs are gone.
    """

    loss: int = 30
    duplication: int = 50
    failover: int = 10
    restart: int = 5
    expiry: int = 2
    late: int = 2
    abandonment: int = 20
    crash: int = 8
    coordinator: int = 14
    log: int = 20
    unavailability: int = 8
    timeout: int = 14
    forgetting: int = 6
    exhaustion: int = 20
    pause: int = 6
    controller: int = 3
    preference: int = 4
    shutdown: int = 3
    drift: int = 2
    deletion: int = 4
    strange: int = 40
    power: int = 200
    ordered: bool = True


NO_FAULTS: Final = FaultRates(
    loss=0,
    duplication=0,
    failover=0,
    restart=0,
    expiry=0,
    late=0,
    abandonment=0,
    crash=0,
    coordinator=0,
    log=0,
    unavailability=0,
    timeout=0,
    forgetting=0,
    exhaustion=0,
    pause=0,
    controller=0,
    preference=0,
    shutdown=0,
    drift=0,
    deletion=0,
    strange=0,
    power=0,
)
"""Nothing goes wrong."""

STATE_RETAINED: Final = replace(FaultRates(), restart=0, expiry=0, late=0)
"""The network and the leaders fail; what a broker knows of a producer stays known."""
