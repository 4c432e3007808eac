"""Fixes of the reference for known bugs that every release has."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import transaction_coordinator
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TransactionEntry, TransactionMetadata, check_expected
from reference.broker.transaction_state_manager import TransactionStateManager
from reference.errors import ProducerFenced, UnsupportedVersion
from spec import rules
from spec.bugs.of_coordinator import PENDING_CLEARED
from spec.bugs.of_transactions import IDENTITY_COMPARED
from spec.vocabulary import Timestamp, TransactionState

_write = TransactionStateManager.write


def compare_the_epoch(metadata: TransactionMetadata, expected: ProducerIdentity | None) -> None:
    """While a transaction is open, a producer that resumes must have its epoch too.

    Raises:
        ProducerFenced: it has another identity.
    """
    check_expected(metadata, expected)
    is_open = metadata.state is TransactionState.ONGOING
    if expected is not None and is_open and expected.epoch != metadata.epoch:
        raise ProducerFenced(rules.TXN_NO_CROSSTALK, current=metadata.epoch, got=expected.epoch)


def clear_what_cannot_be_written(
    states: TransactionStateManager, entry: TransactionEntry, change: TransactionMetadata, now: Timestamp
) -> None:
    """A change that no record can hold is taken back.

    Args:
        states: of the coordinator.
        entry: of the transactional id.
        change: what is to be written.
        now: when.

    Raises:
        Refusal: the change did not get into the log.
    """
    try:
        _write(states, entry, change, now)
    except UnsupportedVersion:
        entry.cancel()
        raise


MENDINGS: Final[Mapping[str, Planted]] = MappingProxyType(
    {
        IDENTITY_COMPARED.name: Planted(
            "the whole identity is compared",
            rules.TXN_NO_CROSSTALK,
            (Patch(transaction_coordinator, "check_expected", compare_the_epoch),),
        ),
        PENDING_CLEARED.name: Planted(
            "what cannot be written is not pending",
            rules.TXN_TIMEOUT,
            (Patch(TransactionStateManager, "write", clear_what_cannot_be_written),),
        ),
    }
)
"""By the profile that would mend the bug."""
