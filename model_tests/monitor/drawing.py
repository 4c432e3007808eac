"""A trace as a sequence diagram: a step is a request, its answer, and the change of state.

A run that is recorded with annotations shows its messages: a request where it arrives, and its answer where that
arrives. Of other traces, a file or a replay, a step has both on one arrow.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from typing import Final

from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note
from model_tests.judging.coordinator_verdicts import branch_names, is_coordinators
from model_tests.judging.judges import append_judge, coordinator_judge
from model_tests.traces.schema import BY_NAME, Row
from reference.recording.recorder import ASSIGNMENTS, FATE, FIRST_FREE_ID, GROUP_LEADER, RECORD_VERSION, Fate
from spec.protocol.append import names
from spec.versions import PROFILES
from spec.vocabulary import Api, ControlType, ErrorCode, TransactionState

_OF_ENTRY: Final = [name for name in BY_NAME if name.startswith("after_")]
_NOT_DECIDED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
"""Answers of a node that does not coordinate the id, and decides nothing about it."""

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
            return _partition(row) not in self._handled[sending]
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
                self._waiting |= {(_sending(each), _partition(each)) for each in rows}
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
        mark, *_ = [self._mark(row) for row in rows]
        return DrawnMessage(client, node, self._request(rows), mark)

    def _step(self, row: Row, client: str, node: str) -> Iterator[Event]:
        text, state, part = self._request([row]), left(row), (_sending(row), _partition(row))
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
            yield Note(node or client or "?", _words(text, f"→ {failed}" if failed else ""))
        if state:
            yield Note(node or client or "?", state)

    def _mark(self, row: Row) -> Mark:
        """Whether the same sending was handled before, or comes when nobody waits for its answer any more."""
        if row["message"] < 0:
            return Mark.PLAIN
        sending, partition = _sending(row), _partition(row)
        again, late = partition in self._handled[sending], sending in self._given_up
        self._handled[sending].add(partition)
        return Mark.AGAIN if again else Mark.LATE if late else Mark.PLAIN

    def _request(self, rows: Sequence[Row]) -> str:
        text = _in_one([request_text(row, self._records(row)) for row in rows])
        return _words(rows[0]["api"], text, self._captions.transaction(rows[0]))

    def _answer(self, rows: Sequence[Row]) -> str:
        """The answer, with its partitions where the request was about several."""
        several = len(self._handled.get(_sending(rows[0]), ())) > 1
        return _in_one([_words(_partition(row) if several else "", answer_text(row)) for row in rows])

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
    return same and _partition(row) not in map(_partition, others)


def _in_one(texts: Sequence[str]) -> str:
    """Several texts in one: the words with which all of them begin and end are there once."""
    words = [text.split() for text in dict.fromkeys(texts)]
    first = _alike(words)
    last = _alike([each[first:][::-1] for each in words])
    differ = ", ".join(" ".join(each[first : len(each) - last]) for each in words)
    return _words(*words[0][:first], differ, *words[0][len(words[0]) - last :])


def _alike(texts: Sequence[Sequence[str]]) -> int:
    """With how many words all texts begin."""
    return sum(1 for _ in takewhile(lambda found: len(set(found)) == 1, zip(*texts, strict=False)))


def request_text(row: Row, records: str = "") -> str:
    """What a step asked for, in a few words; `records` names those that it is about."""
    if row["origin"] >= 0:
        return _words(_partition(row), records or _kind(row), _identity(row), _sequences(row), _coordinator(row))
    outcome = ("commit" if row["committed"] else "abort") if row["api"] == Api.END_TXN else ""
    offset = f"offset {row['offset']}" if row["offset"] >= 0 and row["api"] != Api.OFFSET_FETCH else ""
    passed_over = "passed over" if row["api"] == "ClientFetched" and not row["delivered"] else ""
    about = _words(row["transactional_id"], _identity(row), _expected(row), _partition(row), outcome, offset)
    return _words(about, _membership(row), _replicas(row), _record_of_ids(row), records, passed_over, _coordinator(row))


def answered(row: Row) -> str:
    """What was answered: error, offset or identity, and the branch of the decision that should have decided."""
    branch = decided_by(row)
    return _words(answer_text(row), f"[{branch}]" if branch else "")


def answer_text(row: Row) -> str:
    """The answer itself."""
    offset = f"at {row['first_offset']}" if row["first_offset"] >= 0 else ""
    handed = f"{row['reply_producer_id']}/{row['reply_epoch']}" if row["reply_producer_id"] >= 0 else ""
    known = "duplicate" if row["duplicate"] else ""
    return _words(_name(ErrorCode, row["error"]), offset, handed, _given(row), known)


def _given(row: Row) -> str:
    """What else the answer has, by what was asked for."""
    match row["api"]:
        case "ConsumerFetch" if not row["batch_count"] and not row["error"]:
            return "nothing"
        case Api.JOIN_GROUP:
            leads = row["member"] and row["member"] == row.get(GROUP_LEADER)
            return f"{_membership(row)}, which it leads" if leads else _membership(row)
        case Api.SYNC_GROUP if not row["error"]:
            return _partition(row) or "no partitions"
        case Api.OFFSET_FETCH if not row["error"]:
            return f"offset {row['offset']}" if row["offset"] >= 0 else "no offset"
        case _:
            return _record_of_ids(row)


def decided_by(row: Row) -> str:
    """Name of the branch that decides the step; empty where no decision is about it."""
    if row["verification_refused"] or row["profile"] not in PROFILES:
        return ""
    if row["origin"] >= 0:
        return names(PROFILES[row["profile"]])[append_judge(row["profile"])(row)[0]]
    if is_coordinators(row) and row["error"] not in _NOT_DECIDED:
        branch = coordinator_judge(row["api"], row["profile"], row["transaction_version"])(row)[0]
        return branch_names(row["api"])[branch]
    return ""


def left(row: Row) -> str:
    """What the step changed, as it is afterwards; empty where nothing is different."""
    changed = {name for name in _OF_ENTRY if row[name] != row[name.replace("after_", "before_")]}
    if not changed:
        return ""
    return "; ".join(filter(None, (_transaction(row), _entry(row), _log(row, changed))))


def _replicas(row: Row) -> str:
    """What brokers and controllers decide about replicas."""
    broker = f"broker {row['broker']}" if row["broker"] >= 0 else ""
    match row["api"]:
        case "LeaderElection" if row["elected"] < 0:
            return "finds no replica that may lead"
        case "LeaderElection":
            how = "not in sync" if row["elected_uncleanly"] else row["election"]
            return f"broker {row['elected']} leads, leader epoch {row['leader_epoch_after']} ({how})"
        case "AlterPartition":
            return f"of {broker}: {row['proposed_size']} in sync instead of {row['insync_size']}"
        case "ReplicaLagCheck":
            return f"{broker} lags (replica.lag.time.max.ms)" if row["lagging"] else broker
        case "BrokerFenced":
            return f"{broker}: its session has timed out"
        case "ReplicaTruncate" if row["truncated_to"] >= 0:
            return f"drops from offset {row['truncated_to']} on"
        case "ControllerElection":
            return f"controller epoch {row['controller_epoch_after']}"
        case "LeaderAndIsr":
            return f"controller epoch {row['asked_controller_epoch']}"
        case _:
            return broker


def _membership(row: Row) -> str:
    """The member of a group and its generation."""
    member = f"as {row['member']}" if row["member"] else ""
    generation = f"generation {row['generation']}" if row["generation"] >= 0 else ""
    count = row.get(ASSIGNMENTS, 0)
    assigned = f"with {count} assignment{'s' if count > 1 else ''}" if count else ""
    return _words(", ".join(filter(None, (member, generation))), assigned)


def _record_of_ids(row: Row) -> str:
    """The record of the producer ids that are handed out, as it is or is to be."""
    return f"version {row[RECORD_VERSION]}, free from {row[FIRST_FREE_ID]}" if RECORD_VERSION in row else ""


def _sending(row: Row) -> tuple[str, int]:
    """Which request of which client it is, whatever its partition."""
    return row["client"], row["message"]


def _partition(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}" if row["topic"] else ""


def _kind(row: Row) -> str:
    """What kind of batch is to be appended."""
    if row["control"]:
        return f"marker {_name(ControlType, row['control_type'])}"
    return "transactional" if row["transactional"] else "data"


def _coordinator(row: Row) -> str:
    """The coordinator whose marker it is, or that loads its log."""
    return f"coordinator epoch {row['coordinator_epoch']}" if row["coordinator_epoch"] >= 0 else ""


def _sequences(row: Row) -> str:
    first, last = row["base_sequence"], row["base_sequence"] + row["last_offset_delta"]
    if first < 0:
        return ""
    return f"seq {first}" if first == last else f"seq {first}..{last}"


def _identity(row: Row) -> str:
    if row["producer_epoch"] < 0:
        return f"producer {row['producer_id']}" if row["producer_id"] >= 0 else ""
    return f"{row['producer_id']}/{row['producer_epoch']}"


def _expected(row: Row) -> str:
    """The identity that InitProducerId of a producer expects."""
    return f"{row['expected_producer_id']}/{row['expected_epoch']} expected" if row["expected_producer_id"] >= 0 else ""


def _transaction(row: Row) -> str:
    if row["after_txn_state"] < 0:
        return "forgotten" if row["before_txn_state"] >= 0 else ""
    pending = f"→ {_name(TransactionState, row['after_txn_pending'])}" if row["after_txn_pending"] >= 0 else ""
    identity = f"{row['after_txn_producer_id']}/{row['after_txn_epoch']}"
    partitions = f"of {row['after_txn_partitions']} partitions" if row["after_txn_partitions"] > 1 else ""
    return _words(identity, _name(TransactionState, row["after_txn_state"]), partitions, pending)


def _entry(row: Row) -> str:
    if row["after_epoch"] < 0:
        return f"{row['producer_id']} forgotten" if row["before_epoch"] >= 0 else ""
    opened = f", open from {row['after_txn_first_offset']}" if row["after_txn_first_offset"] >= 0 else ""
    identity = f"{row['producer_id']}/{row['after_epoch']}"
    return f"{identity}, last seq {row['after_cached_0_last_sequence']}{opened}"


def _log(row: Row, changed: set[str]) -> str:
    columns = {"end": "after_log_end", "HW": "after_high_watermark", "LSO": "after_last_stable"}
    return ", ".join(f"{name} {row[column]}" for name, column in columns.items() if column in changed)


def _name(kind: type[IntEnum], number: int) -> str:
    return kind(number).name if number in set(kind) else str(number)


def _words(*words: str) -> str:
    return " ".join(filter(None, words))
