"""AddPartitionsToTxn: partitions are added to a transaction, or a broker verifies that they were."""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, choose, negate
from spec.protocol.coordinator import (
    BUMPING,
    TransactionEntry,
    Transition,
    decide,
    fenced_error,
    is_in,
    is_preparing,
    is_unwritable,
    left_pending,
)
from spec.protocol.guards import PASSED, Guard, branch, error_of, number
from spec.versions import Profile
from spec.vocabulary import ErrorCode, TransactionState

BY_BROKERS_SINCE: Final = 4
"""First version of AddPartitionsToTxn, which only brokers send; then the client is of transaction version 2."""

FENCED_SINCE: Final = 2
"""First version of AddPartitionsToTxn that knows PRODUCER_FENCED."""


@dataclass(frozen=True, slots=True)
class AddRequest:
    """AddPartitionsToTxn of one transaction.

    Attributes:
        all_registered: every partition of the request is in the transaction already.
        client_version: transaction version of the client.
        verify_only: nothing is added.
    """

    producer_id: Term
    producer_epoch: Term
    all_registered: Term
    now: Term = 0
    client_version: Term = 0
    id_empty: Term = False
    verify_only: Term = False


def register(entry: TransactionEntry, request: AddRequest, profile: Profile) -> Transition:
    """Add partitions to the transaction, which begins with the first of them."""
    checks = guards(entry, request, profile)
    decided = branch(checks)
    target = _ongoing(entry, request, profile)
    transition = decide(entry, decided, error_of(checks, decided), decided == PASSED, target)
    return left_pending(transition, decided == number(checks, "unwritable"), target)


def guards(entry: TransactionEntry, request: AddRequest, profile: Profile) -> tuple[Guard, ...]:
    """The table of AddPartitionsToTxn, row by row."""
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS.value
    adds = negate(request.verify_only)
    pending = all_of(adds, any_pending(entry))
    first = all_of(profile.pending_checked_first, pending)
    repeated = all_of(is_in(entry, TransactionState.ONGOING), request.all_registered)
    return (
        Guard("id_empty", rules.TXN_LEGAL_TRANSITION, request.id_empty, ErrorCode.INVALID_REQUEST.value),
        Guard(
            "id_unknown",
            rules.TXN_LEGAL_TRANSITION,
            negate(entry.known),
            ErrorCode.INVALID_PRODUCER_ID_MAPPING.value,
        ),
        Guard("pending_first", rules.TXN_ONE_OUTCOME, first, concurrent),
        Guard(
            "producer_other",
            rules.FENCE_STALE_EPOCH,
            negate(entry.producer_id == request.producer_id),
            ErrorCode.INVALID_PRODUCER_ID_MAPPING.value,
        ),
        Guard(
            "epoch_other",
            rules.FENCE_STALE_EPOCH,
            negate(entry.producer_epoch == request.producer_epoch),
            fenced_error(profile).value,
        ),
        Guard("pending", rules.TXN_ONE_OUTCOME, pending, concurrent),
        Guard("preparing", rules.TXN_ONE_OUTCOME, is_preparing(entry), concurrent),
        Guard(
            "registered",
            rules.TXN_REGISTERED_BEFORE_DATA,
            all_of(adds, repeated),
            ErrorCode.NONE.value,
        ),
        Guard("verified", rules.TXN_REGISTERED_BEFORE_DATA, request.verify_only, ErrorCode.NONE.value),
        Guard(
            "unwritable",
            rules.TXN_LEGAL_TRANSITION,
            is_unwritable(_written_version(request, profile), profile),
            ErrorCode.UNSUPPORTED_VERSION.value,
        ),
    )


def client_version(version: Term) -> Term:
    """Transaction version of the client, by the version of the request that adds its partitions."""
    return choose(version >= BY_BROKERS_SINCE, BUMPING, 0)


def any_pending(entry: TransactionEntry) -> Term:
    """Any transition is under way, a fence too."""
    return entry.pending >= 0


def verified(transition: Transition, registered: Term, profile: Profile) -> Term:
    """The answer to a broker about one partition.

    Args:
        transition: the decision on its request.
        registered: the partition is in the transaction.
        profile: the release; whether it has a code for a transaction that has to be aborted.
    """
    absent = all_of(transition.error == ErrorCode.NONE.value, negate(registered))
    reported = ErrorCode.TRANSACTION_ABORTABLE if profile.abortable_has_code else ErrorCode.INVALID_TXN_STATE
    return choose(absent, reported.value, transition.error)


def refused_together(error: Term, partition_exists: Term, all_exist: Term) -> Term:
    """One unknown partition fails the whole request: it gets its own error, the others OPERATION_NOT_ATTEMPTED."""
    others = choose(partition_exists, ErrorCode.OPERATION_NOT_ATTEMPTED.value, _unknown())
    return choose(all_exist, error, others)


def _unknown() -> int:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value


def _written_version(request: AddRequest, profile: Profile) -> Term:
    """The transaction version in the record; before 4.0 it is not that of the client."""
    return request.client_version if profile.client_version_kept else 0


def _ongoing(entry: TransactionEntry, request: AddRequest, profile: Profile) -> TransactionEntry:
    begun = choose(is_in(entry, TransactionState.ONGOING), entry.start_time, request.now)
    return replace(
        entry,
        state=TransactionState.ONGOING.value,
        previous_producer_id=entry.producer_id,
        start_time=begun,
        update_time=request.now,
        client_version=_written_version(request, profile),
    )
