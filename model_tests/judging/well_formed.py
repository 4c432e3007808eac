"""The domain in which a mutant is compared with its decision: records as they are met, and nothing else."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol.coordinator import BUMPING, is_at_rest, is_preparing
from spec.protocol.guards import Guard
from spec.versions import Profile
from spec.vocabulary import ABSENT, MAX_SEQUENCE, GroupState, Origin, TransactionState


def well_formed(arguments: Mapping[str, Any]) -> Term:
    """What is true of every record that is met: no number below -1, states that there are, nothing half absent."""
    return all_of(*(fact for name, value in arguments.items() for fact in _facts(name, value)), *_between(arguments))


def _facts(name: str, value: Any) -> Iterator[Term]:
    if isinstance(value, Profile | Mapping | str | frozenset | Guard | bool) or value is None:
        return
    if is_dataclass(value):
        for part in fields(value):
            yield from _facts(part.name, getattr(value, part.name))
        yield from _of_record(type(value).__name__, value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _facts(name, each)
    elif _is_number(value) and name not in UNBOUNDED:
        yield value >= ABSENT


UNBOUNDED: Final = ("error", "verification_error", "name_hash", "base_sequence", "sequence")
"""Numbers that may be below -1: errors, hashes, and what clients send."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or str(getattr(value, "sort", lambda: "")()) == "Int"


def _of_record(kind: str, record: Any) -> Iterator[Term]:
    of_kind = _OF_KIND.get(kind)
    if of_kind is not None:
        yield from of_kind(record)


COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def _of_transaction(entry: Any) -> Iterator[Term]:
    yield any_of(*(entry.state == state.value for state in TransactionState))
    yield any_of(entry.pending == ABSENT, *(entry.pending == state.value for state in TransactionState))
    yield implies(negate(entry.known), all_of(entry.state == TransactionState.EMPTY.value, entry.pending == ABSENT))
    yield any_of(entry.client_version == 0, entry.client_version == BUMPING)
    yield implies(entry.next_producer_id >= 0, is_preparing(entry))
    yield implies(entry.fence_failed, negate(is_at_rest(entry)))
    completes = any_of(*(entry.pending == state.value for state in COMPLETE))
    yield implies(completes, is_preparing(entry))


def _of_step(step: Any) -> Iterator[Term]:
    """Partitions are registered in a transaction that is open, or on its way to its end."""
    is_open = step.before.state == TransactionState.ONGOING.value
    yield implies(step.inputs.registered, any_of(is_open, is_preparing(step.before)))


def _of_group(entry: Any) -> Iterator[Term]:
    yield any_of(*(entry.state == state.value for state in GroupState))
    yield entry.generation >= 0
    yield implies(negate(entry.known), all_of(entry.state == GroupState.EMPTY.value, entry.generation == 0))


def _of_batch(cached: Any) -> Iterator[Term]:
    absent = cached.last_offset == ABSENT
    yield implies(absent, all_of(cached.last_sequence == ABSENT, cached.offset_delta == ABSENT))
    yield implies(negate(absent), cached.offset_delta >= 0)
    yield cached.last_sequence <= MAX_SEQUENCE


def _of_producer(entry: Any) -> Iterator[Term]:
    unknown = entry.epoch == ABSENT
    yield implies(unknown, all_of(entry.txn_first_offset == ABSENT, entry.coordinator_epoch == ABSENT))
    yield all_of(*(implies(unknown, cached.last_offset == ABSENT) for cached in entry.cached))


def _of_append(request: Any) -> Iterator[Term]:
    """What clients send may be anything; what brokers append by themselves has the form of data, or of a marker."""
    yield any_of(*(request.origin == origin.value for origin in Origin))
    own = negate(request.origin == Origin.CLIENT.value)
    of_producer = all_of(request.producer_id >= 0, request.producer_epoch >= 0, request.transactional)
    yield implies(all_of(own, request.control), of_producer)
    yield implies(negate(request.control), request.marker_version == ABSENT)
    emptied = request.record_count <= 0
    yield implies(all_of(own, request.control, emptied), request.origin == Origin.REPLICATION.value)
    yield implies(all_of(own, negate(emptied)), request.last_offset_delta >= 0)
    yield implies(request.producer_id >= 0, request.producer_epoch >= 0)
    yield request.base_sequence <= MAX_SEQUENCE


def _of_met_verification(seen: Any) -> Iterator[Term]:
    nothing = negate(seen.verification_pending)
    yield implies(nothing, all_of(negate(seen.verification_bumps), seen.verification_lowest == ABSENT))


def _of_verification(entry: Any) -> Iterator[Term]:
    nothing = negate(entry.pending)
    yield implies(nothing, all_of(negate(entry.bumps), entry.lowest == ABSENT, entry.epoch == ABSENT))


def _of_offset(entry: Any) -> Iterator[Term]:
    yield implies(entry.recorded_at == ABSENT, entry.offset == ABSENT)


def _of_candidate(candidate: Any) -> Iterator[Term]:
    yield implies(candidate.alive, candidate.broker >= 0)


def _of_returning_replica(replica: Any) -> Iterator[Term]:
    """No high watermark is beyond its log: `repl.hw_bounds`, which is proved."""
    yield all_of(replica.high_watermark >= 0, replica.high_watermark <= replica.log_end)


_OF_KIND: Final[Mapping[str, Callable[[Any], Iterator[Term]]]] = MappingProxyType(
    {
        "TransactionEntry": _of_transaction,
        "CoordinatorStep": _of_step,
        "GroupEntry": _of_group,
        "CachedBatch": _of_batch,
        "ProducerEntry": _of_producer,
        "AppendRequest": _of_append,
        "Verification": _of_met_verification,
        "VerificationEntry": _of_verification,
        "OffsetEntry": _of_offset,
        "Candidate": _of_candidate,
        "ReturningReplica": _of_returning_replica,
    }
)
"""What is true of records, by their names."""


def _between(arguments: Mapping[str, Any]) -> Iterator[Term]:
    """What is true of records that are met together."""
    met = {type(value).__name__: value for value in arguments.values()}
    if {"ProducerEntry", "AppendRequest"} <= met.keys():  # a batch without producer id meets no entry
        yield implies(met["AppendRequest"].producer_id == ABSENT, met["ProducerEntry"].epoch == ABSENT)
    if {"VerificationEntry", "AppendRequest"} <= met.keys():  # only of producers is the coordinator asked
        yield met["AppendRequest"].producer_id >= 0
    if {"log_start", "log_end"} <= arguments.keys():
        yield arguments["log_start"] <= arguments["log_end"]
    offsets = [value for value in arguments.values() if type(value).__name__ == "OffsetEntry"]
    for left, right in pairwise(offsets):  # in one place there is one record
        yield implies(left.recorded_at == right.recorded_at, left.offset == right.offset)
