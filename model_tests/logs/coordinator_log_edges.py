"""Whether one record of a transactional id may follow another: which step of the protocol leads from one to the other.

The steps are those of the specification. A record does not name the request that it came about by, so the decision is
applied to each request that could lead there, under each behaviour that a release is known to have.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from model_tests.logs.coordinator_log_values import StateValue
from spec.protocol.completing import expire, fencing_abort, prepare_complete
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition, is_at_rest
from spec.protocol.ending import EndRequest, end, keeps_outcome
from spec.protocol.ids import InitRequest, initialize
from spec.protocol.registering import AddRequest, register
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, Api, TransactionState

FENCING: Final = "the coordinator's own abort"
COMPLETION: Final = "completion after the markers"

UNKNOWN: Final = TransactionEntry()
"""An id that the coordinator knows nothing of."""

_RELEASES: Final = (NEWEST, SNAPSHOT_4_0, KAFKA_3_9)
_PREPARED: Final = (TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value)
_COMPLETED: Final = (TransactionState.COMPLETE_COMMIT.value, TransactionState.COMPLETE_ABORT.value)
_ANY_TIMEOUT: Final = 1  # any valid timeout

_SHIFTED_TO: Final = 100
_FAR_FROM_LAST: Final = MAX_EPOCH - 1000
"""Epochs far from both ends are moved to the same small ones, so that steps which differ only in the epoch are decided
once."""


def entry_of(value: StateValue | None) -> TransactionEntry:
    """What a coordinator that has loaded a record knows; none for a tombstone."""
    if value is None:
        return UNKNOWN
    return TransactionEntry(
        known=True,
        state=value.state,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_version,
    )


def step_between(before: StateValue | None, after: StateValue | None, *, fenced: bool = False) -> str:
    """The step of the protocol that leads from one record to the next; empty where none does.

    Where a fence gave the id its epoch, no client got it, and none can repeat the request for it.
    """
    if after is not None and not _is_whole(after):
        return ""
    if before is not None and after is not None and not _partitions_may_follow(before, after):
        return ""
    return _step(*_normal(entry_of(before), entry_of(after)), fenced)


def outcome_stays(before: StateValue | None, after: StateValue | None) -> bool:
    """Whether a decided outcome is still the same in the later record."""
    return bool(keeps_outcome(entry_of(before), entry_of(after)))


def may_be_taken_back(before: StateValue | None, after: StateValue | None) -> bool:
    """Whether a coordinator may go on as if a record had not been appended: neither outcome nor epoch falls back.

    A client whose partition could not be added does not commit without it.
    """
    if before is None or after is None or before.producer_id != after.producer_id:
        return False
    if after.state == TransactionState.PREPARE_COMMIT.value and not before.partitions <= after.partitions:
        return False
    return outcome_stays(before, after) and after.producer_epoch >= before.producer_epoch


def _is_whole(value: StateValue) -> bool:
    """It has a producer id, and a timeout that InitProducerId takes: any above 0, as brokers differ in the largest."""
    return value.producer_id >= 0 and value.timeout > 0


def _partitions_may_follow(before: StateValue, after: StateValue) -> bool:
    """Partitions join an open transaction and none leaves it before its end; what was not open ends without any."""
    if before.state != TransactionState.ONGOING.value:
        return after.state not in _PREPARED or not after.partitions
    if after.state == TransactionState.ONGOING.value:
        return before.partitions <= after.partitions
    return before.partitions == after.partitions or after.state not in _PREPARED


def _normal(before: TransactionEntry, after: TransactionEntry) -> tuple[TransactionEntry, TransactionEntry]:
    """The same pair with small producer ids and epochs: only whether ids are equal and how epochs differ matters."""
    ids = {ABSENT: ABSENT}
    for entry in (before, after):
        for producer_id in (entry.producer_id, entry.previous_producer_id, entry.next_producer_id):
            ids.setdefault(int(producer_id), len(ids))
    far = before.producer_epoch > _SHIFTED_TO and max(before.producer_epoch, after.producer_epoch) < _FAR_FROM_LAST
    shift = before.producer_epoch - _SHIFTED_TO if far and after.producer_epoch >= before.producer_epoch else 0
    return _renamed(before, ids, shift), _renamed(after, ids, shift)


def _renamed(entry: TransactionEntry, ids: dict[int, int], shift: int) -> TransactionEntry:
    return replace(
        entry,
        producer_id=ids[int(entry.producer_id)],
        previous_producer_id=ids[int(entry.previous_producer_id)],
        next_producer_id=ids[int(entry.next_producer_id)],
        producer_epoch=entry.producer_epoch - shift,
    )


@lru_cache(maxsize=1 << 16)
def _step(before: TransactionEntry, after: TransactionEntry, fenced: bool) -> str:
    for profile in _RELEASES:
        for name, transition in _possible(before, after, profile, fenced):
            if transition.appends and _is(transition.target, after):
                return name
    return ""


def _is(target: TransactionEntry, after: TransactionEntry) -> bool:
    if not after.known:
        return bool(target.state == TransactionState.DEAD.value)
    same = (target.state, target.producer_id, target.producer_epoch) == (
        after.state,
        after.producer_id,
        after.producer_epoch,
    )
    return bool(same and (after.state not in _PREPARED or target.client_version == after.client_version))


def _possible(
    before: TransactionEntry, after: TransactionEntry, profile: Profile, fenced: bool
) -> Iterator[tuple[str, Transition]]:
    """Every request that could append a record in the later state."""
    if not after.known:
        if before.known and is_at_rest(before):
            yield "expiration of the id", expire(before)
    elif after.state == TransactionState.EMPTY.value:
        yield from _inits(before, after, profile, fenced)
    elif after.state == TransactionState.ONGOING.value:
        request = AddRequest(before.producer_id, before.producer_epoch, all_registered=False)
        yield Api.ADD_PARTITIONS_TO_TXN, register(before, request, profile)
    elif after.state in _PREPARED:
        yield from _ends(before, after, profile)
    elif after.state in _COMPLETED and before.state in _PREPARED:
        yield COMPLETION, prepare_complete(_rotating(before, after), 0, profile)


def _inits(
    before: TransactionEntry, after: TransactionEntry, profile: Profile, fenced: bool
) -> Iterator[tuple[str, Transition]]:
    """InitProducerId without an expected identity, with the current one, and repeated with the one before."""
    plain = InitRequest(_ANY_TIMEOUT, fresh_producer_id=after.producer_id)
    last = before.producer_epoch - 1
    requested = [(before, plain)]
    if before.known:
        requested.append((before, _expecting(plain, before, before.producer_epoch)))
    if last >= 0 and not fenced:
        requested.append((replace(before, last_epoch=last), _expecting(plain, before, last)))
    for entry, request in requested:
        yield Api.INIT_PRODUCER_ID, initialize(entry, request, profile)


def _expecting(request: InitRequest, entry: TransactionEntry, epoch: int) -> InitRequest:
    return replace(request, producer_id=entry.producer_id, producer_epoch=epoch)


def _ends(before: TransactionEntry, after: TransactionEntry, profile: Profile) -> Iterator[tuple[str, Transition]]:
    """EndTxn of a client, and the coordinator's own abort that fences."""
    bumps = after.client_version >= BUMPING
    commits = after.state == TransactionState.PREPARE_COMMIT.value
    request = EndRequest(before.producer_id, before.producer_epoch, commits, bumps, fresh_producer_id=1)
    yield Api.END_TXN, end(before, request, profile)
    if not commits and before.state == TransactionState.ONGOING.value:
        as_run = profile.under(BUMPING if bumps else 0)
        fencing = replace(before, pending=TransactionState.PREPARE_EPOCH_FENCE.value)
        yield FENCING, end(fencing, fencing_abort(before, 1, 0, as_run), as_run)


def _rotating(before: TransactionEntry, after: TransactionEntry) -> TransactionEntry:
    """With the next producer id, which no record had before 4.3, where the last epoch was used."""
    if before.producer_epoch == MAX_EPOCH and after.producer_id != before.producer_id:
        return replace(before, next_producer_id=after.producer_id, client_version=max(before.client_version, BUMPING))
    return replace(before, next_producer_id=ABSENT)
