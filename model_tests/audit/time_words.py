"""Times and spans of time in the words of the report."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_LATEST: Final = 253_402_300_799_999
"""The end of the year 9999."""


def clock(milliseconds: int) -> str:
    """A time in milliseconds since 1970 as UTC; empty where it is none, or no calendar has it."""
    if not 0 <= milliseconds <= _LATEST:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def span(milliseconds: int) -> str:
    """A time of so many milliseconds, in its largest unit and at most one decimal: 60000 is `1 min`."""
    size, unit = next((one for one in _UNITS if abs(milliseconds) >= one[0]), _UNITS[-1])
    return f"{round(milliseconds / size, 1):g} {unit}"
