"""Client histories among traces: judged as `eos audit --history` judges them, by the same decisions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from model_tests.histories.anomalies import MEANINGS, Anomaly
from model_tests.histories.as_trace import from_trace
from model_tests.histories.log_order import log_order
from model_tests.histories.report import judge
from model_tests.histories.severity import Severity
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.traces.schema import HISTORY_APIS, OUTCOMES, Quarantined, Row
from spec.rules import RULES, Rule

LISTED: Final = 100
"""Violations of a class that are described; all are counted."""


class JudgedHistories:
    """The histories in the rows of some traces.

    Attributes:
        rules: how often each rule was at stake, and violated.
        violations: the first of each class, with the step in which its first operation ended.
        unread: lines of the histories that could not be read.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        """Judge the rows, which come by trace and in order; those of other apis are left out."""
        self._judged, self._violated = Counter[Rule](), Counter[Rule]()
        self.violations: list[StepViolation] = []
        self.unread: list[Quarantined] = []
        of_histories = (row for row in rows if row["api"] in HISTORY_APIS)
        for _, own in groupby(of_histories, key=lambda row: int(row["trace"])):
            self._judge(list(own))

    @property
    def rules(self) -> tuple[RuleCount, ...]:
        """The counts."""
        judged, violated = self._judged, self._violated
        return tuple(RuleCount(rule.id, judged[rule], violated[rule], 0) for rule in judged if judged[rule])

    def _judge(self, rows: Sequence[Row]) -> None:
        ends = [row for row in rows if row["api"] in OUTCOMES]
        history = from_trace(rows)
        where = f"trace {rows[0]['trace']}"
        self.unread += (Quarantined(f"of a history: {why}", count, where) for why, count in history.aside.items())
        for kind, cases in judge(log_order(history)).items():
            rule = MEANINGS[kind].rule
            self._judged[rule] += cases.judged
            self._violated[rule] += cases.count(Severity.VIOLATION)
            self.violations += (
                _violation(case, ends) for case in cases.examples(LISTED) if case.severity is Severity.VIOLATION
            )


def _violation(case: Anomaly, ends: Sequence[Row]) -> StepViolation:
    meaning, row = MEANINGS[case.kind], ends[case.rows[0]]
    return StepViolation(
        trace=row["trace"],
        step=row["step"],
        rule=meaning.rule.id,
        guard=case.kind.value,
        values={"partition": case.key, "offsets": list(case.offsets), "values": list(case.values)},
        got={"found": case.message},
        allowed={"never": meaning.statement},
        replay="",
    )


def summed(counts: Iterable[RuleCount], others: Iterable[RuleCount]) -> Iterator[RuleCount]:
    """Counts of the same rules as one."""
    by_rule = {name: RuleCount(name, 0, 0, 0) for name in RULES}
    for count in (*counts, *others):
        own = by_rule[count.rule]
        sums = (own.judged + count.judged, own.violations + count.violations, own.known + count.known)
        by_rule[count.rule] = RuleCount(count.rule, *sums)
    return (count for count in by_rule.values() if count.judged)
