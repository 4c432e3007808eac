"""What goes wrong on the wire: connections that break before a request arrives or before its answer does, and delay."""

from dataclasses import dataclass
from typing import Final

from reference.tape import Tape


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often, per thousand requests.

    Attributes:
        lost_requests: the connection breaks before the node has the request.
        lost_answers: it breaks when the request is dealt with, and the client does not hear.
        late_answers: the answer takes up to `late_ms` longer.
    """

    lost_requests: int
    lost_answers: int
    late_answers: int
    late_ms: int


PROFILES: Final = {"gentle": FaultRates(5, 5, 20, 50), "harsh": FaultRates(40, 40, 100, 200)}
"""By the name that `eos serve --faults` takes."""


class WireFaults:
    """The faults of one server, drawn in the order of the requests; the first exchange of a connection is spared."""

    __slots__ = ("_rates", "_tape")

    def __init__(self, rates: FaultRates, seed: int) -> None:
        """Faults at these rates; which request they meet depends on the seed and on the clients' timing."""
        self._rates = rates
        self._tape = Tape.seeded(seed)

    def loses_request(self) -> bool:
        """Whether the connection breaks before the request arrives."""
        return self._tape.happens(self._rates.lost_requests)

    def loses_answer(self) -> bool:
        """Whether the connection breaks before the answer arrives."""
        return self._tape.happens(self._rates.lost_answers)

    def delay_ms(self) -> int:
        """How much longer the answer takes, milliseconds."""
        return self._tape.between(1, self._rates.late_ms) if self._tape.happens(self._rates.late_answers) else 0
