"""The rules that one recorded append is checked against: which are at stake in the step, and which hold.

A step whose answer or entry differs from the decision's breaks the rule of the earlier check in
Kafka's order: the one that should have decided, or the one that did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate, same
from spec.protocol import fence, seq
from spec.protocol.append import NOTHING_PENDING, Append, append, guards
from spec.protocol.guards import PASSED, Guard, number
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry, flatten
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One rule in one step: whether the step concerns it, and whether it holds there."""

    rule: Rule
    at_stake: Term
    holds: Term


@dataclass(frozen=True, slots=True)
class AppendStep:
    """One recorded append: the request, the answer, and the producer's entry before and after."""

    before: ProducerEntry
    request: AppendRequest
    reply: AppendReply
    after: ProducerEntry
    verification: MetVerification = NOTHING_PENDING


def judge(step: AppendStep, profile: Profile) -> tuple[Append, tuple[RuleCheck, ...]]:
    """The expected decision of the step, and every rule that the step is checked against."""
    expected = append(step.before, step.request, profile, step.verification)
    agrees = all_of(answers_agree(expected.reply, step.reply), entries_agree(expected.entry, step.after))
    at_stake = _responsible(step, expected, profile)
    deciding = tuple(RuleCheck(rule, fact, agrees) for rule, fact in at_stake.items())
    refused = negate(step.reply.appended)
    raised = all_of(step.reply.appended, step.request.producer_id >= 0, fence.is_held_to_epoch(step.request, profile))
    always = (
        RuleCheck(rules.SEQ_REFUSAL_IS_PURE, refused, entries_agree(step.before, step.after)),
        RuleCheck(rules.FENCE_EPOCH_MONOTONE, raised, step.after.epoch >= step.before.epoch),
    )
    return expected, deciding + always


def answers_agree(expected: AppendReply, got: AppendReply) -> Term:
    """The same error and the same offsets; a refused batch has no offsets."""
    return all_of(
        expected.error == got.error,
        same(expected.appended, got.appended),
        same(expected.duplicate, got.duplicate),
        expected.first_offset == got.first_offset,
        expected.last_offset == got.last_offset,
    )


def entries_agree(expected: ProducerEntry, got: ProducerEntry) -> Term:
    """Every scalar of the two entries is the same."""
    return all_of(*(left == right for (_, left), (_, right) in zip(flatten(expected), flatten(got), strict=True)))


def _responsible(step: AppendStep, expected: Append, profile: Profile) -> dict[Rule, Term]:
    """For each rule of the append path, whether a deviation in this step violates it."""
    checks = guards(step.before, step.request, profile, step.verification)
    accepted = len(checks) + 1
    should = choose(expected.branch == PASSED, accepted, expected.branch)
    did = _branch_seen(step.reply, checks, accepted)
    first = choose(did < should, did, should)
    by_rule: dict[Rule, list[Term]] = {}
    for position, guard in enumerate(checks, start=1):
        by_rule.setdefault(guard.rule, []).append(first == position)
    for rule, fact in _accepting(step).items():
        by_rule.setdefault(rule, []).append(all_of(first == accepted, fact))
    return {rule: any_of(*facts) for rule, facts in by_rule.items()}


def _branch_seen(reply: AppendReply, checks: Sequence[Guard], accepted: int) -> Term:
    """Number of the earliest check with the recorded answer, where the answer identifies one; else `accepted`."""
    seen: Term = choose(reply.duplicate, number(checks, "duplicate"), accepted)
    for position in range(len(checks), 0, -1):
        error = checks[position - 1].error
        if error not in (ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
            seen = choose(reply.error == error, position, seen)
    return seen


def _accepting(step: AppendStep) -> dict[Rule, Term]:
    """The rule by which a batch that passes every check is appended."""
    request, entry = step.request, step.before
    identified = request.producer_id >= 0
    data = all_of(identified, negate(request.control))
    sent = all_of(data, request.origin == Origin.CLIENT.value)
    unknown = seq.is_unknown(entry)
    moved = seq.changes_epoch(entry, request)
    return {
        rules.SEQ_WELL_FORMED: negate(identified),
        rules.SEQ_FIRST: all_of(sent, unknown),
        rules.SEQ_EPOCH_RESET: all_of(sent, moved),
        rules.SEQ_SUCCESSOR: all_of(sent, negate(unknown), negate(moved)),
        rules.FENCE_STALE_EPOCH: all_of(data, negate(sent)),
        rules.FENCE_COORDINATOR_EPOCH: all_of(identified, request.control),
    }
