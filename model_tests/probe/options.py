"""What `eos conform --bootstrap-server` is asked to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model_tests.common.reports import BadInput
from model_tests.probe.families import DRAWS

AUTO: Final = "auto"
"""The profile that is found by what the broker does."""

SESSIONS: Final = 60
RATE: Final = 2_000.0
"""Requests in a second, at most."""

PATIENCE_S: Final = 30.0
"""How long the broker may take for one answer, in seconds: the clients' default of request.timeout.ms."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """What a run does.

    Attributes:
        families: of sessions.
        sessions: how many are drawn, beside the directed and the probing ones; None for as many as the time allows.
        seconds: after which no further session begins; None for no limit.
        seed: of the first session; the others count up from it.
        out: directory for sessions, None for none.
        yes: go on without asking where the broker has other topics.
        rate: requests in a second, at most; 0 for no limit.
        patience_s: seconds after which a silent broker is given up.
        shrinks: disagreements are reduced.
    """

    families: tuple[str, ...] = tuple(DRAWS)
    sessions: int | None = SESSIONS
    seconds: float | None = None
    seed: int = 0
    out: Path | None = None
    yes: bool = False
    rate: float = RATE
    patience_s: float = PATIENCE_S
    shrinks: bool = True


def families_of(text: str) -> Sequence[str]:
    """Families from A,B,R; all if empty."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) or tuple(DRAWS)


def seconds_of(text: str) -> float | None:
    """Seconds from 90, 90s, 5m or 1h; None from nothing.

    Raises:
        BadInput: it is none of these.
    """
    if not text:
        return None
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1] in units else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not seconds > 0:
        raise BadInput(f"--time is a duration, as 90s, 5m or 1h; not {text!r}")
    return seconds
