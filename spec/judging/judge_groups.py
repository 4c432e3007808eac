"""The rules that a recorded step of a group coordinator is checked against: fetches and commits of offsets."""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, choose
from spec.judging.judge import RuleCheck
from spec.judging.judge_replication import Judged
from spec.protocol.guards import PASSED
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, fetch
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetFetchStep:
    """OffsetFetch of one partition.

    Attributes:
        committed: the group's offset, -1 none.
        pending: an undecided transaction has one for the partition.
        stable: the request requires stable offsets.
        error: of the answer.
        offset: in the answer.
    """

    committed: Term
    pending: Term
    stable: Term
    error: Term
    offset: Term


@dataclass(frozen=True, slots=True)
class OffsetCommitStep:
    """TxnOffsetCommit of one partition.

    Attributes:
        claimed: the generation that the request names, -1 none.
        generation: of the group, -1 where there is no such group.
        error: of the answer.
        committed: the group's offset before.
        committed_after: the same after the step.
    """

    claimed: Term
    generation: Term
    error: Term
    committed: Term
    committed_after: Term


def judge_offset_fetch(step: OffsetFetchStep, _profile: Profile) -> Judged:
    """OffsetFetch returns the group's offset; a stable one only when no open transaction may still change it."""
    recorded_at = choose(step.committed >= 0, 0, NO_OFFSET.recorded_at)
    expected = fetch(OffsetEntry(step.committed, recorded_at), step.pending, stable=step.stable == 1)
    agrees = all_of(step.error == expected.error, step.offset == expected.offset)
    return expected.branch, (RuleCheck(rules.OFFSETS_STABLE_FETCH, True, agrees),)


def judge_offset_commit(step: OffsetCommitStep, profile: Profile) -> Judged:
    """A member of a past generation cannot commit; an offset in a transaction stays pending until its marker."""
    accepted = step.error == ErrorCode.NONE.value
    named = all_of(profile.commits_fenced_by_generation, step.claimed > ABSENT, step.generation >= 0)
    past = all_of(accepted, named)
    waits = RuleCheck(rules.OFFSETS_ATOMIC, True, step.committed_after == step.committed)
    return PASSED, (
        RuleCheck(rules.OFFSETS_GENERATION_FENCE, named, choose(past, step.claimed == step.generation, True)),
        waits,
    )


def judge_marker(last_commit: OffsetEntry, pending: OffsetEntry, commits: Term) -> RuleCheck:
    """A COMMIT: what the transaction said of an offset is pending up to its marker, so that it becomes the group's.

    Args:
        last_commit: the last offset that the transaction has in the log for the partition.
        pending: what is pending of it when the marker comes.
        commits: the marker is a COMMIT.
    """
    return RuleCheck(rules.OFFSETS_ATOMIC, all_of(last_commit.present, commits), pending.present)


def judge_place(offset: Term, log_end: Term) -> RuleCheck:
    """A group's committed offset is at most the end of its partition: what it has read, was there.

    Args:
        offset: the group's, -1 none.
        log_end: of the partition.
    """
    return RuleCheck(rules.REPL_COMMITTED_SURVIVES, offset >= 0, offset <= log_end)
