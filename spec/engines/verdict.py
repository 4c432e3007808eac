"""What an engine says of a claim: a closed type, of which only `Proved` and `Holds` are success."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Happening:
    """One action with its arguments."""

    action: str
    at: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.action}({', '.join(map(str, self.at))})"


Trace: TypeAlias = tuple[Happening, ...]
"""What happens from the start on, in order."""


@dataclass(frozen=True, slots=True)
class Proved:
    """It holds in every reachable state, without bounds."""


@dataclass(frozen=True, slots=True)
class Holds:
    """It holds in every state up to a depth; complete where no state lies deeper."""

    depth: int
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Refuted:
    """It is violated by a claim's name, at the end of a shortest trace."""

    claim: str
    trace: Trace

    @property
    def depth(self) -> int:
        """Actions until the violation."""
        return len(self.trace)

    def __str__(self) -> str:
        return f"{self.claim} is violated after {', '.join(map(str, self.trace)) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The engine could not say: a failure, with its reason."""

    reason: str


Verdict: TypeAlias = Proved | Holds | Refuted | Unknown
"""What an engine says."""


def passed(verdict: Verdict) -> bool:
    """Whether the verdict is a success."""
    match verdict:
        case Proved() | Holds():
            return True
        case Refuted() | Unknown():
            return False
