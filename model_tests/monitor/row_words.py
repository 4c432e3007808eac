"""What a row says, in a few words: what was asked for, the answer, and what changed."""

from collections.abc import Sequence
from enum import IntEnum
from itertools import takewhile
from typing import Final

from model_tests.judging.coordinator_verdicts import branch_names, is_coordinators
from model_tests.judging.judges import append_judge, coordinator_judge
from model_tests.traces.schema import BY_NAME, Row
from reference.recording.recorder import ASSIGNMENTS, FIRST_FREE_ID, GROUP_LEADER, RECORD_VERSION
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


def in_one(texts: Sequence[str]) -> str:
    """Several texts in one: the words with which all of them begin and end are there once."""
    split = [text.split() for text in dict.fromkeys(texts)]
    first = _alike(split)
    last = _alike([each[first:][::-1] for each in split])
    differ = ", ".join(" ".join(each[first : len(each) - last]) for each in split)
    return words(*split[0][:first], differ, *split[0][len(split[0]) - last :])


def _alike(texts: Sequence[Sequence[str]]) -> int:
    """With how many words all texts begin."""
    return sum(1 for _ in takewhile(lambda found: len(set(found)) == 1, zip(*texts, strict=False)))


def request_text(row: Row, records: str = "") -> str:
    """What a step asked for, in a few words; `records` names those that it is about."""
    if row["origin"] >= 0:
        return words(partition_of(row), records or _kind(row), _identity(row), _sequences(row), _coordinator(row))
    outcome = ("commit" if row["committed"] else "abort") if row["api"] == Api.END_TXN else ""
    offset = f"offset {row['offset']}" if row["offset"] >= 0 and row["api"] != Api.OFFSET_FETCH else ""
    passed_over = "passed over" if row["api"] == "ClientFetched" and not row["delivered"] else ""
    about = words(row["transactional_id"], _identity(row), _expected(row), partition_of(row), outcome, offset)
    return words(about, _membership(row), _replicas(row), _record_of_ids(row), records, passed_over, _coordinator(row))


def answered(row: Row) -> str:
    """What was answered: error, offset or identity, and the branch of the decision that should have decided."""
    branch = decided_by(row)
    return words(answer_text(row), f"[{branch}]" if branch else "")


def answer_text(row: Row) -> str:
    """The answer itself."""
    offset = f"at {row['first_offset']}" if row["first_offset"] >= 0 else ""
    handed = f"{row['reply_producer_id']}/{row['reply_epoch']}" if row["reply_producer_id"] >= 0 else ""
    known = "duplicate" if row["duplicate"] else ""
    return words(_name(ErrorCode, row["error"]), offset, handed, _given(row), known)


def _given(row: Row) -> str:
    """What else the answer has, by what was asked for."""
    match row["api"]:
        case "ConsumerFetch" if not row["batch_count"] and not row["error"]:
            return "nothing"
        case Api.JOIN_GROUP:
            leads = row["member"] and row["member"] == row.get(GROUP_LEADER)
            return f"{_membership(row)}, which it leads" if leads else _membership(row)
        case Api.SYNC_GROUP if not row["error"]:
            return partition_of(row) or "no partitions"
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
    return words(", ".join(filter(None, (member, generation))), assigned)


def _record_of_ids(row: Row) -> str:
    """The record of the producer ids that are handed out, as it is or is to be."""
    return f"version {row[RECORD_VERSION]}, free from {row[FIRST_FREE_ID]}" if RECORD_VERSION in row else ""


def partition_of(row: Row) -> str:
    """The partition that a row is about; empty if it is about none."""
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
    return words(identity, _name(TransactionState, row["after_txn_state"]), partitions, pending)


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


def words(*parts: str) -> str:
    """Those parts of a text that are not empty."""
    return " ".join(filter(None, parts))
