"""Corrupted recordings that must be disagreed with, at the corrupted step and by both sides."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from model_tests.conform.decision_log import rules_at_stake
from model_tests.conform.sessions import Session, SessionStep
from model_tests.conform.side_by_side import SIDES, disagreements, outcomes
from model_tests.verify.results import Control
from spec import rules
from spec.rules import Rule
from spec.vocabulary import Api

VIOLATED: Final = "violated"
HOLDS: Final = "holds"


@dataclass(frozen=True, slots=True)
class SessionFalsification:
    """One way to falsify a recorded step that is about a rule.

    Attributes:
        falsify: the step with the corruption, None where it cannot have it.
        api: the requests whose steps are meant.
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
    """What of the wanted can be done to a session: where, and the session then."""
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
