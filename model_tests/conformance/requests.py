"""The requests of a session as typed records: what a client sent, before either side looks at it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

Named: TypeAlias = int | str
"""A producer id as a session writes it: a symbol (`pid0`), or -1 for none."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a Produce request.

    Attributes:
        partition: topic and number, as `t-0`.
        last_offset_delta: as the header says, which need not be what the records are.
        control: COMMIT or ABORT where the client wrote a control batch, else empty.
        batch_count: how many such batches go to the partition, each continuing the one before.
        values: value of each record.
    """

    partition: str
    producer_id: Named
    producer_epoch: int
    base_sequence: int
    record_count: int
    last_offset_delta: int
    transactional: bool
    control: str
    coordinator_epoch: int
    batch_count: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Produce:
    """Produce, with one batch (several where `batch_count` says so) for each of its partitions.

    Attributes:
        sent_at: milliseconds; a network's copy of a request has the time of the original.
        several: the session recorded the answer by partition.
    """

    version: int
    transactional_id: str | None
    acks: int
    batches: tuple[Batch, ...]
    sent_at: int
    several: bool


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetch of one partition from an offset."""

    version: int
    partition: str
    offset: int
    committed_only: bool


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """InitProducerId without a transactional id; timeout and expected identity mean nothing then."""

    version: int


@dataclass(frozen=True, slots=True)
class Restart:
    """The whole broker went down and came back.

    Attributes:
        clean: it was asked to stop (SIGTERM) and not killed.
    """

    clean: bool


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A request that neither side is held against yet; `what` names it."""

    what: str


Request: TypeAlias = Produce | Fetch | InitProducerId | Restart | Unsupported


def resolved(request: Request, number: Callable[[Named], int]) -> Request:
    """The request with numbers for the symbols of producer ids."""
    if not isinstance(request, Produce):
        return request
    return replace(
        request, batches=tuple(replace(batch, producer_id=number(batch.producer_id)) for batch in request.batches)
    )
