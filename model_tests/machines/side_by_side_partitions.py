"""Side by side: what partitions decide of verifications, expiry and the last stable offset."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from model_tests.machines.side_by_side import DecisionComparison, differing
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.producer_entry import ProducerEntry, VerificationEntry
from reference.log.producer_state import ProducerState, UnreplicatedTxn
from reference.log.record import Record
from spec import rules
from spec.protocol import completing, lso, verification
from spec.protocol.lso import LogOffsets
from spec.protocol.records import AppendRequest
from spec.protocol.records import ProducerEntry as Entry
from spec.protocol.verification import ADDS_SINCE, NO_VERIFICATION
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, NO_OFFSET, ControlType, Epoch, Offset, Origin, ProducerId, Sequence, Timestamp

_PRODUCER: Final = ProducerId(5)  # any producer id
_SMALL: Final = (0, 1, 2)
_EXPIRATION_MS: Final = 3  # silences from 0 to 5 lie on both sides of it

VerifiedEntry = tuple[int, int, bool] | None
"""A verification under way: the lowest sequence that waits, the epoch, and whether its client bumps epochs."""

_UNDER_WAY: Final[tuple[VerifiedEntry, ...]] = (None, *product(_SMALL, _SMALL, (False, True)))


def state_with(request: VerifiedEntry, profile: Profile = NEWEST) -> ProducerState:
    """What a partition knows, with a verification under way."""
    state = ProducerState(profile)
    if request is not None:
        lowest, epoch, bumps = request
        state.verifications[_PRODUCER] = VerificationEntry(1, Sequence(lowest), Epoch(epoch), bumps, Timestamp(0))
    return state


def pending_verification(state: ProducerState) -> VerifiedEntry:
    """The verification that is under way in it."""
    entry = state.verifications.get(_PRODUCER)
    return None if entry is None else (entry.lowest_sequence, entry.epoch, entry.bumps)


def _entry_of(request: VerifiedEntry) -> verification.VerificationEntry:
    if request is None:
        return NO_VERIFICATION
    lowest, epoch, bumps = request
    return verification.VerificationEntry(pending=True, lowest=lowest, epoch=epoch, bumps=bumps)


def _verified_entry(entry: verification.VerificationEntry) -> object:
    return (entry.lowest, entry.epoch, bool(entry.bumps)) if entry.pending else None


# --- verification ---------------------------------------------------------------------------------------------


def _askings() -> Iterator[tuple[Any, ...]]:
    yield from product(_UNDER_WAY, _SMALL, _SMALL, (ADDS_SINCE - 1, ADDS_SINCE))


def _asks(requested: VerifiedEntry, sequence: int, epoch: int, version: int) -> object:
    request = AppendRequest(0, producer_id=_PRODUCER, producer_epoch=epoch, base_sequence=sequence, transactional=True)
    return _verified_entry(verification.started(_entry_of(requested), request, version))


def _starts(request: VerifiedEntry, sequence: int, epoch: int, version: int) -> object:
    state = state_with(request)
    state.start_verification(_PRODUCER, Sequence(sequence), Epoch(epoch), version >= ADDS_SINCE, Timestamp(0))
    return pending_verification(state)


def _appended() -> Iterator[tuple[Any, ...]]:
    yield from product(differing("marker_keeps_next_guard"), _UNDER_WAY, (False, True), (False, True), _SMALL)


def _settles(profile: Profile, requested: VerifiedEntry, control: bool, transactional: bool, epoch: int) -> object:
    request = AppendRequest(
        0,
        producer_id=_PRODUCER,
        producer_epoch=epoch,
        transactional=transactional or control,
        control=control,
        origin=int(Origin.COORDINATOR if control else Origin.CLIENT),
    )
    return _verified_entry(verification.after_append(_entry_of(requested), request, True, profile))


def _clears(profile: Profile, request: VerifiedEntry, control: bool, transactional: bool, epoch: int) -> object:
    state = state_with(request, profile)
    batch = _marker(epoch) if control else _data(epoch, transactional)
    if batch.is_transactional:
        state.clear_verification(batch)
    return pending_verification(state)


def _marker(epoch: int) -> RecordBatch:
    return marker_batch(_PRODUCER, epoch, ControlType.COMMIT, coordinator_epoch=0)


def _data(epoch: int, transactional: bool) -> RecordBatch:
    records = (Record(0, 0, None, b""),)
    return data_batch(records, producer_id=_PRODUCER, epoch=epoch, base_sequence=0, transactional=transactional)


# --- time -----------------------------------------------------------------------------------------------------


def _silences() -> Iterator[tuple[Any, ...]]:
    yield from product((ABSENT, 0, 4), (0, 1, 2, 3, 4, 5))


def _may_be_forgotten(first_offset: int, silence: int) -> object:
    return silence >= _EXPIRATION_MS and bool(
        completing.may_be_forgotten(Entry(epoch=0, txn_first_offset=first_offset))
    )


def _is_forgotten(first_offset: int, silence: int) -> object:
    state = ProducerState(NEWEST, _EXPIRATION_MS)
    state.producers[_PRODUCER] = ProducerEntry(
        Epoch(0), last_timestamp=Timestamp(1), txn_first_offset=Offset(first_offset)
    )
    return _PRODUCER in state.expire(Timestamp(1 + silence)) and _PRODUCER not in state.producers


# --- the last stable offset -----------------------------------------------------------------------------------

Ended = tuple[int, int]
"""First offset of a transaction, and the offset of its marker."""


def _watermarks() -> Iterator[tuple[Any, ...]]:
    ended = ((), ((0, 2),), ((1, 3),), ((0, 2), (1, 3)), ((1, 2), (0, 3)))
    yield from product((ABSENT, 0, 1, 4), ended, range(6))


def _first_undecided(ongoing: int, ended: tuple[Ended, ...], watermark: int) -> object:
    waiting = [first for first, marker in ended if not lso.is_replicated(marker, watermark)]
    offsets = LogOffsets(0, ongoing, min(waiting, default=ABSENT), watermark, 6)
    return lso.first_unstable(offsets)


def _first_unstable(ongoing: int, ended: tuple[Ended, ...], watermark: int) -> object:
    state = ProducerState(NEWEST)
    if ongoing != NO_OFFSET:
        state.ongoing[Offset(ongoing)] = _PRODUCER
    for first, marker in ended:
        state.unreplicated[Offset(first)] = UnreplicatedTxn(Offset(first), Offset(marker))
    state.on_high_watermark(Offset(watermark))
    return state.first_unstable()


OF_PARTITIONS: Final = (
    DecisionComparison("a leader asks", rules.TXN_REGISTERED_BEFORE_DATA, _askings, _asks, _starts),
    DecisionComparison(
        "an append settles what was asked", rules.TXN_REGISTERED_BEFORE_DATA, _appended, _settles, _clears
    ),
    DecisionComparison(
        "a silent producer is forgotten", rules.LSO_DECIDED_BELOW, _silences, _may_be_forgotten, _is_forgotten
    ),
    DecisionComparison(
        "a marker is replicated", rules.LSO_DECIDED_BELOW, _watermarks, _first_undecided, _first_unstable
    ),
)
"""What partitions decide."""
