"""Traces that cannot be judged, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Input set aside: a file, or steps of which the first is named."""

    reason: str
    count: int
    where: str
