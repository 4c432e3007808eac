"""The monitor: every step judged by the specification's decisions at the moment in which it is made."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from model_tests.monitor.chains import Chains, Linked
from model_tests.monitor.judges import (
    append_judge,
    coordinator_judge,
    id_link_judge,
    link_judge,
    log_link_judge,
    place_in_link,
    replication_judge,
)
from model_tests.traces.check import circumstances_of
from model_tests.traces.check_report import RuleCount, Violation
from model_tests.traces.coordinator_links import ID_LINK, ID_LINKS
from model_tests.traces.coordinator_verdicts import is_coordinators
from model_tests.traces.explain import explain_coordinator, explain_link, explain_step
from model_tests.traces.explain_replication import explain_replication
from model_tests.traces.links import LINKS
from model_tests.traces.log_links import LOG_LINK, LOG_LINKS
from model_tests.traces.replication_verdicts import KIND, is_of_replication
from model_tests.traces.schema import Row
from model_tests.traces.verdicts import LINK, ROW, rules_in
from spec.rules import RULES, Rule
from spec.versions import PROFILES

_LINK_RULES: Final = {
    (kind, link.rule): link
    for kind, links in ((LINK, LINKS), (LOG_LINK, LOG_LINKS), (ID_LINK, ID_LINKS))
    for link in links
}

UNCLEAN: Final = "UncleanLeaderElection"
"""The step from which on elections of a trace are not clean."""


class Finding(NamedTuple):
    """A verdict of one kind, and under what it was found; `judged` and `violated` are sets of rules.

    Attributes:
        unclean: a replica out of sync was elected before.
    """

    kind: str
    profile: str
    transaction_version: int
    unclean: bool
    branch: int
    judged: int
    violated: int


class Disagreement(Exception):
    """A step is not as the specification's decision says, inside the domain of a rule.

    Attributes:
        violations: the rules that the step breaks, with why.
    """

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        """The disagreement of one step, which breaks at least one rule."""
        super().__init__("; ".join(map(str, violations)))
        self.violations = violations

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that the step breaks."""
        return frozenset(violation.rule for violation in self.violations)


class Monitor:
    """Judges the steps of one trace in their order, as an observer of their recorder.

    Attributes:
        steps: how many were judged or passed over.
        findings: how often each kind of verdict came.
    """

    def __init__(self) -> None:
        """A monitor that has seen nothing."""
        self.steps = 0
        self.findings: Counter[Finding] = Counter()
        self._chains = Chains()
        self._unclean = False

    def __call__(self, row: Row) -> None:
        """Judge the next step of the trace.

        Raises:
            Disagreement: the step breaks a rule in its domain.
        """
        violations = self.judge(row)
        if violations:
            raise Disagreement(violations)

    def judge(self, row: Row) -> tuple[Violation, ...]:
        """Judge the next step of the trace: what it breaks inside the domain of the rule."""
        self.steps += 1
        self._unclean |= row["api"] == UNCLEAN
        under = row["profile"], row["transaction_version"], self._unclean
        broken: list[Violation] = []
        for kind, (branch, judged, violated), link in self._verdicts(row):
            self.findings[Finding(kind, *under, branch, judged, violated)] += 1
            if violated:
                claimed = claimed_among(violated, *under)
                broken += [_explained(row, kind, rule, link) for rule in claimed]
        return tuple(broken)

    def rule_counts(self) -> Iterator[RuleCount]:
        """How often each rule was at stake, and how often it was violated where it is not claimed."""
        return rule_counts(self.findings)

    def _verdicts(self, row: Row) -> Iterator[tuple[str, tuple[int, ...], Linked | None]]:
        if row["origin"] >= 0:
            yield ROW, append_judge(row["profile"])(row), None
        elif is_coordinators(row):
            judge = coordinator_judge(row["api"], row["profile"], row["transaction_version"])
            yield row["api"], judge(row), None
        if is_of_replication(row):
            yield KIND.format(row["api"]), replication_judge(row["api"], row["profile"])(row), None
        step = self._chains.of_producer(row)
        if step is not None:
            yield LINK, link_judge()(*step), step
        step = self._chains.of_log(row)
        if step is not None:
            yield LOG_LINK, log_link_judge()(*step), step
        step = self._chains.of_id(row)
        if step is not None:
            yield ID_LINK, id_link_judge()(*step), step


@cache
def claimed_among(violated: int, profile: str, transaction_version: int, unclean: bool = False) -> tuple[Rule, ...]:
    """The rules of a set that are claimed under a profile and a transaction version, after clean elections or not."""
    under = circumstances_of(PROFILES[profile].under(transaction_version))
    circumstances = replace(under, clean_elections=not unclean)
    return tuple(rule for rule in rules_in(violated) if rule.claimed_in(circumstances))


def rule_counts(findings: Counter[Finding]) -> Iterator[RuleCount]:
    """How often each rule was at stake, violated, and violated where it is not claimed."""
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for finding, count in findings.items():
        claimed = claimed_among(finding.violated, finding.profile, finding.transaction_version, finding.unclean)
        _add(judged, rules_in(finding.judged), count)
        _add(violated, claimed, count)
        _add(known, set(rules_in(finding.violated)).difference(claimed), count)
    return (RuleCount(rule.id, judged[rule], violated[rule], known[rule]) for rule in RULES.values() if judged[rule])


def _add(counts: Counter[Rule], rules: Iterable[Rule], count: int) -> None:
    for rule in rules:
        counts[rule] += count


def _explained(row: Row, kind: str, rule: Rule, step: Linked | None) -> Violation:
    if step is not None:
        link = _LINK_RULES[kind, rule]
        return explain_link({**row, **_values(step, link.columns)}, link)
    if kind == KIND.format(row["api"]):
        return explain_replication(row, rule)
    return explain_step(row, rule) if kind == ROW else explain_coordinator(row, rule)


def _values(step: Linked, columns: Iterable[str]) -> dict[str, object]:
    places = {column: place_in_link(column) for column in columns}
    return {column: getattr(step, argument)[key] for column, (argument, key) in places.items()}
