"""Faults of a world whose logs are audited."""

from dataclasses import replace
from typing import Final

from reference.event import STATE_RETAINED

FAULTS: Final = replace(STATE_RETAINED, exhaustion=0)
"""All that may go wrong and leaves producer state alone; without sessions that leave no record."""
