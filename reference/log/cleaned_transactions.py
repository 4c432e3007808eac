"""Transactions as the cleaner meets them while it reads a log in order (CleanedTransactionMetadata)."""

import heapq
from collections.abc import Iterable

from reference.log.batch import RecordBatch
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import ControlType, ProducerId


class CleanedTransactions:
    """Which data is of aborted transactions, and which markers have no data left before them.

    Attributes:
        kept: aborted transactions whose markers stay because data was met: the index of the cleaned segment.
    """

    __slots__ = ("_aborted", "_coming", "_committed", "_met", "kept")

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._coming: list[tuple[int, AbortedTxn]] = []
        self._aborted: dict[ProducerId, AbortedTxn] = {}
        self._met: set[ProducerId] = set()
        self._committed: set[ProducerId] = set()
        self.kept: list[AbortedTxn] = []

    def expect(self, txns: Iterable[AbortedTxn]) -> None:
        """Aborted transactions in the indexes of the segments to come."""
        for txn in txns:
            heapq.heappush(self._coming, (txn.first_offset, txn))

    def is_discarded(self, batch: RecordBatch) -> bool:
        """Whether nothing of the batch is needed: aborted data, or a marker without data before it."""
        while self._coming and self._coming[0][0] <= batch.last_offset:
            txn = heapq.heappop(self._coming)[1]
            self._aborted.setdefault(txn.producer_id, txn)
        return self._is_spent(batch) if batch.is_control else self._is_aborted(batch)

    def _is_aborted(self, batch: RecordBatch) -> bool:
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._met.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def _is_spent(self, batch: RecordBatch) -> bool:
        marker = batch.marker()
        if marker is None:  # the cleaner has emptied it before
            return True
        producer_id = batch.producer_id
        if marker.control_type == ControlType.ABORT:
            txn = self._aborted.pop(producer_id, None)
            if txn is None or producer_id not in self._met:
                return True
            self._met.discard(producer_id)
            self.kept.append(txn)
            return False
        if marker.control_type == ControlType.COMMIT:
            spent = producer_id not in self._committed
            self._committed.discard(producer_id)
            return spent
        return False
