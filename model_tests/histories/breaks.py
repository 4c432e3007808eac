"""Where processes stop reading on: the number of times that one lost a partition, or began anew, between two reads."""

import numpy as np

from model_tests.histories.operations import NEVER, Facts, Integers, OperationRecords, Operations


def broken_within(history: Operations, reported: OperationRecords, rows: Integers) -> Facts:
    """Of rows: the partition was given or taken away during the row's own operation."""
    at = history.completed[reported.operation[rows]]
    counts = _Counts(history)
    own: Facts = counts.broken(reported, rows, at) > counts.broken(reported, rows, at - 1)
    return own


def breaks_between(history: Operations, reported: OperationRecords, before: Integers, after: Integers) -> Integers:
    """Of pairs of rows of one process and key: how often it stopped reading on between them, both ends included.

    Args:
        history: as columns, or its file.
        reported: records, a row each.
        before: row of the earlier one.
        after: row of the later one.
    """
    counts = _Counts(history)
    first = history.completed[reported.operation[before]] - 1
    last = history.completed[reported.operation[after]]
    return counts.all(reported, after, last) - counts.all(reported, after, first)


class _Counts:
    """How often something had happened to a process, or to its partition, up to a place in the history."""

    def __init__(self, history: Operations) -> None:
        ends = history.completed[history.completed < NEVER]
        places = [ends, history.broken.at, history.reset.at]
        self._history = history
        self._width = 3 + max((int(one.max()) for one in places if len(one)), default=0)
        self._keys = max(1, len(history.keys))
        self._broken = np.sort(self._at(self._pair(history.broken.process, history.broken.key), history.broken.at))
        self._kept = np.sort(self._at(self._pair(history.kept.process, history.kept.key), history.kept.at))
        self._reset = np.sort(self._at(history.reset.process, history.reset.at))

    def broken(self, reported: OperationRecords, rows: Integers, at: Integers) -> Integers:
        """Explicit losses of the rows' partitions."""
        return self._upto(self._broken, self._pair_of(reported, rows), at)

    def all(self, reported: OperationRecords, rows: Integers, at: Integers) -> Integers:
        """Losses and new beginnings that did not go on with the partition."""
        pair = self._pair_of(reported, rows)
        process = self._history.process[reported.operation[rows]]
        anew = self._upto(self._reset, process, at) - self._upto(self._kept, pair, at)
        return anew + self._upto(self._broken, pair, at)

    def _pair_of(self, reported: OperationRecords, rows: Integers) -> Integers:
        return self._pair(self._history.process[reported.operation[rows]], reported.key[rows])

    def _pair(self, process: Integers, key: Integers) -> Integers:
        return process * self._keys + key

    def _at(self, who: Integers, at: Integers) -> Integers:
        return who * self._width + np.minimum(at, self._width - 1)

    def _upto(self, events: Integers, who: Integers, at: Integers) -> Integers:
        if not len(events):
            return np.zeros(len(who), np.int64)
        upto = np.searchsorted(events, self._at(who, at), side="right")
        return upto - np.searchsorted(events, self._at(who, np.zeros(len(who), np.int64)), side="left")
