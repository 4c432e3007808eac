"""The rules that one recorded step of a transaction coordinator is checked against, and whether each holds.

If the answer or the state differs from the decision's, two checks may be to blame: the one that should have decided,
and the one that did. The violated rule is that of the earlier check.
"""

from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate, same
from spec.judging.judge import RuleCheck
from spec.judging.judge_replication import Judged
from spec.protocol import completing, ending
from spec.protocol.coordinator import TransactionEntry, is_preparing
from spec.protocol.coordinator_steps import DECISIONS, ELSEWHERE, CoordinatorStep, StepResult, is_one_of
from spec.protocol.guards import PASSED
from spec.protocol.records import flatten
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

FACTS: Final = ("known", "fence_failed")
"""Scalars of an id that are true or false."""


def judge(api: str, step: CoordinatorStep, profile: Profile) -> tuple[StepResult, tuple[RuleCheck, ...]]:
    """The expected outcome of a step of this kind, and every rule that the step is checked against."""
    expected = DECISIONS[api](step, profile)
    holds = agrees(expected, step)
    deciding = tuple(RuleCheck(rule, fact, holds) for rule, fact in _responsible(step, expected).items())
    decided = all_of(is_preparing(step.before), step.after.known)
    return expected, (
        *deciding,
        RuleCheck(rules.TXN_ONE_OUTCOME, decided, ending.keeps_outcome(step.before, step.after)),
    )


def agrees(expected: StepResult, step: CoordinatorStep) -> Term:
    """The recorded answer, partitions and metadata are the expected ones."""
    return all_of(
        expected.error == step.error,
        expected.answered.producer_id == step.answered.producer_id,
        expected.answered.producer_epoch == step.answered.producer_epoch,
        expected.partitions,
        known_alike(expected.entry, step.after),
    )


def known_alike(expected: TransactionEntry, got: TransactionEntry) -> Term:
    """The same in every scalar."""
    both = zip(flatten(expected), flatten(got), strict=True)
    return all_of(*(same(left, right) if name in FACTS else left == right for (name, left), (_, right) in both))


def _responsible(step: CoordinatorStep, expected: StepResult) -> dict[Rule, Term]:
    """For each rule, whether a deviation in this step violates it; no rule if the node is not the id's coordinator."""
    accepted = len(expected.checks) + 1
    should = choose(expected.branch == PASSED, accepted, expected.branch)
    did = choose(step.error == expected.error, should, _branch_seen(step, expected, accepted))
    first = choose(did < should, did, should)
    reached = negate(is_one_of(step.error, ELSEWHERE))
    by_rule: dict[Rule, list[Term]] = {rules.TXN_LEGAL_TRANSITION: [first == accepted]}
    for position, guard in enumerate(expected.checks, start=1):
        by_rule.setdefault(guard.rule, []).append(first == position)
    return {rule: all_of(reached, any_of(*facts)) for rule, facts in by_rule.items()}


def _branch_seen(step: CoordinatorStep, expected: StepResult, accepted: int) -> Term:
    """Number of the earliest check with the recorded answer, where the answer identifies one; else `accepted`."""
    seen: Term = accepted
    for position in range(len(expected.checks), 0, -1):
        error = expected.checks[position - 1].error
        if error != ErrorCode.NONE.value:
            seen = choose(step.error == error, position, seen)
    return seen


# --- answers to markers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MarkerAnswerStep:
    """A coordinator has received the answer to a marker, and has changed its state of the transaction.

    Attributes:
        error: the answer; -1 where the step does not show it.
        state: of the transactional id before.
        waits: the transaction waits for the partition's marker, before the step.
        waits_after: the same after it.
        partitions: how many the transaction waits for, before the step.
        partitions_after: the same after it.
    """

    error: Term
    state: Term
    waits: Term
    waits_after: Term
    partitions: Term
    partitions_after: Term


def judge_marker_answer(step: MarkerAnswerStep, profile: Profile) -> Judged:
    """The partition leaves the transaction if it has its marker, or can have none, by the answer; no other one leaves.

    In releases where partitions without a leader count as deleted, others may leave in the same step.
    """
    owed = all_of(step.error > ABSENT, is_preparing(TransactionEntry(state=step.state)), step.waits)
    done = completing.is_done(step.error)
    leaves = same(negate(step.waits_after), done)
    alone = any_of(profile.leaderless_marker_dropped, step.partitions - step.partitions_after <= 1)
    return ABSENT, (RuleCheck(rules.TXN_MARKER_ONCE, owed, all_of(leaves, alone)),)
