"""Row rules of replication: the steps of leaders, followers and controllers as the columns of the trace have them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.judging.compiled import holds
from model_tests.judging.verdicts import by_behaviour, verdict_columns
from reference.recording.trace import REPLICAS_SHOWN
from spec import rules
from spec.algebra import Term, all_of, any_of, choose
from spec.evidence import Layer, evidences
from spec.judging import judge_groups as judging_groups
from spec.judging import judge_replication as judging
from spec.judging.judge_coordinator import MarkerAnswerStep, judge_marker_answer
from spec.judging.judge_replication import Judged
from spec.protocol.electing import Candidate, Proposal, ReplicationProgress
from spec.protocol.repl import EpochEnd, FollowerFetch, Leading, Produce, ReturningReplica
from spec.readings.formulas import Merge, Sheet
from spec.versions import Profile
from spec.vocabulary import Api

Column: TypeAlias = Callable[[str], Term]
"""The value of a column of a step, by its name."""


def fetch_step(of: Column) -> judging.FetchStep:
    """A follower's Fetch."""
    return judging.FetchStep(
        _leading(of),
        FollowerFetch(of("asked_leader_epoch"), of("offset"), of("asked_epoch"), of("asked_broker_epoch")),
        EpochEnd(of("known_epoch"), of("known_epoch_end")),
        of("error"),
        EpochEnd(of("answered_epoch"), of("answered_end")),
        _progress(of),
        of("caught_up_ms"),
        of("time_ms"),
    )


def epoch_end_step(of: Column) -> judging.EpochEndStep:
    """OffsetsForLeaderEpoch."""
    return judging.EpochEndStep(
        _leading(of),
        of("asked_leader_epoch"),
        EpochEnd(of("known_epoch"), of("known_epoch_end")),
        of("error"),
        EpochEnd(of("answered_epoch"), of("answered_end")),
    )


def truncate_step(of: Column) -> judging.TruncateStep:
    """A follower cuts its log; the rows of producers that this changed have no offset to which it was cut."""
    return judging.TruncateStep(
        ReturningReplica(of("before_log_end"), of("before_high_watermark")),
        EpochEnd(of("answered_epoch"), of("answered_end")),
        EpochEnd(of("known_epoch"), of("known_epoch_end")),
        of("truncated_to"),
        of("error"),
    )


def leader_watermark_step(of: Column) -> judging.LeaderWatermarkStep:
    """A leader's high watermark."""
    return judging.LeaderWatermarkStep(
        current=of("before_high_watermark"),
        after=of("after_high_watermark"),
        insync_end=of("insync_end"),
        joining_end=of("joining_end"),
        in_sync=of("insync_size"),
        min_in_sync=of("min_insync"),
    )


def follower_watermark_step(of: Column) -> judging.FollowerWatermarkStep:
    """A follower's high watermark."""
    return judging.FollowerWatermarkStep(
        of("leader_high_watermark"), of("before_log_start"), of("before_log_end"), of("after_high_watermark")
    )


def produce_step(of: Column) -> judging.ProduceStep:
    """Records that come."""
    request = Produce(of("acks"), of("insync_size"), of("min_insync"))
    return judging.ProduceStep(request, of("leads"), of("error"))


def acknowledge_step(of: Column) -> judging.AcknowledgeStep:
    """An answer that waited."""
    request = Produce(of("acks"), of("maximal_size"), of("min_insync"))
    return judging.AcknowledgeStep(request, of("leads"), of("before_high_watermark"), of("offset"), of("error"))


def lag_step(of: Column) -> judging.LagStep:
    """A check of one follower."""
    return judging.LagStep(_progress(of), of("before_log_end"), of("time_ms"), of("lag_max_ms"), of("lagging"))


def return_step(of: Column) -> judging.ReturnStep:
    """A follower that may come back."""
    return judging.ReturnStep(
        of("follower_end"),
        of("before_high_watermark"),
        of("epoch_start"),
        of("proposal_under_way"),
        of("asked_broker_epoch"),
        of("broker_epoch"),
        of("proposed"),
    )


def proposal_step(of: Column) -> judging.ProposalStep:
    """AlterPartition at a controller."""
    request = Proposal(
        leads=False,
        leader_epoch=of("asked_leader_epoch"),
        partition_epoch=of("asked_partition_epoch"),
        ineligible=False,
        registered=of("asked_broker_epoch") == of("broker_epoch"),
    )
    replicas = [_proposed(of, f"replica_{place}_") for place in range(REPLICAS_SHOWN)]
    before = of("leader_epoch"), of("partition_epoch")
    return judging.ProposalStep(
        request, of("broker"), of("leader"), replicas, of("proposed_size"), *before, of("error")
    )


def _proposed(of: Column, prefix: str) -> judging.ProposedReplica:
    facts = ("broker", "alive", "proposed", "counted_epoch", "registered_epoch")
    return judging.ProposedReplica(*(of(f"{prefix}{fact}") for fact in facts))


def election_step(of: Column) -> judging.ElectionStep:
    """An election at a controller."""
    return judging.ElectionStep(
        [_candidate(of, f"replica_{place}_") for place in range(REPLICAS_SHOWN)],
        of("leader"),
        of("election") == "Preferred",
        of("unclean_allowed"),
        of("elected"),
        of("elected_uncleanly"),
        of("leader_epoch"),
        of("leader_epoch_after"),
    )


def offset_fetch_step(of: Column) -> judging_groups.OffsetFetchStep:
    """OffsetFetch."""
    return judging_groups.OffsetFetchStep(
        of("before_committed_offset"), of("offset_pending"), of("isolation"), of("error"), of("offset")
    )


def offset_commit_step(of: Column) -> judging_groups.OffsetCommitStep:
    """TxnOffsetCommit."""
    return judging_groups.OffsetCommitStep(
        of("generation"),
        of("before_group_generation"),
        of("error"),
        of("before_committed_offset"),
        of("after_committed_offset"),
    )


def marker_answer_step(of: Column) -> MarkerAnswerStep:
    """An answer to a marker."""
    return MarkerAnswerStep(
        of("marker_error"),
        of("before_txn_state"),
        of("before_partition_registered"),
        of("after_partition_registered"),
        of("before_txn_partitions"),
        of("after_txn_partitions"),
    )


def hearing_step(of: Column) -> judging.HearingStep:
    """A replica learns who leads."""
    return judging.HearingStep(of("asked_leader_epoch"), of("leader_epoch"), of("leader_epoch_after"))


def _leading(of: Column) -> Leading:
    return Leading(of("leads"), of("leader_epoch"), of("before_log_start"), of("before_log_end"), of("broker_epoch"))


def _progress(of: Column) -> ReplicationProgress:
    return ReplicationProgress(
        of("follower_end"), of("follower_fetch_ms"), of("follower_leader_end"), of("follower_caught_up_ms")
    )


def _candidate(of: Column, prefix: str) -> Candidate:
    facts = ("alive", "insync", "eligible", "last_known")
    return Candidate(of(f"{prefix}broker"), *(of(f"{prefix}{fact}") for fact in facts))


JUDGES: Final[Mapping[str, tuple[Callable[[Column], Any], Callable[[Any, Profile], Judged]]]] = MappingProxyType(
    {
        "FetchFollower": (fetch_step, judging.judge_fetch),
        "OffsetsForLeaderEpoch": (epoch_end_step, judging.judge_epoch_end),
        "ReplicaTruncate": (truncate_step, judging.judge_truncation),
        "LeaderHighWatermark": (leader_watermark_step, judging.judge_leader_watermark),
        "FollowerHighWatermark": (follower_watermark_step, judging.judge_follower_watermark),
        Api.PRODUCE: (produce_step, judging.judge_produce),
        "DelayedProduce": (acknowledge_step, judging.judge_acknowledgement),
        "ReplicaLagCheck": (lag_step, judging.judge_lag),
        "IsrExpansion": (return_step, judging.judge_return),
        "AlterPartition": (proposal_step, judging.judge_proposal),
        "LeaderElection": (election_step, judging.judge_election),
        "BecomeLeader": (hearing_step, judging.judge_hearing),
        "BecomeFollower": (hearing_step, judging.judge_hearing),
        Api.OFFSET_FETCH: (offset_fetch_step, judging_groups.judge_offset_fetch),
        Api.TXN_OFFSET_COMMIT: (offset_commit_step, judging_groups.judge_offset_commit),
        "MarkerAnswered": (marker_answer_step, judge_marker_answer),
    }
)
"""By the kind of step: how it is read from the columns, and what judges it."""


KIND: Final = "{} of replicas"
"""What verdicts on steps of one kind are called: a Produce is judged as an append, too."""


def of_replication(of: Callable[[str], Term]) -> Term:
    """A step is one of these; a Produce is if it has the number of replicas in sync, any other is no append."""
    of_kind = choose(of("api") == Api.PRODUCE, of("min_insync") >= 0, of("origin") < 0)
    return all_of(any_of(*(of("api") == api for api in JUDGES)), of_kind)


is_of_replication: Final = holds(of_replication)
"""The same of a row."""


def judged(api: str, of: Column, profile: Profile) -> Judged:
    """The checks of a step of one kind."""
    step_of, judge = JUDGES[api]
    return judge(step_of(of), profile)


@evidences(rules.REPL_HW_BOUNDS, Layer.TRACE)
@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.TRACE)
@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.TRACE)
@evidences(rules.OFFSETS_STABLE_FETCH, Layer.TRACE)
@evidences(rules.OFFSETS_GENERATION_FENCE, Layer.TRACE)
def replication_results(sheet: Sheet, api: str, profiles: Mapping[str, Profile]) -> dict[str, Term]:
    """The verdict on a step of one kind under the profile that it names, as formulas."""
    behaviours = dict(by_behaviour(profiles))
    verdicts = []
    for profile in behaviours:
        branch, checks = judged(api, sheet.column, profile)
        verdicts.append(verdict_columns(branch, checks, sheet, KIND.format(api)))
    return Merge(sheet, tuple(behaviours.values())).results(verdicts)


def all_replication_results(sheet: Sheet, profiles: Mapping[str, Profile]) -> dict[str, dict[str, Term]]:
    """The verdict on a step of each kind, as formulas."""
    return {api: replication_results(sheet, api, profiles) for api in JUDGES}
