"""The specification's decisions in a step, with all their inputs; and the rules that the step is evidence about.

The rule is that of the guard that decided, or the rule by which the batch is accepted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from model_tests.conform.fields import Json
from model_tests.conform.sessions import SessionStep
from spec import rules
from spec.judging.judge import AppendStep as JudgedStep
from spec.judging.judge import judge
from spec.protocol import append as appending
from spec.protocol import coordinator, seq
from spec.protocol import produce as producing
from spec.protocol.append import NOTHING_PENDING, Append
from spec.protocol.guards import PASSED, Guard
from spec.protocol.produce import ONLY_BEFORE_THE_LOG, ProduceAdmission
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ErrorCode


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


# --- the rules of a step ----------------------------------------------------------------------------------------------


def rules_at_stake(step: SessionStep, decided: tuple[Decision, ...], profile: Profile) -> tuple[Rule, ...]:
    """The rules that the recorded answer is evidence about, each once."""
    return tuple(dict.fromkeys(rule for decision in decided for rule in _rules(step, decision, profile)))


def rules_blamed(step: SessionStep, decided: tuple[Decision, ...], profile: Profile) -> tuple[Rule, ...]:
    """The rules of a step that a side got wrong, each once.

    First those of the checks that give the recorded answer and were passed over: one of them should have decided.
    """
    blamed = (rule for decision in decided if isinstance(decision, Ruled) for rule in _passed_over(step, decision))
    return tuple(dict.fromkeys((*blamed, *rules_at_stake(step, decided, profile))))


def _passed_over(step: SessionStep, ruled: Ruled) -> tuple[Rule, ...]:
    recorded = step.response.get("error")
    return tuple(guard.rule for guard in ruled.over if recorded in _words(guard.error))


def _words(error: int) -> tuple[str, str]:
    """An error's name, and that by which older clients know it."""
    return ErrorCode(error).name, ErrorCode(coordinator.worded(error, 0, 1)).name


class Attribution:
    """The same for the steps of one run on which the specification agrees: what is alike is computed once.

    Then the recorded answer is the decided one, and the rules depend on the deciding branch and on what
    the batch is to its producer's entry alone.
    """

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[tuple[object, ...], tuple[Rule, ...]] = {}

    def rules_at_stake(self, step: SessionStep, decided: tuple[Decision, ...], profile: Profile) -> tuple[Rule, ...]:
        """The rules that an agreeing step is evidence about, each once."""
        by_decision = (self._rules(step, decision, profile) for decision in decided)
        return tuple(dict.fromkeys(rule for found in by_decision for rule in found))

    def _rules(self, step: SessionStep, decision: Decision, profile: Profile) -> tuple[Rule, ...]:
        kind = (profile, *_kind(decision))
        if kind not in self._known:
            self._known[kind] = tuple(_rules(step, decision, profile))
        return self._known[kind]


def _kind(decision: Decision) -> tuple[object, ...]:
    if isinstance(decision, Ruled):
        return (Ruled, *decision.rules)
    if decision.outcome is None or decision.before is None:
        return ()
    entry, request = decision.before, decision.request
    of_producer = (request.producer_id >= 0, seq.is_unknown(entry), seq.changes_epoch(entry, request))
    requested = (decision.verification.verification_pending, decision.verification.verification_guarded)
    return (decision.outcome.branch, *of_producer, request.control, request.transactional, *requested, request.origin)


def _rules(step: SessionStep, decision: Decision, profile: Profile) -> Iterator[Rule]:
    if isinstance(decision, Ruled):
        yield from decision.rules
        return
    reply = _recorded_reply(_of_partition(step.response, decision.partition), decision.request.last_offset_delta)
    if decision.outcome is None or decision.before is None or reply.error in ONLY_BEFORE_THE_LOG:
        yield rules.SEQ_WELL_FORMED
        yield rules.SEQ_REFUSAL_IS_PURE
        return
    recorded = JudgedStep(decision.before, decision.request, reply, decision.outcome.entry, decision.verification)
    _, checks = judge(recorded, profile)
    yield from (check.rule for check in checks if check.at_stake)


def _of_partition(response: Json, partition: str) -> Json:
    part = response.get("partitions")
    found = part.get(partition, {}) if isinstance(part, dict) else response
    return found if isinstance(found, dict) else {}


def _recorded_reply(response: Json, last_offset_delta: int) -> AppendReply:
    error = ErrorCode.__members__.get(str(response.get("error")), ErrorCode.UNKNOWN_SERVER_ERROR)
    resent = response.get("log_append_time") == "set"
    offset = response.get("base_offset")
    first = offset if isinstance(offset, int) else -1
    in_log = error is ErrorCode.NONE
    last = first + last_offset_delta if in_log else -1
    return AppendReply(error.value, first, last, duplicate=resent, appended=in_log and not resent)


def explained(decided: tuple[Decision, ...], profile: Profile) -> str:
    """Which guard decided each batch, and on which values."""
    return "; ".join(_explained(decision, profile) for decision in decided)


def _explained(decision: Decision, profile: Profile) -> str:
    if isinstance(decision, Ruled):
        return f"{decision.subject}: {decision.guard}" + (f" ({decision.on})" if decision.on else "")
    name = f"{decision.partition}: {branch_name(decision, profile)}"
    if decision.before is None:
        return name
    entry, request = decision.before, decision.request
    if request.producer_id < 0:
        return f"{name} (no producer id)"
    known = (
        f"epoch {entry.epoch} last sequence {entry.cached[0].last_sequence}" if entry.epoch >= 0 else "nothing known"
    )
    return f"{name} ({known}; batch of epoch {request.producer_epoch} sequence {request.base_sequence})"
