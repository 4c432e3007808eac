"""What becomes of a theorem under an earlier transaction version: the obligations that fail, and a run that shows why.

The lemmas are those of version 2. Where one of them fails under an action, a bounded instance is searched for a run
from the start that violates the theorem, and the run for the steps at which lemmas are lost that fail.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from model_tests.verify.looking import Instanced
from model_tests.verify.proved import ProvedSystem, open_among, why_open
from spec import rules
from spec.engines.bmc import search
from spec.engines.explore import explore, walked
from spec.engines.finite import instance_of
from spec.engines.induction import Obligation
from spec.engines.verdict import Refuted, Trace
from spec.rules import Circumstances, Rule
from spec.systems.language import State, System
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.proof import lemmas
from spec.systems.transactions.system import transactions
from spec.systems.transactions.taking import decisions, remembered
from spec.systems.transactions.world import BATCHES, BUMPS, ENDS, EVERYTHING, Bounds, Knobs
from spec.versions import NEWEST

CONFIRMED: Final = 12
"""Runs up to this length are looked for as formulas too, and must be as short."""

MOST_STATES: Final = 60_000


@dataclass(frozen=True, slots=True)
class Lost:
    """A step of a run that leads from a state in which a lemma holds to one in which it does not."""

    obligation: Obligation
    step: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """A rule under an earlier transaction version.

    Attributes:
        obligations: all that are beneath the rule.
        trace: the shortest run that violates a theorem of the rule, if one was found.
        theorem: which.
        lost: where it loses lemmas that are not proved, the first one first.
        where: from where the run is: `VERIFIED` or `UNVERIFIED`.
        searched: how many states were seen without finding one where it would have to be.
    """

    rule: Rule
    version: int
    obligations: tuple[Obligation, ...]
    trace: Trace = ()
    theorem: str = ""
    lost: tuple[Lost, ...] = ()
    where: str = ""
    searched: int = 0

    @property
    def open(self) -> tuple[Obligation, ...]:
        """The obligations that fail."""
        return open_among(self.obligations)

    @property
    def verdict(self) -> str:
        """`proved`, or `known` where a run violates what is not claimed of the version; else `violated`, `unknown`."""
        if not self.open:
            return "proved"
        claimed = self.rule.claimed_in(
            Circumstances(
                transaction_version=self.version,
                delayed_requests=True,
                partition_verification=self.where == VERIFIED,
            )
        )
        return ("violated" if claimed else "known") if self.theorem else "unknown"

    @property
    def passed(self) -> bool:
        """Whether the version keeps the rule, or is known not to."""
        return self.verdict in ("proved", "known")

    def lines(self) -> Iterator[str]:
        """What is said of it, for a person."""
        yield f"{self.rule.id} under transaction version {self.version}: {self.verdict}"
        yield from (f"  open: {why_open(each)}" for each in self.open)
        if self.searched:
            yield f"  no run violates it in {self.searched} states"
        if self.theorem:
            yield f"  {self.where}a run of {len(self.trace)} steps violates {self.theorem}:"
            yield from (f"    {number + 1:2} {step}{self._losses(number)}" for number, step in enumerate(self.trace))

    def _losses(self, step: int) -> str:
        names = ", ".join(each.obligation.claim for each in self.lost if each.step == step)
        return f"   <- not kept: {names}" if names else ""

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""
        return {
            "rule": self.rule.id,
            "version": self.version,
            "verdict": self.verdict,
            "obligations": len(self.obligations),
            "open": [{"lemma": each.claim, "action": each.action} for each in self.open],
            "theorem": self.theorem,
            "searched": self.searched,
            "where": self.where.strip(" ,"),
            "trace": [str(happening) for happening in self.trace],
            "lost": [
                {"lemma": x.obligation.claim, "action": x.obligation.action, "step": x.step + 1} for x in self.lost
            ],
        }


VERIFIED, UNVERIFIED = "", "without partition verification, "
"""Where a run is from: as the version is claimed, or with verification off, which is outside every domain."""

_LATE_ENDS: Final = quiet(NEWEST, outlive=frozenset({ENDS}), bounds=Bounds(decisions=3))
_LATE_BATCHES: Final = quiet(NEWEST, outlive=frozenset({BATCHES}), bounds=Bounds(instances=2))

INSTANCES: Final[Mapping[Rule, Knobs]] = MappingProxyType(
    {
        rules.TXN_NO_CROSSTALK: _LATE_ENDS,
        rules.TXN_ATOMIC: replace(_LATE_ENDS, bounds=Bounds(decisions=3, batches=2)),
        rules.TXN_CLIENT_VERDICT: _LATE_ENDS,
        rules.FENCE_ZOMBIE_CANNOT_COMMIT: _LATE_BATCHES,
    }
)
"""Where a run is looked for: the least of what may be late, and enough of everything else."""

USUAL: Final = quiet(NEWEST, outlive=EVERYTHING - {BUMPS}, bounds=Bounds(decisions=3))


def earlier(rule: Rule, version: int, systems: Iterable[ProvedSystem]) -> Earlier:
    """What becomes of one rule; a run is looked for only where an obligation fails."""
    obligations = tuple(o for proved in systems for o in proved.beneath(rule))
    told = Earlier(rule, version, obligations)
    if not told.open:
        return told
    for where in (VERIFIED, UNVERIFIED):
        found = _violated(told, where)
        if found.theorem:
            return found
        told = replace(told, searched=found.searched) if where == VERIFIED else told
    return told


def _violated(told: Earlier, where: str) -> Earlier:
    """The same with a run, if there is one where it is looked for."""
    knobs = INSTANCES.get(told.rule, USUAL)
    under = replace(knobs.profile.under(told.version), partition_verification=where == VERIFIED)
    instance = _instanced(replace(knobs, profile=under))
    asked = [claim for claim in instance.system.theorems if claim.rule == told.rule]
    exploration = explore(instance.system, instance.finite, asked, most_states=MOST_STATES)
    found = exploration.verdict
    if not isinstance(found, Refuted):
        return replace(told, searched=exploration.states)
    _confirm(instance, found)
    lost = tuple(_lost(instance, found.trace, told.open))
    return replace(told, trace=found.trace, theorem=found.claim, lost=lost, where=where)


def _instanced(knobs: Knobs) -> Instanced:
    plain, finite = transactions(knobs), instance_of(transactions(knobs), knobs.sizes())
    taken = remembered(decisions(knobs))
    system = replace(transactions(knobs, taken), lemmas=lemmas(knobs, taken))
    return Instanced(f"version {knobs.profile.transaction_version}", system, plain, finite)


def _confirm(instance: Instanced, found: Refuted) -> None:
    if found.depth > CONFIRMED:
        return
    again = search(instance.plain, instance.finite, found.depth, [instance.plain.claim(found.claim)], found.depth)
    if not isinstance(again.verdict, Refuted) or again.verdict.depth != found.depth:
        raise AssertionError(f"explicit search says {found}, bounded search {again.verdict}")


def _lost(instance: Instanced, trace: Trace, unproved: tuple[Obligation, ...]) -> Iterator[Lost]:
    states = list(walked(instance.system, instance.finite, trace))
    for step, happening in enumerate(trace):
        for obligation in unproved:
            if obligation.action == happening.action and obligation.claim in _names(instance.system):
                held = _holds(instance, states[step], obligation.claim)
                if held and not _holds(instance, states[step + 1], obligation.claim):
                    yield Lost(obligation, step)


def _names(system: System) -> frozenset[str]:
    return frozenset(claim.name for claim in system.lemmas)


def _holds(instance: Instanced, state: State, name: str) -> bool:
    claim = instance.system.claim(name)
    return all(claim.holds(state, *at) for at in instance.finite.points(claim.over))
