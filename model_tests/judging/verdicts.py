"""Row rules on Spark: every append step against the one decision, compiled to columns once per behaviour.

A verdict is one row a step: the branch that should decide, and two sets of rules, those at stake in the step and
those of them that it violates. A set of rules is one integer with a bit for each rule of the registry.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

from model_tests.traces.schema import STEP_PARTS, columns_of, step_of
from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import AppendStep, RuleCheck, judge
from spec.protocol.append import Append
from spec.protocol.produce import ONLY_BEFORE_THE_LOG
from spec.readings.formulas import DecisionFormula, Merge, Sheet
from spec.rules import RULES, Rule
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin

BITS: Final[Mapping[Rule, int]] = {rule: 1 << position for position, rule in enumerate(RULES.values())}

KEPT: Final = ("trace", "step", "profile", "transaction_version")
"""Columns that every verdict carries on."""

ROW: Final = "row"
LINK: Final = "link"

NEEDED: Final = tuple(dict.fromkeys((*KEPT, *columns_of(*STEP_PARTS))))
"""Columns without which an append cannot be judged."""

BEFORE_THE_LOG: Final = (*ONLY_BEFORE_THE_LOG, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)
"""Errors with which a broker refuses a request without asking its log."""

REFUSED: Final = "verification_refused"
"""The column that is true of an append which the coordinator of its transaction did not agree to."""


@evidences(rules.SEQ_FIRST, Layer.TRACE)
@evidences(rules.SEQ_SUCCESSOR, Layer.TRACE)
@evidences(rules.SEQ_EPOCH_RESET, Layer.TRACE)
@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.TRACE)
@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.TRACE)
@evidences(rules.SEQ_WELL_FORMED, Layer.TRACE)
@evidences(rules.FENCE_STALE_EPOCH, Layer.TRACE)
@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.TRACE)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.TRACE)
@evidences(rules.SEQ_ORDER, Layer.TRACE)
def append_results(sheet: Sheet, profiles: Mapping[str, Profile]) -> dict[str, Term]:
    """The verdict on an append under the profile that it names, which must be one of these, as formulas."""
    behaviours = dict(by_behaviour(profiles))
    verdicts = []
    for profile in behaviours:
        expected, checks = judged(step_of(sheet.column), profile, sheet.column(REFUSED))
        verdicts.append(verdict_columns(expected.branch, checks, sheet, ROW))
    return Merge(sheet, tuple(behaviours.values())).results(verdicts)


def by_behaviour(profiles: Mapping[str, Profile]) -> Iterator[tuple[Profile, list[str]]]:
    """Each different behaviour with the names of the releases that have it."""
    behaviours: dict[Profile, list[str]] = {}
    for name, profile in profiles.items():
        behaviours.setdefault(replace(profile, name="", transaction_version=0), []).append(name)
    return iter(behaviours.items())


def judged(step: AppendStep, profile: Profile, refused: Term = False) -> tuple[Append, tuple[RuleCheck, ...]]:
    """The decision and its checks; of a request that was refused before the log, only that nothing changed.

    Args:
        step: the append.
        profile: of its node.
        refused: whether the coordinator of its transaction did not agree to it.
    """
    expected, checks = judge(step, profile)
    before = (step.reply.error == error.value for error in BEFORE_THE_LOG)
    reached = negate(any_of(refused, _is_misplaced_copy(step), *before))
    pure = rules.SEQ_REFUSAL_IS_PURE
    return expected, tuple(
        check if check.rule is pure else replace(check, at_stake=all_of(reached, check.at_stake)) for check in checks
    )


def _is_misplaced_copy(step: AppendStep) -> Term:
    """A batch of the leader that begins elsewhere than the follower's log ends: refused for that alone.

    Kafka's UnexpectedAppendOffsetException: where logs have parted unnoticed, the leader's batch may begin before.
    """
    elsewhere = negate(step.request.sent_base_offset == step.request.base_offset)
    copies = step.request.origin == Origin.REPLICATION.value
    return all_of(copies, elsewhere, step.reply.error == ErrorCode.OFFSET_OUT_OF_RANGE.value)


def verdict_columns(branch: Term, checks: Iterable[RuleCheck], sheet: Sheet, kind: str) -> dict[str, Term]:
    """A verdict's values, as formulas over one table.

    Args:
        branch: of the decision.
        checks: of the rules at stake.
        sheet: the columns of a step.
        kind: of the verdict.
    """
    checks = tuple(checks)
    broken = [replace(check, at_stake=all_of(check.at_stake, negate(check.holds))) for check in checks]
    return {
        "kind": sheet.constant(kind),
        "branch": sheet.constant(branch),
        "judged": _set_of(checks, sheet),
        "violated": _set_of(broken, sheet),
    }


def rules_in(bits: int) -> tuple[Rule, ...]:
    """The rules in a set."""
    return tuple(rule for rule, bit in BITS.items() if bits & bit)


def _set_of(checks: Iterable[RuleCheck], sheet: Sheet) -> DecisionFormula:
    at_stake: dict[Rule, list[Term]] = {}
    for check in checks:
        at_stake.setdefault(check.rule, []).append(check.at_stake)
    members = (choose(any_of(*facts), BITS[rule], 0) for rule, facts in at_stake.items())
    return sheet.constant(reduce(lambda total, member: total + member, members))
