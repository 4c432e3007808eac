"""The order of each partition's log, as far as a history shows it, and which of its operations took effect.

Offsets are only compared: they may have gaps (markers, aborted records, what no client reports) and be as large as they
can be. Places are the offsets at which something is known to lie, numbered through all partitions: within a partition
places one apart are neighbours.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.histories.operations import (
    Facts,
    Integers,
    OperationRecords,
    OperationResult,
    Operations,
)
from spec.judging.judge_clients import AcknowledgedOffset, ClientVerdict, judge_acknowledged

_BEHIND_ALL: Final = 2**62
_WIDEST: Final = 2**62
"""Beyond this two columns do not fit into one number."""
_TABLE: Final = 8
"""Entries of a table for each number that is looked up in it, at most."""

NOWHERE: Final = -1
"""In place of a place, and of a record whose value is not known."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of a history with what is known of them, row by row.

    Attributes:
        record: number of the pair of key and value, -1 where the value is not known.
        spot: number of the pair of key and offset, -1 where the offset is not known.
        place: in the order of the logs, -1 where it is not known.
    """

    reported: OperationRecords
    record: Integers
    spot: Integers
    place: Integers


@dataclass(frozen=True, slots=True)
class LogOrder:
    """What a history shows of the logs.

    Attributes:
        took_effect: of operations: those that succeeded, and those of unknown outcome of which a record was read.
        once: of sent records: no other was sent to the key with the same value.
        seen: of sent records: a reader that succeeded was given them.
        handed: of sent records: a reader was given them, whatever became of its operation.
        key: of each place; `offset` likewise.
        placed: of sent records: they are known to be in the log, at the offset that was acknowledged.
        contradicted: of sent records: at their acknowledged offset readers were given another record, and them at
            another offset. Where they were read is their place.
    """

    history: Operations
    sent: Rows
    given: Rows
    took_effect: Facts
    once: Facts
    seen: Facts
    handed: Facts
    placed: Facts
    contradicted: Facts
    key: Integers
    offset: Integers

    @property
    def given_ok(self) -> Facts:
        """Of given records: their reader succeeded."""
        succeeded: Facts = self.outcome_of(self.given.reported) == OperationResult.OK.value
        return succeeded

    def outcome_of(self, records: OperationRecords) -> Integers:
        """How the operations of records ended."""
        return self.history.outcome[records.operation]


def log_order(history: Operations) -> LogOrder:
    """The order that the reads show, and those writes that are known to have taken effect."""
    sent, given = history.sent, history.given
    record_sent, record_given = _records(sent, given)
    spot_sent, spot_given = _spots(sent, given)
    contradicted = _contradicted((record_sent, spot_sent), (record_given, spot_given))
    spot_sent = np.where(contradicted, NOWHERE, spot_sent)
    ok = history.outcome[given.operation] == OperationResult.OK.value
    seen, handed = (
        _seen(sent, given, (record_sent, record_given), (spot_sent, spot_given), readers)
        for readers in (ok, np.ones_like(ok))
    )
    once = _once(record_sent)
    took_effect = _took_effect(history, seen & once)
    placed = took_effect[sent.operation] & (spot_sent >= 0)
    place_of = _place_of_spots(spot_sent[placed], spot_given, 1 + _last(spot_sent, spot_given))
    place_sent, place_given = place_of[spot_sent], place_of[spot_given]
    key, offset = _of_places((sent, place_sent), (given, place_given))
    known = (
        np.concatenate([record_sent[placed], record_given]),
        np.concatenate([place_sent[placed], place_given]),
    )
    place_sent = _by_value((record_sent, place_sent), *known)
    place_given = _by_value((record_given, place_given), *known)
    return LogOrder(
        history,
        Rows(sent, record_sent, spot_sent, place_sent),
        Rows(given, record_given, spot_given, place_given),
        took_effect,
        once,
        seen,
        handed,
        placed,
        contradicted,
        key,
        offset,
    )


def first_of_runs(*columns: Integers) -> Facts:
    """Of sorted rows: which differ from the one before."""
    first = np.zeros(len(columns[0]), np.bool_)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def _records(sent: OperationRecords, given: OperationRecords) -> tuple[Integers, Integers]:
    return _numbered((sent.key, given.key), (sent.value, given.value))


def _spots(sent: OperationRecords, given: OperationRecords) -> tuple[Integers, Integers]:
    return _numbered((sent.key, given.key), (sent.offset, given.offset))


def _numbered(keys: tuple[Integers, Integers], seconds: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Numbers of the pairs of two columns, in their order; -1 where the second is absent."""
    key, second = np.concatenate(keys), np.concatenate(seconds)
    reported = np.flatnonzero(second >= 0)
    first, rank = key[reported], second[reported]
    width = 1 + _last(rank)
    if (1 + _last(first)) * width > _WIDEST:
        different, rank = np.unique(rank, return_inverse=True)
        width = max(1, len(different))
    pair = _dense(first * width + rank)
    number = np.full(len(key), NOWHERE, np.int64)
    number[reported] = pair
    return number[: len(keys[0])], number[len(keys[0]) :]


def _dense(numbers: Integers) -> Integers:
    """The places of numbers among all that there are, from 0; by a table where it is not much longer than they are."""
    most = 1 + _last(numbers)
    if most <= _TABLE * len(numbers):
        there = np.zeros(most, np.bool_)
        there[numbers] = True
        return (np.cumsum(there) - 1)[numbers]
    _, place = np.unique(numbers, return_inverse=True)
    return place


def among(numbers: Integers, chosen: Integers) -> Facts:
    """Of small numbers, -1 for none: whether they are among some others."""
    flags = np.zeros(2 + _last(numbers, chosen), np.bool_)
    flags[chosen] = True
    flags[-1] = False
    found: Facts = flags[numbers]
    return found


def extremes(numbers: Integers, places: Integers, count: int) -> tuple[Integers, Integers]:
    """Of each number the first and the last of its places; of one without any the last lies before the first."""
    first, last = np.full(count, _BEHIND_ALL, np.int64), np.full(count, -1, np.int64)
    np.minimum.at(first, numbers, places)
    np.maximum.at(last, numbers, places)
    return first, last


def _seen(
    sent: OperationRecords,
    given: OperationRecords,
    records: tuple[Integers, Integers],
    spots: tuple[Integers, Integers],
    ok: Facts,
) -> Facts:
    """Sent records that a reader was given: by their value, or by their offset where one of the two has no value."""
    by_value = among(records[0], records[1][ok])
    nameless = among(spots[0], spots[1][ok & (given.value < 0)])
    by_offset = among(spots[0], spots[1][ok]) & (sent.value < 0)
    found: Facts = by_value | nameless | by_offset
    return found


def _contradicted(sent: tuple[Integers, Integers], given: tuple[Integers, Integers]) -> Facts:
    """Rows of record and spot that were sent: the record was read, not at that spot, and another one was read there."""
    (record, spot), (record_given, spot_given) = sent, given
    known = (record_given >= 0) & (spot_given >= 0)
    width = 1 + _last(spot, spot_given)
    confirmed = np.isin(record * width + spot, record_given[known] * width + spot_given[known])
    taken, read = among(spot, spot_given[known]), among(record, record_given[known])
    verdict = judge_acknowledged(AcknowledgedOffset(taken, read, confirmed))
    found: Facts = verdict == ClientVerdict.VIOLATED.value
    return found


def _once(record: Integers) -> Facts:
    counts = np.bincount(record[record >= 0], minlength=1)
    alone: Facts = (record < 0) | (counts[record] == 1)
    return alone


def _took_effect(history: Operations, proven: Facts) -> Facts:
    """Operations that succeeded, and those of unknown outcome with a record that was read."""
    read = np.zeros(len(history), np.bool_)
    read[history.sent.operation[proven]] = True
    ok = history.outcome == OperationResult.OK.value
    took_effect: Facts = ok | (read & (history.outcome == OperationResult.INFO.value))
    return took_effect


def _by_value(rows: tuple[Integers, Integers], known: Integers, known_place: Integers) -> Integers:
    """The places of rows of record and place; of one without an offset that of the one record with the same value."""
    record, place = rows
    here = (known >= 0) & (known_place >= 0)
    count = 1 + _last(record, known)
    first, last = extremes(known[here], known_place[here], max(1, count))
    only = np.where(first == last, first, NOWHERE)
    found: Integers = np.where((place < 0) & (record >= 0), only[record], place)
    return found


def _last(*numbers: Integers) -> int:
    return max(int(one.max(initial=-1)) for one in numbers)


def _place_of_spots(sent: Integers, given: Integers, spots: int) -> Integers:
    """Of each spot its place, and at the end that of no spot: those count at which something is known to lie."""
    is_place = np.zeros(spots + 1, np.bool_)
    is_place[sent] = True
    is_place[given] = True
    is_place[-1] = False
    return np.where(is_place, np.cumsum(is_place) - 1, NOWHERE)


def _of_places(*reported: tuple[OperationRecords, Integers]) -> tuple[Integers, Integers]:
    """Key and offset of each place."""
    places = 1 + _last(*(place for _, place in reported))
    key, offset = np.zeros(places, np.int64), np.zeros(places, np.int64)
    for records, place in reported:
        here = place >= 0
        key[place[here]] = records.key[here]
        offset[place[here]] = records.offset[here]
    return key, offset
