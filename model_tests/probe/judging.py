"""The steps of a session as they are recorded, each beside specification and reference."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from model_tests.conform.fields import MalformedSession, SessionFields
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.sessions import Session, SessionStep, profile_of, step_of
from model_tests.conform.side_by_side import SPECIFICATION, MakeSide, SessionSides, StepComparison
from model_tests.probe.observing import Level
from model_tests.probe.played import UNRECORDED, PlayedSession, SessionEnded
from spec.versions import Profile

LIVE: Final[Mapping[str, MakeSide]] = MappingProxyType({SPECIFICATION: OnSpecification})
"""What judges while a session is played; `eos conform FILE` has the reference judge it, too."""


class Saved(NamedTuple):
    """How far a session had come."""

    steps: int
    judge: SessionSides


class SessionJudge:
    """Records the steps of one session, and judges them."""

    def __init__(
        self, played: PlayedSession, profile: Profile, level: Level, sides: Mapping[str, MakeSide] = LIVE
    ) -> None:
        """A session without steps, whose header is written.

        Args:
            played: what it is written to.
            profile: that the broker is compared with.
            level: how much of its state is observed.
            sides: that answer beside it.
        """
        self._sides = sides
        self._played = played
        self._profile = profile
        self._whole = level is Level.FULL
        self._steps: list[dict[str, Any]] = played.session["steps"]
        self._origins: list[int] = []
        self._judge = self._fresh()

    @property
    def place(self) -> int:
        """Number of the step that comes next."""
        return len(self._steps)

    @property
    def disagrees(self) -> bool:
        """Whether the session has come to a step that differs."""
        return self._played.disagreed is not None

    def record(self, key: int, step: dict[str, Any]) -> StepComparison | None:
        """Write a step down, and judge it; None where the session is not judged any further.

        Raises:
            SessionEnded: it cannot be written.
        """
        ended, place = self.disagrees, self.place
        self._steps.append(step)
        self._played.keys.append(key)
        self._origins.append(self._origins[step["replay_of"]] if "replay_of" in step else place)
        self._played.typed.append(self._typed())
        if ended:
            return None
        self._played.comparisons.append(self._judge.play(self._played.typed[-1]))
        return self._played.comparisons[-1]

    def look_again(self, after: dict[str, Any]) -> StepComparison:
        """The last step with another state after it.

        Raises:
            SessionEnded: it cannot be written.
        """
        self._steps[-1]["after"] = after
        before, again = self._played.typed[-1], self._typed()
        self._played.typed[-1] = again
        if again.marks == before.marks:
            self._played.comparisons[-1] = self._judge.look_again(again)
        else:  # the state decides how the step is to be taken: a group lags, or does no longer
            self._judge = self._fresh()
            *_, self._played.comparisons[-1] = (self._judge.play(step) for step in self._played.typed)
        return self._played.comparisons[-1]

    def drop(self) -> None:
        """The last step shows nothing: it is as if it had not been."""
        self._cut(self.place - 1)

    def save(self) -> Saved:
        """How far the session has come, to go back to."""
        return Saved(self.place, self._judge.copied())

    def go_back(self, saved: Saved) -> None:
        """Forget the steps since."""
        self._cut(saved.steps)
        self._judge = saved.judge.copied()

    def _cut(self, steps: int) -> None:
        for listed in (self._steps, self._origins, self._played.keys, self._played.typed, self._played.comparisons):
            del listed[steps:]

    def _fresh(self) -> SessionSides:
        played = self._played
        profile = profile_of(SessionFields("the session", played.session))
        return SessionSides(
            Session(played.session["id"], played.script.family, profile, played.partitions, ()), self._sides
        )

    def _typed(self) -> SessionStep:
        fields = SessionFields(f"step {self.place - 1}", self._steps[-1])
        try:
            return step_of(fields, self._origins[-1], self._profile, whole=self._whole)
        except MalformedSession as error:
            self._steps.pop()
            self._origins.pop()
            self._played.keys.pop()
            raise SessionEnded(f"{UNRECORDED}: {error}") from error
