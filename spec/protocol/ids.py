"""Producer ids and epochs: what InitProducerId hands out, and what it refuses."""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.coordinator import (
    TransactionEntry,
    Transition,
    choose_entry,
    decide,
    fenced_error,
    is_at_rest,
    is_exhausted,
    is_in,
    is_preparing,
    is_unwritable,
    left_pending,
)
from spec.protocol.guards import Guard, branch, error_of, number
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

LARGEST_TIMEOUT: Final = 900_000
"""The default of `transaction.max.timeout.ms`."""

WITHOUT_LIMIT: Final = 2**31 - 1
"""Timeout of a transaction in two phases, which the coordinator never ends by itself."""

FENCED_SINCE: Final = 4
"""First version of InitProducerId that knows PRODUCER_FENCED."""


@dataclass(frozen=True, slots=True)
class InitRequest:
    """InitProducerId of a transactional id.

    Attributes:
        id_empty: the transactional id is the empty string.
        producer_id: the identity that the client expects to have, with its epoch; -1 for none.
        fresh_producer_id: the producer id to hand out if a new one is needed.
        two_phase: the client prepares its transactions itself (KIP-939; version 6, which no release takes yet).
        two_phase_allowed: `transaction.two.phase.commit.enable` of the broker.
        keeps_prepared: the client resumes the transaction that it has prepared.
    """

    timeout: Term
    fresh_producer_id: Term
    now: Term = 0
    id_empty: Term = False
    producer_id: Term = ABSENT
    producer_epoch: Term = ABSENT
    two_phase: Term = False
    two_phase_allowed: Term = False
    keeps_prepared: Term = False

    @property
    def resolved_timeout(self) -> Term:
        """A transaction in two phases has no timeout, whatever the request names."""
        return choose(self.two_phase, WITHOUT_LIMIT, self.timeout)

    @property
    def expects(self) -> Term:
        """The client names the identity that it has."""
        return self.producer_id >= 0


def created(entry: TransactionEntry, request: InitRequest) -> TransactionEntry:
    """The id's metadata: the known one, or, in memory alone, a new one with a fresh producer id and no epoch."""
    fresh = TransactionEntry(
        known=True, producer_id=request.fresh_producer_id, timeout=request.resolved_timeout, update_time=request.now
    )
    return choose_entry(entry.known, entry, fresh)


def initialize(entry: TransactionEntry, request: InitRequest, profile: Profile) -> Transition:
    """Hand out the next identity of a transactional id, fence its open transaction, or refuse.

    Where it fences, nothing is appended yet: the fencing epoch is pending, and the coordinator aborts the
    open transaction next.
    """
    known = choose_entry(is_refused_at_once(request), entry, created(entry, request))
    checks = guards(known, request, profile)
    decided = branch(checks)
    appends = any_of(*(decided == number(checks, row) for row in HANDING_OUT))
    target = _empty(known, request, decided, checks, profile)
    transition = decide(known, decided, error_of(checks, decided), appends, target)
    transition = left_pending(transition, decided == number(checks, "unwritable"), target)
    fences = decided == number(checks, "fences")
    fencing = replace(known, pending=TransactionState.PREPARE_EPOCH_FENCE.value)
    return replace(transition, entry=choose_entry(fences, fencing, transition.entry))


HANDING_OUT: Final = ("rotates", "bumps", "bumps_expected", "repeats")
"""The rows of the table that answer with an identity."""


def guards(entry: TransactionEntry, request: InitRequest, profile: Profile) -> tuple[Guard, ...]:
    """The table of InitProducerId, row by row; the first that applies decides, and one always does."""
    fenced = fenced_error(profile).value
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS.value
    none = ErrorCode.NONE.value
    at_rest = is_at_rest(entry)
    exhausted = is_exhausted(entry.producer_epoch, profile)
    current = request.producer_epoch == entry.producer_epoch
    new = entry.producer_epoch == ABSENT
    repeats = request.producer_epoch == entry.last_epoch
    handed = any_of(negate(request.expects), current, all_of(negate(exhausted), any_of(new, repeats)))
    return (
        *_malformed(request),
        Guard("pending", rules.TXN_ONE_OUTCOME, entry.pending >= 0, concurrent),
        Guard("identity_fenced", rules.FENCE_STALE_EPOCH, is_other(entry, request, profile), fenced),
        Guard("preparing", rules.TXN_ONE_OUTCOME, is_preparing(entry), concurrent),
        Guard(
            "unwritable",
            rules.TXN_LEGAL_TRANSITION,
            all_of(at_rest, handed, is_unwritable(_written_version(entry, profile), profile)),
            ErrorCode.UNSUPPORTED_VERSION.value,
        ),
        Guard(
            "rotates",
            rules.FENCE_EPOCH_EXHAUSTION,
            all_of(at_rest, exhausted, any_of(negate(request.expects), current)),
            none,
        ),
        Guard(
            "exhausted",
            rules.FENCE_EPOCH_EXHAUSTION,
            all_of(at_rest, exhausted),
            ErrorCode.UNKNOWN_SERVER_ERROR.value,
        ),
        Guard("bumps", rules.IDS_IDENTITY_NEVER_REPEATS, all_of(at_rest, negate(request.expects)), none),
        Guard("bumps_expected", rules.IDS_IDENTITY_NEVER_REPEATS, all_of(at_rest, any_of(new, current)), none),
        Guard(
            "repeats",
            rules.IDS_IDENTITY_NEVER_REPEATS,
            all_of(at_rest, repeats),
            none,
        ),
        Guard("epoch_fenced", rules.FENCE_STALE_EPOCH, at_rest, fenced),
        Guard("cannot_fence", rules.FENCE_EPOCH_EXHAUSTION, cannot_fence(entry, profile), _broken()),
        Guard("fences", rules.FENCE_ZOMBIE_CANNOT_COMMIT, is_in(entry, TransactionState.ONGOING), concurrent),
    )


def is_other(entry: TransactionEntry, request: InitRequest, profile: Profile) -> Term:
    """The expected identity is neither the current producer id nor, at its last epoch, the one before."""
    last = is_exhausted(request.producer_epoch, profile)
    before = all_of(request.producer_id == entry.previous_producer_id, last)
    accepted = any_of(entry.producer_epoch == ABSENT, request.producer_id == entry.producer_id, before)
    return all_of(request.expects, negate(accepted))


def cannot_fence(entry: TransactionEntry, profile: Profile) -> Term:
    """There is no epoch above that of the open transaction, and the version has no alternative."""
    return all_of(
        negate(profile.last_epoch_recovers),
        is_in(entry, TransactionState.ONGOING),
        entry.producer_epoch == profile.max_epoch,
    )


def fencing_epoch(entry: TransactionEntry, profile: Profile) -> Term:
    """The epoch that fences the open transaction's producer: the next one, unless it was raised already."""
    stays = any_of(entry.fence_failed, entry.producer_epoch == profile.max_epoch)
    return choose(stays, entry.producer_epoch, entry.producer_epoch + 1)


def is_refused_at_once(request: InitRequest) -> Term:
    """The request is refused before the coordinator looks up the id."""
    return any_of(*(guard.applies for guard in _malformed(request)))


def _malformed(request: InitRequest) -> tuple[Guard, ...]:
    invalid = ErrorCode.INVALID_REQUEST.value
    half = any_of(
        all_of(request.producer_id == ABSENT, negate(request.producer_epoch == ABSENT)),
        all_of(negate(request.producer_id == ABSENT), request.producer_epoch == ABSENT),
    )
    bounded = any_of(request.two_phase, all_of(request.timeout > 0, request.timeout <= LARGEST_TIMEOUT))
    refused = all_of(request.two_phase, negate(request.two_phase_allowed))
    return (
        Guard("half_identity", rules.IDS_IDENTITY_NEVER_REPEATS, half, invalid),
        Guard("id_empty", rules.TXN_LEGAL_TRANSITION, request.id_empty, invalid),
        Guard(
            "two_phase_refused",
            rules.TXN_TIMEOUT,
            refused,
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.value,
        ),
        Guard("prepared_kept", rules.TXN_LEGAL_TRANSITION, request.keeps_prepared, ErrorCode.UNSUPPORTED_VERSION.value),
        Guard("timeout", rules.TXN_TIMEOUT, negate(bounded), ErrorCode.INVALID_TRANSACTION_TIMEOUT.value),
    )


def _broken() -> int:
    return ErrorCode.UNKNOWN_SERVER_ERROR.value


def _written_version(entry: TransactionEntry, profile: Profile) -> Term:
    """The transaction version in the record: that of the last client; before 4.0 none."""
    return entry.client_version if profile.client_version_kept else 0


def _empty(
    entry: TransactionEntry, request: InitRequest, decided: Term, checks: tuple[Guard, ...], profile: Profile
) -> TransactionEntry:
    """The record of an id that has a new identity and no transaction.

    Args:
        entry: the metadata of the id.
        request: InitProducerId.
        decided: number of the row that decides.
        checks: the table.
        profile: the release.
    """
    rotates, repeats = decided == number(checks, "rotates"), decided == number(checks, "repeats")
    next_epoch = choose(rotates, 0, entry.producer_epoch + 1)
    before = choose(request.expects, entry.producer_epoch, ABSENT)
    return replace(
        entry,
        state=TransactionState.EMPTY.value,
        producer_id=choose(rotates, request.fresh_producer_id, entry.producer_id),
        producer_epoch=choose(repeats, entry.producer_epoch, next_epoch),
        last_epoch=choose(repeats, entry.last_epoch, before),
        previous_producer_id=entry.producer_id,
        timeout=request.resolved_timeout,
        start_time=ABSENT,
        update_time=request.now,
        client_version=_written_version(entry, profile),
    )
