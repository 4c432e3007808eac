"""All scenarios, in the order of the documentation."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from model_tests.common.reports import BadInput
from model_tests.scenarios import (
    comparison,
    coordinators,
    delivery,
    elections,
    fencing,
    groups,
    identities,
    limits,
    pipelines,
    readers,
    replication,
    rights,
    sending,
    storage,
    timeouts,
)
from model_tests.scenarios.scenario import REGISTERED, Scenario

CHAPTERS: Final = (
    delivery,
    sending,
    identities,
    rights,
    limits,
    replication,
    elections,
    pipelines,
    groups,
    fencing,
    timeouts,
    coordinators,
    readers,
    storage,
    comparison,
)

SCENARIOS: Final[Mapping[str, Scenario[Any]]] = MappingProxyType(
    {
        name: reported
        for chapter in CHAPTERS
        for name, reported in REGISTERED.items()
        if reported.play.__module__ == chapter.__name__
    }
)
"""Every scenario by name."""


def scenario_called(name: str) -> Scenario[Any]:
    """The scenario with this name, however it is capitalized.

    Raises:
        BadInput: there is none; says which are near.
    """
    request = name.lower()
    if request in SCENARIOS:
        return SCENARIOS[request]
    near = get_close_matches(request, SCENARIOS, n=3, cutoff=0.5)
    hint = f"near it are {', '.join(near)}" if near else "`eos scenarios` lists them"
    raise BadInput(f"no scenario is called {name!r}; {hint}")
