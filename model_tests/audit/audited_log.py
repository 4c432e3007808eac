"""One audited log, as far as transactions need it."""

from dataclasses import dataclass

from model_tests.audit.partition_verdict import PartitionVerdict


@dataclass(frozen=True, slots=True)
class AuditedTransactionLog:
    """One audited log, as far as transactions need it."""

    path: str
    topic: str
    partition: int
    verdict: PartitionVerdict
