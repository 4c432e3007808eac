"""The flat records that decisions take and return: scalars of one reading, nothing else.

Absent is the protocol's -1, never null. A record of columns, terms or arrays is made from its fields' names
by `build` and taken apart by `flatten`; the names are those of the trace schema.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from spec.algebra import Term
from spec.vocabulary import ABSENT, Origin

WINDOW = 5
"""Cached batches that a producer entry has room for."""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class CachedBatch:
    """A partition's record of one accepted batch; all -1 where there is none."""

    last_sequence: Term = ABSENT
    last_offset: Term = ABSENT
    offset_delta: Term = ABSENT

    @property
    def present(self) -> Term:
        """Whether there is such a batch."""
        return self.last_offset >= 0


@dataclass(frozen=True, slots=True)
class ProducerEntry:
    """A partition's state of one producer id; an epoch of -1 means none."""

    epoch: Term = ABSENT
    coordinator_epoch: Term = ABSENT
    txn_first_offset: Term = ABSENT
    cached: tuple[CachedBatch, ...] = (CachedBatch(),) * WINDOW  # the newest first

    @property
    def in_transaction(self) -> Term:
        """Whether a transaction of this producer is open on the partition."""
        return self.txn_first_offset >= 0


@dataclass(frozen=True, slots=True)
class MetVerification:
    """The partition's verification entry of the producer, as seen by this append (KIP-890)."""

    verification_pending: Term = False
    verification_guarded: Term = False
    verification_bumps: Term = False
    verification_lowest: Term = ABSENT


@dataclass(frozen=True, slots=True)
class AppendRequest:
    """One batch to append, and the offset it would get."""

    base_offset: Term
    origin: Term = Origin.CLIENT.value
    batch_count: Term = 1
    sent_base_offset: Term = 0  # base offset in the client's batch
    producer_id: Term = ABSENT
    producer_epoch: Term = ABSENT
    base_sequence: Term = ABSENT
    last_offset_delta: Term = 0
    record_count: Term = 1
    transactional: Term = False
    control: Term = False
    coordinator_epoch: Term = ABSENT
    marker_version: Term = ABSENT


@dataclass(frozen=True, slots=True)
class AppendReply:
    """The answer to an append."""

    error: Term
    first_offset: Term
    last_offset: Term
    duplicate: Term
    appended: Term


def scalars(kind: type[Any]) -> Iterator[tuple[str, type[Any]]]:
    """Names and Python types of the scalars of a record, in order."""
    for name, value in flatten(_example(kind)):
        yield name, type(value)


def flatten(record: Any) -> Iterator[tuple[str, Term]]:
    """Name and value of every scalar of a record, in order."""
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(value, tuple):
            for position, item in enumerate(value):
                yield from ((f"{part.name}_{position}_{name}", scalar) for name, scalar in flatten(item))
        else:
            yield part.name, value


def build(kind: type[Record], scalar: Callable[[str], Term]) -> Record:
    """The record whose scalars are the values of `scalar` for their names."""
    scalars: dict[str, Any] = {
        part.name: scalar(part.name) for part in fields(_a_record(kind)) if part.name != "cached"
    }
    if kind is ProducerEntry:
        scalars["cached"] = tuple(_cached(position, scalar) for position in range(WINDOW))
    return kind(**scalars)


def _cached(position: int, scalar: Callable[[str], Term]) -> CachedBatch:
    return build(CachedBatch, lambda name: scalar(f"cached_{position}_{name}"))


def _a_record(kind: type[Any]) -> type[Any]:
    return kind


def _example(kind: type[Any]) -> Any:
    if kind is AppendRequest:
        return AppendRequest(base_offset=0)
    if kind is AppendReply:
        return AppendReply(0, 0, 0, duplicate=False, appended=False)
    return kind()
