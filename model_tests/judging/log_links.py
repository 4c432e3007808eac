"""Link rules of the log of a replica: its bounds, and what one step finds against what the step before left.

High watermark and last stable offset may rise between two steps, when a follower has fetched; not where steps
show leader epochs: there each move of a watermark is a step. Start and end may not: every batch that a log gains or
loses is a step of its own.
"""

from typing import Final

from model_tests.judging.compiled import holds
from model_tests.judging.step_link import Scalar, StepLink
from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.protocol import lso
from spec.protocol.lso import LogOffsets
from spec.vocabulary import ABSENT, Origin

LOG_LINK: Final = "log_link"

REPLICATED: Final = Origin.REPLICATION.value
"""Who copies a log keeps the offsets of its leader, gaps included."""


def on_log(of: Scalar) -> Term:
    """A step is at the log of a replica."""
    return all_of(negate(of("topic") == ""), of("after_log_end") >= 0)


is_on_log: Final = holds(on_log)
"""The same of a row."""


@evidences(rules.SEQ_STATE_RECOVERABLE, Layer.TRACE)
def same_log(scalar: Scalar) -> RuleCheck:
    """A log begins and ends before a step where it did after the step before."""
    alike = all_of(*(scalar(f"previous_after_{name}") == scalar(f"before_{name}") for name in ("log_start", "log_end")))
    return RuleCheck(rules.SEQ_STATE_RECOVERABLE, scalar("has_previous"), alike)


@evidences(rules.LSO_MONOTONE, Layer.TRACE)
def stable_between(scalar: Scalar) -> RuleCheck:
    """The last stable offset never falls between two steps."""
    risen = scalar("before_last_stable") >= scalar("previous_after_last_stable")
    return RuleCheck(rules.LSO_MONOTONE, scalar("has_previous"), risen)


@evidences(rules.REPL_HW_BOUNDS, Layer.TRACE)
def watermarks_between(scalar: Scalar) -> RuleCheck:
    """Neither watermark moves between two steps of replicas: leaders and followers leave a step where they move it."""
    names = ("high_watermark", "last_stable")
    alike = all_of(*(scalar(f"previous_after_{name}") == scalar(f"before_{name}") for name in names))
    return RuleCheck(rules.REPL_HW_BOUNDS, _both_of_replicas(scalar), alike)


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.TRACE)
def same_leader_epoch(scalar: Scalar) -> RuleCheck:
    """A replica knows the leader epoch that the step before left; one that learns of an epoch, too, still knows it."""
    return RuleCheck(
        rules.REPL_PREFIX_AGREEMENT, _both_of_replicas(scalar), _left_known(scalar) == scalar("leader_epoch")
    )


def _both_of_replicas(scalar: Scalar) -> Term:
    """The step before has the leader epoch that its node then knew, and the step has what it knows or learns."""
    says = any_of(scalar("leader_epoch") >= 0, scalar("leader_epoch_after") >= 0)
    return all_of(scalar("has_previous"), _left_known(scalar) >= 0, says)


def _left_known(scalar: Scalar) -> Term:
    epoch_after = scalar("previous_leader_epoch_after")
    return choose(epoch_after >= 0, epoch_after, scalar("previous_leader_epoch"))


def stable_within(scalar: Scalar) -> RuleCheck:
    """The last stable offset never falls in a step that does not truncate the log.

    A follower that takes over the high watermark of a new leader, and a broker that begins again with that of its last
    checkpoint, may know less than before.
    """
    grows = scalar("after_log_end") >= scalar("before_log_end")
    by_itself = all_of(grows, scalar("leader_high_watermark") < 0, scalar("truncated_to") < 0)
    return RuleCheck(rules.LSO_MONOTONE, by_itself, scalar("after_last_stable") >= scalar("before_last_stable"))


@evidences(rules.LSO_BOUNDS, Layer.TRACE)
def bounded(scalar: Scalar) -> RuleCheck:
    """Log start, last stable offset, high watermark and log end stand in this order after a step."""
    holds = lso.bounds(_offsets(scalar, first_ongoing=ABSENT), scalar("after_last_stable"))
    return RuleCheck(rules.LSO_BOUNDS, _is_known(scalar), holds)


@evidences(rules.LSO_DECIDED_BELOW, Layer.TRACE)
def decided_below(scalar: Scalar) -> RuleCheck:
    """The last stable offset is not beyond what a producer has open on the partition."""
    offsets = _offsets(scalar, first_ongoing=scalar("after_txn_first_offset"))
    at_stake = all_of(_is_known(scalar), offsets.first_ongoing >= 0)
    return RuleCheck(rules.LSO_DECIDED_BELOW, at_stake, scalar("after_last_stable") <= lso.first_unstable(offsets))


@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.TRACE)
def log_grows_by_append(scalar: Scalar) -> RuleCheck:
    """A log grows by a batch that is appended, and by nothing else."""
    end, before = scalar("after_log_end"), scalar("before_log_end")
    grown = choose(scalar("appended"), before + scalar("last_offset_delta") + 1, before)
    one_batch = all_of(scalar("origin") >= 0, scalar("batch_count") == 1, negate(scalar("origin") == REPLICATED))
    return RuleCheck(rules.SEQ_REFUSAL_IS_PURE, one_batch, end == grown)


def _offsets(scalar: Scalar, first_ongoing: Term) -> LogOffsets:
    return LogOffsets(
        log_start=scalar("after_log_start"),
        first_ongoing=first_ongoing,
        first_unreplicated=ABSENT,
        high_watermark=scalar("after_high_watermark"),
        log_end=scalar("after_log_end"),
    )


def _is_known(scalar: Scalar) -> Term:
    return scalar("after_log_end") >= 0


LOG_LINKS: Final = (
    StepLink("previous_log", rules.SEQ_STATE_RECOVERABLE, same_log, "the start and the end that the step before left"),
    StepLink(
        "stable_between",
        rules.LSO_MONOTONE,
        stable_between,
        "no offset below the one that the step before left",
        bound=True,
    ),
    StepLink("watermarks", rules.REPL_HW_BOUNDS, watermarks_between, "the watermarks that the step before left"),
    StepLink(
        "leader_epoch", rules.REPL_PREFIX_AGREEMENT, same_leader_epoch, "the leader epoch that the step before left"
    ),
    StepLink("stable_within", rules.LSO_MONOTONE, stable_within, "no lower offset unless the log is truncated"),
    StepLink(
        "log_grows_by_append", rules.SEQ_REFUSAL_IS_PURE, log_grows_by_append, "the batch that was appended, if one was"
    ),
    StepLink("decided_below", rules.LSO_DECIDED_BELOW, decided_below, "no offset beyond an open transaction's first"),
    StepLink("bounds", rules.LSO_BOUNDS, bounded, "log start <= last stable offset <= high watermark <= log end"),
)
