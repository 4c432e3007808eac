"""A coordinator's metadata of one transactional id, and how a transition takes effect.

A transition has two steps. A decision prepares it: the coordinator keeps it pending and appends a record. Once
the record is durable the transition completes, in memory too; if the append fails it is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.guards import Guard
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

BUMPING: Final = 2
"""Transaction version from which on the end of every transaction bumps the epoch."""


@dataclass(frozen=True, slots=True)
class TransactionEntry:
    """The coordinator's metadata of a transactional id; states by their number, -1 for none.

    Attributes:
        known: the coordinator has metadata of the id.
        pending: the state of a transition under way.
        last_epoch: the epoch before the last bump, by which a repeated request is recognised.
        previous_producer_id: the producer id before the last rotation.
        next_producer_id: the producer id that the end of this transaction rotates to.
        start_time: when the transaction began.
        client_version: transaction version of the client that made the last transition.
        fence_failed: the epoch was raised to fence a producer, but the record could not be appended.
    """

    known: Term = False
    state: Term = TransactionState.EMPTY.value
    pending: Term = ABSENT
    producer_id: Term = ABSENT
    producer_epoch: Term = ABSENT
    last_epoch: Term = ABSENT
    previous_producer_id: Term = ABSENT
    next_producer_id: Term = ABSENT
    timeout: Term = ABSENT
    start_time: Term = ABSENT
    update_time: Term = ABSENT
    client_version: Term = 0
    fence_failed: Term = False


@dataclass(frozen=True, slots=True)
class Transition:
    """The decision on one request to the coordinator.

    Attributes:
        branch: number of the guard that decided, 0 where none applied.
        error: the answer's error code.
        appends: whether a record goes to the coordinator's log.
        entry: memory at once, with the transition pending.
        target: the record, where one is appended; else as `entry`.
    """

    branch: Term
    error: Term
    appends: Term
    entry: TransactionEntry
    target: TransactionEntry


def is_in(entry: TransactionEntry, *states: TransactionState) -> Term:
    """The transactional id is in one of these states."""
    return any_of(*(entry.state == state.value for state in states))


def is_preparing(entry: TransactionEntry) -> Term:
    """The outcome is decided and its markers are on their way."""
    return is_in(entry, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def is_at_rest(entry: TransactionEntry) -> Term:
    """No transaction is open or on its way to its end."""
    return is_in(entry, TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def is_fencing(entry: TransactionEntry) -> Term:
    """A fencing epoch is about to end the open transaction."""
    return entry.pending == TransactionState.PREPARE_EPOCH_FENCE.value


def is_in_transition(entry: TransactionEntry) -> Term:
    """A transition is under way that a request has to wait for."""
    return all_of(entry.pending >= 0, negate(is_fencing(entry)))


def is_exhausted(epoch: Term, profile: Profile) -> Term:
    """The epoch is the last one that a client can have, or beyond it."""
    return epoch >= profile.max_epoch - 1


def look_up(table: Mapping[tuple[int, ...], int], key: tuple[Term, ...], otherwise: int) -> Term:
    """The cell of a table of finite behaviour; `otherwise` where the table has none."""
    if all(isinstance(part, int) for part in key):
        return table.get(tuple(int(part) for part in key), otherwise)
    answer: Term = otherwise
    for cell, value in table.items():
        answer = choose(all_of(*(part == at for part, at in zip(key, cell, strict=True))), value, answer)
    return answer


def choose_entry(fact: Term, then: TransactionEntry, otherwise: TransactionEntry) -> TransactionEntry:
    """One of two entries."""
    if isinstance(fact, bool):
        return then if fact else otherwise
    names = TransactionEntry.__dataclass_fields__
    return TransactionEntry(**{name: choose(fact, getattr(then, name), getattr(otherwise, name)) for name in names})


def names_of(checks: tuple[Guard, ...]) -> tuple[str, ...]:
    """Name of every branch by its number; 0 is "passed"."""
    return ("passed", *(guard.name for guard in checks))


def decide(entry: TransactionEntry, branch: Term, error: Term, appends: Term, target: TransactionEntry) -> Transition:
    """The transition to `target` where a record is appended, held pending; else nothing changes.

    Args:
        entry: the metadata before.
        branch: number of the guard that refused, 0 where none did.
        error: the answer's error code.
        appends: a record is written to the transaction log.
        target: the entry as the record holds it.
    """
    pending = replace(entry, pending=target.state)
    return Transition(
        branch, error, appends, choose_entry(appends, pending, entry), choose_entry(appends, target, entry)
    )


def completed(entry: TransactionEntry, target: TransactionEntry, profile: Profile) -> TransactionEntry:
    """Memory once the record is durable; before 4.1 memory does not take over every field of the record.

    There the start time stays where the id becomes Empty, and the previous producer id goes only
    with a new identity: at Empty, and at the end of a transaction of version 2.

    Args:
        entry: memory, with the transition pending.
        target: the record.
        profile: the release.
    """
    empty = target.state == TransactionState.EMPTY.value
    kept = all_of(empty, not profile.empty_clears_start)
    ended = is_in(target, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    follows = any_of(profile.previous_id_always_follows, empty, all_of(ended, target.client_version >= BUMPING))
    dead = target.state == TransactionState.DEAD.value
    after = replace(
        target,
        pending=ABSENT,
        start_time=choose(kept, entry.start_time, target.start_time),
        previous_producer_id=choose(follows, target.previous_producer_id, entry.previous_producer_id),
        fence_failed=entry.fence_failed,
    )
    return choose_entry(dead, TransactionEntry(), after)


def append_failed(before: TransactionEntry, transition: Transition, profile: Profile) -> TransactionEntry:
    """Memory when the record could not be appended: as before, with nothing pending.

    A fencing epoch stays, except where the abort itself raises it. The next attempt does not raise it again where the
    failure is recorded.
    """
    once = all_of(profile.fence_bumps_once, profile.transaction_version >= BUMPING)
    fenced = all_of(is_fencing(before), negate(once))
    rolled_back = replace(before, pending=ABSENT)
    target = transition.target
    raised = choose(profile.transaction_version >= BUMPING, target.last_epoch, target.producer_epoch)
    kept = replace(rolled_back, producer_epoch=raised, last_epoch=ABSENT, fence_failed=profile.failed_fence_remembered)
    return choose_entry(fenced, kept, rolled_back)


def loaded(record: TransactionEntry, profile: Profile) -> TransactionEntry:
    """The metadata that a new coordinator loads from a record: without the last epoch and without a pending state.

    Previous and next producer id are in the record since 4.3, the client's version with the flexible format.
    """
    return replace(
        record,
        pending=ABSENT,
        last_epoch=ABSENT,
        previous_producer_id=record.previous_producer_id if profile.rotation_persisted else ABSENT,
        next_producer_id=record.next_producer_id if profile.rotation_persisted else ABSENT,
        client_version=choose(profile.transaction_version >= 1, record.client_version, 0),
        fence_failed=False,
    )


def is_unwritable(client_version: Term, profile: Profile) -> Term:
    """The record cannot hold the client's transaction version: format version 0 has no field for it.

    Kafka throws after it has set the pending state, and never clears it (TransactionLog.valueToBytes).
    """
    return all_of(profile.transaction_version == 0, client_version > 0)


def left_pending(transition: Transition, unwritable: Term, target: TransactionEntry) -> Transition:
    """The transition; where its record cannot be written, only the pending state, which then stays for ever.

    Args:
        transition: the decision.
        unwritable: the record cannot be written.
        target: the record.
    """
    stuck = replace(transition.entry, pending=target.state)
    return replace(transition, entry=choose_entry(unwritable, stuck, transition.entry))


def fenced_error(profile: Profile) -> ErrorCode:
    """The error for a stale epoch; before 2.7 there is no separate code for it."""
    return ErrorCode.PRODUCER_FENCED if profile.fenced_has_code else ErrorCode.INVALID_PRODUCER_EPOCH


def worded(error: Term, version: Term, fenced_since: int) -> Term:
    """The error in a request version that may be older than PRODUCER_FENCED."""
    unknown = all_of(error == ErrorCode.PRODUCER_FENCED.value, version < fenced_since)
    return choose(unknown, ErrorCode.INVALID_PRODUCER_EPOCH.value, error)
