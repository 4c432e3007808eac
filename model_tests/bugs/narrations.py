"""The narration of each system, by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.bugs.narrate_cleaner import CLEANING
from model_tests.bugs.narrate_coordinator import ONE_ID
from model_tests.bugs.narrate_groups import GENERATIONS, MARKERS
from model_tests.bugs.narrate_markers import MARKING
from model_tests.bugs.narrate_producers import CLIENT, EXPIRY, STREAM, VERIFYING
from model_tests.bugs.narrate_transactions import TRANSACTIONS
from model_tests.bugs.narration import ActionNarration

NARRATIONS: Final[Mapping[str, ActionNarration]] = MappingProxyType(
    {
        "cleaning": CLEANING,
        "client": CLIENT,
        "idempotence": STREAM,
        "expiry": EXPIRY,
        "verifying": VERIFYING,
        "coordinator": ONE_ID,
        "offsets": MARKERS,
        "membership": GENERATIONS,
        "marking": MARKING,
        "transactions": TRANSACTIONS,
    }
)
