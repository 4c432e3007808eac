"""A counterexample carried out on the reference: with the defect the same rule breaks, without it a step is refused.

For bugs that every release has, this module also has fixes of the reference, and the script of each system's bugs.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.bugs.cleaning_script import CleaningScript
from model_tests.bugs.coordinator_script import CoordinatorScript
from model_tests.bugs.defects import DEFECTS
from model_tests.bugs.group_scripts import MembershipScript, OffsetsScript
from model_tests.bugs.leader_scripts import ExpiryScript, VerifyingScript
from model_tests.bugs.markers_script import MarkersScript
from model_tests.bugs.producer_scripts import ClientScript, StreamScript
from model_tests.bugs.script import CarriedOut, Make, Staging, carry_out
from model_tests.bugs.transactions_script import TransactionsScript
from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import transaction_coordinator
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TransactionEntry, TransactionMetadata, check_expected
from reference.broker.transaction_state_manager import TransactionStateManager
from reference.errors import ProducerFenced, UnsupportedVersion
from spec import rules
from spec.bugs.bug import Bug, ExpectedAnswer, SearchCase
from spec.bugs.of_coordinator import BEFORE_18660, LOWERED_TO_1, PENDING_CLEARED
from spec.bugs.of_transactions import BEFORE_18654, IDENTITY_COMPARED
from spec.engines.verdict import Trace
from spec.systems.coordinator.transactional_id import CoordinatorKnobs
from spec.systems.marking import WAITS_FOR_LEADER
from spec.versions import BEFORE_3_7, NEWEST, PROFILES, Profile
from spec.vocabulary import Timestamp, TransactionState

_write = TransactionStateManager.write


# --- fixes for bugs that every release has ----------------------------------------------------------------------------


def compare_the_epoch(metadata: TransactionMetadata, expected: ProducerIdentity | None) -> None:
    """While a transaction is open, a producer that resumes must have its epoch too.

    Raises:
        ProducerFenced: it has another identity.
    """
    check_expected(metadata, expected)
    is_open = metadata.state is TransactionState.ONGOING
    if expected is not None and is_open and expected.epoch != metadata.epoch:
        raise ProducerFenced(rules.TXN_NO_CROSSTALK, current=metadata.epoch, got=expected.epoch)


def clear_what_cannot_be_written(
    states: TransactionStateManager, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp
) -> None:
    """A change that no record can hold is taken back.

    Args:
        states: of the coordinator.
        entry: of the transactional id.
        change: what is to be written.
        now: when.

    Raises:
        Refusal: the change did not get into the log.
    """
    try:
        _write(states, entry, change, now)
    except UnsupportedVersion:
        entry.cancel()
        raise


MENDINGS: Final[Mapping[str, Planted]] = MappingProxyType(
    {
        IDENTITY_COMPARED.name: Planted(
            "the whole identity is compared",
            rules.TXN_NO_CROSSTALK,
            (Patch(transaction_coordinator, "check_expected", compare_the_epoch),),
        ),
        PENDING_CLEARED.name: Planted(
            "what cannot be written is not pending",
            rules.TXN_TIMEOUT,
            (Patch(TransactionStateManager, "write", clear_what_cannot_be_written),),
        ),
    }
)
"""The fixes, by the profile that would fix the bug."""


# --- the script of each bug -------------------------------------------------------------------------------------------


def coordinator_script(case: SearchCase) -> Make:
    """The coordinator's script with as many epochs as the instance has, and the version to which it may be lowered.

    Raises:
        TypeError: the case is of another system than the coordinator's.
    """
    knobs = case.instance.knobs
    if not isinstance(knobs, CoordinatorKnobs):
        raise TypeError(f"{case.claim} is asked of another system")
    return partial(CoordinatorScript, epochs=knobs.profile.max_epoch, lowered_to=knobs.lowered_to)


SCRIPTS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "cleaning": CleaningScript,
        "client": ClientScript,
        "idempotence": StreamScript,
        "expiry": ExpiryScript,
        "verifying": VerifyingScript,
        "offsets": OffsetsScript,
        "membership": MembershipScript,
        "marking": MarkersScript,
        "transactions": TransactionsScript,
    }
)
"""How a script is made, by the name of the system."""

BETWEEN: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "3.5": PROFILES["3.6"],
        "librdkafka": NEWEST,
        "4.2-before-19999": PROFILES["4.2"],
        BEFORE_3_7.name: BEFORE_3_7,
        BEFORE_18654.name: BEFORE_18654,
        BEFORE_18660.name: BEFORE_18660,
        LOWERED_TO_1.name: LOWERED_TO_1,
        PENDING_CLEARED.name: PENDING_CLEARED,
        IDENTITY_COMPARED.name: IDENTITY_COMPARED,
        WAITS_FOR_LEADER.name: WAITS_FOR_LEADER,
    }
)
"""Releases and clients without a profile of their own, each with the profile in which it is carried out."""


def profile_of(case: SearchCase) -> Profile:
    """The behaviours of the release that a case is about."""
    return BETWEEN.get(case.profile) or PROFILES[case.profile]


def staged(bug: Bug, case: SearchCase | None = None) -> Staging | None:
    """Where the bug is carried out; None where it has no script.

    Args:
        bug: whose defect is planted where no profile has it.
        case: one of its cases, whose instance says how the script is made; by default the bug's own.
    """
    script = _script(case or bug.broken)
    if script is None:
        return None
    true = _without_it(bug)
    return Staging(script, profile_of(bug.broken), true, DEFECTS.get(bug.name), MENDINGS.get(true.name))


def _without_it(bug: Bug) -> Profile:
    """The newest release, or where the newest that was asked has the bug what would mend it."""
    requested = {case.profile: case.expected for case in bug.cases}
    newest = [requested[name] for name in PROFILES if name in requested]
    is_open = newest[-1:] == [ExpectedAnswer.VIOLATED]
    return profile_of(bug.mended[-1]) if is_open and bug.mended else NEWEST


def _script(case: SearchCase) -> Make | None:
    if case.instance.of == "coordinator":
        return coordinator_script(case)
    return SCRIPTS.get(case.instance.of)


# --- the replay -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replay:
    """What the counterexample of a bug does on the reference.

    Attributes:
        defective: with the defect.
        true: on the newest release, or, if that has the bug too, on the profile that would fix it.
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
    """If nothing is refused: why the result is right, by the newest release that fixed the bug."""
    if not run.happened:
        return run
    newest = bug.mended[-1]
    return replace(run, refused=f"{run.refused}. That is right: in {newest.profile} {newest.why}")


def _carried_out(staging: Staging, profile: Profile, planted: Planted | None, trace: Trace) -> CarriedOut:
    with planted.in_place() if planted else nullcontext():
        return carry_out(staging.script(profile), trace)
