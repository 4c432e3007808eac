"""A counterexample carried out on the reference: with the defect the same rule breaks, without it a step is refused."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

from model_tests.bugs.mendings import MENDINGS
from model_tests.bugs.staging import profile_of, staged
from model_tests.bugs.world import CarriedOut, Staging, carry_out
from model_tests.mutants.defects.planted import Planted
from spec.bugs.bug import Bug, SearchCase
from spec.engines.verdict import Trace
from spec.versions import Profile


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of the counterexample of a bug on the reference.

    Attributes:
        defective: with the defect.
        true: on the newest release; on what would mend it, where that has the bug.
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
    true = _carried_out(staging, staging.true, staging.mending, trace)
    return Replay(bug, _carried_out(staging, staging.defective, staging.planted, trace), _explained(bug, true))


def repeated(bug: Bug, case: SearchCase, trace: Trace) -> CarriedOut | None:
    """Carry out a counterexample on another release: one that has the bug too, or one that does not.

    Args:
        bug: whose it is.
        case: one of the bug's, which says the release.
        trace: of the release itself where it has the bug; else that of the bug's own case.
    """
    staging = staged(bug, case)
    if staging is None or not trace:
        return None
    planted = staging.planted if case in bug.violated else MENDINGS.get(case.profile)
    return _carried_out(staging, profile_of(case), planted, trace)


def _explained(bug: Bug, run: CarriedOut) -> CarriedOut:
    """Where nothing is refused, why what came of it is right, as the newest release that mended the bug has it."""
    if not run.happened:
        return run
    newest = bug.mended[-1]
    return replace(run, refused=f"{run.refused}. That is right: in {newest.profile} {newest.why}")


def _carried_out(staging: Staging, profile: Profile, planted: Planted | None, trace: Trace) -> CarriedOut:
    with planted.in_place() if planted else nullcontext():
        return carry_out(staging.world(profile), trace)
