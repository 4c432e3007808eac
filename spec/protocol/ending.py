"""EndTxn: the outcome of a transaction, and which requests may decide it. Both tables, cell by cell."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import (
    BUMPING,
    TransactionEntry,
    Transition,
    choose_entry,
    decide,
    fenced_error,
    is_at_rest,
    is_exhausted,
    is_fencing,
    is_in,
    is_in_transition,
    is_preparing,
    is_unwritable,
    left_pending,
    look_up,
)
from spec.protocol.guards import PASSED, Guard, branch, error_of, number
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

FENCED_SINCE: Final = 2
"""First version of EndTxn that knows PRODUCER_FENCED."""

BUMPS_SINCE: Final = 5
"""First version of EndTxn that bumps the epoch; then the client is of transaction version 2."""

PREPARES: Final = 1_000
"""In a table: the transition to Prepare; every other cell is an error code, NONE for a repetition."""

_NONE, _STATE = ErrorCode.NONE.value, ErrorCode.INVALID_TXN_STATE.value
_WAIT, _FENCED = ErrorCode.CONCURRENT_TRANSACTIONS.value, ErrorCode.PRODUCER_FENCED.value
_EMPTY, _ONGOING = TransactionState.EMPTY.value, TransactionState.ONGOING.value
_PREPARE_COMMIT, _PREPARE_ABORT = TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value
_COMMITTED, _ABORTED = TransactionState.COMPLETE_COMMIT.value, TransactionState.COMPLETE_ABORT.value
_ABORT, _COMMIT = 0, 1
_CURRENT, _RETRY = 0, 1

WITHOUT_BUMP: Final[Mapping[tuple[int, ...], int]] = MappingProxyType(
    {
        (_EMPTY, _ABORT): _STATE,
        (_EMPTY, _COMMIT): _STATE,
        (_ONGOING, _ABORT): PREPARES,
        (_ONGOING, _COMMIT): PREPARES,
        (_PREPARE_COMMIT, _ABORT): _STATE,
        (_PREPARE_COMMIT, _COMMIT): _WAIT,
        (_PREPARE_ABORT, _ABORT): _WAIT,
        (_PREPARE_ABORT, _COMMIT): _STATE,
        (_COMMITTED, _ABORT): _STATE,
        (_COMMITTED, _COMMIT): _NONE,
        (_ABORTED, _ABORT): _NONE,
        (_ABORTED, _COMMIT): _STATE,
    }
)
"""Versions 0 and 1: by state and requested outcome; a repetition looks like the first request."""

WITH_BUMP: Final[Mapping[tuple[int, ...], int]] = MappingProxyType(
    {
        (_ONGOING, _ABORT, _RETRY): _FENCED,
        (_ONGOING, _ABORT, _CURRENT): PREPARES,
        (_ONGOING, _COMMIT, _RETRY): _FENCED,
        (_ONGOING, _COMMIT, _CURRENT): PREPARES,
        (_EMPTY, _ABORT, _RETRY): _FENCED,
        (_EMPTY, _ABORT, _CURRENT): PREPARES,
        (_EMPTY, _COMMIT, _RETRY): _FENCED,
        (_EMPTY, _COMMIT, _CURRENT): _STATE,
        (_ABORTED, _ABORT, _RETRY): _NONE,
        (_ABORTED, _ABORT, _CURRENT): PREPARES,
        (_ABORTED, _COMMIT, _RETRY): _STATE,
        (_ABORTED, _COMMIT, _CURRENT): _STATE,
        (_COMMITTED, _ABORT, _RETRY): _STATE,
        (_COMMITTED, _ABORT, _CURRENT): PREPARES,
        (_COMMITTED, _COMMIT, _RETRY): _NONE,
        (_COMMITTED, _COMMIT, _CURRENT): _STATE,
        (_PREPARE_COMMIT, _ABORT, _RETRY): _STATE,
        (_PREPARE_COMMIT, _ABORT, _CURRENT): _FENCED,
        (_PREPARE_COMMIT, _COMMIT, _RETRY): _WAIT,
        (_PREPARE_COMMIT, _COMMIT, _CURRENT): _FENCED,
        (_PREPARE_ABORT, _ABORT, _RETRY): _WAIT,
        (_PREPARE_ABORT, _ABORT, _CURRENT): _FENCED,
        (_PREPARE_ABORT, _COMMIT, _RETRY): _STATE,
        (_PREPARE_ABORT, _COMMIT, _CURRENT): _FENCED,
    }
)
"""Version 2: by state, requested outcome, and whether the epoch is the current one or that before the bump."""

EMPTY_ABORT_REFUSED: Final[Mapping[tuple[int, ...], int]] = MappingProxyType(
    {
        **WITH_BUMP,
        (_EMPTY, _ABORT, _CURRENT): _STATE,
        (_ABORTED, _ABORT, _CURRENT): _FENCED,
        (_ABORTED, _COMMIT, _CURRENT): _FENCED,
        (_COMMITTED, _ABORT, _CURRENT): _FENCED,
        (_COMMITTED, _COMMIT, _CURRENT): _FENCED,
    }
)
"""Version 2 before 4.0: with no transaction open there is nothing to abort."""


@dataclass(frozen=True, slots=True)
class EndRequest:
    """EndTxn, of a client or of the coordinator itself.

    Attributes:
        bumps: it is of transaction version 2.
        by_client: it is not the coordinator's own abort.
        fresh_producer_id: the producer id to rotate to if the epoch is exhausted.
    """

    producer_id: Term
    producer_epoch: Term
    commits: Term
    bumps: Term
    fresh_producer_id: Term = ABSENT
    now: Term = 0
    by_client: Term = True
    id_empty: Term = False


@dataclass(frozen=True, slots=True)
class IdAndEpoch:
    """A producer id with its epoch."""

    producer_id: Term
    producer_epoch: Term


def end(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Transition:
    """Decide the outcome of the open transaction, recognise a repetition, or refuse."""
    checks = guards(entry, request, profile)
    decided = branch(checks)
    fenced = raised(entry, request, profile)
    target = _prepared(fenced, request, profile)
    appends = any_of(decided == PASSED, decided == number(checks, "epoch_ahead"))
    transition = decide(entry, decided, error_of(checks, decided), appends, target)
    transition = left_pending(transition, decided == number(checks, "unwritable"), target)
    overflowed = decided == number(checks, "epoch_overflows")
    left = choose_entry(all_of(overflowed, is_fencing(entry)), fenced, transition.entry)
    return replace(transition, entry=left)


def guards(entry: TransactionEntry, request: EndRequest, profile: Profile) -> tuple[Guard, ...]:
    """Every check in Kafka's order; the last ones are the cells of the tables."""
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING.value
    other = all_of(
        negate(entry.producer_id == request.producer_id), negate(is_retry_of_rotation(entry, request, profile))
    )
    fenced = fenced_error(profile).value
    waits = is_in_transition(entry)
    at_once = all_of(profile.pending_checked_first, request.bumps)
    outcome = cell(entry, request, profile)
    return (
        Guard("id_empty", rules.TXN_LEGAL_TRANSITION, request.id_empty, ErrorCode.INVALID_REQUEST.value),
        Guard("id_unknown", rules.TXN_LEGAL_TRANSITION, negate(entry.known), mapping),
        Guard("pending_first", rules.TXN_ONE_OUTCOME, all_of(at_once, waits), _WAIT),
        Guard("producer_other", rules.FENCE_STALE_EPOCH, other, mapping),
        Guard("epoch_other", rules.FENCE_STALE_EPOCH, negate(is_valid_epoch(entry, request, profile)), fenced),
        Guard("pending", rules.TXN_ONE_OUTCOME, waits, _WAIT),
        Guard("repeated", rules.TXN_ONE_OUTCOME, outcome == _NONE, _NONE),
        Guard("outcome_fixed", rules.TXN_ONE_OUTCOME, outcome == _STATE, _STATE),
        Guard("completing", rules.TXN_ONE_OUTCOME, outcome == _WAIT, _WAIT),
        Guard("fenced", rules.FENCE_STALE_EPOCH, outcome == _FENCED, fenced),
        Guard(
            "fence_under_way",
            rules.TXN_ONE_OUTCOME,
            all_of(is_fencing(entry), request.commits),
            ErrorCode.UNKNOWN_SERVER_ERROR.value,
        ),
        Guard(
            "epoch_overflows",
            rules.FENCE_EPOCH_EXHAUSTION,
            overflows(raised(entry, request, profile), request, profile),
            ErrorCode.UNKNOWN_SERVER_ERROR.value,
        ),
        Guard(
            "unwritable",
            rules.TXN_LEGAL_TRANSITION,
            is_unwritable(choose(request.bumps, BUMPING, 0), profile),
            ErrorCode.UNSUPPORTED_VERSION.value,
        ),
        Guard("epoch_ahead", rules.FENCE_STALE_EPOCH, is_ahead(entry, request, profile), fenced),
    )


def cell(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The cell of the table that is in force."""
    table = WITH_BUMP if profile.empty_abort_accepted else EMPTY_ABORT_REFUSED
    retry = any_of(is_retry(entry, request, profile), is_retry_of_rotation(entry, request, profile))
    commits = choose(request.commits, _COMMIT, _ABORT)
    bumped = look_up(table, (entry.state, commits, choose(retry, _RETRY, _CURRENT)), _STATE)
    plain = look_up(WITHOUT_BUMP, (entry.state, commits), _STATE)
    return choose(reports_retries(entry, request, profile), bumped, plain)


def reports_retries(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """Whether an epoch one lower means a repetition: under version 2, and not while a fence is under way."""
    by = entry.client_version >= BUMPING if profile.retry_by_stored_version else request.bumps
    return all_of(by, negate(is_fencing(entry)))


def is_retry(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The request has the epoch before the bump."""
    return all_of(reports_retries(entry, request, profile), entry.producer_epoch == request.producer_epoch + 1)


def is_retry_of_rotation(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The request has the last epoch of the producer id before the rotation."""
    return all_of(
        reports_retries(entry, request, profile),
        entry.previous_producer_id == request.producer_id,
        request.producer_epoch == profile.max_epoch - 1,
        entry.producer_epoch == 0,
    )


def is_valid_epoch(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The request's epoch is valid in this state of the id."""
    current = request.producer_epoch == entry.producer_epoch
    exact = all_of(profile.end_txn_epoch_exact, request.by_client)
    plain = choose(exact, current, request.producer_epoch >= entry.producer_epoch)
    retry = is_retry(entry, request, profile)
    after = any_of(retry, is_retry_of_rotation(entry, request, profile), all_of(profile.empty_abort_accepted, current))
    ended = is_in(entry, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    by_state = choose(is_preparing(entry), retry, choose(ended, after, current))
    return choose(reports_retries(entry, request, profile), by_state, plain)


def is_ahead(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The epoch is above that of the written outcome, and is compared with it only afterwards (before 2.6).

    The outcome is in the log, but no markers are sent: the next coordinator that loads the log sends them.
    """
    written = raised(entry, request, profile).producer_epoch
    return all_of(not profile.end_txn_epoch_exact, request.producer_epoch > written)


def raised(entry: TransactionEntry, request: EndRequest, profile: Profile) -> TransactionEntry:
    """The entry with the fencing epoch, where the coordinator's abort fences and does not bump by itself."""
    once = all_of(profile.fence_bumps_once, request.bumps)
    fences = all_of(is_fencing(entry), negate(once))
    fenced = replace(entry, pending=ABSENT, producer_epoch=request.producer_epoch, last_epoch=ABSENT)
    return choose_entry(fences, fenced, choose_entry(is_fencing(entry), replace(entry, pending=ABSENT), entry))


def overflows(entry: TransactionEntry, request: EndRequest, profile: Profile) -> Term:
    """The epoch cannot be bumped; an abort may do without where the version allows it."""
    recovers = all_of(profile.last_epoch_recovers, negate(request.commits))
    return all_of(request.bumps, entry.producer_epoch == profile.max_epoch, negate(recovers))


def answered(transition: Transition, request: EndRequest, profile: Profile) -> IdAndEpoch:
    """Producer id and epoch in the answer to a client of version 2, for its next transaction; else -1."""
    reported = all_of(request.bumps, transition.error == ErrorCode.NONE.value)
    target = transition.target
    next_one = all_of(profile.exhausted_reply_is_next, transition.appends, target.next_producer_id >= 0)
    return IdAndEpoch(
        choose(reported, choose(next_one, target.next_producer_id, target.producer_id), ABSENT),
        choose(reported, choose(next_one, 0, target.producer_epoch), ABSENT),
    )


def _prepared(entry: TransactionEntry, request: EndRequest, profile: Profile) -> TransactionEntry:
    """The record that decides: the outcome, and under version 2 the bumped epoch."""
    last = entry.producer_epoch == profile.max_epoch
    epoch = choose(all_of(request.bumps, negate(last)), entry.producer_epoch + 1, entry.producer_epoch)
    rotates = all_of(
        request.bumps,
        is_exhausted(entry.producer_epoch, profile),
        any_of(request.by_client, profile.fence_rotates),
    )
    begun = choose(is_at_rest(entry), request.now, entry.start_time)
    return replace(
        entry,
        state=choose(request.commits, _PREPARE_COMMIT, _PREPARE_ABORT),
        producer_epoch=epoch,
        last_epoch=choose(request.bumps, entry.producer_epoch, entry.last_epoch),
        previous_producer_id=entry.producer_id,
        next_producer_id=choose(rotates, request.fresh_producer_id, ABSENT),
        start_time=begun,
        update_time=request.now,
        client_version=choose(request.bumps, BUMPING, choose(request.by_client, 0, _own_version(profile))),
    )


def _own_version(profile: Profile) -> int:
    """Transaction version of the coordinator's own abort, below 2; since 4.0 that of a client without one."""
    return 0 if profile.client_version_kept else profile.transaction_version


def keeps_outcome(before: TransactionEntry, after: TransactionEntry) -> Term:
    """From Prepare on, the outcome does not change."""
    commits = before.state == _PREPARE_COMMIT
    return all_of(
        implies(commits, any_of(after.state == _PREPARE_COMMIT, after.state == _COMMITTED)),
        implies(before.state == _PREPARE_ABORT, any_of(after.state == _PREPARE_ABORT, after.state == _ABORTED)),
    )
