"""The conformance part of `eos verify`: the bundled sessions, and their evidence, rule by rule."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from model_tests.conform.controls import broken_guards, controls
from model_tests.conform.decision_log import Attribution, rules_blamed
from model_tests.conform.files import (
    LocatedSession,
    SessionLine,
    UnreadableSession,
    bundled,
    parsed,
    sample,
    sessions_in,
    settled,
)
from model_tests.conform.replay import cores, in_order, lost, replay
from model_tests.conform.report import ConformReport
from model_tests.conform.side_by_side import StepComparison
from model_tests.verify.results import PartResult, Result, RuleVerdict, RunEffort
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Rule

ONE_IN: Final = {RunEffort.QUICK: 30, RunEffort.DEFAULT: 10, RunEffort.DEEP: 1}
"""One of so many sessions is replayed, but some of every family."""

SELDOM_MET_IN: Final = ("EC", "FX")
"""Where guards decide that decide too seldom to be in every sample."""

RULES: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_DUPLICATE_WINDOW,
    rules.SEQ_REFUSAL_IS_PURE,
    rules.SEQ_WELL_FORMED,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_COORDINATOR_EPOCH,
    rules.LSO_BOUNDS,
    rules.LSO_READ_COMMITTED,
    rules.LSO_ABORTED_INDEX,
    rules.TXN_LEGAL_TRANSITION,
    rules.TXN_TIMEOUT,
    rules.OFFSETS_STABLE_FETCH,
    rules.OFFSETS_GENERATION_FENCE,
)
"""The rules that the bundled sessions are about."""


@dataclass(slots=True)
class Evidence:
    """What the replayed steps say about the rules.

    Attributes:
        about: steps about each rule.
        against: steps about it on which a side disagrees with the broker.
        first: the first of those, in a line.
    """

    about: Counter[Rule] = field(default_factory=Counter)
    against: Counter[Rule] = field(default_factory=Counter)
    first: dict[Rule, str] = field(default_factory=dict)

    def join(self, other: "Evidence") -> None:
        """Add the results of further steps."""
        self.about += other.about
        self.against += other.against
        self.first = {**other.first, **self.first}


class ReplayedSession(NamedTuple):
    """What the replay of one session found."""

    report: ConformReport
    evidence: Evidence


def evidence(effort: RunEffort) -> PartResult:
    """Replay the bundled sessions: one of thirty in a quick run, one of ten by default, all in a deep one."""
    started = time.monotonic()
    report, judged = ConformReport(), Evidence()
    chosen = sample(ONE_IN[effort])
    for item in settled(in_order(judged_line, lost_line, chosen.lines, cores())):
        if not isinstance(item, UnreadableSession):
            report.join(item.report)
            judged.join(item.evidence)
        elif not item.foreign:
            report.damage.append(str(item))
    report.seconds = time.monotonic() - started
    ran = report.sessions + report.unsupported.sessions
    return PartResult(
        name="conformance",
        results=tuple(_result(rule, judged, report.seconds) for rule in RULES),
        controls=(
            *controls(sessions_in(chosen.lines)),
            *broken_guards(sessions_in(chain(chosen.lines, bundled(SELDOM_MET_IN)))),
        ),
        extra=report.to_json(),
        failures=(*report.damage, *_disagreed(report)),
        sampled="" if ran == chosen.of else f"ran {ran:,} of {chosen.of:,} sessions",
    )


def judged_line(line: SessionLine) -> ReplayedSession | UnreadableSession | None:
    """What the replay of the session in a line finds."""
    found = parsed(line)
    if not isinstance(found, LocatedSession):
        return found
    report = ConformReport()
    return ReplayedSession(report, judge_rules([found], report, _attribution()))


def lost_line(line: SessionLine) -> ReplayedSession | UnreadableSession | None:
    """What is said of a session at whose replay a process died."""
    lost_answer = lost(line)
    return ReplayedSession(lost_answer, Evidence()) if isinstance(lost_answer, ConformReport) else lost_answer


@cache
def _attribution() -> Attribution:
    """What this process has found out about like steps: no decision changes while the part runs."""
    return Attribution()


@evidences(rules.SEQ_FIRST, Layer.CONFORMANCE)
@evidences(rules.SEQ_SUCCESSOR, Layer.CONFORMANCE)
@evidences(rules.SEQ_EPOCH_RESET, Layer.CONFORMANCE)
@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.CONFORMANCE)
@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.CONFORMANCE)
@evidences(rules.SEQ_WELL_FORMED, Layer.CONFORMANCE)
@evidences(rules.FENCE_STALE_EPOCH, Layer.CONFORMANCE)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.CONFORMANCE)
@evidences(rules.LSO_BOUNDS, Layer.CONFORMANCE)
@evidences(rules.LSO_READ_COMMITTED, Layer.CONFORMANCE)
@evidences(rules.LSO_ABORTED_INDEX, Layer.CONFORMANCE)
@evidences(rules.TXN_LEGAL_TRANSITION, Layer.CONFORMANCE)
@evidences(rules.TXN_TIMEOUT, Layer.CONFORMANCE)
@evidences(rules.OFFSETS_STABLE_FETCH, Layer.CONFORMANCE)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.CONFORMANCE)
def judge_rules(found: Iterable[LocatedSession], report: ConformReport, known: Attribution | None = None) -> Evidence:
    """Replay sessions into the report, and count each step for the rules that it is about.

    Args:
        found: the sessions.
        report: gets their results added.
        known: what is known already about like steps, as long as no decision was changed.
    """
    judged, attribution = Evidence(), known or Attribution()
    for item in found:
        for outcome in replay(item, report):
            attribute = rules_blamed if outcome.disagreed else attribution.rules_at_stake
            _count(outcome, attribute(outcome.step, outcome.decided, item.session.profile), judged, item)
    return judged


def _count(outcome: StepComparison, at_stake: tuple[Rule, ...], judged: Evidence, item: LocatedSession) -> None:
    if outcome.undecided:
        return
    judged.about.update(at_stake)
    if outcome.disagreed:
        judged.against.update(at_stake)
        for rule in at_stake:
            judged.first.setdefault(rule, f"{item.session.id} step {outcome.index} by {outcome.disagreed[0].by}")


def _result(rule: Rule, judged: Evidence, seconds: float) -> Result:
    return Result(
        rule=rule,
        layer=Layer.CONFORMANCE,
        verdict=RuleVerdict.VIOLATED if judged.against[rule] else RuleVerdict.HOLDS,
        count=judged.about[rule],
        seconds=round(seconds / len(RULES), 3),
        figures={"steps": judged.about[rule]},
        detail=judged.first.get(rule, ""),
    )


def _disagreed(report: ConformReport) -> tuple[str, ...]:
    if not report.disagreed:
        return ()
    first = report.disagreed[0]
    return (
        f"{report.disagreed_steps:,} of {report.steps:,} recorded steps disagree, first {first.session} "
        f"step {first.step} ({first.api}) by the {first.by}: expected {dict(first.expected)}, got {dict(first.got)}",
    )
