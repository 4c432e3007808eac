"""The conformance part of `eos verify`: the bundled sessions, and what they are evidence of, rule by rule."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from model_tests.conformance.attribution import Attribution, rules_at_stake
from model_tests.conformance.broken_guards import broken_guards
from model_tests.conformance.controls import controls
from model_tests.conformance.files import Damage, Found, read
from model_tests.conformance.replay import replay
from model_tests.conformance.report import ConformReport
from model_tests.conformance.side_by_side import Outcome
from model_tests.verify.results import Effort, Part, Result, Verdict
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Rule

RECORDINGS: Final = Path(__file__).parent / "recordings"
SEED: Final = 20261121
"""Of the sample that is taken."""

SHARE: Final = {Effort.QUICK: 9, Effort.DEFAULT: 3, Effort.DEEP: 1}
"""One of so many sessions is replayed."""

RULES: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_DUPLICATE_WINDOW,
    rules.SEQ_REFUSAL_IS_PURE,
    rules.SEQ_WELL_FORMED,
    rules.FENCE_STALE_EPOCH,
    rules.LSO_BOUNDS,
    rules.LSO_READ_COMMITTED,
    rules.LSO_ABORTED_INDEX,
    rules.TXN_LEGAL_TRANSITION,
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


def evidence(effort: Effort) -> Part:
    """Replay the bundled sessions: a seeded third of them, a ninth in a quick run, all in a deep one."""
    started = time.monotonic()
    report = ConformReport()
    bundled = _bundled(report)
    found = _sample(bundled, effort)
    judged = judge_rules(found, report)
    report.seconds = time.monotonic() - started
    return Part(
        name="conformance",
        results=tuple(_result(rule, judged, report.seconds) for rule in RULES),
        controls=(
            *controls(item.session for item in found),
            *broken_guards(item.session for item in bundled),
        ),
        extra=report.to_json(),
        failures=(*report.damage, *_disagreed(report)),
        sampled="" if len(found) == len(bundled) else f"ran {len(found):,} of {len(bundled):,} sessions",
    )


@evidences(rules.SEQ_FIRST, Layer.CONFORMANCE)
@evidences(rules.SEQ_SUCCESSOR, Layer.CONFORMANCE)
@evidences(rules.SEQ_EPOCH_RESET, Layer.CONFORMANCE)
@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.CONFORMANCE)
@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.CONFORMANCE)
@evidences(rules.SEQ_WELL_FORMED, Layer.CONFORMANCE)
@evidences(rules.FENCE_STALE_EPOCH, Layer.CONFORMANCE)
@evidences(rules.LSO_BOUNDS, Layer.CONFORMANCE)
@evidences(rules.LSO_READ_COMMITTED, Layer.CONFORMANCE)
@evidences(rules.LSO_ABORTED_INDEX, Layer.CONFORMANCE)
@evidences(rules.TXN_LEGAL_TRANSITION, Layer.CONFORMANCE)
@evidences(rules.OFFSETS_STABLE_FETCH, Layer.CONFORMANCE)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.CONFORMANCE)
def judge_rules(found: Sequence[Found], report: ConformReport) -> Evidence:
    """Replay sessions into the report, and count each step for the rules that it is about."""
    judged, attribution = Evidence(), Attribution()
    for item in found:
        for outcome in replay(item, report):
            attribute = rules_at_stake if outcome.disagreed else attribution.rules_at_stake
            _count(outcome, attribute(outcome.step, outcome.decided, item.session.profile), judged, item)
    return judged


def _count(outcome: Outcome, at_stake: tuple[Rule, ...], judged: Evidence, item: Found) -> None:
    if outcome.undecided:
        return
    judged.about.update(at_stake)
    if outcome.disagreed:
        judged.against.update(at_stake)
        for rule in at_stake:
            judged.first.setdefault(rule, f"{item.session.id} step {outcome.index} by {outcome.disagreed[0].by}")


def _bundled(report: ConformReport) -> list[Found]:
    read_items = list(read([RECORDINGS]))
    report.damage.extend(str(item) for item in read_items if isinstance(item, Damage) and not item.foreign)
    return [item for item in read_items if isinstance(item, Found)]


def _sample(found: list[Found], effort: Effort) -> list[Found]:
    chosen = sorted(random.Random(SEED).sample(range(len(found)), len(found) // SHARE[effort]))
    return [found[index] for index in chosen]


def _result(rule: Rule, judged: Evidence, seconds: float) -> Result:
    return Result(
        rule=rule,
        layer=Layer.CONFORMANCE,
        verdict=Verdict.VIOLATED if judged.against[rule] else Verdict.HOLDS,
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
