"""The layers that a mutant is put to, the cheapest first; the first that names a rule has killed it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.occasions import Place
from model_tests.mutants.decisions.own_tests import tested
from model_tests.mutants.decisions.places import known_bugs, recorded, replicated, searched, traced

SESSIONS: Final = "recorded sessions"
TRACES: Final = "traces"

SEEDS: Final = (*range(60), *range(62, 320, 4))
"""Seeds of traces: every workload under every profile, and transactions under every version that they have."""

REPLICAS: Final = range(60)
"""Seeds of traces of replicas, four of every profile."""


def traces() -> Iterator[Place]:
    """Steps of the reference's traces, whatever they are about."""
    return chain(traced(SEEDS), replicated(REPLICAS))


LAYERS: Final[Mapping[str, Callable[[], Iterator[Place]]]] = MappingProxyType(
    {
        SESSIONS: recorded,
        TRACES: traces,
        "searches": searched,
        "known bugs": known_bugs,
        "tests": tested,
    }
)
"""How the places of each layer are made."""
