"""Guards of the specification that never apply: recorded steps must turn red, and name the guard's rule.

They are checks of the coordinator of transactions, of the coordinator of groups, and of a partition that meets either.
The reference is left as it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from model_tests.conform.answers import Side
from model_tests.conform.decision_log import branch_name
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.sessions import Session
from model_tests.conform.side_by_side import SPECIFICATION, disagreements, outcomes
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
        """What is missing, in a line."""
        return f"guard {self.guard} of {self.api} missing"

    @property
    def of_groups(self) -> frozenset[str]:
        """What the side itself leaves out."""
        return frozenset({self.guard}) if self.decision is None else NONE_DROPPED

    def in_place(self) -> AbstractContextManager[object]:
        """The specification is without the guard inside this context."""
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
"""Guards that decide recorded steps which nothing else would decide likewise, and the rule of each."""


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
            done[missing] = _control(missing, session)
            del waiting[missing]
    absent = (Control(missing.name, missing.rule, VIOLATED, "not run: no such step") for missing in waiting)
    return (*(done[missing] for missing in GUARDS if missing in done), *absent)


def _deciding(session: Session) -> Iterator[tuple[str, str]]:
    """The request and the last word of the name of each guard that decides in a session, by the whole specification."""
    for outcome in outcomes(session, {SPECIFICATION: OnSpecification}):
        for decision in outcome.decided:
            yield outcome.step.api, branch_name(decision, session.profile).rpartition(" ")[2]


def _control(missing: MissingGuard, session: Session) -> Control:
    found = _disagreed(missing, session)
    named = bool(found) and missing.rule in found[0].rules
    seen = f"first at step {found[0].step}" if found else "not seen"
    return Control(missing.name, missing.rule, VIOLATED, VIOLATED if named else HOLDS, f"{session.id}, {seen}")


def _disagreed(missing: MissingGuard, session: Session) -> list[SessionDisagreement]:
    with missing.in_place():
        return list(disagreements([session], {SPECIFICATION: partial(_without, missing.of_groups)}))


def _without(guards: frozenset[str], profile: Profile, partitions: Sequence[str], segment_bytes: int) -> Side:
    return OnSpecification(profile, partitions, segment_bytes, guards)
