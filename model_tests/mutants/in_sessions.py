"""Mutants that recorded sessions see: each is planted, and replays sessions until one disagrees and names the rule."""

import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from model_tests.conform.bundled import sample, sessions_in
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.sessions import Session
from model_tests.conform.side_by_side import REFERENCE, disagreements
from model_tests.mutants.defects.planted import Planted
from model_tests.verify.results import PlantedDefect

GROUPS: Final = ("C", "EC", "FC")
"""Families whose sessions have groups."""

ONE_IN: Final = 3  # one session of so many is replayed, since this hunt is part of every `eos verify`


@cache
def sessions_of_groups() -> tuple[Session, ...]:
    """A third of the bundled sessions with groups; those with restarts first, since they are few."""
    return tuple(sorted(sessions_in(sample(ONE_IN, GROUPS).lines), key=lambda session: session.family != "FC"))


def hunt_in_sessions(planted: Planted, sessions: Sequence[Session] | None = None) -> PlantedDefect:
    """Replay sessions on the reference with the defect, until it disagrees in a step about the rule that it breaks."""
    started = time.monotonic()
    seen: dict[str, None] = {}
    with planted.in_place():
        for found in _of_reference(sessions_of_groups() if sessions is None else sessions):
            if planted.rule in found.rules:
                seen = {f"session {planted.rule.id} in {found.session} step {found.step}": None} | seen
                break
            seen |= {f"session {rule.id}": None for rule in found.rules}
    return PlantedDefect(planted.name, planted.rule, tuple(seen), round(time.monotonic() - started, 3))


def _of_reference(sessions: Iterable[Session]) -> Iterable[SessionDisagreement]:
    return (found for found in disagreements(sessions) if found.by == REFERENCE)
