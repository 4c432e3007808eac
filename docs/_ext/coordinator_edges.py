"""The coordinator's graph, found by evaluating its decisions: in every state, every request that could change it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from spec.protocol.completing import expire, fence, fencing_abort, is_expired, is_timed_out, prepare_complete
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition, is_preparing
from spec.protocol.ending import EndRequest, end
from spec.protocol.ids import InitRequest, initialize
from spec.protocol.registering import AddRequest, register
from spec.versions import Profile
from spec.vocabulary import ABSENT, Api, TransactionState

OWN, FRESH, EPOCH, LONG_AGO, NOW, TIMEOUT = 7, 8, 5, 0, 10_000, 1_000
"""A producer id, the next one, an epoch in the middle, and times by which everything is overdue."""

STATES: Final = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)
FENCING: Final = TransactionState.PREPARE_EPOCH_FENCE
NEW: Final = "new id"
"""Where an id is from: the coordinator knows nothing of it."""


@dataclass(frozen=True, slots=True, order=True)
class StateChange:
    """One change of state: by what, and whether its source or target is in memory alone."""

    source: str
    target: str
    by: str


def edges(profile: Profile, client_version: int) -> tuple[StateChange, ...]:
    """Every change of state that the decisions make under a release, for clients of one transaction version."""
    found = (edge for entry in entries(client_version) for edge in _from(entry, profile, client_version))
    return tuple(dict.fromkeys(found))


def entries(client_version: int) -> Iterator[TransactionEntry]:
    """An unknown id, an id in each state with an epoch in the middle, and one that is being fenced."""
    yield TransactionEntry()
    for state in STATES:
        yield _entry(state, client_version)
    yield replace(_entry(TransactionState.ONGOING, client_version), pending=FENCING.value)


def _entry(state: TransactionState, client_version: int) -> TransactionEntry:
    return TransactionEntry(
        known=True,
        state=state.value,
        producer_id=OWN,
        producer_epoch=EPOCH,
        last_epoch=EPOCH - 1,
        timeout=TIMEOUT,
        start_time=LONG_AGO,
        update_time=LONG_AGO,
        client_version=client_version,
    )


def _from(entry: TransactionEntry, profile: Profile, client_version: int) -> Iterator[StateChange]:
    source = name_of(entry)
    for by, transition in _transitions(entry, profile, client_version):
        if transition.appends:
            yield StateChange(source, TransactionState(completed_state(transition)).name, by)
        elif entry.pending != FENCING.value and transition.entry.pending == FENCING.value:
            yield StateChange(source, FENCING.name, by)
    if is_timed_out(entry, NOW):
        yield StateChange(source, name_of(fence(entry)), "timeout")


def completed_state(transition: Transition) -> int:
    """The state once the record is durable; that of a tombstone is Dead."""
    return int(transition.target.state)


def name_of(entry: TransactionEntry) -> str:
    """The node of an entry."""
    if not entry.known:
        return NEW
    return TransactionState(entry.pending if entry.pending != ABSENT else entry.state).name


def _transitions(entry: TransactionEntry, profile: Profile, client_version: int) -> Iterable[tuple[str, Transition]]:
    bumps = client_version >= BUMPING
    for identity in ((ABSENT, ABSENT), (OWN, EPOCH), (OWN, EPOCH - 1)):
        request = InitRequest(TIMEOUT, FRESH, NOW, producer_id=identity[0], producer_epoch=identity[1])
        yield Api.INIT_PRODUCER_ID, initialize(entry, request, profile)
    adding = AddRequest(OWN, EPOCH, all_registered=False, now=NOW, client_version=client_version)
    yield Api.ADD_PARTITIONS_TO_TXN, register(entry, adding, profile)
    for commits, epoch in product((True, False), (EPOCH, EPOCH - 1)):
        requested = EndRequest(OWN, epoch, commits, bumps, FRESH, NOW)
        yield f"EndTxn {'commit' if commits else 'abort'}", end(entry, requested, profile)
    if entry.pending == FENCING.value:
        yield "the fence's abort", end(entry, fencing_abort(entry, FRESH, NOW, profile), profile)
    if is_preparing(entry):
        yield "markers written", prepare_complete(entry, NOW, profile)
    if is_expired(entry, NOW, TIMEOUT):
        yield "expiration", expire(entry)
