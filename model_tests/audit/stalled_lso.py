"""Partitions whose last stable offset is stalled: at which offset, by which transaction, and the remedy."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from model_tests.audit.findings import Finding, OpenTransaction
from model_tests.audit.partition_verdict import PartitionVerdict


class JudgedPartition(Protocol):
    """A partition that was judged."""

    @property
    def verdict(self) -> PartitionVerdict:
        """What was found of it."""


def held_back(name: str, one: JudgedPartition) -> Iterator[str]:
    """A line for a partition whose last stable offset is held below the high watermark; none where it is not.

    Args:
        name: how the report calls the partition.
        one: the partition and its verdict.
    """
    at = one.verdict.offsets
    first = min(one.verdict.open_transactions, key=lambda txn: txn.first_offset, default=None)
    if first is None or at.last_stable >= at.high_watermark:
        return
    finding = _of(first, one.verdict.findings)
    whose = f" ({finding.transactional_id})" if finding is not None and finding.transactional_id else ""
    remedy = finding.remedy if finding is not None and finding.remedy else "open: nothing here shows that it hangs"
    yield (
        f"held back: {name} at offset {at.last_stable}, {at.high_watermark - at.last_stable} offsets before its end, "
        f"by producer {first.producer_id} epoch {first.producer_epoch}{whose}: {remedy}"
    )


def _of(txn: OpenTransaction, findings: Sequence[Finding]) -> Finding | None:
    """The finding about an open transaction: it has its first offset, or a later one and a remedy."""
    own = [one for one in findings if one.producer_id == txn.producer_id and one.offset >= txn.first_offset]
    further = (one for one in own if one.remedy)
    return next((one for one in own if one.offset == txn.first_offset), next(further, None))
