"""Data that a producer writes outside of transactions, on a partition where it has transactions, too.

Brokers take it while no transaction of the producer is open. No client of Kafka's sends it, and readers of committed
records are given it whatever the outcome of the transaction around it.
"""

from collections.abc import Collection
from typing import Final

import numpy as np

from model_tests.traces.audit.findings import Finding, Severity
from model_tests.traces.audit.links import Links
from model_tests.traces.logs.kafka_log_batches import Batches
from spec import rules

_NOBODY: Final[frozenset[int]] = frozenset()


def mixing(own: Batches) -> frozenset[int]:
    """The producers that have data outside of transactions, and transactions or markers."""
    outside = ~own.transactional & ~own.control & (own.producer_id >= 0)
    within = (own.transactional | own.control) & (own.producer_id >= 0)
    if not outside.any() or not within.any():
        return _NOBODY
    return frozenset(np.intersect1d(own.producer_id[outside], own.producer_id[within]).tolist())


def outside_findings(links: Links, broken: Collection[int]) -> list[Finding]:
    """One for each such producer, at the first of the batches; those that are `broken` links say so themselves.

    One that has more of them than of others is a producer without transactions: these are the others' that are wrong.
    """
    own, found = links.batches, []
    for producer_id in sorted(mixing(own)):
        whose = own.producer_id == producer_id
        numbers = np.flatnonzero(whose & ~own.transactional & ~own.control).tolist()
        left = [number for number in numbers if number not in broken]
        if left and 2 * len(numbers) <= whose.sum():
            found.append(_finding(own, left))
    return found


def _finding(own: Batches, numbers: list[int]) -> Finding:
    first = numbers[0]
    more = f", the first of {len(numbers)} batches" if len(numbers) > 1 else ""
    message = (
        f"data outside a transaction{more}, of a producer that has transactions on this partition: legal for the "
        "broker while none is open, but no client of Kafka's sends it; it is visible whatever their outcome"
    )
    offset, producer_id, epoch = (
        int(column[first]) for column in (own.base_offset, own.producer_id, own.producer_epoch)
    )
    return Finding(rules.TXN_ATOMIC, Severity.SUSPICIOUS, offset, producer_id, epoch, message, step="Produce")
