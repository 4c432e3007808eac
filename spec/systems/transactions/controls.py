"""The controls of transactions: known bugs, old versions, and steps left out, each with the claim that it violates."""

from typing import Final

from spec.systems.transactions.broken_steps import OF_KNOBS
from spec.systems.transactions.broken_versions import OF_VERSIONS

CONTROLS: Final = (*OF_VERSIONS, *OF_KNOBS)
