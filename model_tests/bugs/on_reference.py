"""A counterexample carried out on the reference: with the defect the same rule breaks, without it a step is refused."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

from model_tests.bugs.staging import profile_of, staged
from model_tests.bugs.world import CarriedOut, Staging, carry_out
from spec.bugs.bug import Bug, Case
from spec.engines.verdict import Trace
from spec.versions import Profile


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of the counterexample of a bug on the reference.

    Attributes:
        defective: with the defect.
        true: on the newest release.
    """

    bug: Bug
    defective: CarriedOut
    true: CarriedOut

    @property
    def shown(self) -> bool:
        """The rule of the bug breaks with the defect; without it a step is refused and nothing breaks."""
        broken = self.defective.broken
        return broken is not None and broken.rule is self.bug.rule and self.withstood

    @property
    def withstood(self) -> bool:
        """The true reference lets nothing break."""
        return self.true.broken is None and bool(self.true.refused)


def replayed(bug: Bug, trace: Trace) -> Replay | None:
    """Carry out the counterexample of a bug; None where the reference has no place for it."""
    staging = staged(bug)
    if staging is None or not trace:
        return None
    return Replay(bug, _with_defect(staging, trace), _explained(bug, carry_out(staging.world(staging.true), trace)))


def withstood(bug: Bug, mended: Case, trace: Trace) -> CarriedOut | None:
    """Carry out the counterexample of a bug on a release that mended it."""
    staging = staged(bug)
    if staging is None or not trace:
        return None
    return carry_out(staging.world(profile_of(mended)), trace)


def _explained(bug: Bug, run: CarriedOut) -> CarriedOut:
    """Where nothing is refused, why what came of it is right, as the newest release that mended the bug has it."""
    if not run.happened:
        return run
    newest = bug.mended[-1]
    return replace(run, refused=f"{run.refused}. That is right: in {newest.profile} {newest.why}")


def _with_defect(staging: Staging, trace: Trace) -> CarriedOut:
    profile: Profile = staging.defective
    with staging.planted.in_place() if staging.planted else nullcontext():
        return carry_out(staging.world(profile), trace)
