"""A trace as a sequence diagram: a step is a request, its answer, and the change of state."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final

from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note
from model_tests.judging.coordinator_verdicts import branch_names, is_coordinators
from model_tests.judging.judges import append_judge, coordinator_judge
from model_tests.traces.schema import BY_NAME, Row
from spec.protocol.append import names
from spec.versions import PROFILES
from spec.vocabulary import Api, ControlType, ErrorCode, TransactionState

_OF_ENTRY: Final = [name for name in BY_NAME if name.startswith("after_")]


def sequence_of(rows: Sequence[Row], title: str, ending: Ending) -> events.Sequence:
    """The diagram of some steps of one trace; clients stand before nodes."""
    steps = tuple(tuple(_events(row, again)) for row, again in zip(rows, _copies(rows), strict=True))
    clients = dict.fromkeys(row["client"] for row in rows if row["client"])
    nodes = dict.fromkeys(sorted(row["node"] for row in rows if row["node"]))
    order = [*(client for client in clients if client not in nodes), *nodes, "?"]
    first = rows[0]["step"] if rows else 1
    return events.Sequence(title, events.participants_of(steps, order), steps, ending, first)


def request_text(row: Row) -> str:
    """What a step asked for, in a few words."""
    if row["origin"] >= 0:
        return _words(_partition(row), _kind(row), _identity(row), _sequences(row))
    outcome = ("commit" if row["committed"] else "abort") if row["api"] == Api.END_TXN else ""
    offset = f"offset {row['offset']}" if row["offset"] >= 0 else ""
    return _words(row["transactional_id"], _identity(row), _partition(row), outcome, offset)


def answered(row: Row) -> str:
    """What was answered: error, offset or identity, and the branch of the decision that should have decided."""
    offset = f"at {row['first_offset']}" if row["first_offset"] >= 0 else ""
    handed = f"{row['reply_producer_id']}/{row['reply_epoch']}" if row["reply_producer_id"] >= 0 else ""
    branch = decided_by(row)
    return _words(_name(ErrorCode, row["error"]), offset, handed, f"[{branch}]" if branch else "")


def decided_by(row: Row) -> str:
    """Name of the branch that decides the step; empty where no decision is about it."""
    if row["origin"] >= 0:
        return names(PROFILES[row["profile"]])[append_judge(row["profile"])(row)[0]]
    if is_coordinators(row):
        branch = coordinator_judge(row["api"], row["profile"], row["transaction_version"])(row)[0]
        return branch_names(row["api"])[branch]
    return ""


def left(row: Row) -> str:
    """What the step changed, as it is afterwards; empty where nothing is different."""
    changed = {name for name in _OF_ENTRY if row[name] != row[name.replace("after_", "before_")]}
    if not changed:
        return ""
    return "; ".join(filter(None, (_transaction(row), _entry(row), _log(row, changed))))


def _events(row: Row, again: bool) -> Iterator[Event]:
    client, node = row["client"], row["node"]
    text = _words(row["api"], request_text(row))
    if client and node and client != node:
        mark = Mark.REFUSED if row["error"] > 0 else Mark.AGAIN if again else Mark.PLAIN
        yield DrawnMessage(client, node, f"{text} → {answered(row)}", mark)
        state = left(row)
    else:
        failed = answered(row) if row["error"] > 0 or decided_by(row) else ""
        yield Note(node or client or "?", _words(text, f"→ {failed}" if failed else ""))
        state = left(row)
    if state:
        yield Note(node or client or "?", state)


def _copies(rows: Iterable[Row]) -> Iterator[bool]:
    """For each step, whether the same sending was handled before."""
    seen: set[tuple[str, int]] = set()
    for row in rows:
        sending = row["api"], row["message"]
        yield sending in seen and row["message"] >= 0
        seen.add(sending)


def _partition(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}" if row["topic"] else ""


def _kind(row: Row) -> str:
    """What kind of batch is to be appended."""
    if row["control"]:
        return f"marker {_name(ControlType, row['control_type'])}"
    return "transactional" if row["transactional"] else "data"


def _sequences(row: Row) -> str:
    first, last = row["base_sequence"], row["base_sequence"] + row["last_offset_delta"]
    if first < 0:
        return ""
    return f"seq {first}" if first == last else f"seq {first}..{last}"


def _identity(row: Row) -> str:
    return f"{row['producer_id']}/{row['producer_epoch']}" if row["producer_id"] >= 0 else ""


def _transaction(row: Row) -> str:
    if row["after_txn_state"] < 0:
        return "forgotten" if row["before_txn_state"] >= 0 else ""
    pending = f"→ {_name(TransactionState, row['after_txn_pending'])}" if row["after_txn_pending"] >= 0 else ""
    identity = f"{row['after_txn_producer_id']}/{row['after_txn_epoch']}"
    return _words(identity, _name(TransactionState, row["after_txn_state"]), pending)


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
