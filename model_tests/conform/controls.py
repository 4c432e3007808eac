"""Controls of the conformance replay: corrupted recordings, and guards of the specification that never apply.

They are checks of the coordinator of transactions, of the coordinator of groups, and of a partition that meets either.
The reference is left as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from model_tests.conform.answers import Side
from model_tests.conform.decision_log import branch_name, rules_at_stake
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.sessions import Session, SessionStep
from model_tests.conform.side_by_side import SIDES, SPECIFICATION, disagreements, outcomes
from model_tests.verify.results import Control
from spec import rules
from spec.protocol import append, ending, ids, registering
from spec.protocol.append import NONE_DROPPED
from spec.protocol.guards import Guard, dropped
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import Api

VIOLATED: Final = "violated"
HOLDS: Final = "holds"


@dataclass(frozen=True, slots=True)
class SessionFalsification:
    """One way to falsify a recorded step that is about a rule.

    Attributes:
        falsify: the step with the corruption, None where it cannot have it.
        api: the requests whose steps are falsified.
    """

    name: str
    rule: Rule
    falsify: Callable[[SessionStep], SessionStep | None]
    api: str = Api.PRODUCE


def wrong_error(step: SessionStep) -> SessionStep | None:
    """Another error than the broker's."""
    other = "NONE" if step.response["error"] == "UNKNOWN_SERVER_ERROR" else "UNKNOWN_SERVER_ERROR"
    return replace(step, response={**step.response, "error": other})


def wrong_offset(step: SessionStep) -> SessionStep | None:
    """Another base offset than the broker's."""
    base_offset = step.response.get("base_offset", -1)
    return replace(step, response={**step.response, "base_offset": base_offset + 1}) if base_offset >= 0 else None


def wrong_state(step: SessionStep) -> SessionStep | None:
    """Another last sequence of the first producer that the step left behind."""
    after: Mapping[str, Any] = deepcopy(dict(step.after or {}))
    producers = [producer for listed in after.get("producers", {}).values() for producer in listed]
    if not producers:
        return None
    producers[0]["last_sequence"] += 1
    return replace(step, after=after)


def wrong_bound(step: SessionStep) -> SessionStep | None:
    """A last stable offset beyond the high watermark."""
    return replace(step, response={**step.response, "lso": step.response["hw"] + 1})


def hidden_record(step: SessionStep) -> SessionStep | None:
    """A record that the reader was given is missing."""
    delivered = step.response.get("delivered", ())
    return replace(step, response={**step.response, "delivered": delivered[1:]}) if delivered else None


def unlisted_abort(step: SessionStep) -> SessionStep | None:
    """An aborted transaction that the answer listed is missing."""
    aborted = step.response.get("aborted")
    return replace(step, response={**step.response, "aborted": aborted[1:]}) if aborted else None


def wrong_transition(step: SessionStep) -> SessionStep | None:
    """A transactional id that is in another state afterwards."""
    after: Mapping[str, Any] = deepcopy(dict(step.after or {}))
    known = [transaction for transaction in after.get("transactions", {}).values() if "state" in transaction]
    if not known:
        return None
    known[0]["state"] = "PrepareAbort" if known[0]["state"] == "PrepareCommit" else "PrepareCommit"
    return replace(step, after=after)


def reported_offset(step: SessionStep) -> SessionStep | None:
    """An offset that an undecided transaction may still change is returned."""
    partitions: dict[str, Any] = deepcopy(dict(step.response["partitions"]))
    waiting = [part for part in partitions.values() if part["error"] == "UNSTABLE_OFFSET_COMMIT"]
    for part in waiting:
        part.update(error="NONE", error_code=0, committed_offset=0)
    return replace(step, response={**step.response, "partitions": partitions}) if waiting else None


def accepted_commit(step: SessionStep) -> SessionStep | None:
    """A commit that the group refused is accepted."""
    partitions = step.response["partitions"]
    accepted = {**step.response, "error": "NONE", "error_code": 0, "partitions": dict.fromkeys(partitions, "NONE")}
    return replace(step, response=accepted) if step.response["error"] in REFUSED_BY_GROUP else None


REFUSED_BY_GROUP: Final = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")

CORRUPTIONS: Final = (
    SessionFalsification("first append refused in the recording", rules.SEQ_FIRST, wrong_error),
    SessionFalsification("next append refused in the recording", rules.SEQ_SUCCESSOR, wrong_error),
    SessionFalsification("append of a new epoch at another offset", rules.SEQ_EPOCH_RESET, wrong_offset),
    SessionFalsification("resend acknowledged with another offset", rules.SEQ_DUPLICATE_WINDOW, wrong_offset),
    SessionFalsification("refusal that changes a producer", rules.SEQ_REFUSAL_IS_PURE, wrong_state),
    SessionFalsification("malformed batch with another error", rules.SEQ_WELL_FORMED, wrong_error),
    SessionFalsification("stale epoch with another error", rules.FENCE_STALE_EPOCH, wrong_error),
    SessionFalsification("stable offset beyond the high watermark", rules.LSO_BOUNDS, wrong_bound, Api.FETCH),
    SessionFalsification("committed record withheld", rules.LSO_READ_COMMITTED, hidden_record, Api.FETCH),
    SessionFalsification("aborted transaction not listed", rules.LSO_ABORTED_INDEX, unlisted_abort, Api.FETCH),
    SessionFalsification(
        "transaction left in another state", rules.TXN_LEGAL_TRANSITION, wrong_transition, Api.END_TXN
    ),
    SessionFalsification("undecided offset returned", rules.OFFSETS_STABLE_FETCH, reported_offset, Api.OFFSET_FETCH),
    SessionFalsification(
        "refused commit accepted", rules.OFFSETS_GENERATION_FENCE, accepted_commit, Api.TXN_OFFSET_COMMIT
    ),
)


def controls(sessions: Iterable[Session]) -> tuple[Control, ...]:
    """Every corruption, on the first step of the sessions that can have it."""
    waiting = {corruption.name: corruption for corruption in CORRUPTIONS}
    done: dict[str, Control] = {}
    for session in sessions:
        if not waiting:
            break
        if session.unsupported:
            continue
        for corruption, index, falsified in list(_corrupted(session, tuple(waiting.values()))):
            if waiting.pop(corruption.name, None):
                done[corruption.name] = _control(corruption, session, index, falsified)
    absent = (Control(c.name, c.rule, VIOLATED, "not run: no such step") for c in waiting.values())
    return (*(done[c.name] for c in CORRUPTIONS if c.name in done), *absent)


def _corrupted(
    session: Session, wanted: tuple[SessionFalsification, ...]
) -> Iterator[tuple[SessionFalsification, int, Session]]:
    """The corruptions of these that a session can have: each with its step, and the corrupted session."""
    for outcome in outcomes(session):
        meant = [corruption for corruption in wanted if corruption.api == outcome.step.api]
        at_stake = rules_at_stake(outcome.step, outcome.decided, session.profile) if meant else ()
        for corruption in meant:
            falsified = corruption.falsify(outcome.step) if corruption.rule in at_stake else None
            if falsified is not None:
                yield corruption, outcome.index, _with_step(session, outcome.index, falsified)


def _with_step(session: Session, index: int, step: SessionStep) -> Session:
    return replace(session, steps=(*session.steps[:index], step, *session.steps[index + 1 :]))


def _control(corruption: SessionFalsification, original: Session, index: int, falsified: Session) -> Control:
    before = sum(1 for _ in disagreements([original]))
    found = list(disagreements([falsified]))
    named = {d.by for d in found if d.step == index and corruption.rule in d.rules}
    exact = not before and all(d.step == index for d in found) and named == set(SIDES)
    detail = f"{original.id} step {index}, seen by {', '.join(sorted(named)) or 'neither side'}"
    return Control(corruption.name, corruption.rule, VIOLATED, VIOLATED if exact else HOLDS, detail)


@dataclass(frozen=True, slots=True)
class MissingGuard:
    """One guard taken away.

    Attributes:
        api: the request whose steps the guard decides.
        guard: its name.
        decision: the module whose guards it is among; None for those of groups and their offsets.
    """

    api: str
    guard: str
    rule: Rule
    decision: ModuleType | None = None

    @property
    def name(self) -> str:
        """The missing guard, in a line."""
        return f"guard {self.guard} of {self.api} missing"

    @property
    def of_groups(self) -> frozenset[str]:
        """The guards that the specification's side itself leaves out: those of groups."""
        return frozenset({self.guard}) if self.decision is None else NONE_DROPPED

    def in_place(self) -> AbstractContextManager[object]:
        """Inside this context the specification lacks the guard."""
        if self.decision is None:
            return nullcontext()
        return patch.object(self.decision, "guards", partial(_kept, self.decision.guards, frozenset({self.guard})))


def _kept(guards: Any, without: frozenset[str], *request: Any) -> tuple[Guard, ...]:
    return dropped(guards(*request), without)


GUARDS: Final = (
    MissingGuard(Api.INIT_PRODUCER_ID, "half_identity", rules.IDS_IDENTITY_NEVER_REPEATS, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "timeout", rules.TXN_TIMEOUT, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "identity_fenced", rules.FENCE_STALE_EPOCH, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "rotates", rules.FENCE_EPOCH_EXHAUSTION, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "exhausted", rules.FENCE_EPOCH_EXHAUSTION, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "repeats", rules.IDS_IDENTITY_NEVER_REPEATS, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "epoch_fenced", rules.FENCE_STALE_EPOCH, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "fences", rules.FENCE_ZOMBIE_CANNOT_COMMIT, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "cannot_fence", rules.FENCE_EPOCH_EXHAUSTION, ids),
    MissingGuard(Api.INIT_PRODUCER_ID, "epoch_overflows", rules.FENCE_EPOCH_EXHAUSTION, ending),
    MissingGuard(Api.ADD_PARTITIONS_TO_TXN, "producer_other", rules.FENCE_STALE_EPOCH, registering),
    MissingGuard(Api.ADD_PARTITIONS_TO_TXN, "epoch_other", rules.FENCE_STALE_EPOCH, registering),
    MissingGuard(Api.END_TXN, "producer_other", rules.FENCE_STALE_EPOCH, ending),
    MissingGuard(Api.END_TXN, "epoch_other", rules.FENCE_STALE_EPOCH, ending),
    MissingGuard(Api.END_TXN, "pending", rules.TXN_ONE_OUTCOME, ending),
    MissingGuard(Api.END_TXN, "outcome_fixed", rules.TXN_ONE_OUTCOME, ending),
    MissingGuard(Api.WRITE_TXN_MARKERS, "stale_marker", rules.FENCE_STALE_EPOCH, append),
    MissingGuard(Api.WRITE_TXN_MARKERS, "stale_coordinator", rules.FENCE_COORDINATOR_EPOCH, append),
    MissingGuard(Api.TXN_OFFSET_COMMIT, "unverified", rules.TXN_REGISTERED_BEFORE_DATA),
    MissingGuard(Api.TXN_OFFSET_COMMIT, "group_unknown", rules.OFFSETS_GENERATION_FENCE),
    MissingGuard(Api.TXN_OFFSET_COMMIT, "instance_fenced", rules.OFFSETS_GENERATION_FENCE),
    MissingGuard(Api.TXN_OFFSET_COMMIT, "member_unknown", rules.OFFSETS_GENERATION_FENCE),
    MissingGuard(Api.TXN_OFFSET_COMMIT, "generation_other", rules.OFFSETS_GENERATION_FENCE),
    MissingGuard(Api.OFFSET_COMMIT, "members_only", rules.OFFSETS_GENERATION_FENCE),
    MissingGuard(Api.OFFSET_FETCH, "undecided", rules.OFFSETS_STABLE_FETCH),
    MissingGuard(Api.END_TXN, "aborted", rules.OFFSETS_ATOMIC),
    MissingGuard(Api.END_TXN, "committed_later", rules.OFFSETS_ATOMIC),
)
"""Guards that decide recorded steps, where no other guard would give the same answer; and the rule of each."""


def broken_guards(sessions: Iterable[Session]) -> tuple[Control, ...]:
    """Every guard taken away from the specification, on the first session in which it decides something."""
    waiting = dict.fromkeys(GUARDS)
    done: dict[MissingGuard, Control] = {}
    for session in sessions:
        if not waiting:
            break
        apis = {missing.api for missing in waiting}
        if session.unsupported or not any(step.api in apis for step in session.steps):
            continue
        deciding = set(_deciding(session))
        for missing in [each for each in waiting if (each.api, each.guard) in deciding]:
            done[missing] = _guard_control(missing, session)
            del waiting[missing]
    absent = (Control(missing.name, missing.rule, VIOLATED, "not run: no such step") for missing in waiting)
    return (*(done[missing] for missing in GUARDS if missing in done), *absent)


def _deciding(session: Session) -> Iterator[tuple[str, str]]:
    """The request and the last word of the name of each guard that decides in a session, by the whole specification."""
    for outcome in outcomes(session, {SPECIFICATION: OnSpecification}):
        for decision in outcome.decided:
            yield outcome.step.api, branch_name(decision, session.profile).rpartition(" ")[2]


def _guard_control(missing: MissingGuard, session: Session) -> Control:
    found = _disagreed(missing, session)
    named = bool(found) and missing.rule in found[0].rules
    seen = f"first at step {found[0].step}" if found else "not seen"
    return Control(missing.name, missing.rule, VIOLATED, VIOLATED if named else HOLDS, f"{session.id}, {seen}")


def _disagreed(missing: MissingGuard, session: Session) -> list[SessionDisagreement]:
    with missing.in_place():
        return list(disagreements([session], {SPECIFICATION: partial(_without, missing.of_groups)}))


def _without(guards: frozenset[str], profile: Profile, partitions: Sequence[str], segment_bytes: int) -> Side:
    return OnSpecification(profile, partitions, segment_bytes, guards)
