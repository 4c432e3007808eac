"""The specification's decisions in a step, with everything that they saw."""

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from spec import rules
from spec.protocol import append as appending
from spec.protocol import produce as producing
from spec.protocol.append import NOTHING_PENDING, Append
from spec.protocol.guards import PASSED, Guard
from spec.protocol.produce import ProduceAdmission
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry
from spec.rules import Rule
from spec.versions import Profile


@dataclass(frozen=True, slots=True)
class SpecifiedDecision:
    """A decision of the specification on one batch.

    Attributes:
        partition: where the batch was to go.
        admission: whether the log has decided.
        before: the producer's entry; None where the log has not decided.
        outcome: the append's decision; None likewise.
        verification: what the partition knew of the coordinator's answer.
    """

    partition: str
    request: AppendRequest
    admission: ProduceAdmission
    before: ProducerEntry | None = None
    outcome: Append | None = None
    verification: MetVerification = NOTHING_PENDING

    @property
    def reply(self) -> AppendReply:
        """The log's answer.

        Raises:
            ValueError: the log was not asked.
        """
        if self.outcome is None:
            raise ValueError("the log has decided nothing")
        return self.outcome.reply


@dataclass(frozen=True, slots=True)
class Ruled:
    """A decision that no batch is about: of a coordinator, or on a fetch.

    Attributes:
        subject: transactional id or partition.
        guard: name of the guard that decided.
        rules: what the answer is evidence about.
        on: the values that decided.
        over: the checks that come before the one that decided, and did not apply.
    """

    subject: str
    guard: str
    rules: tuple[Rule, ...]
    on: str = ""
    over: tuple[Guard, ...] = ()


Decision: TypeAlias = SpecifiedDecision | Ruled


def branch_name(decided: Decision, profile: Profile) -> str:
    """Name of the guard that decided, or how the batch was let through."""
    if isinstance(decided, Ruled):
        return decided.guard
    if decided.outcome is None:
        return producing.names()[decided.admission.branch]
    return _names(profile)[decided.outcome.branch]


@cache
def _names(profile: Profile) -> tuple[str, ...]:
    return appending.names(profile)


@cache
def _checks(profile: Profile) -> tuple[Guard, ...]:
    return appending.guards(ProducerEntry(), AppendRequest(base_offset=0), profile)


def marker_ruled(decided: SpecifiedDecision, profile: Profile) -> Ruled:
    """The decision on a marker, by its guard; what was appended is the coordinator's right by its epoch."""
    checks, branch = _checks(profile), decided.outcome.branch if decided.outcome else PASSED
    name = f"marker {branch_name(decided, profile)}"
    if branch == PASSED:
        return Ruled(decided.partition, name, (rules.FENCE_COORDINATOR_EPOCH,), over=checks)
    return Ruled(decided.partition, name, (checks[branch - 1].rule,), over=checks[: branch - 1])


def offsets_ruled(decided: SpecifiedDecision, profile: Profile) -> Ruled:
    """The append of a group's offsets, by its guard; what was appended is pending, and a stable fetch waits for it."""
    branch = decided.outcome.branch if decided.outcome else PASSED
    pending = (rules.OFFSETS_ATOMIC, rules.OFFSETS_STABLE_FETCH) if decided.request.transactional else ()
    about = pending if branch == PASSED else (_checks(profile)[branch - 1].rule, *pending)
    return Ruled(decided.partition, f"offsets {branch_name(decided, profile)}", about)
