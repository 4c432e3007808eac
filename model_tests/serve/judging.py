"""The live judge: every step of a server's nodes at the moment in which it is made, and what came of transactions."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TextIO, TypeAlias

from model_tests.diagrams.events import Ending
from model_tests.diagrams.sequence import text_of
from model_tests.judging.branch_coverage import BranchTally
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.monitor.drawing import sequence_of
from model_tests.monitor.monitor import Monitor
from model_tests.traces.schema import Row, ndjson_line
from spec.vocabulary import TransactionState

NOT_RECORDED: Final = "nothing shows it again: the run was not recorded"

TRACE_FILE: Final = "trace.ndjson"
"""The steps, in a directory that a run is recorded in."""

WINDOW: Final = 2_000
"""Steps after which waiting events are judged and forgotten, so that memory does not grow with the run."""

DRAWN: Final = 12
"""Steps that are drawn with a violation: the one that breaks the rule, and those before it."""

KEPT: Final = 100
"""Violations that the report has; all are counted and printed."""

OUTCOMES: Final = {
    int(TransactionState.COMPLETE_COMMIT): "committed",
    int(TransactionState.COMPLETE_ABORT): "aborted",
}

Say: TypeAlias = Callable[[str], None]
"""Prints a line."""


class LiveJudge:
    """The observer of a server's steps.

    Attributes:
        violations: the first that were found.
        violated: how many were.
        outcomes: of transactions, as their coordinators completed them.
    """

    def __init__(self, say: Say, record: TextIO | None = None, replay: str = NOT_RECORDED) -> None:
        """Nothing has happened.

        Args:
            say: prints a violation when it is found.
            record: that every step is written to.
            replay: the command that shows a step again, without its number.
        """
        self.violations: list[StepViolation] = []
        self.violated = 0
        self.outcomes: Counter[str] = Counter()
        self._monitor = Monitor()
        self._say = say
        self._record = record
        self._replay = replay
        self._settled = 0
        self._latest: deque[Row] = deque(maxlen=DRAWN)

    @property
    def steps(self) -> int:
        """How many have come; those that no rule is about are counted too."""
        return self._monitor.steps

    def __call__(self, row: Row) -> None:
        """Judge the next step."""
        self._latest.append(row)
        if self._record is not None:
            self._record.write(ndjson_line(row))
        state = row["after_txn_state"]
        if state in OUTCOMES and row["before_txn_state"] not in (state, -1):
            self.outcomes[OUTCOMES[state]] += 1
        self._found(self._monitor.judge(row))

    def pause(self) -> None:
        """Between two steps of the server: after each window, judge the events that wait, and forget them."""
        if self._monitor.steps - self._settled >= WINDOW:
            self.finish()

    def finish(self) -> None:
        """Judge the events that have come since the last time."""
        self._settled = self._monitor.steps
        self._found(self._monitor.settle())

    def _found(self, violations: tuple[StepViolation, ...]) -> None:
        self.violated += len(violations)
        for found in violations:
            again = f"{self._replay} --step {found.step}" if self._record is not None else self._replay
            violation = replace(found, replay=again)
            if len(self.violations) < KEPT:
                self.violations.append(violation)
            self._say(str(violation))
        if violations:
            first = violations[0]
            ending = Ending(first.rule, f"at step {first.step}, by {first.guard}")
            self._say(text_of(sequence_of(tuple(self._latest), "the latest steps", ending)))

    def rules(self) -> tuple[RuleCount, ...]:
        """How often each rule was at stake, and how it went."""
        return tuple(self._monitor.rule_counts())

    def met(self) -> Iterator[BranchTally]:
        """How often each branch of a decision decided."""
        return (
            BranchTally(found.kind, found.profile, found.branch, times)
            for found, times in self._monitor.findings.items()
        )
