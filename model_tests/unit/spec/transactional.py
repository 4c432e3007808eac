"""Entries of transactional ids as tests arrange them."""

from dataclasses import replace
from typing import Any

from spec.protocol.completing import prepare_complete
from spec.protocol.coordinator import TransactionEntry, completed
from spec.protocol.ending import EndRequest, end
from spec.versions import Profile
from spec.vocabulary import TransactionState

PRODUCER, OTHER, FRESH = 7, 8, 9
EPOCH = 5
LAST = 32767


def entry(state: TransactionState, **fields: Any) -> TransactionEntry:
    """An id in a state, of producer 7 at epoch 5, last moved by a client of version 2."""
    plain = TransactionEntry(
        known=True,
        state=state.value,
        producer_id=PRODUCER,
        producer_epoch=EPOCH,
        timeout=1000,
        start_time=100,
        update_time=100,
        client_version=2,
    )
    return replace(plain, **fields)


def ending(*, commits: bool, epoch: int = EPOCH, bumps: bool = True, **fields: Any) -> EndRequest:
    """EndTxn of producer 7."""
    return EndRequest(PRODUCER, epoch, commits, bumps, fresh_producer_id=FRESH, now=200, **fields)


def ended(before: TransactionEntry, request: EndRequest, profile: Profile) -> TransactionEntry:
    """Memory after a transaction was ended and every marker written."""
    prepared = end(before, request, profile)
    assert prepared.appends
    decided = completed(prepared.entry, prepared.target, profile)
    complete = prepare_complete(decided, 300, profile)
    return completed(complete.entry, complete.target, profile)
