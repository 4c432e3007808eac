"""Guards of groups and their offsets that never apply: recorded steps must turn red, and name the guard's rule."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from model_tests.conformance.answers import Side
from model_tests.conformance.on_specification import OnSpecification
from model_tests.conformance.sessions import Session
from model_tests.conformance.side_by_side import SPECIFICATION, disagreements, outcomes
from model_tests.verify.results import Control
from spec import rules
from spec.rules import Rule
from spec.versions import Profile

VIOLATED: Final = "violated"
HOLDS: Final = "holds"

GROUPS: Final = frozenset({"C", "EC", "FC"})
"""Families whose sessions have groups."""

GUARDS: Final = MappingProxyType(
    {
        "unverified": rules.TXN_REGISTERED_BEFORE_DATA,
        "group_unknown": rules.OFFSETS_GENERATION_FENCE,
        "instance_unknown": rules.OFFSETS_GENERATION_FENCE,
        "instance_fenced": rules.OFFSETS_GENERATION_FENCE,
        "member_unknown": rules.OFFSETS_GENERATION_FENCE,
        "generation_other": rules.OFFSETS_GENERATION_FENCE,
        "members_only": rules.OFFSETS_GENERATION_FENCE,
        "undecided": rules.OFFSETS_STABLE_FETCH,
        "aborted": rules.OFFSETS_ATOMIC,
        "committed_later": rules.OFFSETS_ATOMIC,
    }
)
"""The guards that some recorded step was decided by, and the rule of each."""


def broken_guards(sessions: Iterable[Session]) -> tuple[Control, ...]:
    """Every guard taken away from the specification, on the first session in which it decides something."""
    waiting = dict(GUARDS)
    done: dict[str, Control] = {}
    for session in sessions:
        if not waiting:
            break
        if session.family in GROUPS:
            for guard in [name for name in _deciding(session) if name in waiting]:
                if guard in waiting:
                    done[guard] = _control(guard, waiting.pop(guard), session)
    absent = (Control(_name(guard), rule, VIOLATED, "not run: no such step") for guard, rule in waiting.items())
    return (*(done[guard] for guard in GUARDS if guard in done), *absent)


def _deciding(session: Session) -> Iterator[str]:
    """The last word of the name of each guard that decides in a session, by the whole specification."""
    for outcome in outcomes(session, {SPECIFICATION: OnSpecification}):
        yield from (getattr(decision, "guard", "").rpartition(" ")[2] for decision in outcome.decided)


def _control(guard: str, rule: Rule, session: Session) -> Control:
    found = list(disagreements([session], {SPECIFICATION: partial(_without, guard)}))
    named = bool(found) and rule in found[0].rules
    seen = f"first at step {found[0].step}" if found else "not seen"
    return Control(_name(guard), rule, VIOLATED, VIOLATED if named else HOLDS, f"{session.id}, {seen}")


def _without(guard: str, profile: Profile, partitions: Sequence[str], segment_bytes: int) -> Side:
    return OnSpecification(profile, partitions, segment_bytes, frozenset({guard}))


def _name(guard: str) -> str:
    return f"guard {guard} missing"
