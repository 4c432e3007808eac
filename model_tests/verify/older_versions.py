"""A theorem under an earlier transaction version: the obligations that fail, and a run that shows why.

The lemmas are those of version 2. Where one of them fails under an action, a bounded instance is searched for a run
from the start that violates the theorem, and the run for the steps at which lemmas are lost that fail. A theorem that
knows no transaction versions is as true under an earlier one; what breaks it is a control, which is shown instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from model_tests.verify import idempotence_searches
from model_tests.verify.breaking import ViolatingRun, open_along, run_against
from model_tests.verify.model_checking import Instanced
from model_tests.verify.proved import ProvedSystem, open_among, why_open
from spec import rules
from spec.engines.finite import instance_of
from spec.engines.induction import Obligation, prove
from spec.rules import Circumstances, Rule
from spec.systems.assumptions import Assumption, ids, in_order
from spec.systems.idempotence.stream import StreamKnobs as StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.language import System
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.proof import UNBOUNDED, lemmas, proved
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import BATCHES, BUMPS, ENDS, EVERYTHING, Bounds, TransactionKnobs
from spec.versions import NEWEST, Profile


@dataclass(frozen=True, slots=True)
class Earlier:
    """A rule under an earlier transaction version.

    Attributes:
        obligations: all that are beneath the rule.
        run: the shortest one that violates a theorem of the rule, if one was found.
        searched: how many states were seen without finding one where it would have to be.
        assumptions: what the proof takes for granted that is tried.
    """

    rule: Rule
    version: int
    obligations: tuple[Obligation, ...]
    run: ViolatingRun | None = None
    searched: int = 0
    assumptions: tuple[Assumption, ...] = ()

    @property
    def open(self) -> tuple[Obligation, ...]:
        """The obligations that fail."""
        return open_among(self.obligations)

    @property
    def verdict(self) -> str:
        """`proved`, or `known` where a run violates what is not claimed of the version; else `violated`, `unknown`.

        What is proved must have a control that breaks it, where one is named; otherwise it is `unbroken`.
        """
        if not self.open:
            return "unbroken" if self.run is not None and not (self.run and self.run.lost) else "proved"
        claimed = self.rule.claimed_in(
            Circumstances(
                transaction_version=self.version,
                delayed_requests=True,
                partition_verification=self.run is None or self.run.where != UNVERIFIED,
            )
        )
        return ("violated" if claimed else "known") if self.run else "unknown"

    @property
    def passed(self) -> bool:
        """Whether the version keeps the rule, or is known not to."""
        return self.verdict in ("proved", "known")

    def lines(self) -> Iterator[str]:
        """What is said of it, for a person."""
        yield f"{self.rule.id} under transaction version {self.version}: {self.verdict}"
        yield f"  tried under {', '.join(ids(self.assumptions))}"
        if not self.open and self.run is not None:
            yield "  nothing beneath it knows of transaction versions; a control takes their place"
        yield from self._open_lines()
        if self.searched:
            yield f"  no run violates it in {self.searched} states"
        if self.run is not None:
            yield from (f"  {self.run.where}, open: {why_open(each)}" for each in self._elsewhere)
            yield from (f"  {line}" for line in self.run.lines()) if self.run else ()

    def _open_lines(self) -> Iterator[str]:
        """What fails: what a run loses by itself, the others in one line; without a run each with the solver's word."""
        if not self.run:
            yield from (f"  open: {why_open(each)}" for each in self.open)
            return
        lost = {str(each.obligation) for each in self.run.lost}
        named = [str(each) for each in self.open]
        yield from (f"  open, and lost in the run below: {name}" for name in named if name in lost)
        if others := [name for name in named if name not in lost]:
            yield f"  open as well, with the lemmas of version {NEWEST.transaction_version}: {'; '.join(others)}"

    @property
    def _elsewhere(self) -> tuple[Obligation, ...]:
        """What fails where the run is from, and not under the version as such."""
        here = {str(each) for each in self.open}
        return tuple(each for each in (self.run.open if self.run else ()) if str(each) not in here)

    def to_json(self) -> dict[str, object]:
        """The same as plain values.

        Fields:
            rule: the rule
            version: the transaction version
            verdict: `proved`; `known`, if a run violates what is not claimed of it; else a failure
            obligations: how many are beneath the rule
            assumptions[]: what the proof that was tried takes for granted, by number
            open[].lemma: of an obligation that fails under the version, the lemma
            open[].action: the action that does not keep it
            open_there[].lemma: likewise, of what fails only where the run is from (`where`)
            open_there[].action: its action
            theorem: what the run violates; empty without a run
            searched: states of the instance that has no such run, where one was looked for in vain first
            where: what else is changed where the run is from; empty for nothing
            trace[]: the run, an action each
            lost[].lemma: a lemma of those that fail, which the run loses
            lost[].action: under which action
            lost[].step: at which step of the run, the first one being 1
        """
        run = self.run or ViolatingRun("", "", (), (), (), 0)
        return {
            "rule": self.rule.id,
            "version": self.version,
            "verdict": self.verdict,
            "obligations": len(self.obligations),
            "assumptions": ids(self.assumptions),
            "open": [_named(each) for each in self.open],
            "open_there": [_named(each) for each in self._elsewhere],
            "theorem": run.theorem,
            "searched": self.searched,
            "where": run.where,
            "trace": [str(happening) for happening in run.trace],
            "lost": [{**_named(each.obligation), "step": each.step + 1} for each in run.lost],
        }


def _named(obligation: Obligation) -> dict[str, object]:
    return {"lemma": obligation.claim, "action": obligation.action}


UNVERIFIED: Final = "without partition verification"
"""Where a run may be from, outside every domain: with verification off."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """A control that is shown where a theorem knows no transaction versions.

    Attributes:
        unbounded: the broken system, to be proved.
        instance: a finite one of it, to be searched.
    """

    name: str
    unbounded: Callable[[], System]
    instance: Callable[[], Instanced]


def _in_flight(most: int, requests: int, appends: int) -> InPlace:
    """More batches in flight than a window of five recognises."""
    knobs, name = StreamKnobs(in_flight=most), f"control: {most} in flight, window of five"
    bounded = replace(knobs, fails_over=False, gives_up=False, requests=requests, appends=appends)
    return InPlace(name, lambda: idempotence(knobs), lambda: idempotence_searches.built(name, bounded))


IN_PLACE: Final[Mapping[Rule, InPlace]] = MappingProxyType(
    {rules.SEQ_EXACTLY_ONCE: _in_flight(6, requests=12, appends=7)},
)

_LATE_ENDS: Final = quiet(NEWEST, outlive=frozenset({ENDS}), bounds=Bounds(decisions=3))
_LATE_BATCHES: Final = quiet(NEWEST, outlive=frozenset({BATCHES}), bounds=Bounds(instances=2))

INSTANCES: Final[Mapping[Rule, TransactionKnobs]] = MappingProxyType(
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
    """The result for one rule; a run is looked for where an obligation fails, unless a control shows it."""
    tried = tuple(systems)
    obligations = tuple(o for proved in tried for o in proved.beneath(rule))
    assumed = in_order(assumption for proved in tried for assumption in proved.system.assumptions)
    reported = Earlier(rule, version, obligations, assumptions=assumed)
    if not reported.open:
        return replace(reported, run=_of_control(rule, IN_PLACE[rule])) if rule in IN_PLACE else reported
    found = run_against(rule, _instance(reported, verified=True), reported.open)
    if found:
        return replace(reported, run=found)
    return replace(reported, run=_unverified(reported), searched=found.searched)


def _of_control(rule: Rule, control: InPlace) -> ViolatingRun:
    """The obligations beneath the rule that a control leaves open, and a run that shows why."""
    system = control.unbounded()
    beneath = ProvedSystem(system, prove(system), frozenset()).beneath(rule)
    return run_against(rule, control.instance(), open_among(beneath), control.name)


def _unverified(reported: Earlier) -> ViolatingRun | None:
    """A run with partition verification off, and what of its steps is not proved there."""
    instance = _instance(reported, verified=False)
    found = run_against(reported.rule, instance, (), UNVERIFIED)
    if not found:
        return None
    system = proved(replace(UNBOUNDED, profile=_under(UNBOUNDED.profile, reported.version, verified=False)))
    return run_against(reported.rule, instance, open_along(system, instance, found.trace), UNVERIFIED)


def _under(profile: Profile, version: int, *, verified: bool) -> Profile:
    return replace(profile.under(version), partition_verification=verified)


def _instance(reported: Earlier, *, verified: bool) -> Instanced:
    knobs = INSTANCES.get(reported.rule, USUAL)
    return _instanced(replace(knobs, profile=_under(knobs.profile, reported.version, verified=verified)))


def _instanced(knobs: TransactionKnobs) -> Instanced:
    plain, finite = transactions(knobs), instance_of(transactions(knobs), knobs.sizes())
    taken = remembered(decisions(knobs))
    system = replace(transactions(knobs, taken), lemmas=lemmas(knobs, taken))
    return Instanced(f"version {knobs.profile.transaction_version}", system, plain, finite)
