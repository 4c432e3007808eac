"""One partition's log against what clients were answered: what became of acknowledged records, what was received."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.audit.findings import Finding, LogBounds
from model_tests.audit.partition_context import Transactions
from model_tests.common.codec import TypedCodec
from model_tests.histories.as_journal import Acknowledged
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec import rules
from spec.judging.judge_clients import RecordFate
from spec.protocol.lso import is_delivered
from spec.vocabulary import ABSENT, Api, ControlType


@dataclass(frozen=True, slots=True)
class AttemptTally:
    """Acknowledged records of one attempt, producer and fate in a partition, with the offsets of first and last."""

    attempt: int
    fate: int
    producer_id: int
    offset: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class ClientSide:
    """What clients know of one partition; none without a client history."""

    acknowledged: Acknowledged | None = None
    received: Integers | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of what clients know is to be compared with the log."""
        return self.acknowledged is None and self.received is None

    @property
    def digest(self) -> str:
        """Another one for other knowledge; empty where there is none."""
        return "" if self.is_empty else sha256(_CLIENT_SIDE.encode(self)).hexdigest()


NO_CLIENT: Final = ClientSide()
_CLIENT_SIDE: Final[TypedCodec[ClientSide]] = TypedCodec("knowledge of clients", ClientSide)


def tallied(
    batches: Batches, found: Transactions, at: LogBounds, acknowledged: Acknowledged, *, cleaned: bool
) -> tuple[AttemptTally, ...]:
    """What became of each acknowledged record, counted.

    Args:
        batches: the log's, a row each.
        found: the transaction of each row.
        at: the bounds of the log.
        acknowledged: offsets that clients got, each with its attempt.
        cleaned: the cleaner may have removed records.
    """
    offsets = acknowledged.offsets
    row, inside = _rows(batches, offsets)
    fate = np.full(len(offsets), RecordFate.LOST.value, np.int64)
    fate[inside] = _fates(batches, found, at)[row[inside]]
    gone = ~inside & (offsets < at.log_end) if cleaned or bool(batches.follows_damage.any()) else np.zeros_like(inside)
    fate[gone | (offsets < at.log_start)] = RecordFate.REMOVED.value
    producer = np.where(inside, batches.producer_id[row], ABSENT) if len(batches) else np.full(len(offsets), ABSENT)
    keys = np.stack([acknowledged.attempts, fate, producer])
    order = np.lexsort((offsets, *keys[::-1]))
    keys, ordered = keys[:, order], offsets[order]
    opens = np.ones(len(order), np.bool_)
    opens[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
    starts = np.flatnonzero(opens)
    counts = np.diff(np.append(starts, len(order)))
    columns = (*keys[:, starts], ordered[starts], ordered[starts + counts - 1], counts)
    return tuple(AttemptTally(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def _rows(batches: Batches, offsets: Integers) -> tuple[Integers, Facts]:
    """For each offset the place of its batch, and whether there is one."""
    row = np.searchsorted(batches.base_offset, offsets, side="right") - 1
    inside: Facts = row >= 0
    row = np.maximum(row, 0)
    if len(batches):
        inside &= offsets <= batches.last_offset[row]
    return row, inside


def _fates(batches: Batches, found: Transactions, at: LogBounds) -> Integers:
    """The fate of the records of each batch."""
    ended = found.joins & (found.marker >= 0)
    committed = batches.control_type[found.marker] == ControlType.COMMIT.value if len(batches) else ended
    fate = np.where(batches.base_offset < at.last_stable, RecordFate.VISIBLE.value, RecordFate.COMMITTED.value)
    fate = np.where(ended & ~committed, RecordFate.ABORTED.value, fate)
    fate = np.where(found.joins & ~ended, RecordFate.OPEN.value, fate)
    return np.where(batches.control, RecordFate.LOST.value, fate)


def received_findings(
    batches: Batches, found: Transactions, at: LogBounds, received: Integers, *, cleaned: bool
) -> list[Finding]:
    """Where a read_committed reader that read the partition to its end received other records than the visible ones.

    Args:
        batches: the log's, a row each.
        found: the transaction of each row.
        at: the bounds of the log.
        received: the offset of each record that the reader was given.
        cleaned: the cleaner may have removed records.
    """
    hidden = _hidden(batches, found, at)
    row, inside = _rows(batches, received)
    wrong = inside & hidden[row] if len(batches) else inside
    wrong |= ~inside & (not cleaned) & (received >= at.log_start)
    findings = _first(batches, received[wrong], "was received, but is not visible to a read_committed reader")
    findings += _first(batches, _repeated(received), "was received twice")
    if not cleaned:
        missing = np.setdiff1d(_offsets(batches, ~hidden, at), received)
        findings += _first(batches, missing, "is visible to a read_committed reader, but was not received")
    return findings


def _hidden(batches: Batches, found: Transactions, at: LogBounds) -> Facts:
    ended = found.joins & (found.marker >= 0)
    aborted = ended & (batches.control_type[found.marker] == ControlType.ABORT.value) if len(batches) else ended
    given = is_delivered(control=batches.control, transactional=found.joins, aborted=aborted, read_committed=True)
    hidden: Facts = ~given | (batches.base_offset >= at.last_stable)
    return hidden


def _repeated(received: Integers) -> Integers:
    offsets, counts = np.unique(received, return_counts=True)
    repeated: Integers = offsets[counts > 1]
    return repeated


def _offsets(batches: Batches, chosen: Facts, at: LogBounds) -> Integers:
    """Every offset of the chosen batches from the log start on."""
    first, last = batches.base_offset[chosen], batches.last_offset[chosen]
    if not len(first):
        return np.empty(0, np.int64)
    offsets = np.concatenate([np.arange(start, end + 1) for start, end in zip(first, last, strict=True)])
    return offsets[offsets >= at.log_start]


def _first(batches: Batches, offsets: Iterable[int], what: str) -> list[Finding]:
    """One finding for all, at the first."""
    listed = sorted(int(offset) for offset in offsets)
    if not listed:
        return []
    row, inside = _rows(batches, np.array(listed[:1], np.int64))
    producer, epoch = ABSENT, ABSENT
    if inside[0]:
        producer, epoch = int(batches.producer_id[row[0]]), int(batches.producer_epoch[row[0]])
    more = f"; and so {len(listed) - 1} more" if len(listed) > 1 else ""
    message = f"the record at offset {listed[0]} {what}{more}"
    return [Finding(rules.LSO_READ_COMMITTED, Severity.VIOLATION, listed[0], producer, epoch, message, step=Api.FETCH)]
