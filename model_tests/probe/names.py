"""The names of one session: short ones in its record, fresh ones on the broker, symbols for ids that it hands out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from model_tests.probe.target import TopicInfo
from spec.vocabulary import NO_PRODUCER_ID

TOPIC: Final = "t"
GROUP: Final = "g0"
OFFSETS_TOPIC: Final = "__consumer_offsets"


@dataclass(slots=True)
class SessionNames:
    """Which name on the broker stands for which of the session.

    Attributes:
        prefix: of every transactional id and group on the broker.
        topic: on the broker, the only one of the session.
        info: of the topic.
        members: member ids by symbol.
        coordinator_epochs: by producer id, the coordinator epoch that its first marker had; epochs count from there.
    """

    prefix: str
    topic: str
    info: TopicInfo
    members: dict[str, str] = field(default_factory=dict)
    coordinator_epochs: dict[int, int] = field(default_factory=dict)
    _symbols: dict[int, str] = field(default_factory=dict)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions as the record names them."""
        return tuple(f"{TOPIC}-{number}" for number in range(len(self.info.leaders)))

    def leader(self, number: int) -> int:
        """The node that leads a partition."""
        return self.info.leaders[number]

    def named(self, short: str) -> str:
        """The name on the broker of a transactional id or group."""
        return f"{self.prefix}-{short}"

    def meet(self, producer_id: int) -> int | str:
        """The symbol of a producer id, a new one if it is met for the first time; -1 for none."""
        if producer_id <= NO_PRODUCER_ID:
            return NO_PRODUCER_ID
        return self._symbols.setdefault(producer_id, f"pid{len(self._symbols)}")

    def known(self) -> Mapping[int, str]:
        """Every producer id that was met, with its symbol."""
        return self._symbols

    def number(self, named: int | str) -> int:
        """The producer id of a symbol."""
        if isinstance(named, int):
            return named
        return next(number for number, symbol in self._symbols.items() if symbol == named)

    def recorded_partition(self, topic: str, number: int) -> str:
        """A partition as the record names it; that of a group's offsets by the group, the only one of a session."""
        return f"{OFFSETS_TOPIC}[{GROUP}]" if topic == OFFSETS_TOPIC else f"{TOPIC}-{number}"

    def coordinator_epoch(self, producer_id: int, epoch: int) -> int:
        """A coordinator epoch as the record counts it: from the first one of the producer's markers on."""
        if epoch < 0:
            return epoch
        return epoch - self.coordinator_epochs.setdefault(producer_id, epoch)


def number_of(partition: str) -> int:
    """The number of a partition of the session's topic."""
    return int(partition.rpartition("-")[2])
