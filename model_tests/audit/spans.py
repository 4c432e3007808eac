"""Transactions of a partition as spans of offsets, and what was still open at each marker."""

from dataclasses import dataclass, fields

import numpy as np

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.audit.partition_context import Transactions
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.protocol.lso import AbortedTransaction, indexed
from spec.vocabulary import ABSENT, ControlType

OPEN = np.iinfo(np.int64).max
"""Where a transaction ends that has no marker."""


@dataclass(frozen=True, slots=True)
class Spans:
    """The transactions of a log by their first offset.

    Attributes:
        first: offset of the first data.
        first_row: its place in the log.
        end: offset of the marker.
        marker_row: its place, -1 where there is none.
        known_start: nothing of the transaction can lie before the log's begin.
    """

    producer_id: Integers
    producer_epoch: Integers
    first: Integers
    first_row: Integers
    end: Integers
    marker_row: Integers
    aborted: Facts
    known_start: Facts

    def __len__(self) -> int:
        return len(self.first)


def spans(batches: Batches, found: Transactions, *, whole: bool) -> Spans:
    """The transactions of a log; `whole`: the log begins at offset 0."""
    joins = np.flatnonzero(found.joins)
    joins = joins[np.lexsort((joins, found.marker[joins], batches.producer_id[joins]))]
    producer, ending = batches.producer_id[joins], found.marker[joins]
    opens = np.ones(len(joins), np.bool_)
    opens[1:] = (producer[1:] != producer[:-1]) | (ending[1:] != ending[:-1])
    rows = np.sort(joins[opens])
    marker = found.marker[rows]
    ended = marker >= 0
    return Spans(
        producer_id=batches.producer_id[rows],
        producer_epoch=batches.producer_epoch[rows],
        first=batches.base_offset[rows],
        first_row=rows,
        end=np.where(ended, batches.base_offset[marker], OPEN) if len(batches) else np.empty(0, np.int64),
        marker_row=marker,
        aborted=ended & (batches.control_type[marker] == ControlType.ABORT.value),
        known_start=_after_marker(batches, rows) | np.bool_(whole),
    )


def _after_marker(batches: Batches, rows: Integers) -> Facts:
    """Whether the log has a marker of the same producer before each of these batches."""
    producers, first_marker = np.unique(batches.producer_id[batches.control], return_index=True)
    if not len(producers):
        return np.zeros(len(rows), np.bool_)
    markers = np.flatnonzero(batches.control)[first_marker]
    place = np.minimum(np.searchsorted(producers, batches.producer_id[rows]), len(producers) - 1)
    after: Facts = (producers[place] == batches.producer_id[rows]) & (markers[place] < rows)
    return after


def entries_of(own: Spans) -> AbortedTransaction:
    """For each span, the index entry that an ABORT marker at its end adds."""
    return indexed(own.first, own.end, _oldest_other(own))


def stable_in_bulk(own: Spans) -> Integers:
    """The entry's last stable offset where a replica appended the marker together with what comes after it.

    It counts the next transaction of another producer as open already; -1 where there is none.
    """
    following = np.searchsorted(own.first, own.end, side="right")
    for _ in range(2):  # the next one may be the producer's own
        inside = np.minimum(following, max(len(own) - 1, 0))
        same = (following < len(own)) & (own.producer_id[inside] == own.producer_id)
        following = following + same
    inside = np.minimum(following, max(len(own) - 1, 0))
    other = (following < len(own)) & (own.producer_id[inside] != own.producer_id)
    return np.where(other, own.first[inside], ABSENT)


def stable_if_begun(own: Spans, span: Integers, first: Integers) -> Integers:
    """For each span, the last stable offset of its entry if some spans began at other offsets."""
    begins = own.first.copy()
    begins[span] = first
    order = np.argsort(begins, kind="stable")
    columns = {field.name: getattr(own, field.name)[order] for field in fields(Spans)}
    stable = np.empty(len(own), np.int64)
    stable[order] = entries_of(Spans(**(columns | {"first": begins[order]}))).last_stable
    return stable


def stable_without(own: Spans, span: int, first: int) -> tuple[int, Integers]:
    """The last stable offset of a span's entry without those that are open then from an offset on; whose these are."""
    is_open = (own.first < own.end[span]) & (own.end > own.end[span])
    others = own.first[is_open & (own.first > first)]
    stable = int(others.min()) if len(others) else int(own.end[span]) + 1
    return stable, own.producer_id[is_open & (own.first == first)]


def _oldest_other(own: Spans) -> Integers:
    """First offset of the oldest other transaction that is open at the end of each; -1 where there is none."""
    if not len(own):
        return np.empty(0, np.int64)
    latest_end = np.maximum.accumulate(own.end)
    oldest = np.searchsorted(latest_end, own.end, side="right")  # the first that ends later
    inside = np.minimum(oldest, len(own) - 1)
    is_open = (oldest < len(own)) & (own.first[inside] < own.end)
    return np.where(is_open, own.first[inside], ABSENT)
