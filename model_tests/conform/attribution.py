"""The rules of a step, by the specification: that of the guard that decided, or that by which the batch is accepted."""

from collections.abc import Iterator

from model_tests.conform.decision_log import Decision, Ruled, branch_name
from model_tests.conform.fields import Json
from model_tests.conform.sessions import SessionStep
from spec import rules
from spec.judging.judge import AppendStep as JudgedStep
from spec.judging.judge import judge
from spec.protocol import coordinator, seq
from spec.protocol.produce import ONLY_BEFORE_THE_LOG
from spec.protocol.records import AppendReply
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ErrorCode


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
