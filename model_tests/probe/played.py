"""A session that was played on a broker, and why one ends before its script does."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from model_tests.conform.sessions import SessionStep
from model_tests.conform.side_by_side import StepComparison
from model_tests.probe.script import Script


class Patience(NamedTuple):
    """How long a state is looked at again that is not as it should be, in seconds.

    Attributes:
        settles_s: while markers are owed of a transaction that the specification completes.
        agrees_s: otherwise; a broker shows some of its state only a moment later.
        times_out_s: until a coordinator aborts a transaction past its timeout: it looks for one every 10 s by default.
    """

    settles_s: float = 30.0
    agrees_s: float = 2.0
    times_out_s: float = 40.0


PATIENT: Final = Patience()
HASTY: Final = Patience(1.5, 0.5, 16.0)
"""For sessions that are played to see again what a patient one has shown."""

UNREADY: Final = "a leader or coordinator was not ready"
MET: Final = "two connections raced, and one request met the other under way, which leaves it without effect"
COMPLETING: Final = "the transaction before may not have been complete, which this broker does not show"
UNRECORDED: Final = "the answer cannot be written as a session"
FORBIDDEN: Final = "this client is not authorized to send"
OVERTAKEN: Final = "the session took so long that its transaction may have timed out"
SLOW_EPOCHS: Final = "the epochs did not run out in time"


class SessionEnded(Exception):
    """The session cannot be judged any further; the message says why."""


@dataclass(slots=True)
class PlayedSession:
    """A session that was played.

    Attributes:
        session: in the format of recorded sessions.
        keys: of the actions, one for each of its steps.
        comparisons: of its steps, as far as they were judged.
        typed: its steps, as they were judged.
        partitions: of its topic.
        undecided: why it ended before its script did, empty if it did not.
        met: racing requests that had no effect because they met another one under way.
    """

    script: Script
    session: dict[str, Any]
    keys: list[int] = field(default_factory=list)
    comparisons: list[StepComparison] = field(default_factory=list)
    typed: list[SessionStep] = field(default_factory=list)
    partitions: tuple[str, ...] = ()
    undecided: str = ""
    met: int = 0

    @property
    def disagreed(self) -> StepComparison | None:
        """The step at which specification or reference differ from the broker: always the last one that is judged."""
        return next((each for each in reversed(self.comparisons) if each.disagreed), None)
