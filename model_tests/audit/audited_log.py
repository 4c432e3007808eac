"""One audited log, as far as transactions need it."""

from dataclasses import dataclass

from model_tests.audit.partition_verdict import PartitionVerdict


@dataclass(frozen=True, slots=True)
class AuditedTransactionLog:
    """One audited log, as far as transactions need it.

    Attributes:
        cluster: the cluster that it is of; producer ids, names and offsets mean the same only there.
    """

    path: str
    topic: str
    partition: int
    verdict: PartitionVerdict
    cluster: str = ""
