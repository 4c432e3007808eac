"""The rules that one recorded step of replication is checked against, and whether each holds.

A step is of a leader, a follower or a controller. The state before is in the step; the expected result is
that of the decisions of `repl` and `electing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging import proposals
from spec.judging.judge import RuleCheck
from spec.protocol import electing, repl
from spec.protocol.electing import Candidate, Proposal, ReplicationProgress
from spec.protocol.guards import PASSED, branch, error_of
from spec.protocol.repl import EpochEnd, FollowerFetch, Leading, Produce, ReturningReplica, Watermark
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

Judged: TypeAlias = tuple[Term, tuple[RuleCheck, ...]]
"""The branch that decides, and every rule that the step is checked against."""

AGREEMENT, SURVIVES, BOUNDS = rules.REPL_PREFIX_AGREEMENT, rules.REPL_COMMITTED_SURVIVES, rules.REPL_HW_BOUNDS
_NONE, _NOT_CONTROLLER = ErrorCode.NONE.value, ErrorCode.NOT_CONTROLLER.value


@dataclass(frozen=True, slots=True)
class FetchStep:
    """A Fetch of a follower from the broker that it takes for the leader.

    Attributes:
        known: the epoch end that the broker knows for the follower's last epoch.
        answered: the divergence offset in the answer; -1 for none.
        before: the leader's state of the follower before.
        caught_up: the leader's time of its last catch-up, after the step.
        now: the leader's time.
    """

    leading: Leading
    request: FollowerFetch
    known: EpochEnd
    error: Term
    answered: EpochEnd
    before: ReplicationProgress
    caught_up: Term
    now: Term


def judge_fetch(step: FetchStep, profile: Profile) -> Judged:
    """The answer, and the leader's state of the follower afterwards."""
    expected = repl.fetched(step.leading, step.request, step.known, profile=profile)
    end = choose(expected.diverges, step.known.end, ABSENT)
    epoch = choose(expected.diverges, step.known.epoch, ABSENT)
    answers = all_of(expected.error == step.error, step.answered.end == end, step.answered.epoch == epoch)
    after = electing.progressed(step.before, step.request.offset, step.leading.log_end, step.now)
    return expected.branch, (
        RuleCheck(AGREEMENT, True, answers),
        RuleCheck(SURVIVES, expected.gives_records, after.caught_up == step.caught_up),
    )


@dataclass(frozen=True, slots=True)
class EpochEndStep:
    """A follower requests the end of an epoch (OffsetsForLeaderEpoch)."""

    leading: Leading
    named: Term
    known: EpochEnd
    error: Term
    answered: EpochEnd


def judge_epoch_end(step: EpochEndStep, profile: Profile) -> Judged:
    """A refusal has no epoch end; before KIP-279 the answer names no epoch."""
    checks = repl.fetch_guards(step.leading, FollowerFetch(step.named, ABSENT))
    decided = branch(checks)
    passed = decided == PASSED
    end = choose(passed, step.known.end, ABSENT)
    epoch = choose(all_of(passed, profile.truncation_names_epoch), step.known.epoch, ABSENT)
    answers = all_of(step.answered.end == end, step.answered.epoch == epoch)
    return decided, (RuleCheck(AGREEMENT, True, all_of(error_of(checks, decided) == step.error, answers)),)


@dataclass(frozen=True, slots=True)
class TruncateStep:
    """A follower cuts its log after an answer; `own` is its own epoch end for the epoch in the answer."""

    replica: ReturningReplica
    answered: EpochEnd
    own: EpochEnd
    truncated_to: Term
    error: Term


def judge_truncation(step: TruncateStep, profile: Profile) -> Judged:
    """The new log end; an out-of-range answer is not about epochs."""
    expected = repl.truncated_to(step.replica, step.answered, step.own, profile)
    at_stake = all_of(step.error == _NONE, step.truncated_to >= 0)
    return ABSENT, (RuleCheck(AGREEMENT, at_stake, expected == step.truncated_to),)


@dataclass(frozen=True, slots=True)
class LeaderWatermarkStep:
    """A leader updates its high watermark.

    Attributes:
        current: the high watermark as it is.
        after: the high watermark afterwards.
        insync_end: the least log end in the in-sync set, those that are proposed for it included; -1: one is not known.
        joining_end: likewise of the followers that may join it, the leader's own where there are none.
        in_sync: members of the in-sync set that the controller has confirmed.
        min_in_sync: min.insync.replicas.
    """

    current: Term
    after: Term
    insync_end: Term
    joining_end: Term
    in_sync: Term
    min_in_sync: Term


def judge_leader_watermark(step: LeaderWatermarkStep, profile: Profile) -> Judged:
    """It rises as far as it may: to the least log end of all replicas that hold it back."""
    least = choose(step.insync_end < step.joining_end, step.insync_end, step.joining_end)
    known = Watermark(step.current, least, step.in_sync, step.min_in_sync)
    return ABSENT, (RuleCheck(BOUNDS, True, repl.leader_high_watermark(known, profile) == step.after),)


@dataclass(frozen=True, slots=True)
class FollowerWatermarkStep:
    """A follower gets its leader's high watermark."""

    reported: Term
    log_start: Term
    log_end: Term
    after: Term


def judge_follower_watermark(step: FollowerWatermarkStep, _: Profile) -> Judged:
    """It is adopted, as far as the log goes."""
    expected = repl.follower_high_watermark(step.reported, step.log_end, step.log_start)
    return ABSENT, (RuleCheck(BOUNDS, True, expected == step.after),)


@dataclass(frozen=True, slots=True)
class ProduceStep:
    """Records arrive at a leader, or at a former one."""

    request: Produce
    leads: Term
    error: Term


def judge_produce(step: ProduceStep, _: Profile) -> Judged:
    """The records are refused exactly where too few replicas are in sync; the log's own checks are judged elsewhere."""
    expected = repl.admitted(step.request)
    refusal = any_of(*(step.error == guard.error for guard in repl.append_guards(step.request)))
    holds = choose(expected.granted, negate(refusal), step.error == expected.error)
    return expected.branch, (RuleCheck(SURVIVES, step.leads, holds),)


@dataclass(frozen=True, slots=True)
class AcknowledgeStep:
    """A producer that has waited for its records to be replicated is answered; `required` is the offset after them."""

    request: Produce
    leads: Term
    high_watermark: Term
    required: Term
    error: Term


def judge_acknowledgement(step: AcknowledgeStep, _: Profile) -> Judged:
    """An acknowledgement needs the high watermark and enough replicas; a former leader answers with an error."""
    expected = repl.acknowledged(step.request, step.high_watermark, step.required)
    error = choose(step.leads, expected.error, ErrorCode.NOT_LEADER_OR_FOLLOWER.value)
    return expected.branch, (RuleCheck(SURVIVES, True, error == step.error),)


@dataclass(frozen=True, slots=True)
class LagStep:
    """A leader checks whether a follower has lagged for too long."""

    progress: ReplicationProgress
    leader_end: Term
    now: Term
    lag_max: Term
    lagging: Term


def judge_lag(step: LagStep, _: Profile) -> Judged:
    """It lags, or it does not."""
    expected = electing.lags(step.progress, step.leader_end, step.now, step.lag_max)
    return ABSENT, (RuleCheck(SURVIVES, True, same(expected, step.lagging)),)


@dataclass(frozen=True, slots=True)
class ReturnStep:
    """A leader checks whether a follower that has just fetched may return to the in-sync set.

    Attributes:
        counted: epoch of the registration under which the follower fetched, as the leader counts.
        registered: epoch of its present registration, as the leader knows it.
    """

    end: Term
    high_watermark: Term
    epoch_start: Term
    under_way: Term
    counted: Term
    registered: Term
    proposed: Term


def judge_return(step: ReturnStep, profile: Profile) -> Judged:
    """It is proposed if it has caught up, is eligible, and nothing else is proposed."""
    caught_up = electing.may_return(step.end, step.high_watermark, step.epoch_start, profile)
    eligible = proposals.may_return(step.counted, step.registered, profile)
    expected = all_of(caught_up, negate(step.under_way), eligible)
    return ABSENT, (RuleCheck(SURVIVES, True, same(expected, step.proposed)),)


@dataclass(frozen=True, slots=True)
class ProposedReplica:
    """A replica of a partition as the controller sees it when it gets a proposal; where there is none, broker -1.

    Attributes:
        alive: its broker is registered, neither fenced nor shutting down.
        proposed: it is in the proposed set.
        counted: epoch of the registration under which it fetched, as the proposal says.
        registered: epoch of its present registration.
    """

    broker: Term
    alive: Term
    proposed: Term
    counted: Term
    registered: Term


@dataclass(frozen=True, slots=True)
class ProposalStep:
    """A controller gets a proposal for another in-sync set.

    Attributes:
        request: the proposal, but for what the controller finds out about the proposed set.
        sender: the broker that proposes.
        leader: the leader that the controller knows.
        replicas: of the partition, as far as the step shows them.
        size: brokers in the proposed set, replicas or not.
    """

    request: Proposal
    sender: Term
    leader: Term
    replicas: Sequence[ProposedReplica]
    size: Term
    leader_epoch: Term
    partition_epoch: Term
    error: Term

    def found(self, profile: Profile) -> Proposal:
        """The proposal with what a controller finds out about it: who sends it, and which brokers are in its set."""
        members = [all_of(each.broker >= 0, each.proposed) for each in self.replicas]
        shown = [
            (each.broker == self.leader, True, member) for each, member in zip(self.replicas, members, strict=True)
        ]
        strangers = (False, False, self.size > sum((choose(member, 1, 0) for member in members), start=0))
        may_be = (proposals.may_be_member(each.alive, each.counted, each.registered, profile) for each in self.replicas)
        barred = (all_of(member, negate(may)) for member, may in zip(members, may_be, strict=True))
        return replace(
            self.request,
            leads=self.leader == self.sender,
            ill_formed=proposals.is_ill_formed([*shown, strangers]),
            ineligible=any_of(*barred),
        )


def judge_proposal(step: ProposalStep, profile: Profile) -> Judged:
    """The answer; a controller that was replaced refuses with an error, which the step does not show.

    Between 2.7 and KRaft the controller compares sets, which the step does not show either.
    """
    request = step.found(profile)
    expected = electing.altered(request, step.leader_epoch, step.partition_epoch, profile=profile)
    replaced = all_of(step.error == _NOT_CONTROLLER, negate(expected.error == _NOT_CONTROLLER))
    sets = any_of(profile.quorum_controller, negate(profile.insync_set_is_asked_for))
    shown = all_of(sets, any_of(*(each.broker >= 0 for each in step.replicas)))
    return expected.branch, (RuleCheck(SURVIVES, all_of(shown, negate(replaced)), expected.error == step.error),)


@dataclass(frozen=True, slots=True)
class ElectionStep:
    """A controller elects a leader.

    Attributes:
        leader: the present one; -1 none.
        prefers: a preferred election was requested.
        elected: the leader afterwards; -1 none.
    """

    candidates: Sequence[Candidate]
    leader: Term
    prefers: Term
    unclean_allowed: Term
    elected: Term
    uncleanly: Term
    epoch: Term
    epoch_after: Term


def judge_election(step: ElectionStep, profile: Profile) -> Judged:
    """The leader, whether committed records may be lost, and that every change of leader begins an epoch.

    Under ZooKeeper a partition without a leader keeps the last one's name and epoch.
    """
    expected = electing.chosen(step.candidates, step.leader, step.prefers, step.unclean_allowed, profile)
    outcome = all_of(expected.leader == step.elected, same(expected.unclean, step.uncleanly))
    written = any_of(profile.quorum_controller, step.elected >= 0)
    changes = all_of(written, negate(step.elected == step.leader))
    begins = all_of(step.epoch_after >= step.epoch, implies(changes, step.epoch_after == step.epoch + 1))
    return ABSENT, (RuleCheck(SURVIVES, True, outcome), RuleCheck(AGREEMENT, True, begins))


@dataclass(frozen=True, slots=True)
class HearingStep:
    """A replica learns the leader: the epoch in the message, and the replica's epoch before and after."""

    reported: Term
    before: Term
    after: Term


def judge_hearing(step: HearingStep, _: Profile) -> Judged:
    """Leader epochs never go back at a replica."""
    return ABSENT, (RuleCheck(AGREEMENT, True, all_of(step.after == step.reported, step.after >= step.before)),)
