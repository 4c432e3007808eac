"""The layers that try a mutant, the cheapest first; the first that names a rule has killed it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final

from model_tests.machines.part import COMPARED
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.side_by_side import DecisionComparison
from model_tests.mutants.decisions.audited import audited
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.joined_traces import joined_traces
from model_tests.mutants.decisions.places import (
    ONE_IN,
    falsified,
    known_bugs,
    proved,
    recorded,
    replicated,
    searched,
    staked,
    tested,
    traced,
)

SESSIONS: Final = "recorded sessions"
SMALL_INPUTS: Final = "small inputs"
TRACES: Final = "traces"
SEARCHES: Final = "searches"
KNOWN_BUGS: Final = "known bugs"
PROOFS: Final = "proofs"
AUDIT: Final = "audit"
TESTS: Final = "tests"

SEEDS: Final = (*range(60), *range(62, 320, 4), *range(324, 352, 4))
"""Seeds of traces: every workload under every profile, transactions under every version, and more of `raw`."""

REPLICAS: Final = range(60)
"""Seeds of traces of replicas, four of every profile."""


STAKED: Final = range(8)
"""Seeds of traces whose rules at stake are computed."""

FALSIFIED: Final = range(60)
"""Seeds of traces in which steps are made false: transactions under every profile."""


def traces(one_in: int = 1) -> Iterator[JudgedCall]:
    """Steps of the reference's traces, whatever they are about.

    Args:
        one_in: one of so many traces is taken.
    """
    seeds = SEEDS[::one_in]
    steps = chain(traced(seeds), replicated(REPLICAS[::one_in]), staked(STAKED[::one_in]), falsified(FALSIFIED))
    return chain(steps, joined_traces(seeds))


def small_inputs() -> Iterator[JudgedCall]:
    """A place for each decision that is compared."""
    for compared in COMPARED:
        yield JudgedCall(f"every small input: {compared.name}", partial(violated, compared))


def violated(compared: DecisionComparison) -> tuple[str, ...]:
    """The rule that a difference breaks."""
    ledger = Ledger()
    compared.compare(ledger)
    return tuple(found.rule.id for found in ledger.broken)


LAYERS: Final[Mapping[str, Callable[[], Iterator[JudgedCall]]]] = MappingProxyType(
    {
        SESSIONS: recorded,
        SMALL_INPUTS: small_inputs,
        TRACES: traces,
        SEARCHES: searched,
        KNOWN_BUGS: known_bugs,
        PROOFS: proved,
        AUDIT: audited,
        TESTS: tested,
    }
)
"""How the places of each layer are made."""

NAMING: Final[Mapping[str, Callable[[], Iterator[JudgedCall]]]] = MappingProxyType(
    {name: places for name, places in LAYERS.items() if name not in (TESTS, SMALL_INPUTS)}
)
"""The layers that name a rule, and may meet every decision: what each is crossed with."""

SMALLER: Final[Mapping[str, Callable[[], Iterator[JudgedCall]]]] = MappingProxyType(
    {
        SESSIONS: partial(recorded, 10 * ONE_IN, 10),
        SMALL_INPUTS: small_inputs,
        TRACES: partial(traces, 9),
        SEARCHES: searched,
    }
)
"""The quick layers, with fewer places where there are many."""
