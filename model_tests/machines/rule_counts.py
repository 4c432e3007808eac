"""The account of a run: how often each rule was at stake, and where it was broken."""

from collections import Counter
from dataclasses import dataclass, field

from model_tests.judging.check_report import RuleCount
from model_tests.monitor.monitor import StepFinding, rule_counts
from spec.rules import Circumstances, Rule

USUAL: Circumstances = Circumstances()
"""The circumstances under which every rule is claimed."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One rule that did not hold.

    Attributes:
        seen_by: `invariant`, the plain text of the rule here, `decision`, the specification's, or `monitor`, which puts
            every recorded step to it.
        message: what was done, why it is wrong, and the values.
    """

    rule: Rule
    seen_by: str
    message: str

    def __str__(self) -> str:
        """One line, the rule first."""
        return f"[{self.rule.id}] by {self.seen_by}: {self.message}"


class RuleViolated(Exception):
    """A rule did not hold in a run."""

    def __init__(self, violation: LedgerEntry) -> None:
        """For this violation."""
        super().__init__(str(violation))
        self.violation = violation


@dataclass(slots=True)
class Ledger:
    """What a run, or many, found.

    Attributes:
        at_stake: by rule, how often its invariant was checked on something that it forbids or demands.
        decided: by rule, how often the specification's decision was compared, and the rule was at stake.
        known: by rule, violations in circumstances in which the rule is not claimed.
        broken: violations where it is claimed.
        runs: runs begun.
        steps: events that happened in them.
        asks_decision: whether the specification's decision is compared, too, which takes most of the time.
        monitors: whether the monitor judges every recorded step, where decisions are compared.
        findings: how often each kind of verdict of the monitor came.
    """

    at_stake: Counter[Rule] = field(default_factory=Counter)
    decided: Counter[Rule] = field(default_factory=Counter)
    known: Counter[Rule] = field(default_factory=Counter)
    broken: list[LedgerEntry] = field(default_factory=list)
    runs: int = 0
    steps: int = 0
    asks_decision: bool = True
    monitors: bool = True
    findings: Counter[StepFinding] = field(default_factory=Counter)

    def expect(self, rule: Rule, holds: bool, message: str, circumstances: Circumstances = USUAL) -> None:
        """Note that an invariant was at stake, and a violation unless it holds.

        Args:
            rule: that is at stake.
            holds: whether it holds here.
            message: what is wrong, if it does not.
            circumstances: in which it was at stake; a domain may leave them out.
        """
        if holds or rule.claimed_in(circumstances):
            self.at_stake[rule] += 1
        if not holds:
            self._violated(LedgerEntry(rule, "invariant", message), circumstances)

    def decide(self, rule: Rule, holds: bool, message: str) -> None:
        """Note a comparison with the specification's decision, and a violation unless it agrees."""
        self.decided[rule] += 1
        if not holds:
            self._violated(LedgerEntry(rule, "decision", message), USUAL)

    def disagrees(self, rule: Rule, message: str) -> None:
        """Note that the monitor disagrees with a step, where the rule is claimed."""
        self.broken.append(LedgerEntry(rule, "monitor", message))

    def monitored(self, rule: Rule) -> RuleCount:
        """How often a rule was at stake in the steps that the monitor has judged, and known to be violated."""
        counts = (count for count in rule_counts(self.findings) if count.rule == rule.id)
        return next(counts, RuleCount(rule.id, 0, 0, 0))

    def seen_by_invariants(self, rule: Rule | None = None) -> LedgerEntry | None:
        """The first violation that an invariant has seen, of a rule or of any."""
        seen = (found for found in self.broken if found.seen_by == "invariant")
        return next((found for found in seen if rule in (None, found.rule)), None)

    def _violated(self, violation: LedgerEntry, circumstances: Circumstances) -> None:
        if violation.rule.claimed_in(circumstances):
            self.broken.append(violation)
        else:
            self.known[violation.rule] += 1
