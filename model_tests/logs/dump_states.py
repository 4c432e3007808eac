"""Records of `__transaction_state`, made again from what the decoder of `kafka-dump-log` printed.

Two spellings: `key: transaction_metadata::transactionalId=... payload: producerId:1,producerEpoch:0,state=...`, and
JSON with every field. The first leaves out when a transaction began, which is when the record that opens it was
written, and under which version its client spoke, which shows where its end bumps the epoch.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from model_tests.logs.dump_text import DumpedRecord
from reference.broker.transaction_record import PartitionsOfTopic, TransactionValue, encode_key
from reference.log.record import Record
from spec.vocabulary import ABSENT, Epoch, ProducerId, Timestamp, TransactionState

UNDECODED: Final = b"\x7f\xff"
"""Key of a record that no decoder printed: of an unknown version, so that readers pass it over."""

_KEY: Final = "transaction_metadata::transactionalId="
_VALUE: Final = re.compile(
    r"producerId:(?P<id>-?\d+),producerEpoch:(?P<epoch>-?\d+),state=(?P<state>\w+),partitions=\[(?P<partitions>.*)\],"
    r"txnLastUpdateTimestamp=(?P<updated>-?\d+),txnTimeoutMs=(?P<timeout>\d+)"
)
_BUMPING: Final = 2
"""Clients of this transaction version bump the epoch when they end a transaction."""

_COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_STATES: Final = {state.name.title().replace("_", ""): state for state in TransactionState}


State: TypeAlias = tuple[str, TransactionValue | None]
"""A transactional id, and its state in one record; None deletes it."""


def states_of(dumped: Iterable[DumpedRecord]) -> dict[int, State]:
    """The records of one partition by their offset, in order, as far as a decoder printed them."""
    found: dict[int, State] = {}
    begun: dict[str, list[int]] = {}  # offsets of the records of an id's transaction, the newest last
    for record in dumped:
        try:
            name, value = _decoded(record)
        except (KeyError, ValueError, TypeError):
            continue
        found[record.offset] = (name, value)
        if value is not None and record.key.startswith(_KEY):
            found[record.offset] = (name, _follows(begun.setdefault(name, []), found, value))
            begun[name].append(record.offset)
            _bumped_by_client(begun[name], found)
    return found


def encoded(state: State | None, delta: int) -> Record:
    """The record in bytes; one that no decoder printed has a key that readers pass over."""
    if state is None:
        return Record(delta, 0, UNDECODED, None)
    name, value = state
    return Record(delta, 0, encode_key(name), None if value is None else value.encode())


def _decoded(dumped: DumpedRecord) -> State:
    if dumped.key.startswith("{"):
        key, payload = json.loads(dumped.key), json.loads(dumped.payload or "null")
        name = str(key["data"]["transactionalId"])
        return name, None if payload is None else _from_json(int(payload["version"]), payload["data"])
    if not dumped.key.startswith(_KEY):
        raise ValueError(dumped.key)
    reported = _VALUE.fullmatch(dumped.payload)
    if reported is None and dumped.payload not in ("<DELETE>", ""):
        raise ValueError(dumped.payload)
    return dumped.key.removeprefix(_KEY), None if reported is None else _from_text(reported)


def _from_text(reported: re.Match[str]) -> TransactionValue:
    """As it was printed; when the transaction began is not known yet."""
    state = _STATES[reported["state"]]
    return TransactionValue(
        version=0,
        producer_id=ProducerId(int(reported["id"])),
        epoch=Epoch(int(reported["epoch"])),
        timeout_ms=int(reported["timeout"]),
        status=int(state),
        partitions=None if state is TransactionState.EMPTY else _partitions(reported["partitions"]),
        updated_ms=Timestamp(int(reported["updated"])),
        started_ms=Timestamp(ABSENT),
    )


def _follows(begun: list[int], found: Mapping[int, State], value: TransactionValue) -> TransactionValue:
    """The value with its beginning: a transaction begins with the first record of Ongoing after one that has none."""
    before = found[begun[-1]][1] if begun else None
    if value.status == TransactionState.EMPTY:
        begun.clear()
        return value
    opens = value.status == TransactionState.ONGOING and (before is None or before.status != TransactionState.ONGOING)
    if opens:
        begun.clear()
    started = value.updated_ms if opens or before is None else before.started_ms
    return replace(value, started_ms=started)


def _bumped_by_client(begun: list[int], found: dict[int, State]) -> None:
    """Where a commit bumps the epoch, or the end draws another producer id, the client was of version 2 all along.

    An abort that goes two epochs further is the coordinator's own, which then notes that version itself.
    """
    *earlier, last = (found[offset][1] for offset in begun)
    before = earlier[-1] if earlier else None
    if last is None or before is None:
        return
    bumps = last.status == TransactionState.PREPARE_COMMIT and last.epoch == before.epoch + 1
    rotates = last.status in _COMPLETE and last.producer_id != before.producer_id
    fences = last.status == TransactionState.PREPARE_ABORT and last.epoch == before.epoch + 2
    goes_on = before.client_version == _BUMPING
    for offset in begun if bumps or rotates else begun[-1:] if fences or goes_on else ():
        name, value = found[offset]
        found[offset] = (name, None if value is None else replace(value, version=1, client_version=_BUMPING))


def _partitions(listed: str) -> tuple[PartitionsOfTopic, ...]:
    topics: dict[str, list[int]] = {}
    for name in filter(None, (each.strip() for each in listed.split(","))):
        topic, _, number = name.rpartition("-")
        topics.setdefault(topic, []).append(int(number))
    return tuple(PartitionsOfTopic(topic, tuple(numbers)) for topic, numbers in topics.items())


def _from_json(version: int, data: dict[str, Any]) -> TransactionValue:
    partitions = data["transactionPartitions"]
    return TransactionValue(
        version=version,
        producer_id=ProducerId(data["producerId"]),
        epoch=Epoch(data["producerEpoch"]),
        timeout_ms=data["transactionTimeoutMs"],
        status=data["transactionStatus"],
        partitions=None
        if partitions is None
        else tuple(PartitionsOfTopic(each["topic"], tuple(each["partitionIds"])) for each in partitions),
        updated_ms=Timestamp(data["transactionLastUpdateTimestampMs"]),
        started_ms=Timestamp(data["transactionStartTimestampMs"]),
        previous_producer_id=ProducerId(data.get("previousProducerId", ABSENT)),
        next_producer_id=ProducerId(data.get("nextProducerId", ABSENT)),
        client_version=data.get("clientTransactionVersion", 0),
        next_epoch=Epoch(data.get("nextProducerEpoch", ABSENT)),
    )
