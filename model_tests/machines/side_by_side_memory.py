"""Side by side: what coordinators remember of an identity or a fence, and what a stable fetch meets."""

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from model_tests.machines.side_by_side import DecisionComparison
from model_tests.machines.side_by_side_coordinators import HERE, THERE, metadata_of
from reference.broker import transaction_metadata
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey, OffsetValue
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.errors import Refusal
from spec import rules
from spec.protocol import completing, ending, ids, offsets
from spec.protocol.coordinator import TransactionEntry as Entry
from spec.protocol.ids import InitRequest
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, ErrorCode, Offset, ProducerId, TransactionState

_KEYS: Final = tuple(OffsetKey("g", partition) for partition in (HERE, THERE))
_FRESH: Final = 9
_NOW: Final = 5


# --- identities -----------------------------------------------------------------------------------------------


def _requests_at_rest() -> Iterator[tuple[Any, ...]]:
    states = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    epochs = (0, 1, 2, MAX_EPOCH - 2, MAX_EPOCH - 1)
    yield from product(states, epochs, (ABSENT, *epochs), (ABSENT, *epochs))


def _entry(state: TransactionState, epoch: int, last: int) -> Entry:
    return Entry(known=True, state=state.value, producer_id=1, producer_epoch=epoch, last_epoch=last, timeout=1)


def _identity_decided(state: TransactionState, epoch: int, last: int, expected: int) -> object:
    who = ABSENT if expected == ABSENT else 1
    request = InitRequest(1, _FRESH, now=_NOW, producer_id=who, producer_epoch=expected)
    decided = ids.initialize(_entry(state, epoch, last), request, NEWEST)
    if not decided.appends:
        return ErrorCode(decided.error)
    new = decided.target
    return new.producer_id, new.producer_epoch, new.last_epoch, new.state, new.start_time, new.update_time


def _identity_given(state: TransactionState, epoch: int, last: int, expected: int) -> object:
    who = None if expected == ABSENT else ProducerIdentity(1, expected)  # type: ignore[arg-type]
    coordinator: Any = SimpleNamespace(
        clock=SimpleNamespace(now=_NOW), _producer_ids=SimpleNamespace(generate=lambda: ProducerId(_FRESH))
    )
    metadata = metadata_of(state=state, epoch=epoch, last_epoch=last)
    try:
        new = TransactionCoordinator._next_identity(coordinator, metadata, 1, who)
    except Refusal as refused:
        return refused.code
    return new.producer_id, new.epoch, new.last_epoch, new.state.value, new.started_ms, new.updated_ms


# --- fences ---------------------------------------------------------------------------------------------------


def _open_ones() -> Iterator[tuple[Any, ...]]:
    yield from product((0, 1, 2, MAX_EPOCH - 1, MAX_EPOCH), (ABSENT, 0, 1), (False, True))


def _fence_decided(epoch: int, last: int, failed: bool) -> object:
    plain: Profile = NEWEST.under(1)
    open_now = Entry(
        known=True, state=_ONGOING, producer_id=1, producer_epoch=epoch, last_epoch=last, fence_failed=failed
    )
    entry = completing.fence(open_now)
    raised = ending.raised(entry, completing.fencing_abort(entry, _FRESH, _NOW, plain), plain)
    return raised.producer_epoch, raised.last_epoch


def _fence_raised(epoch: int, last: int, failed: bool) -> object:
    metadata = metadata_of(state=TransactionState.ONGOING, epoch=epoch, last_epoch=last)
    fenced = transaction_metadata.fence_epoch(metadata, not failed, NEWEST.under(1))
    return fenced.epoch, fenced.last_epoch


_ONGOING: Final = TransactionState.ONGOING.value


# --- stable fetches -------------------------------------------------------------------------------------------


def _pending_ones() -> Iterator[tuple[Any, ...]]:
    yield from product(product((0, 1, None), repeat=3), (0, 1))


def _fetch_decided(pending: tuple[int | None, ...], key: int) -> object:
    answer = offsets.fetch(offsets.NO_OFFSET, key in pending, stable=True)
    return answer.error == ErrorCode.UNSTABLE_OFFSET_COMMIT.value


def _fetch_waits(pending: tuple[int | None, ...], key: int) -> object:
    group = GroupOffsets()
    for producer, place in enumerate(pending):
        if place is not None:
            group.pend(ProducerId(producer), _KEYS[place], RecordedOffset(OffsetValue(Offset(1)), Offset(producer)))
    return group.is_unstable(_KEYS[key])


OF_MEMORY: Final = (
    DecisionComparison(
        "an identity is handed out",
        rules.IDS_IDENTITY_NEVER_REPEATS,
        _requests_at_rest,
        _identity_decided,
        _identity_given,
    ),
    DecisionComparison(
        "a fence raises the epoch", rules.FENCE_ZOMBIE_CANNOT_COMMIT, _open_ones, _fence_decided, _fence_raised
    ),
    DecisionComparison("a stable fetch waits", rules.OFFSETS_STABLE_FETCH, _pending_ones, _fetch_decided, _fetch_waits),
)
"""What coordinators remember, and what a group's does not give out."""
