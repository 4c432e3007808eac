"""Side by side: what coordinators decide of identities, time, markers and offsets."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from model_tests.machines.side_by_side import DecisionComparison, differing
from reference.broker import transaction_metadata, transaction_timeouts
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey, OffsetValue
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import MEANING, MarkerChannel
from reference.broker.transaction_metadata import NO_TIMEOUT_MS, TopicPartition, TransactionEntry, TransactionMetadata
from reference.errors import ProducerFenced
from spec import rules
from spec.protocol import completing, ids, offsets
from spec.protocol.coordinator import TransactionEntry as Entry
from spec.protocol.ids import InitRequest
from spec.protocol.offsets import OffsetEntry
from spec.versions import NEWEST, Profile
from spec.vocabulary import (
    ABSENT,
    MAX_EPOCH,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    Offset,
    ProducerId,
    Timestamp,
    TransactionState,
)

NAME: Final = "id"
HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
_KEYS: Final = tuple(OffsetKey("g", partition) for partition in (HERE, THERE))
_STATES: Final = tuple(TransactionState)
_OWN, _OTHER = ProducerId(7), ProducerId(8)


def metadata_of(**scalars: Any) -> TransactionMetadata:
    """Metadata of an id at rest, with these scalars."""
    at_rest = TransactionMetadata(
        ProducerId(1),
        Epoch(0),
        1,
        TransactionState.EMPTY,
        frozenset(),
        updated_ms=Timestamp(0),
        started_ms=Timestamp(0),
    )
    return at_rest._replace(**scalars)


def remembered(pending: TransactionState | None, **scalars: Any) -> TransactionEntry:
    """The same in a coordinator's memory."""
    entry = TransactionEntry(NAME, metadata_of(**scalars))
    entry.pending = pending
    return entry


# --- identities -----------------------------------------------------------------------------------------------


def _expected_identities() -> Iterator[tuple[int, ...]]:
    epochs = (ABSENT, 0, 1, MAX_EPOCH - 2, MAX_EPOCH - 1, MAX_EPOCH)
    yield from product((1, 2), (ABSENT, 3), (ABSENT, 4), epochs, (1, 2, 3, 4, 5), epochs[1:])


def _is_other(current: int, before: int, following: int, epoch: int, producer: int, expected: int) -> object:
    entry = Entry(
        known=True,
        producer_id=current,
        previous_producer_id=before,
        next_producer_id=following,
        producer_epoch=epoch,
    )
    request = InitRequest(1, 9, producer_id=producer, producer_epoch=expected)
    return bool(ids.is_other(entry, request, NEWEST))


def _is_refused(current: int, before: int, following: int, epoch: int, producer: int, expected: int) -> object:
    metadata = metadata_of(producer_id=current, previous_producer_id=before, next_producer_id=following, epoch=epoch)
    try:
        transaction_metadata.check_expected(metadata, ProducerIdentity(producer, expected))  # type: ignore[arg-type]
    except ProducerFenced:
        return True
    return False


# --- time -----------------------------------------------------------------------------------------------------


def _times() -> Iterator[tuple[Any, ...]]:
    times = (0, 2, 5)
    yield from product(_STATES, (None, *_STATES), times, times, (1, 3, NO_TIMEOUT_MS), (0, 1, 2, 3, 4, 5, 6, 9))


def _entry_at(state: TransactionState, pending: TransactionState | None, **scalars: int) -> Entry:
    return Entry(known=True, state=state.value, pending=ABSENT if pending is None else pending.value, **scalars)


def _is_due(
    state: TransactionState, pending: TransactionState | None, started: int, updated: int, timeout: int, now: int
) -> object:
    entry = _entry_at(state, pending, start_time=started, update_time=updated, timeout=timeout)
    return bool(completing.is_timed_out(entry, now))


def _is_timed_out(
    state: TransactionState, pending: TransactionState | None, started: int, updated: int, timeout: int, now: int
) -> object:
    scalars = {"state": state, "started_ms": started, "updated_ms": updated, "timeout_ms": timeout}
    return transaction_timeouts.is_timed_out(remembered(pending, **scalars), now)  # type: ignore[arg-type]


def _is_expired(
    state: TransactionState, pending: TransactionState | None, started: int, updated: int, _: int, now: int
) -> object:
    entry = _entry_at(state, pending, start_time=started, update_time=updated)
    return bool(completing.is_expired(entry, now, expiration=2))


def _is_idle(
    state: TransactionState, pending: TransactionState | None, started: int, updated: int, _: int, now: int
) -> object:
    entry = remembered(pending, state=state, started_ms=started, updated_ms=updated)
    return transaction_timeouts.is_idle(entry, now - 2)  # type: ignore[arg-type]


# --- markers --------------------------------------------------------------------------------------------------


def _marker_answers() -> Iterator[tuple[Any, ...]]:
    yield from product(differing("leaderless_marker_dropped"), MEANING, MEANING)


def _is_marked(error: ErrorCode | None, profile: Profile) -> bool:
    exists, led = error is not None, error is not ErrorCode.LEADER_NOT_AVAILABLE
    return bool(completing.is_dropped(exists, led, profile)) or (exists and bool(completing.is_done(error)))


def _markers_left(profile: Profile, *errors: ErrorCode | None) -> object:
    left = [place for place, error in enumerate(errors) if not _is_marked(error, profile)]
    stops = any(error is not None and completing.is_given_up(error) for error in errors)
    return left, bool(left) and not stops, not left and not stops


def _markers_sent(profile: Profile, *errors: ErrorCode | None) -> object:
    answers = dict(zip((HERE, THERE), errors, strict=True))
    entry = remembered(None, state=TransactionState.PREPARE_COMMIT, partitions=frozenset(answers))
    channel = MarkerChannel(profile)
    channel.add(entry, CoordinatorEpoch(1), entry.metadata)
    finished = channel.send(lambda partition, _: answers[partition])
    left = [each.partition for each in sorted(entry.metadata.partitions)]
    return left, bool(channel.owed), bool(finished)


# --- offsets in transactions ----------------------------------------------------------------------------------

_PLACES: Final = (ABSENT, 0, 1, 2)


def _offsets_ended() -> Iterator[tuple[Any, ...]]:
    yield from product((True, False), *(_PLACES,) * 4)


def _each_applied(commits: bool, *places: int) -> object:
    found = []
    for committed, pending in zip(places[::2], places[1::2], strict=True):
        known, waits = (OffsetEntry(10 + at, at) if at >= 0 else offsets.NO_OFFSET for at in (committed, pending))
        found.append(offsets.apply(known, waits, commits=commits).committed.recorded_at)
    return found, [], [2, 2]


def _all_applied(commits: bool, *places: int) -> object:
    group = GroupOffsets()
    for key, committed, pending in zip(_KEYS, places[::2], places[1::2], strict=True):
        if committed >= 0:
            group.commit(key, _at(committed))
        if pending >= 0:
            group.pend(_OWN, key, _at(pending))
        group.pend(_OTHER, key, _at(2))
    group.complete(_OWN, commits)
    found = [group.committed[key].at if key in group.committed else ABSENT for key in _KEYS]
    return found, list(group.pending.get(_OWN, ())), [group.pending[_OTHER][key].at for key in _KEYS]


def _at(place: int) -> RecordedOffset:
    return RecordedOffset(OffsetValue(Offset(10 + place)), Offset(place))


OF_COORDINATORS: Final = (
    DecisionComparison(
        "whose identity is expected", rules.FENCE_STALE_EPOCH, _expected_identities, _is_other, _is_refused
    ),
    DecisionComparison("a transaction has timed out", rules.TXN_TIMEOUT, _times, _is_due, _is_timed_out),
    DecisionComparison("an id has expired", rules.TXN_EXPIRY, _times, _is_expired, _is_idle),
    DecisionComparison("markers are answered", rules.TXN_MARKER_ONCE, _marker_answers, _markers_left, _markers_sent),
    DecisionComparison("pending offsets are ended", rules.OFFSETS_ATOMIC, _offsets_ended, _each_applied, _all_applied),
)
"""What coordinators decide."""
