"""The client events of a trace, sorted onto the keys of the history rules: the reading of this process."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from model_tests.judging.compiled import Compiled, compiled
from model_tests.judging.history_links import (
    COLUMN_OF,
    EVENT_KINDS,
    HISTORY_CHAINS,
    NAMES,
    HistoryChain,
    begins_anew,
    number_of,
)
from model_tests.judging.inferred_faults import Happened
from model_tests.judging.step_assumptions import FAULTS, Fault, came_back_shorter, fault_of
from model_tests.traces.schema import Row
from spec.algebra import Term
from spec.judging.judge import RuleCheck
from spec.judging.judge_history import ClientEvent, EventKind
from spec.readings.formulas import Sheet
from spec.vocabulary import ABSENT

NOTHING_REPORTED: Final[Mapping[str, Any]] = {
    field.name: getattr(ClientEvent(), field.name) for field in fields(ClientEvent)
}
"""The client event before the first."""

READ: Final = frozenset(
    (
        *("step", "api", "topic", "partition", "profile", "transaction_version", "delivered"),
        *("before_epoch", "appended", "elected_uncleanly", "producer_id"),
        *("before_log_end", "after_log_end", "after_high_watermark"),
    )
)
"""Columns of a step that are looked at here, whatever client event it is."""

_CHAINS_OF: Final[Mapping[EventKind, tuple[tuple[int, HistoryChain], ...]]] = {
    event: tuple((number, chain) for number, chain in HISTORY_CHAINS.items() if event in chain.events)
    for event in EventKind
}


Key: TypeAlias = tuple[object, ...]
"""The number of a chain, and what distinguishes one such chain of a trace from another, whatever the session."""


class _Member(NamedTuple):
    """A client event on a key: by what it is sorted, what it is, and its mark."""

    at: int
    step: int
    reported: Mapping[str, Any]
    mark: int | None
    row: Row


class JudgedEvent(NamedTuple):
    """A client event on a chain of some number, with what came before it there.

    Attributes:
        until: the step of the last client event among it and those before it on the chain, in the order of the trace.
    """

    number: int
    row: Row
    reported: Mapping[str, Any]
    previous: Mapping[str, Any]
    latest: int
    until: int

    def scalar(self, name: str) -> Any:
        """The value by the name that the rules have for it."""
        if name == "latest":
            return self.latest
        return self.previous[name.removeprefix("previous_")] if name.startswith("previous_") else self.reported[name]

    def checks(self) -> Iterator[tuple[str, RuleCheck]]:
        """Name and check of every rule of the chain."""
        reported, previous = ClientEvent(**self.reported), ClientEvent(**self.previous)
        for link in HISTORY_CHAINS[self.number].links:
            yield link.name, link.check(reported, previous, self.latest)

    @property
    def arguments(self) -> tuple[Mapping[str, Any], ...]:
        """What a compiled judge of histories takes."""
        return self.reported, self.previous, {"latest": self.latest}


@dataclass(slots=True)
class Histories:
    """The client events of one trace.

    Attributes:
        faults: that its steps have shown (`Fault`).
        happened: the same, each with its step and partition.
        rows: every step so far.
        names: the numbers that names have in client events.
        only: keys of which alone the client events are judged; all where it is not given.
    """

    only: frozenset[Key] | None = None

    faults: int = 0
    happened: list[Happened] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    _committed: dict[tuple[str, int], int] = field(default_factory=dict)
    """The highest watermark that any step has shown, by partition."""
    _resets: int = 0
    names: dict[str, int] = field(default_factory=dict)
    _members: dict[Key, list[_Member]] = field(default_factory=lambda: defaultdict(list))

    def add(self, row: Row) -> None:
        """The next step of the trace."""
        self.rows.append(row)
        if row["after_high_watermark"] > 0:
            log = row["topic"], row["partition"]
            self._committed[log] = max(self._committed.get(log, 0), row["after_high_watermark"])
        if row["api"] in FAULTS or row["elected_uncleanly"] or (row["appended"] and row["before_epoch"] < 0):
            fault = int(fault_of(row.__getitem__)) | self._lost(row)
            self.faults |= fault
            if fault:
                self.happened.append(Happened(row["step"], fault, row["topic"], row["partition"], row["producer_id"]))
        event = EVENT_KINDS.get(row["api"])
        if event is None or (event is EventKind.TAKEN and row["delivered"] is None):
            return
        self._resets += bool(_anew()(row)[0])
        reported: Mapping[str, Any] = {}
        for number, chain, place_of in _places_of(event):
            is_member, marks, mark, at, *key = place_of(row)
            if is_member and (self.only is None or (number, *key) in self.only):
                reported = reported or self._reported(row, event)
                session = self._resets if chain.in_session else 0
                member = _Member(at, row["step"], reported, mark if marks else None, row)
                self._members[number, *key, session].append(member)

    def _lost(self, row: Row) -> int:
        """A broker came back without what was committed, whether it knew that it was or not."""
        committed = self._committed.get((row["topic"], row["partition"]), 0)
        lost = came_back_shorter(row.__getitem__) and row["after_log_end"] < committed
        return Fault.UNCLEAN if lost else 0

    def judged(self) -> Iterator[JudgedEvent]:
        """Every client event on every chain that it is on."""
        for key, members in self._members.items():
            previous, latest, until = NOTHING_REPORTED, ABSENT, ABSENT
            for member in sorted(members, key=lambda each: each[:2]):
                until = max(until, member.step)
                yield JudgedEvent(int(str(key[0])), member.row, member.reported, previous, latest, until)
                previous, latest = member.reported, latest if member.mark is None else member.mark

    def _reported(self, row: Row, event: EventKind) -> Mapping[str, Any]:
        reported: dict[str, Any] = dict(zip(COLUMN_OF, _columns_reported(row), strict=True))
        reported["event"] = event.value
        if row["delivered"] is None:
            reported |= {"batch_count": ABSENT, "delivered": False}
        for name in NAMES:
            reported[name] = number_of(self.names, reported[name])
        return reported


def is_on_chain(row: Row) -> bool:
    """Whether a step is a client event that is compared with other client events."""
    event = EVENT_KINDS.get(row["api"])
    if event is None or (event is EventKind.TAKEN and row["delivered"] is None):
        return False
    return any(_place_of(number, event)(row)[0] for number, _ in _CHAINS_OF[event])


def key_on(number: int, row: Row) -> Key:
    """The key of the chain of this number that a row is on."""
    _, _, _, _, *key = _place_of(number, EVENT_KINDS[row["api"]])(row)
    return number, *key


_columns_reported: Final = itemgetter(*COLUMN_OF.values())


@cache
def _anew() -> Compiled:
    return compiled({"anew": begins_anew(Sheet().column)})


@cache
def _places_of(event: EventKind) -> tuple[tuple[int, HistoryChain, Compiled], ...]:
    """The chains that a client event may be on, each with its number and the place there."""
    return tuple((number, chain, _place_of(number, event)) for number, chain in _CHAINS_OF[event])


@cache
def _place_of(number: int, event: EventKind) -> Compiled:
    """Of a row with this client event: whether it is on a chain of the number, its mark, its place, and the key."""
    sheet, chain = Sheet(), HISTORY_CHAINS[number]

    def of(name: str) -> Term:
        return event.value if name == "event" else sheet.column(name)

    marks, mark = chain.mark(of)
    key = [text(of) if callable(text) else of(text) for text in chain.texts] + [of(name) for name in chain.numbers]
    results = {"is_member": chain.members(of), "marks": marks, "mark": mark, "at": chain.at(of)}
    return compiled(results | {f"key_{place}": part for place, part in enumerate(key)})
