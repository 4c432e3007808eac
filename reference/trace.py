"""The trace schema: one step is one flat row of typed columns, and says everything needed to judge it.

A step is one request handled by one node: what was asked, by whom, of which partition or transactional id; the
answer; and the touched state before and after. Absent is the protocol's own -1 (or the empty string), never
null. The same columns are written as Python dictionaries, Arrow, Parquet and NDJSON.
"""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

SCHEMA_VERSION: Final = 1
"""Raised whenever a column changes its meaning; columns are only ever added."""


@unique
class Kind(StrEnum):
    """Type of a column. Integers are 64 bits wide in every storage."""

    INTEGER = "integer"
    BOOLEAN = "boolean"
    TEXT = "text"


ABSENT_OF: Final[dict[Kind, int | bool | str]] = {Kind.INTEGER: -1, Kind.BOOLEAN: False, Kind.TEXT: ""}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, type, meaning, and the value that means absent."""

    name: str
    kind: Kind
    meaning: str

    @property
    def absent(self) -> int | bool | str:
        """The value of a step to which the column does not apply."""
        values: dict[Kind, int | bool | str] = {Kind.INTEGER: -1, Kind.BOOLEAN: False, Kind.TEXT: ""}
        return values[self.kind]


def _integers(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.INTEGER, meaning) for name, meaning in meanings.items())


def _booleans(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.BOOLEAN, meaning) for name, meaning in meanings.items())


def _texts(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.TEXT, meaning) for name, meaning in meanings.items())


WHERE: Final = (
    *_integers(
        schema="version of this schema",
        trace="the seed that the trace was made from, or a number that names it",
        step="position of the step in its trace, from 0",
        time_ms="virtual time of the step by the clock of its node, milliseconds",
    ),
    *_texts(
        profile="release or build whose behaviour the node has (spec.versions)",
        node="the node that handled the request",
        client="the client, coordinator or replica that asked",
        api="the request by Kafka's name, or a fault by ours (as `LeaderFailover`)",
        topic="topic of the touched partition",
        transactional_id="transactional id of the request",
        group="consumer group of the request",
    ),
    *_integers(
        partition="number of the touched partition",
        transaction_version="the feature `transaction.version` in force",
        message="which sending of a request this is: a copy made by the network keeps the number, a client's retry "
        "gets a new one",
        batch="ordinal of the batch among all that this client produced to this partition (known to the simulator, "
        "not to the broker); retries keep it",
        transaction="ordinal of the client's transaction that the request belongs to, likewise",
    ),
)

REQUEST: Final = (
    *_integers(
        origin="who asks the log to append: 0 client, 1 coordinator, 2 replication, 3 raft leader",
        api_version="version of the request",
        acks="acks of a Produce: 0, 1, -1 for all; -2 where there is none",
        batch_count="record batches that the Produce carries for the partition",
        sent_base_offset="base offset that the batch came with; a client's must be 0",
        producer_id="producer id",
        producer_epoch="producer epoch",
        base_sequence="sequence of the first record",
        last_offset_delta="offset of the last record minus that of the first",
        record_count="records in the batch",
        timestamp_ms="largest timestamp in the batch, milliseconds",
        control_type="type of the control record: 0 ABORT, 1 COMMIT",
        coordinator_epoch="coordinator epoch of a marker",
        marker_version="transaction version passed with a marker, -1 unknown",
        expected_producer_id="identity that InitProducerId expects (KIP-360)",
        expected_epoch="epoch that InitProducerId expects",
        timeout_ms="transaction timeout asked for",
        generation="group generation of an offset commit",
        offset="offset asked for or committed",
        isolation="0 read_uncommitted, 1 read_committed",
    ),
    *_booleans(
        transactional="the batch is transactional",
        control="the batch is a control batch",
        committed="the transaction is to be committed, not aborted",
        verification_pending="the partition holds a verification entry of this producer",
        verification_guarded="the append carries the guard of that entry",
        verification_bumps="that entry belongs to a client that bumps its epoch with each transaction",
        verification_refused="the coordinator of its transaction did not agree to the batch, and the log was not asked",
    ),
    *_integers(verification_lowest="lowest sequence that waits for that verification"),
    *_texts(member="group member id"),
)

REPLY: Final = (
    *_integers(
        error="Kafka's error code",
        first_offset="offset of the first record, as answered",
        last_offset="offset of the last record, as answered",
        reply_producer_id="producer id handed out",
        reply_epoch="producer epoch handed out",
    ),
    *_booleans(
        duplicate="the answer came from the cache of recent batches",
        appended="the log grew",
    ),
)

CACHED: Final = 5
"""Batches per producer in the state columns; those a version does not keep are absent."""

STATE: Final = (
    *_integers(
        epoch="producer epoch of the entry",
        coordinator_epoch="coordinator epoch of the entry",
        txn_first_offset="first offset of the producer's ongoing transaction on the partition",
    ),
    *(
        column
        for position in range(CACHED)
        for column in _integers(
            **{
                f"cached_{position}_last_sequence": f"last sequence of cached batch {position}, 0 the newest",
                f"cached_{position}_last_offset": f"last offset of cached batch {position}",
                f"cached_{position}_offset_delta": f"offset delta of cached batch {position}",
            }
        )
    ),
    *_integers(
        log_start="log start offset of the partition",
        last_stable="last stable offset",
        high_watermark="high watermark",
        log_end="log end offset",
        txn_state="state of the transactional id at its coordinator",
        txn_producer_id="producer id of the transactional id",
        txn_epoch="producer epoch of the transactional id",
        txn_previous_producer_id="producer id before the last rotation",
        txn_last_epoch="epoch before the last bump, as far as the coordinator remembers",
        txn_timeout_ms="transaction timeout of the transactional id",
        txn_partitions="partitions registered in the transaction",
        txn_pending="state that the coordinator is moving to, -1 none",
        txn_next_producer_id="producer id after the transaction, where the epochs of this one are used up",
        txn_client_version="transaction version with which the last transition of the transactional id was made",
        txn_started_ms="time at which the transaction began",
        txn_updated_ms="time of the last change of the transactional id",
        committed_offset="committed offset of the touched group and partition",
        group_generation="generation of the touched group",
    ),
    *_booleans(
        partition_registered="the touched partitions are all registered in the transaction",
        txn_failed_fence="a fence raised the epoch, but its abort did not reach the log",
    ),
)


def _prefixed(prefix: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(Column(f"{prefix}{c.name}", c.kind, c.meaning) for c in columns)


BEFORE: Final = _prefixed("before_", STATE)
AFTER: Final = _prefixed("after_", STATE)

HISTORY: Final = (
    *_texts(writer="the client that made the records of the batch, from their own values"),
    *_integers(
        first_record="number of the batch's first record among all that its writer made",
        aborted_count="aborted transactions that the answer to a fetch lists; absent under read_uncommitted",
        world_ms="time of the step by the world's clock, which nobody in it can read; `time_ms` is that of the node",
    ),
    *_booleans(delivered="the application was given records of the batch"),
)
"""What applications did and were told, beside the steps of brokers: rows whose api begins with `Client`."""

COLUMNS: Final = (*WHERE, *REQUEST, *REPLY, *BEFORE, *AFTER, *HISTORY)
"""Every column, in the order in which files hold them."""
