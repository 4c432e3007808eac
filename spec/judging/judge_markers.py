"""What an answer to a marker makes of the transaction that waits for it, as its coordinator's step shows."""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, negate, same
from spec.judging.judge import RuleCheck
from spec.judging.judge_replication import Judged
from spec.protocol import completing
from spec.protocol.coordinator import TransactionEntry, is_preparing
from spec.versions import Profile
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class MarkerAnswerStep:
    """A coordinator has the answer to a marker, which changed what it knows of the transaction.

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
    """A partition leaves the transaction if the answer says that it has its marker or can have none, and no other does.

    Where partitions without a leader count as deleted, others may leave in the same step.
    """
    owed = all_of(step.error > ABSENT, is_preparing(TransactionEntry(state=step.state)), step.waits)
    done = completing.is_done(step.error)
    leaves = same(negate(step.waits_after), done)
    alone = any_of(profile.leaderless_marker_dropped, step.partitions - step.partitions_after <= 1)
    return ABSENT, (RuleCheck(rules.TXN_MARKER_ONCE, owed, all_of(leaves, alone)),)
