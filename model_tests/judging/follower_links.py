"""Link rules of what a leader knows of a follower: each Fetch leaves what the next step about that follower finds."""

from typing import Final

from model_tests.judging.compiled import holds
from model_tests.judging.step_link import Scalar, StepLink
from spec import rules
from spec.algebra import Term, all_of, choose, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.protocol import electing
from spec.protocol.electing import ReplicationProgress
from spec.vocabulary import ErrorCode

FOLLOWER_LINK: Final = "follower_link"


def on_follower(of: Scalar) -> Term:
    """A step at a leader has what it knew of one follower."""
    return all_of(negate(of("topic") == ""), of("broker") >= 0, of("follower_fetch_ms") >= 0)


is_on_follower: Final = holds(on_follower)
"""The same of a row."""


@evidences(rules.REPL_HW_BOUNDS, Layer.TRACE)
def same_progress(scalar: Scalar) -> RuleCheck:
    """Under one leader epoch a leader knows of a follower what the step before left."""
    known, found = progress_after(_previous(scalar)), progress(scalar)
    times = all_of(known.last_fetch == found.last_fetch, known.caught_up == found.caught_up)
    alike = all_of(known.end == found.end, known.leader_end_then == found.leader_end_then, times)
    same_epoch = all_of(scalar("leader_epoch") >= 0, scalar("previous_leader_epoch") == scalar("leader_epoch"))
    return RuleCheck(rules.REPL_HW_BOUNDS, all_of(scalar("has_previous"), same_epoch), alike)


def progress(scalar: Scalar) -> ReplicationProgress:
    """What the leader knows of the follower before a step."""
    return ReplicationProgress(
        scalar("follower_end"),
        scalar("follower_fetch_ms"),
        scalar("follower_leader_end"),
        scalar("follower_caught_up_ms"),
    )


def progress_after(scalar: Scalar) -> ReplicationProgress:
    """What it knows after it: more only if the step is a Fetch that is given records, and not where logs diverge."""
    before = progress(scalar)
    gives: Term = all_of(
        scalar("caught_up_ms") >= 0, scalar("error") == ErrorCode.NONE.value, negate(scalar("answered_end") >= 0)
    )
    reported = electing.progressed(before, scalar("offset"), scalar("before_log_end"), scalar("time_ms"))
    return ReplicationProgress(
        choose(gives, reported.end, before.end),
        choose(gives, reported.last_fetch, before.last_fetch),
        choose(gives, reported.leader_end_then, before.leader_end_then),
        choose(gives, reported.caught_up, before.caught_up),
    )


def _previous(scalar: Scalar) -> Scalar:
    return lambda name: scalar(f"previous_{name}")


FOLLOWER_LINKS: Final = (
    StepLink("previous_progress", rules.REPL_HW_BOUNDS, same_progress, "what the step before left of the follower"),
)
