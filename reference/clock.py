"""Virtual time: it moves only when the world says so."""

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
        self._now += max(0, milliseconds)
