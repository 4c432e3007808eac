"""Histories of Jepsen's workload for Kafka (`jepsen.tests.kafka`), as `history.edn` has them.

An operation is a map with `:type` (`:invoke`, and one of `:ok`, `:fail`, `:info`), `:f`, `:value`, `:process` and
mostly `:index`. Those of `:f` `:send`, `:poll` and `:txn` have micro-operations `[:send key value]`, `[:send key
[offset value]]` and `[:poll {key [[offset value] ...]}]`; `:assign` and `:subscribe` a list of keys. Values need to be
unique on a key. A line of the same store's `history.txt`, which has process, type, function, value and error between
tabs, is read as such a map.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from model_tests.histories.building import Building, reported_offset
from model_tests.histories.edn import UnreadForm, forms
from model_tests.histories.operations import OperationResult, Operations
from spec.judging.judge_clients import ReaderAssignment

_OUTCOMES: Final = {":ok": OperationResult.OK, ":info": OperationResult.INFO, ":fail": OperationResult.FAIL}
_TRANSACTIONS: Final = (":send", ":poll", ":txn")
_NOT_INVOKED: Final[tuple[int, int, Mapping[str, Any]]] = (0, 0, {})
"""An operation whose beginning the history does not have may have begun at any time."""

_PLACING: Final = {":assign": ReaderAssignment.ASSIGN, ":subscribe": ReaderAssignment.SUBSCRIBE}

_MISSING: Final = "operations are missing: the indices have gaps"


def from_edn(lines: Iterable[str]) -> Operations:
    """The history that the lines of a file hold; what is no operation is set aside and counted."""
    reading = _EdnReading()
    for line, form in forms(map(_as_map, lines)):
        reading.add(line, form)
    return reading.done()


IN_TABS: Final = re.compile(
    r"(?P<process>\d+|:[\w-]+)\t(?P<type>:invoke|:ok|:info|:fail)\t(?P<f>:[\w-]+)\t(?P<value>[^\t]*)"
)
"""A line of `history.txt`."""


def _as_map(line: str) -> str:
    """A line of `history.txt` as a map; any other as it is."""
    found = IN_TABS.match(line)
    if found is None:
        return line
    return f"{{:process {found['process']}, :type {found['type']}, :f {found['f']}, :value {found['value'].strip()}}}\n"


def _short(error: Exception) -> str:
    return str(error).strip("'\"")[:80]


class _EdnReading:
    """Where a reading of a history is."""

    def __init__(self) -> None:
        self.building = Building()
        self._invoked: dict[object, tuple[int, int, Mapping[str, Any]]] = {}
        self._next: int | None = None

    def add(self, line: int, form: object) -> None:
        """The next form of the file; what cannot be read is set aside."""
        with self._damage_is_counted():
            self._add(line, form)

    @contextmanager
    def _damage_is_counted(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, KeyError) as error:
            self.building.set_aside(f"no operation: {_short(error)}")

    def _add(self, line: int, form: object) -> None:
        if isinstance(form, UnreadForm):
            raise ValueError(form.reason)
        if not isinstance(form, dict) or ":type" not in form:
            raise ValueError("not a map with :type")
        process, kind = form.get(":process"), form[":type"]
        index = self._index(line, form.get(":index"))
        if not isinstance(process, int) and process is not None:
            return  # the nemesis and the like
        self.building.tick()
        if kind == ":invoke":
            self._never_ends(process)
            self._invoked[process] = (self.building.now, index, form)
        elif kind in _OUTCOMES:
            invoked, _, _ = self._invoked.pop(process, _NOT_INVOKED)
            self._ends(form, index, _OUTCOMES[kind], invoked)
        else:
            raise ValueError(f"an operation of :type {kind!s:.40}")

    def done(self) -> Operations:
        """The history, with what never ended."""
        for process in list(self._invoked):
            self._never_ends(process)
        return self.building.built()

    def _index(self, line: int, index: object) -> int:
        if not isinstance(index, int):
            return line
        if index != (0 if self._next is None else self._next):
            self.building.partial[_MISSING] = None
        self._next = index + 1
        return index

    def _never_ends(self, process: object) -> None:
        """An operation after which the process has no more events: it is not known whether it happened."""
        if process in self._invoked:
            invoked, index, form = self._invoked.pop(process)
            with self._damage_is_counted():
                self._ends(form, index, OperationResult.INFO, invoked, ends=False)

    def _ends(
        self, form: Mapping[str, Any], index: int, outcome: OperationResult, invoked: int, *, ends: bool = True
    ) -> None:
        process, called = self.building.process(form.get(":process")), form.get(":f")
        if called in _TRANSACTIONS:
            parts = _parts(form.get(":value"))
            rebalanced = [key for event in form.get(":rebalance-log") or () for key in _keys_of(event)]
            self.building.breaks(process, None, rebalanced)
            operation = self.building.operation(process, index, outcome, called, invoked, ends=ends)
            for is_send, key, offset, value in parts:
                (self.building.sends if is_send else self.building.gives)(operation, key, offset, value)
        elif called in _PLACING and outcome is not OperationResult.FAIL:
            at_start = form.get(":seek-to-beginning?") is True
            self.building.begins_anew(process, _PLACING[called], form.get(":value") or (), at_start=at_start)


def _keys_of(event: object) -> tuple[object, ...]:
    return tuple(event.get(":keys") or ()) if isinstance(event, Mapping) else ()


_Part = tuple[bool, object, int, object]


def _parts(value: object) -> list[_Part]:
    """Of each record: whether it was sent, key, offset and value."""
    if value is None:
        return []
    if not isinstance(value, tuple):
        raise ValueError("the :value is no vector of micro-operations")
    found: list[_Part] = []
    for mop in value:
        if not isinstance(mop, tuple) or not mop:
            raise ValueError("a micro-operation is no vector")
        if mop[0] == ":send" and len(mop) == 3:
            found.append((True, mop[1], *_offset_and_value(mop[2])))
        elif mop[0] == ":poll":
            found += _polled(mop[1] if len(mop) > 1 else None)
        else:
            raise ValueError(f"a micro-operation {mop[0]!s:.40}")
    return found


def _polled(given: object) -> list[_Part]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ValueError("a :poll gives no map")
    return [(False, key, *_pair(pair)) for key, pairs in given.items() for pair in pairs or ()]


def _offset_and_value(reported: object) -> tuple[int, object]:
    """The offset and the value of a record that was sent: a pair once it is known."""
    return _pair(reported) if isinstance(reported, tuple) and len(reported) == 2 else (-1, reported)


def _pair(pair: object) -> tuple[int, object]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError("no pair of offset and value")
    return reported_offset(pair[0]), pair[1]
