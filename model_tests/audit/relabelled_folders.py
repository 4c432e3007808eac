"""Identifies folders and segments by their contents, not by their names, before anything else is reported of them."""

from collections.abc import Mapping, Sequence

from model_tests.audit.controller_view import Controlled
from model_tests.audit.copied_segments import copied_over
from model_tests.audit.findings import Finding
from model_tests.audit.foreign_coordinators import without_foreign
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.swapped_folders import changed_places
from model_tests.audit.transactions import TransactionsReport, audit_transactions
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange


def in_their_places(
    logs: Sequence[AuditedTransactionLog],
    segments: Sequence[Sequence[SegmentRange]],
    controllers: Mapping[str, Controlled],
    transactions: TransactionsReport,
    findings: Sequence[tuple[Finding, ...]],
) -> tuple[list[AuditedTransactionLog], list[SegmentDamage]]:
    """The logs: of another cluster, of other partitions than their names say, in part another's; and which these are.

    Args:
        logs: all of them.
        segments: of each.
        controllers: by cluster the view of the controller's log.
        transactions: the logs' evidence of transactions.
        findings: of each, joined with the coordinator's.
    """

    def join(held: Sequence[AuditedTransactionLog]) -> Sequence[tuple[Finding, ...]]:
        return audit_transactions(held, controllers)[1]

    held, foreign = without_foreign(logs, transactions, findings, join)
    findings = join(held) if foreign else findings
    held, exchanged = changed_places(held, findings, join)
    findings = join(held) if exchanged else findings
    held, copied = copied_over(held, segments, findings)
    return held, [*foreign, *exchanged, *copied]
