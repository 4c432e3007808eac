"""What may go wrong in a simulated world, and how often: in a thousand turns of the scheduler."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Faults:
    """Rates per thousand turns, and the switches of the network.

    Attributes:
        loss: a connection breaks (in order), or a message is lost (out of order).
        duplication: per thousand deliveries, a copy stays behind and comes again later.
        failover: a follower in sync becomes leader.
        restart: a node goes down and comes back from disk.
        expiry: so much time passes that silent producers are forgotten.
        late: so much time passes that batches run into their delivery timeout.
        ordered: connections deliver in the order of sending.
    """

    loss: int = 30
    duplication: int = 50
    failover: int = 10
    restart: int = 5
    expiry: int = 2
    late: int = 2
    ordered: bool = True


NO_FAULTS: Final = Faults(loss=0, duplication=0, failover=0, restart=0, expiry=0, late=0)
"""Nothing goes wrong."""

STATE_RETAINED: Final = replace(Faults(), restart=0, expiry=0, late=0)
"""The network and the leaders fail; what a broker knows of a producer stays known."""
