"""How each system is told, by what it is called."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.bugs.telling import Telling
from model_tests.bugs.told_cleaner import CLEANING
from model_tests.bugs.told_coordinator import ONE_ID
from model_tests.bugs.told_groups import GENERATIONS, MARKERS
from model_tests.bugs.told_markers import MARKING
from model_tests.bugs.told_producers import CLIENT, EXPIRY, STREAM, VERIFYING
from model_tests.bugs.told_transactions import TRANSACTIONS

TELLINGS: Final[Mapping[str, Telling]] = MappingProxyType(
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
