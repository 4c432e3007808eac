"""Virtual time: only the world moves it."""

from spec.vocabulary import Timestamp


class Clock:
    """Milliseconds since the start of the world."""

    __slots__ = ("_now",)

    def __init__(self, now: int = 0) -> None:
        """A clock that stands at `now`."""
        self._now = now

    @property
    def now(self) -> Timestamp:
        """The present, milliseconds."""
        return Timestamp(self._now)

    def advance(self, milliseconds: int) -> None:
        """Let time pass; it never goes back."""
        if milliseconds > 0:
            self._now += milliseconds


class NodeClock(Clock):
    """A node's own clock: it is ahead of the world's by so much, and goes too fast or too slowly."""

    __slots__ = ("_ahead_ms", "_drift_ppm", "_world")

    def __init__(self, world: Clock, ahead_ms: int = 0, drift_ppm: int = 0) -> None:
        """A clock beside the world's.

        Args:
            world: true time.
            ahead_ms: what it shows at the beginning of the world.
            drift_ppm: microseconds that it gains in a second, or loses if negative.
        """
        super().__init__(ahead_ms)
        self._world = world
        self._ahead_ms = ahead_ms
        self._drift_ppm = drift_ppm

    @property
    def now(self) -> Timestamp:
        """The present as the node has it, milliseconds."""
        passed = self._world.now
        return Timestamp(passed + self._ahead_ms + passed * self._drift_ppm // 1_000_000)

    def advance(self, milliseconds: int) -> None:
        """Let true time pass."""
        self._world.advance(milliseconds)
