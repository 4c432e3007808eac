"""Parts of a transaction as the audit joins them."""

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.transactions_summary import DataRun, PartitionTransactions
from spec.vocabulary import ControlType, TransactionState

KNOWN = CoordinatorTransaction(
    transactional_id="tx",
    producer_id=7,
    producer_epoch=0,
    marker_epoch=0,
    state=TransactionState.COMPLETE_COMMIT.value,
    outcome=ControlType.COMMIT.value,
    partitions=frozenset({("a", 0)}),
    listed=True,
    first_offset=1,
    started_ms=10,
    timeout_ms=60_000,
    prepared_offset=2,
    prepared_ms=20,
    completed_offset=3,
    completed_ms=30,
)


WHOLE = PartitionTransactions(end=20, closed=True)


RUN = DataRun(7, 0, 12, 13, 2, 15, 15, -1)
