"""The steps of a machine's world, judged by the specification's decisions while they are made."""

from model_tests.machines.rule_counts import Ledger
from model_tests.monitor.monitor import Monitor
from reference.recording.recorder import Recorder, Row
from spec.rules import RULES


class StepJudge:
    """The monitor of one world, which writes into a ledger.

    A disagreement is noted at its step, with rule, guard and values. The machine stops before its next event; what is
    violated where its rule is not claimed is known, and is counted.
    """

    __slots__ = ("_ledger", "_monitor")

    def __init__(self, ledger: Ledger) -> None:
        """A judge that has seen nothing."""
        self._ledger = ledger
        self._monitor = Monitor()
        self._monitor.findings = ledger.findings

    def __call__(self, row: Row) -> None:
        """Judge the next step."""
        for violation in self._monitor.judge(row):
            self._ledger.disagrees(RULES[violation.rule], str(violation))


def judge_steps(recorder: Recorder, ledger: Ledger) -> None:
    """Judge the steps that a world has begun with, and every later one, unless the ledger uses no decision."""
    if not (ledger.asks_decision and ledger.monitors):
        return
    judge = StepJudge(ledger)
    for row in recorder.rows:
        judge(row)
    recorder.observer = judge
