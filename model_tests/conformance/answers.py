"""What a side answers to a request, and what is seen of it afterwards: the observable fields, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from model_tests.conformance.requests import Fetch, InitProducerId, Produce, Restart
from spec.vocabulary import ErrorCode


@dataclass(frozen=True, slots=True)
class Appended:
    """The answer about one partition of a Produce request; -1 where an offset is not told."""

    error: ErrorCode
    base_offset: int = -1
    append_time_told: bool = False
    log_start_offset: int = -1


@dataclass(frozen=True, slots=True)
class Produced:
    """The answer to Produce, by partition; `several` if it is recorded so."""

    partitions: Mapping[str, Appended]
    several: bool


@dataclass(frozen=True, slots=True)
class SeenBatch:
    """One batch as a fetch returns it."""

    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to Fetch.

    Attributes:
        aborted: producer id and first offset of each aborted transaction; None under read_uncommitted.
        delivered: offset and value of each record that a client hands on.
    """

    error: ErrorCode
    hw: int = -1
    lso: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] | None = None
    batches: tuple[SeenBatch, ...] = ()
    delivered: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Initialized:
    """The answer to InitProducerId."""

    error: ErrorCode
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Restarted:
    """A broker is back; there is no answer, only the state after."""


Answer: TypeAlias = Produced | Fetched | Initialized | Restarted


@dataclass(frozen=True, slots=True)
class SeenProducer:
    """A producer as DescribeProducers shows it; -1 for what is not there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    current_txn_start_offset: int


@dataclass(frozen=True, slots=True)
class SeenPartition:
    """A partition as DescribeProducers and ListOffsets show it."""

    producers: tuple[SeenProducer, ...]
    hw: int
    lso: int


class Side(Protocol):
    """One side of the comparison, from a fresh broker on: it knows requests and numbers, but no recording."""

    def produce(self, request: Produce) -> Produced:
        """Answer a Produce request."""

    def fetch(self, request: Fetch) -> Fetched:
        """Answer a Fetch request, as a client with its filter sees it."""

    def init_producer_id(self, request: InitProducerId) -> Initialized:
        """Hand out a producer id."""

    def restart(self, request: Restart) -> Restarted:
        """Go down and come back."""

    def seen(self) -> Mapping[str, SeenPartition]:
        """What is observable of every partition now."""
