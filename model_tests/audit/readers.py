"""What a reader sees: the decisions on the log compared with the aborted index that the broker would send."""

from collections.abc import Sequence

import numpy as np

from model_tests.audit.aborted_entries import flat
from model_tests.audit.findings import Finding
from model_tests.audit.partition_context import PartitionContext, Transactions
from model_tests.audit.pieces import ReaderTally
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches, Facts
from model_tests.logs.kafka_log_derived import DerivedFiles
from spec import rules
from spec.algebra import negate
from spec.protocol import lso
from spec.vocabulary import ABSENT, ControlType


def undecided_below(log: PartitionContext, tally: ReaderTally) -> tuple[list[Finding], int]:
    """Transactional batches below the last stable offset that nothing decides; and the number of batches there."""
    batches, found, at = log.batches, log.found, log.offsets
    offset = np.maximum(batches.base_offset, at.log_start)
    ended = found.marker >= 0
    marker = np.where(ended, batches.base_offset[found.marker], ABSENT) if len(batches) else np.empty(0, np.int64)
    decided = ended & lso.is_replicated(marker, at.high_watermark)
    wrong = found.joins & negate(lso.is_decided_below(offset, at.last_stable, decided))
    if not wrong.any():
        return [], tally.bounded
    log.reread.add(batches.producer_id[wrong])
    row = int(np.argmax(wrong))
    message = f"transactional data below the last stable offset {at.last_stable} without a marker that is replicated"
    return [_finding(batches, row, rules.LSO_DECIDED_BELOW, message, int(wrong.sum()))], tally.bounded


def seen_by_readers(
    log: PartitionContext, derived: DerivedFiles, disputed: Sequence[tuple[int, int]], tally: ReaderTally
) -> tuple[list[Finding], int]:
    """Batches that a reader with the aborted index is given, or not given, against the decision; and their number.

    Disputed transactions, of which index and log are known to differ, are left out.

    Args:
        log: of one partition on one broker.
        derived: the files that are derived from batches: snapshots and indexes.
        disputed: first and last offset of transactions of which index and log are known not to agree.
        tally: what readers and rules have to do with of the log's data.
    """
    batches, found, at = log.batches, log.found, log.offsets
    ended = found.joins & (found.marker >= 0)
    aborted = ended & (batches.control_type[found.marker] == ControlType.ABORT.value) if len(batches) else ended
    indexed = np.isin(batches.segment[found.marker], list(derived.aborted)) if len(batches) else ended
    judged = ended & indexed & (batches.base_offset < at.last_stable) & (batches.base_offset >= at.log_start)
    hidden = _hidden(batches, derived)
    wrong = judged & (_given(batches, found, hidden) != _given(batches, found, aborted))
    for first, last in disputed:
        wrong &= (batches.last_offset < first) | (batches.base_offset > last)
    if not wrong.any():
        return [], tally.listed
    log.reread.add(batches.producer_id[wrong])
    row = int(np.argmax(wrong))
    given = "does not give" if hidden[row] else "gives"
    message = f"the aborted index {given} a reader this batch, but its marker says otherwise"
    return [_finding(batches, row, rules.LSO_READ_COMMITTED, message, int(wrong.sum()))], tally.listed


def _given(batches: Batches, found: Transactions, aborted: Facts) -> Facts:
    given: Facts = lso.is_delivered(
        control=batches.control, transactional=found.joins, aborted=aborted, read_committed=True
    )
    return given


def _hidden(batches: Batches, derived: DerivedFiles) -> Facts:
    """Whether a reader leaves each batch out: its producer's latest aborted transaction so far has not ended yet."""
    entries = flat(derived)
    _, code = np.unique(np.concatenate([entries.producer_id, batches.producer_id]), return_inverse=True)
    size = len(batches) + 1
    own, theirs = code[: len(entries.last)], code[len(entries.last) :]
    key = own * size + np.searchsorted(batches.last_offset, entries.first)
    order = np.argsort(key, kind="stable")
    place = np.searchsorted(key[order], theirs * size + np.arange(len(batches)), side="right") - 1
    if not len(order):
        return np.zeros(len(batches), np.bool_)
    latest = order[np.maximum(place, 0)]
    same = (place >= 0) & (own[latest] == theirs)
    hidden: Facts = same & (entries.last[latest] > batches.base_offset)
    return hidden


def _finding(batches: Batches, row: int, rule: rules.Rule, message: str, count: int) -> Finding:
    more = f"; and so {count - 1} more batches" if count > 1 else ""
    identity = (int(batches.base_offset[row]), int(batches.producer_id[row]), int(batches.producer_epoch[row]))
    return Finding(rule, Severity.VIOLATION, *identity, f"{message}{more}")
