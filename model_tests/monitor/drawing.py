"""A trace as a sequence diagram: a step is a request, its answer, and the change of state.

A run that is recorded with annotations shows its messages: a request where it arrives, and its answer where that
arrives. Of other traces, a file or a replay, a step has both on one arrow.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note
from model_tests.monitor.row_words import (
    answer_text,
    answered,
    decided_by,
    in_one,
    left,
    partition_of,
    request_text,
    words,
)
from model_tests.traces.schema import Row
from reference.recording.recorder import FATE, Fate
from spec.vocabulary import ErrorCode

_ANSWERS: Final = (Fate.ANSWERED, Fate.ANSWER_LOST)
_TAKEN: Final = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
"""Errors that refuse nothing: with the latter a new member gets its id."""


def client_of(row: Row) -> str:
    """Who asks, by the name that rows give it."""
    return str(row["client"])


def node_of(row: Row) -> str:
    """Who handles it, likewise."""
    return str(row["node"])


def unnamed(_: Row) -> str:
    """Nothing: neither records nor transactions are named."""
    return ""


@dataclass(frozen=True, slots=True)
class Captions:
    """What a drawing calls the things that rows number.

    Attributes:
        client: the participant that asks in a step.
        node: the participant that handles it.
        records: the records of its client that a step is about.
        order: participants from left to right, all of them; if empty, clients stand before nodes.
        transaction: the transaction that a request belongs to.
    """

    client: Callable[[Row], str] = client_of
    node: Callable[[Row], str] = node_of
    records: Callable[[Row], str] = unnamed
    order: tuple[str, ...] = ()
    transaction: Callable[[Row], str] = unnamed


def sequence_of(rows: Sequence[Row], title: str, ending: Ending, captions: Captions | None = None) -> events.Sequence:
    """The diagram of some steps of one trace.

    Args:
        rows: the steps.
        title: of the diagram.
        ending: its last line.
        captions: names that are not those of the rows.
    """
    drawing = _Drawing(rows, captions or Captions())
    steps = drawing.steps()
    first = rows[0]["step"] if rows and not drawing.shows_messages else 1
    return events.Sequence(title, events.participants_of(steps, drawing.order()), steps, ending, first)


class _Drawing:
    """One trace while it is drawn.

    Attributes:
        shows_messages: whether the trace says what became of messages.
    """

    def __init__(self, rows: Sequence[Row], captions: Captions) -> None:
        self.shows_messages = any(FATE in row for row in rows)
        self._rows = rows
        self._captions = captions
        self._handled: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._given_up: set[tuple[str, int]] = set()
        self._waiting: set[tuple[tuple[str, int], str]] = set()
        self._in_logs: dict[tuple[str, int, int], str] = {}

    def order(self) -> tuple[str, ...]:
        """Participants from left to right; clients stand before nodes."""
        if self._captions.order:
            return tuple(dict.fromkeys(self._captions.order))
        clients = dict.fromkeys(self._captions.client(row) for row in self._rows if row["client"])
        nodes = dict.fromkeys(sorted(self._captions.node(row) for row in self._rows if row["node"]))
        return (*(client for client in clients if client not in nodes), *nodes, "?")

    def steps(self) -> tuple[tuple[Event, ...], ...]:
        """The events of each step, which may have several rows.

        Where messages are shown, the partitions of a request are one step, and so is an answer that comes at once.
        """
        steps: list[tuple[Event, ...]] = []
        before: Row | None = None
        for rows in _moments(self._rows):
            continues = before is not None and self._continues(before, rows[0])
            drawn = tuple(self._events(rows))
            if continues:
                steps[-1] += drawn
            else:
                steps.append(drawn)
            before = rows[-1]
        return tuple(steps)

    def _continues(self, before: Row, row: Row) -> bool:
        if not self.shows_messages:
            return False
        if row["step"] == before["step"]:
            return True
        sending = _sending(row)
        if row.get(FATE) in _ANSWERS:
            known = row["message"] < 0 or sending in self._handled
            return bool(known and (before["client"], before["node"]) == (row["client"], row["node"]))
        if sending == _sending(before) and sending in self._handled:
            return partition_of(row) not in self._handled[sending]
        return bool(row["api"] == "ClientFetched" and row["client"] == before["client"])

    def _events(self, rows: Sequence[Row]) -> Iterator[Event]:
        row = rows[0]
        client, node = self._captions.client(row), self._captions.node(row)
        match row.get(FATE):
            case None:
                yield from self._step(row, client, node)
            case Fate.REMARK:
                yield Note(node or client, row["api"])
            case Fate.SENT:
                yield Note(client, f"sends {self._request(rows)}")
            case Fate.ARRIVED:
                self._waiting |= {(_sending(each), partition_of(each)) for each in rows}
                yield self._arriving(rows, client, node)
            case Fate.GIVEN_UP:
                self._given_up.add(_sending(row))
                yield Note(client, f"waits no longer for the answer to {self._request(rows)}")
            case Fate.LOST:
                yield DrawnMessage(client, node, self._request(rows), Mark.LOST)
            case Fate.REFUSED:
                yield DrawnMessage(node, client, row["api"], Mark.REFUSED)
            case fate:
                if row["message"] >= 0 and _sending(row) not in self._handled:
                    yield self._arriving(rows, client, node)  # its node left no step
                refused = Mark.REFUSED if any(each["error"] not in _TAKEN for each in rows) else Mark.PLAIN
                yield DrawnMessage(node, client, self._answer(rows), Mark.LOST if fate == Fate.ANSWER_LOST else refused)

    def _arriving(self, rows: Sequence[Row], client: str, node: str) -> DrawnMessage:
        marks = [self._mark(row) for row in rows]
        return DrawnMessage(client, node, self._request(rows), marks[0])

    def _step(self, row: Row, client: str, node: str) -> Iterator[Event]:
        text, state, part = self._request([row]), left(row), (_sending(row), partition_of(row))
        between = client and node and client != node and part not in self._waiting
        self._waiting.discard(part)
        mark = self._mark(row)
        if between and self.shows_messages and row["message"] >= 0:
            yield DrawnMessage(client, node, text, mark)
            state = "; ".join(filter(None, (decided_by(row), state)))
        elif between:
            yield DrawnMessage(client, node, f"{text} → {answered(row)}", Mark.REFUSED if row["error"] > 0 else mark)
        else:
            failed = answered(row) if row["error"] > 0 or decided_by(row) else ""
            yield Note(node or client or "?", words(text, f"→ {failed}" if failed else ""))
        if state:
            yield Note(node or client or "?", state)

    def _mark(self, row: Row) -> Mark:
        """Whether the same sending was handled before, or comes when nobody waits for its answer any more."""
        if row["message"] < 0:
            return Mark.PLAIN
        sending, partition = _sending(row), partition_of(row)
        again, late = partition in self._handled[sending], sending in self._given_up
        self._handled[sending].add(partition)
        return Mark.AGAIN if again else Mark.LATE if late else Mark.PLAIN

    def _request(self, rows: Sequence[Row]) -> str:
        text = in_one([request_text(row, self._records(row)) for row in rows])
        return words(rows[0]["api"], text, self._captions.transaction(rows[0]))

    def _answer(self, rows: Sequence[Row]) -> str:
        """The answer, with its partitions where the request was about several."""
        several = len(self._handled.get(_sending(rows[0]), ())) > 1
        return in_one([words(partition_of(row) if several else "", answer_text(row)) for row in rows])

    def _records(self, row: Row) -> str:
        """Names of the records that a step is about: those of their writer, or those at the same place in the log."""
        place = (row["topic"], row["partition"], row["first_offset"])
        named = self._captions.records(row)
        if row["api"] == "ReplicaFetch":
            named = self._in_logs.get(place, "")
        elif row["appended"]:
            self._in_logs[place] = named
        return named


def _moments(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Steps and annotations; what is annotated of one message, a row for each partition, is together."""
    together: list[Row] = []
    for row in rows:
        if together and not _is_of_message(row, together):
            yield together
            together = []
        together.append(row)
    if together:
        yield together


def _is_of_message(row: Row, others: Sequence[Row]) -> bool:
    """Whether an annotation says of one more partition what others say."""
    if FATE not in row or row["message"] < 0:
        return False
    same = all(row.get(name) == others[0].get(name) for name in (FATE, "api", "client", "node", "message"))
    return same and partition_of(row) not in map(partition_of, others)


def _sending(row: Row) -> tuple[str, int]:
    """Which request of which client it is, whatever its partition."""
    return row["client"], row["message"]
