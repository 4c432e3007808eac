"""Events of replicas as rows: copying, and faults.

A fault writes, per replica, one row for its log and one for each producer whose state it changed, so that the
steps of each replica and each producer stay linked.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from reference.errors import OffsetOutOfRange, Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.recording.recorder import ObservedState, Recorder, Row, batch_columns, observe, reply_columns
from reference.replication.replicated import ReplicatedPartition
from spec.vocabulary import ABSENT, Api, ErrorCode, Origin, Timestamp

TOPIC: Final = "t"


def node_name(node: int) -> str:
    """Name of a node in rows."""
    return f"broker-{node}"


class ReplicasBefore(NamedTuple):
    """What the replicas of a partition knew before a fault, by node and producer id; -1 is the log alone."""

    replicas: Sequence[Partition]
    known: tuple[dict[int, ObservedState], ...]

    @classmethod
    def of(cls, replicas: Sequence[Partition]) -> "ReplicasBefore":
        """What the replicas know now."""
        return cls(replicas, tuple(known_to(replica) for replica in replicas))


def known_to(replica: Partition, more: Iterable[int] = ()) -> dict[int, ObservedState]:
    """The log of a replica under -1, and every producer that it knows or that is in `more`."""
    producers = sorted({*replica.state.producers, *more} - {ABSENT})
    return {producer: observe(replica, producer) for producer in (ABSENT, *producers)}


def follow(
    recorder: Recorder,
    now: Timestamp,
    replicated: ReplicatedPartition,
    partition: int,
    node: int,
    topic: str = TOPIC,
) -> None:
    """A follower copies the next batch of its leader: one row, none if it had everything.

    Args:
        recorder: that the row is added to.
        now: milliseconds, by the follower's clock.
        replicated: the partition with all its replicas.
        partition: its number.
        node: of the follower.
        topic: of the partition.
    """
    follower, batch = replicated.replicas[node], replicated.next_for(node)
    before = observe(follower, ABSENT if batch is None else batch.producer_id)
    error = ErrorCode.NONE
    try:
        replicated.follow(node)
    except Refusal as refusal:
        error = refusal.code
    if batch is None:
        return
    recorder.record(
        "ReplicaFetch",
        now,
        before,
        observe(follower, batch.producer_id),
        node=node_name(node),
        client=node_name(replicated.leader_node),
        topic=topic,
        partition=partition,
        origin=int(Origin.REPLICATION),
        batch_count=1,
        **batch_columns(batch),
        **copied_columns(batch, error),
    )


def copied_columns(batch: RecordBatch, error: ErrorCode) -> Row:
    """The columns of REPLY of a copied batch."""
    if error != ErrorCode.NONE:
        return reply_columns(error)
    return reply_columns(error, batch.base_offset, batch.last_offset)


def record_fault(
    recorder: Recorder,
    api: str,
    now: Timestamp,
    partition: int,
    before: ReplicasBefore,
    node: int,
    request: Row | None = None,
    topic: str = TOPIC,
) -> None:
    """Add the rows of a fault at `node`: what changed on any replica, or one row that nothing did.

    Args:
        recorder: of the trace.
        api: what happened.
        now: milliseconds.
        partition: its number.
        before: what the replicas knew.
        node: where it happened.
        request: columns of the request that asked for it, if one did.
        topic: of the partition.
    """
    reported: Row = {"error": int(ErrorCode.NONE), **(request or {})}
    rows = [
        (place, producer, was, seen)
        for place, known in enumerate(before.known)
        for producer, was, seen in changes(before.replicas[place], known)
    ]
    unchanged = before.known[node][ABSENT]
    for place, producer, was, seen in rows or [(node, ABSENT, unchanged, unchanged)]:
        where: Row = {"node": node_name(place), "topic": topic, "partition": partition, "producer_id": producer}
        recorder.record(api, now, was, seen, **where | reported)


def delete_records(
    recorder: Recorder,
    now: Timestamp,
    replicated: ReplicatedPartition,
    partition: int,
    offset: int = ABSENT,
    topic: str = TOPIC,
    client: str = "",
) -> ErrorCode:
    """The log of every replica begins at the offset from now on, at the high watermark if it is -1; the answer.

    Args:
        recorder: that the rows are added to.
        now: milliseconds, by the leader's clock.
        replicated: the partition with all its replicas.
        partition: its number.
        offset: that was asked for.
        topic: of the partition.
        client: who asks for it; nobody where retention does it.
    """
    before, error = ReplicasBefore.of(replicated.replicas), ErrorCode.NONE
    try:
        replicated.leader.delete_records(offset)
    except OffsetOutOfRange as refusal:
        error = refusal.code
    else:
        for replica in replicated.replicas:
            replica.follow_log_start(replicated.leader.log_start)
    request: Row = {"client": client, "offset": offset, "error": int(error)}
    record_fault(recorder, Api.DELETE_RECORDS, now, partition, before, replicated.leader_node, request, topic)
    return error


def changes(replica: Partition, known: dict[int, ObservedState]) -> list[tuple[int, ObservedState, ObservedState]]:
    """Producer id, state before and after, of all that changed on a replica: first its log (-1), then producers."""
    seen = known_to(replica, known)
    log_before, log_after = known[ABSENT], seen.pop(ABSENT)
    changed = [(ABSENT, log_before, log_after)] if log_before != log_after else []
    for producer, after in seen.items():
        entry = known.get(producer, log_before).entry
        if entry != after.entry:
            changed.append((producer, after._replace(entry=entry), after))
    return changed
