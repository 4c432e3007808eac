"""Explicit and bounded search on generated configurations: both must agree, and find the same shortest depth.

A configuration is one of the systems with knobs that are drawn from a seed: releases, changes that break something and
changes that do not, sizes, and the claims that are asked about. Whether a claim holds there is not known beforehand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.verify.model_checking import Instanced
from model_tests.verify.results import RunEffort
from spec.engines.bmc import search
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.verdict import Holds, Refuted, Verdict
from spec.protocol.append import names
from spec.systems import cleaning, expiry, marking, membership, offsets, verifying
from spec.systems.client import producer
from spec.systems.client.system import client
from spec.systems.client.system import sizes as client_sizes
from spec.systems.coordinator import transactional_id
from spec.systems.coordinator.system import coordinating
from spec.systems.coordinator.system import sizes as coordinator_sizes
from spec.systems.idempotence.stream import StreamKnobs as StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.idempotence.system import sizes as stream_sizes
from spec.systems.ids.system import IdsKnobs as BlockKnobs
from spec.systems.ids.system import ids
from spec.systems.ids.system import sizes as block_sizes
from spec.systems.partition.log import PartitionKnobs as LogKnobs
from spec.systems.partition.system import partition
from spec.systems.partition.system import sizes as log_sizes
from spec.systems.system_append import remembered
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.decisions import decisions
from spec.systems.transactions.decisions import remembered as views_remembered
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import Bounds, finite
from spec.versions import NEWEST, PROFILES, Profile

COMPARED: Final[Mapping[RunEffort, int]] = MappingProxyType(
    {RunEffort.QUICK: 12, RunEffort.DEFAULT: 12, RunEffort.DEEP: 480}
)
"""Configurations that an effort compares: a multiple of the systems."""

DEEPEST: Final = 7
"""Actions to which a configuration is searched at most."""

MOST_STATES: Final = 3_000
"""Where explicit search sees more, the configuration is searched to a smaller depth."""

Draw: TypeAlias = Callable[[Random], Instanced]


def _maybe(chance: Random, **changed: Sequence[Any]) -> dict[str, Any]:
    """One of the values for each name; the first is the true system's, and as likely as all others together."""
    drawn = {
        name: chance.choice((values[0],) * (len(values) - 1) + tuple(values[1:])) for name, values in changed.items()
    }
    return {name: value for name, value in drawn.items() if value != changed[name][0]}


def _release(chance: Random) -> Profile:
    return replace(chance.choice(list(PROFILES.values())), max_sequence=None)


def _without(chance: Random) -> frozenset[str]:
    return frozenset(chance.sample(names(NEWEST), chance.choice((0, 1, 1, 2))))


def _instanced(name: str, made: Any, build: Callable[..., Any], sizes: Mapping[str, int], *searched: Any) -> Instanced:
    plain = build(made)
    return Instanced(f"{name}: {made}", build(made, *searched), plain, instance_of(plain, sizes))


def _client(chance: Random) -> Instanced:
    changes = _maybe(
        chance, renumbers_others=(False, True), idle_restart=(True, False), renumbers_in_order=(True, False)
    )
    made = producer.ClientKnobs(profile=_release(chance), batches=chance.choice((1, 2)), **changes)
    sizes = client_sizes(made, partitions=chance.choice((1, 2)))
    return _instanced("client", made, client, sizes, remembered(made.decide))


def _expiry(chance: Random) -> Instanced:
    made = expiry.ExpiryKnobs(
        profile=_release(chance),
        ticks=chance.choice((1, 2, 3)),
        appends=chance.choice((1, 2, 3)),
        **_maybe(chance, marker_refreshes=(True, False), expiry=(1, 2)),
    )
    return _instanced("expiry", made, expiry.expiry, expiry.sizes(made), remembered(made.decide))


def _verifying(chance: Random) -> Instanced:
    made = verifying.VerificationKnobs(
        profile=_release(chance),
        without=_without(chance),
        version=chance.choice((9, 12)),
        batches=chance.choice((1, 2)),
    )
    return _instanced("verifying", made, verifying.verifying, verifying.sizes(made))


def _offsets(chance: Random) -> Instanced:
    made = offsets.OffsetsKnobs(
        _release(chance), transactions=chance.choice((1, 2, 3)), **_maybe(chance, zombies=(0, 1))
    )
    return _instanced("offsets", made, offsets.committing, offsets.sizes(made))


def _marking(chance: Random) -> Instanced:
    made = marking.MarkingKnobs(_release(chance), partitions=chance.choice((1, 2)), departures=chance.choice((1, 2)))
    return _instanced("marking", made, marking.marking, marking.sizes(made))


def _membership(chance: Random) -> Instanced:
    made = membership.MembershipKnobs(_release(chance), generations=chance.choice((1, 2, 3)))
    return _instanced("membership", made, membership.membership, membership.sizes(made))


def _cleaning(chance: Random) -> Instanced:
    made = cleaning.CleaningKnobs(_release(chance), positions=chance.choice((2, 3, 4)))
    return _instanced("cleaning", made, cleaning.cleaning, cleaning.sizes(made))


def _coordinator(chance: Random) -> Instanced:
    made = transactional_id.CoordinatorKnobs(
        transactional_id.early(chance.choice(list(PROFILES.values())), chance.choice((2, 3))),
        starts=chance.choice((1, 2)),
        **_maybe(
            chance,
            timeout_fences=(True, False),
            mapping_error_abortable=(False, True),
            lowered_to=(None, 0, 1),
            unwritable_rolled_back=(False, True),
            expires=(False, True),
            fails_over=(False, True),
            loses_replies=(False, True),
            append_fails=(False, True),
        ),
    )
    return _instanced("coordinator", made, coordinating, coordinator_sizes(made))


def _ids(chance: Random) -> Instanced:
    changes = _maybe(chance, compares=(True, False), raises=(True, False), forgets=(True, False))
    made = BlockKnobs(size=chance.choice((1, 2)), largest=chance.choice((2, 3, 5)), **changes)
    return _instanced("ids", made, ids, block_sizes(made, chance.choice((1, 2))))


def _stream(chance: Random) -> Instanced:
    made = StreamKnobs(
        profile=replace(_release(chance), cached_batches=chance.choice((1, 2))),
        without=_without(chance),
        requests=chance.choice((1, 2, 3)),
        appends=chance.choice((1, 2)),
        in_flight=chance.choice((1, 2)),
        **_maybe(
            chance,
            acknowledged_hold_place=(True, False),
            first_in_order=(True, False),
            state_expires=(False, True),
            clean_elections=(True, False),
            fails_over=(True, False),
            gives_up=(True, False),
        ),
    )
    return _instanced("idempotence", made, idempotence, stream_sizes(made), remembered(made.decide))


def _log(chance: Random) -> Instanced:
    made = LogKnobs(
        profile=_release(chance),
        without=_without(chance),
        appends=chance.choice((1, 2)),
        plain_data=False,
        offset_commits=False,
        **_maybe(
            chance,
            marker_ends=(True, False),
            clean_elections=(True, False),
            state_expires=(False, True),
            fails_over=(True, False),
            log_start_rises=(True, False),
        ),
    )
    sizes = log_sizes(made, coordinator_epochs=chance.choice((1, 2)))
    return _instanced("partition", made, partition, sizes, remembered(made.decide))


def _transactions(chance: Random) -> Instanced:
    bounds = Bounds(transactions=1, coordinators=chance.choice((1, 2)))
    if chance.random() < 1 / 2:
        knobs = replace(chance.choice(CONTROLS).knobs, bounds=bounds)
    else:
        release = finite(chance.choice(list(PROFILES.values())))
        faults = _maybe(chance, times_out=(False, True), leaders_fail=(False, True), appends_fail=(False, True))
        knobs = quiet(release, bounds=bounds, **faults)
    return _instanced("transactions", knobs, transactions, knobs.sizes(), views_remembered(decisions(knobs)))


DRAWS: Final[Mapping[str, Draw]] = MappingProxyType(
    {
        "client": _client,
        "expiry": _expiry,
        "verifying": _verifying,
        "offsets": _offsets,
        "marking": _marking,
        "membership": _membership,
        "cleaning": _cleaning,
        "coordinator": _coordinator,
        "ids": _ids,
        "idempotence": _stream,
        "partition": _log,
        "transactions": _transactions,
    }
)
"""How a configuration of each system is drawn; they take turns."""


def configuration(seed: int) -> Instanced:
    """The configuration of a seed; the same seed gives the same one everywhere."""
    draw = list(DRAWS.values())[seed % len(DRAWS)]
    return draw(Random(seed))


@dataclass(frozen=True, slots=True)
class ComparedSearches:
    """What both searches said of one configuration, to the depth to which both looked."""

    seed: int
    name: str
    explicit: Verdict
    bounded: Verdict

    @property
    def violated(self) -> bool:
        """Whether explicit search found a violation."""
        return isinstance(self.explicit, Refuted)

    @property
    def agree(self) -> bool:
        """Whether both found none, or both one of the same depth."""
        match self.explicit, self.bounded:
            case Holds(), Holds():
                return True
            case Refuted() as one, Refuted() as other:
                return one.depth == other.depth
            case _:
                return False

    def __str__(self) -> str:
        return (
            f"configuration {self.seed} ({self.name}): explicit search {self.explicit}, bounded search {self.bounded}"
        )


def compared(seed: int) -> ComparedSearches:
    """Search one configuration both ways; the shortest violation of any theorem counts, whichever it is of."""
    instance = configuration(seed)
    depth, explicit = _explored(instance)
    bounded = search(instance.plain, instance.finite, depth, stride=max(depth, 1)).verdict
    return ComparedSearches(seed, instance.name, explicit, bounded)


def _explored(instance: Instanced) -> tuple[int, Verdict]:
    """How deep explicit search came within the limits, and what it found; shallower where there are many states."""
    for depth in range(DEEPEST, -1, -1):
        found = explore(instance.system, instance.finite, depth=depth, most_states=MOST_STATES).verdict
        if isinstance(found, Refuted):
            return found.depth, found
        if isinstance(found, Holds):
            return depth, found
    raise AssertionError("the initial state alone is within every limit")


def disagreements(effort: RunEffort) -> tuple[str, ...]:
    """The configurations of which the two searches do not say the same, a line each."""
    return tuple(str(found) for found in map(compared, range(COMPARED[effort])) if not found.agree)
