"""Segments of another partition, copied over segments of the same name: all of their batches are the other's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from model_tests.audit.findings import Finding
from model_tests.audit.folders import apart
from model_tests.audit.replica import ReplicaSummary, coarser
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Facts
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog

_EVENT: Final = 4
"""So many blocks of batches, offsets and checksums, are alike by no chance; as many others must be distinguished."""

_AT_ODDS: Final = 2
"""So much is broken at least in a log that has a whole segment of another."""


def copied_over(
    logs: Sequence["AuditedTransactionLog"],
    segments: Sequence[Sequence[SegmentRange]],
    findings: Sequence[tuple[Finding, ...]],
) -> tuple[list["AuditedTransactionLog"], list[SegmentDamage]]:
    """The logs, of which one with another partition's segment is judged by what stands before that; and which are.

    Partitions whose batches are alike by what their clients sent are alike outside of one segment, too.

    Args:
        logs: all of them.
        segments: of each.
        findings: of each, joined with the coordinator's.
    """
    held, damage = list(logs), []
    for number in (number for number, own in enumerate(findings) if _broken(own) >= _AT_ODDS):
        for other, segment in _alike(number, logs, segments[number]):
            if 2 * _broken(findings[other]) <= _broken(findings[number]):
                held[number] = _before(held[number], segment.base)
                whose = f"{logs[other].topic}-{logs[other].partition}"
                damage.append(SegmentDamage(segment.path, 0, f"its batches are those of {whose}{_WHAT}"))
                break
    return held, damage


_WHAT: Final = (
    ", offset by offset: that one's segment was copied over it. What follows from here on is not judged, since what "
    "stood here is not there: copy the segment again, or take the partition from a replica"
)


def _broken(findings: Sequence[Finding]) -> int:
    return sum(one.severity is Severity.VIOLATION for one in findings)


def _before(log: "AuditedTransactionLog", offset: int) -> "AuditedTransactionLog":
    """The log by itself, with what was found before an offset."""
    alone = apart(log)
    left = tuple(one for one in alone.verdict.findings if one.offset < offset)
    return replace(alone, verdict=replace(alone.verdict, findings=left))


def _alike(
    number: int, logs: Sequence["AuditedTransactionLog"], segments: Sequence[SegmentRange]
) -> Iterator[tuple[int, SegmentRange]]:
    """Segments of a log that one other partition has as well, and that have nothing else in common."""
    own, log = _replica(logs[number]), logs[number]
    for other, each in enumerate(logs):
        theirs = _replica(each)
        same = (each.topic, each.partition) == (log.topic, log.partition)
        if own is None or theirs is None or same or each.cluster != log.cluster:
            continue
        alike, filled, width = _compared(own, theirs)
        for segment in segments:
            inside = np.zeros(len(alike), np.bool_)
            inside[-(-segment.base // width) : segment.end // width if segment.end >= 0 else len(alike)] = True
            here, elsewhere = np.flatnonzero(inside & filled), np.flatnonzero(~inside & filled)
            event = min(len(here), len(elsewhere)) >= _EVENT
            if event and alike[here[:-1]].all() and not alike[elsewhere].any():  # the last ends with the file
                yield other, segment


def _replica(log: "AuditedTransactionLog") -> ReplicaSummary | None:
    return log.verdict.cluster.replica if log.verdict.cluster is not None else None


def _compared(own: ReplicaSummary, theirs: ReplicaSummary) -> tuple[Facts, Facts, int]:
    """For each block of a log whether it is the other's, and whether it has batches; the number of its offsets."""
    width = max(own.width, theirs.width)
    mine, other = (coarser(one.blocks, one.width, width) for one in (own, theirs))
    padded = np.zeros(len(mine), np.uint64)
    padded[: len(other)] = other[: len(mine)]
    return mine == padded, mine != 0, width
