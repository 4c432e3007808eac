"""The monitor: every step judged by the specification's decisions at the moment in which it is made."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from model_tests.judging.chains import check_of, of_kind
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.judging.coordinator_verdicts import is_coordinators
from model_tests.judging.explain import explain_coordinator, explain_link, explain_replication, explain_step
from model_tests.judging.explain_history import explain_judged
from model_tests.judging.fault_scope import verdicts_of
from model_tests.judging.histories import Histories
from model_tests.judging.history_links import HISTORY
from model_tests.judging.judges import (
    append_judge,
    coordinator_judge,
    link_judge,
    place_in_link,
    replication_judge,
)
from model_tests.judging.replication_verdicts import KIND, is_of_replication
from model_tests.judging.step_assumptions import Fault, claimed_in
from model_tests.judging.verdicts import ROW, rules_in
from model_tests.monitor.chains import Chains, LinkArguments
from model_tests.traces.schema import Row
from spec.judging.judge import RuleCheck
from spec.rules import RULES, Rule
from spec.versions import PROFILES
from spec.vocabulary import ABSENT


class StepFinding(NamedTuple):
    """A verdict of one kind, and under what it was found; `judged` and `violated` are sets of rules.

    Attributes:
        faults: what had gone wrong (`Fault`) and reaches here: of what a step shows, elections alone.
    """

    kind: str
    profile: str
    transaction_version: int
    faults: int
    branch: int
    judged: int
    violated: int


class DecisionMismatch(Exception):
    """A step is not as the specification's decision says, inside the domain of a rule.

    Attributes:
        violations: the rules that the step breaks, with why.
    """

    def __init__(self, violations: tuple[StepViolation, ...]) -> None:
        """The disagreement of one step, which breaks at least one rule."""
        super().__init__("; ".join(map(str, violations)))
        self.violations = violations

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that the step breaks."""
        return frozenset(violation.rule for violation in self.violations)


class Monitor:
    """Judges the steps of traces in their order, as an observer of their recorder; client events at the end.

    Attributes:
        steps: how many were judged or passed over.
        findings: how often each kind of verdict came.
    """

    def __init__(self) -> None:
        """A monitor that has seen nothing."""
        self.steps = 0
        self.findings: Counter[StepFinding] = Counter()
        self._chains = Chains()
        self._histories: defaultdict[int, Histories] = defaultdict(Histories)

    def __call__(self, row: Row) -> None:
        """Judge the next step of the trace.

        Raises:
            Disagreement: the step breaks a rule in its domain.
        """
        violations = self.judge(row)
        if violations:
            raise DecisionMismatch(violations)

    def judge(self, row: Row) -> tuple[StepViolation, ...]:
        """Judge the next step of the trace: what it breaks inside the domain of the rule."""
        self.steps += 1
        histories = self._histories[row["trace"]]
        histories.add(row)
        under = row["profile"], row["transaction_version"], histories.faults & Fault.UNCLEAN.value
        broken: list[StepViolation] = []
        for kind, verdict, step in self._verdicts(row):
            finding = StepFinding(kind, *under, *verdict)
            self.findings[finding] += 1
            if finding.violated:
                broken += (v for rule in claimed_among(finding.violated, *under) for v in _why(row, kind, rule, step))
        return tuple(broken)

    def finish(self) -> tuple[StepViolation, ...]:
        """Judge the client events of the traces: the violations inside the domain of their rule."""
        broken: list[StepViolation] = []
        for histories in self._histories.values():
            broken += self._of_histories(histories)
        self._histories.clear()
        return tuple(broken)

    def settle(self) -> tuple[StepViolation, ...]:
        """As `finish`, within a trace: the events so far are judged and forgotten, and so are the positions in logs."""
        self._chains.forget_places()
        return self.finish()

    def _of_histories(self, histories: Histories) -> Iterator[StepViolation]:
        for judged, at_stake, violated, faults in verdicts_of(histories):
            under = judged.row["profile"], judged.row["transaction_version"], faults
            self.findings[StepFinding(HISTORY, *under, ABSENT, at_stake, violated)] += 1
            for rule in claimed_among(violated, *under) if violated else ():
                yield from explain_judged(judged, rule, histories)

    def rule_counts(self) -> Iterator[RuleCount]:
        """How often each rule was at stake, and how often it was violated where it is not claimed."""
        return rule_counts(self.findings)

    def _verdicts(self, row: Row) -> Iterator[tuple[str, tuple[int, ...], LinkArguments | None]]:
        if row["origin"] >= 0:
            yield ROW, append_judge(row["profile"])(row), None
        elif is_coordinators(row):
            judge = coordinator_judge(row["api"], row["profile"], row["transaction_version"])
            yield row["api"], judge(row), None
        if is_of_replication(row):
            yield KIND.format(row["api"]), replication_judge(row["api"], row["profile"])(row), None
        for kind, step in self._chains.links(row):
            yield kind, link_judge(kind)(*step), step


@cache
def claimed_among(violated: int, profile: str, transaction_version: int, faults: int = 0) -> tuple[Rule, ...]:
    """The rules of a set that are claimed under a profile and a transaction version, after these faults.

    Args:
        violated: a set of rules as bits.
        profile: its name.
        transaction_version: 0, 1 or 2.
        faults: what had gone wrong before, as bits of `Fault`.
    """
    under = PROFILES[profile].under(transaction_version)
    return tuple(rule for rule in rules_in(violated) if claimed_in(rule, under, faults))


def rule_counts(findings: Counter[StepFinding]) -> Iterator[RuleCount]:
    """How often each rule was at stake, violated, and violated where it is not claimed."""
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for finding, count in findings.items():
        claimed = claimed_among(finding.violated, finding.profile, finding.transaction_version, finding.faults)
        _add(judged, rules_in(finding.judged), count)
        _add(violated, claimed, count)
        _add(known, set(rules_in(finding.violated)).difference(claimed), count)
    return (RuleCount(rule.id, judged[rule], violated[rule], known[rule]) for rule in RULES.values() if judged[rule])


def _add(counts: Counter[Rule], rules: Iterable[Rule], count: int) -> None:
    for rule in rules:
        counts[rule] += count


def _why(row: Row, kind: str, rule: Rule, step: LinkArguments | None) -> Iterator[StepViolation]:
    """Why a step breaks a rule, by verdicts of this kind; of links, each that it breaks."""
    if step is None:
        explain = {ROW: explain_step, KIND.format(row["api"]): explain_replication}.get(kind, explain_coordinator)
        yield explain(row, rule)
        return
    for link in of_kind(kind):
        if link.rule is rule and _is_broken(check_of(link, partial(_value, step))):
            yield explain_link({**row, **{column: _value(step, column) for column in link.columns}}, link)


def _is_broken(check: RuleCheck) -> bool:
    return bool(check.at_stake) and not check.holds


def _value(step: LinkArguments, column: str) -> Any:
    argument, key = place_in_link(column)
    return getattr(step, argument)[key]
