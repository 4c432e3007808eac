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

ADMIN: Final = "admin"
"""The name of administrators in rows."""


@unique
class ColumnType(StrEnum):
    """Type of a column. Integers are 64 bits wide in every storage."""

    INTEGER = "integer"
    BOOLEAN = "boolean"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, type, meaning, and the value that means absent."""

    name: str
    kind: ColumnType
    meaning: str

    @property
    def absent(self) -> int | bool | str:
        """The value of a step to which the column does not apply."""
        values: dict[ColumnType, int | bool | str] = {
            ColumnType.INTEGER: -1,
            ColumnType.BOOLEAN: False,
            ColumnType.TEXT: "",
        }
        return values[self.kind]


def _integers(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.INTEGER, meaning) for name, meaning in meanings.items())


def _booleans(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.BOOLEAN, meaning) for name, meaning in meanings.items())


def _texts(**meanings: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.TEXT, meaning) for name, meaning in meanings.items())


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
        marker_error="the answer to the marker that the coordinator of the transaction had sent to the partition",
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
    *_texts(
        writer="the client that made the records of the batch, from their own values",
        operation="what a client history calls the operation, as `:txn`",
        value="value of a record, as a client history has it",
    ),
    *_integers(
        first_record="number of the batch's first record among all that its writer made",
        aborted_count="aborted transactions that the answer to a fetch lists; of one of them, how many follow it in "
        "the list; absent under read_uncommitted",
        world_ms="time of the step by the world's clock, which no node can read; `time_ms` is that of the node",
    ),
    *_booleans(
        delivered="the application was given records of the batch",
        offset_pending="an undecided transaction has an offset of the touched group and partition, before the step",
    ),
)
"""Calls and results of applications, beside the steps of brokers: rows whose api begins with `Client`."""

REPLICAS_SHOWN: Final = 3
"""Replicas of an assignment that an election shows, in its order."""

REPLICATION: Final = (
    *_integers(
        asked_leader_epoch="leader epoch that a request names as the current one",
        asked_partition_epoch="partition epoch (under ZooKeeper: version of the node) that a request names",
        asked_controller_epoch="epoch of the controller that sends",
        asked_broker_epoch="epoch of the broker's registration that a request names",
        asked_epoch="leader epoch of the asking replica's last record, or the epoch whose end it asks for",
        leader_epoch="leader epoch that the node knows of the partition, before the step",
        partition_epoch="partition epoch that the node knows, before the step",
        controller_epoch="epoch of the controller that the node is, or the highest it has received, before the step",
        broker_epoch="epoch of the registration of the broker that is spoken of, as the node knows it",
        leader_epoch_after="leader epoch after the step",
        partition_epoch_after="partition epoch after the step",
        controller_epoch_after="controller epoch after the step",
        known_epoch="newest leader epoch at or below the one in question in the node's own epoch cache",
        known_epoch_end="where that epoch ends in the node's own log",
        answered_epoch="leader epoch of the answer: where two logs part, or the one that was asked about",
        answered_end="where that epoch ends in the log of the leader",
        answered_log_start="log start of the leader, as answered to a fetch out of range",
        truncated_to="offset at which a follower cuts its log",
        leader_high_watermark="high watermark of the leader, as a follower received it",
        least_end="least log end among the leader and all that hold its high watermark back; -1: one is not known",
        insync_end="least log end among the leader and the in-sync set, those that are proposed for it included, as "
        "the leader knows them; -1: one is not known",
        joining_end="least log end among the followers out of that set that have caught up and may join it, likewise; "
        "that of the leader where there are none",
        epoch_start="log end of the leader when it began its leader epoch",
        insync_size="replicas in the committed in-sync set",
        maximal_size="replicas in the in-sync set, those that are proposed for it included",
        min_insync="min.insync.replicas",
        proposed_size="replicas in the in-sync set that a leader proposes",
        lag_max_ms="replica.lag.time.max.ms",
        follower_end="log end of the follower as its leader knows it, before the step",
        follower_fetch_ms="when the follower last fetched, by the leader's clock; 0 never",
        follower_leader_end="log end of the leader when the follower last fetched",
        follower_caught_up_ms="when the follower was last known to have caught up, by the leader's clock; 0 never",
        caught_up_ms="the same after the step",
        session_timeout_ms="broker.session.timeout.ms",
        last_contact_ms="when the controller last had a request of the broker, by its own clock",
        broker="the broker that is spoken of",
        leader="the broker that leads the partition as the node knows it, before the step",
        elected="the broker that leads after an election, -1 none",
    ),
    *_texts(election="why a leader is elected: Online, Unclean, Preferred or ControlledShutdown"),
    *_booleans(
        leads="the node is the leader of the partition as it knows it",
        sender_leads="the sender is the leader of the partition as the controller knows it",
        insync="the follower is in the committed in-sync set",
        proposal_under_way="the leader waits for the answer to a proposal of another in-sync set",
        ineligible="a replica that is to join the in-sync set is fenced, shuts down, or is of another incarnation",
        ill_formed="the proposed in-sync set lacks the leader, or has a broker outside of the assignment",
        proposed="the leader proposes the change of the in-sync set that the step is about",
        lagging="the follower has not caught up for longer than replica.lag.time.max.ms",
        completed="truncation is at its end, and fetching continues; else the leader is asked again",
        unclean_allowed="unclean.leader.election.enable",
        elected_uncleanly="the elected replica was neither in sync nor eligible",
        clean_shutdown="the broker has shut down in order, its log is whole",
    ),
    *(
        column
        for place in range(REPLICAS_SHOWN)
        for column in (
            *_integers(**{f"replica_{place}_broker": f"broker of replica {place} of the assignment, -1 none"}),
            *_booleans(
                **{
                    f"replica_{place}_alive": "that broker is registered, not fenced, and does not shut down",
                    f"replica_{place}_insync": "it is in the in-sync set that the election starts from",
                    f"replica_{place}_eligible": "it is an eligible leader (KIP-966)",
                    f"replica_{place}_last_known": "it is the last known leader of a partition that has none",
                    f"replica_{place}_proposed": "it is in the in-sync set that a leader proposes",
                }
            ),
            *_integers(
                **{
                    f"replica_{place}_counted_epoch": "epoch of the registration under which it fetched, as the leader "
                    "that proposes it says; -1 none",
                    f"replica_{place}_registered_epoch": "epoch of its present registration, -1 none",
                }
            ),
        )
    ),
)
"""What leaders, followers and controllers decide about replicas."""

COLUMNS: Final = (*WHERE, *REQUEST, *REPLY, *BEFORE, *AFTER, *HISTORY, *REPLICATION)
"""Every column, in the order in which files hold them."""
