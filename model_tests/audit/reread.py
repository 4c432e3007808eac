"""The parts of a condensed log that must be read again before a verdict on it can be given."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class RereadRequest:
    """Producers of which every batch must be there, offsets around which the batches must, segments not to be cut."""

    producers: set[int] = field(default_factory=set)
    places: set[int] = field(default_factory=set)
    segments: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.producers or self.places or self.segments)

    def __or__(self, other: "RereadRequest") -> "RereadRequest":
        return RereadRequest(
            self.producers | other.producers, self.places | other.places, self.segments | other.segments
        )

    def add(self, producers: Iterable[int], places: Iterable[int] = ()) -> None:
        """Ask for these too."""
        self.producers.update(map(int, producers))
        self.places.update(map(int, places))
