"""The verdict on one partition: its bounds, its findings, and what was judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from model_tests.audit.findings import Finding, LogBounds, OpenTransaction
from model_tests.audit.history_log import AttemptTally
from model_tests.audit.replica import ClusterSide
from model_tests.audit.transactions_summary import TransactionEvidence
from model_tests.common.codec import Codec
from model_tests.logs.kafka_log_segment import SegmentDamage


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """The audit of one partition.

    Attributes:
        visible_records: what a read_committed reader is given.
        waiting_records: what it is not given yet: committed, or in no transaction, behind one that is open.
        producers: producer ids that wrote to the partition.
        judged: rule id to the number of batches that the rule was checked on.
        unjudged: batches whose predecessors lie in unreadable bytes, so that nothing can be said of their sequence.
        cleaned: whether the log cleaner has been here.
        reported: the log's evidence of transactions, to be joined with that of others.
        cluster: the log's evidence of the cluster, as a replica or as the controller's log.
        tallies: what became of the records that clients got acknowledgements for.
    """

    offsets: LogBounds
    batches: int
    records: int
    visible_records: int
    producers: int
    waiting_records: int = 0
    open_transactions: tuple[OpenTransaction, ...] = ()
    findings: tuple[Finding, ...] = ()
    judged: Mapping[str, int] = field(default_factory=dict)
    unjudged: int = 0
    cleaned: bool = False
    reported: TransactionEvidence | None = None
    cluster: ClusterSide | None = None
    tallies: tuple[AttemptTally, ...] = ()


Judged: TypeAlias = tuple[PartitionVerdict, list[SegmentDamage]]
"""The verdict on a log, and what is damaged in its files."""

VERDICT: Final[Codec[Judged]] = Codec("verdict on a log", Judged)
"""How a task sends and keeps it."""
