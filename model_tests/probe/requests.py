"""From a recorded request to the fields that go over the wire, and the version in which a script sends it.

The version is one that the broker, the codec, the release and the session format have.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.conform.api_versions import TAKEN
from model_tests.conform.fields import Json
from model_tests.probe.script import ScriptAction, SessionNames, number_of
from reference.log.batch import marker_batch, value_batch
from reference.server.service import Fields
from reference.wire.codec import known_versions
from spec.versions import Profile
from spec.vocabulary import MAX_SEQUENCE, Api, ControlType

# --- versions ---------------------------------------------------------------------------------------------------------


WRITTEN: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        Api.PRODUCE: (3, 13),
        Api.FETCH: (5, 18),
        Api.INIT_PRODUCER_ID: (0, 5),
        Api.ADD_PARTITIONS_TO_TXN: (0, 3),
        Api.ADD_OFFSETS_TO_TXN: (0, 4),
        Api.END_TXN: (0, 5),
        Api.WRITE_TXN_MARKERS: (0, 2),
        Api.TXN_OFFSET_COMMIT: (0, 5),
        Api.OFFSET_COMMIT: (2, 10),
        Api.OFFSET_FETCH: (2, 10),
        Api.LIST_TRANSACTIONS: (0, 2),
    }
)
"""The versions that a session can record: with batches of version 2, by clients, of one group."""

EXPLICIT: Final[Mapping[str, int]] = MappingProxyType({Api.PRODUCE: 11, Api.END_TXN: 4, Api.TXN_OFFSET_COMMIT: 4})
"""The newest versions of a client that does not know transactions of version 2."""


Announced: TypeAlias = Mapping[str, tuple[int, int]]
"""First and last version of each request, by its name."""


BY_BROKERS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({Api.ADD_PARTITIONS_TO_TXN: (4, 5)})
"""The versions that brokers send each other, which a client may send, too."""


def taken_by_both(one: Profile, other: Profile) -> Announced:
    """The versions of each request that both releases accept.

    A broker of one release gets only these versions while it is compared with the other release.
    """
    first, second = TAKEN[one.name], TAKEN[other.name]
    both = {
        api: (max(low, second[api][0]), min(high, second[api][1]))
        for api, (low, high) in first.items()
        if api in second
    }
    return {api: (low, high) for api, (low, high) in both.items() if low <= high}


def version_of(announced: Announced, profile: Profile, action: ScriptAction, *, explicit: bool) -> int | None:
    """The version at the action's share of the versions that can be sent, oldest first; None if there is none.

    Args:
        announced: by the broker.
        profile: the release that it is compared with.
        action: the step of the script.
        explicit: the client knows no transactions of version 2, or the cluster has none.
    """
    api = action.api
    written = BY_BROKERS[api] if action.by_broker else WRITTEN[api]
    known, there, taken = known_versions(api), announced.get(api), TAKEN[profile.name].get(api)
    if known is None or there is None or taken is None:
        return None
    ranges = (known, there, taken, written)
    oldest, newest = max(low for low, _ in ranges), min(high for _, high in ranges)
    if explicit or profile.transaction_version < 2:
        newest = min(newest, EXPLICIT.get(api, newest))
    return oldest + int(action.version * (newest - oldest + 1)) if oldest <= newest else None


# --- fields -----------------------------------------------------------------------------------------------------------


ANSWER_MS: Final = 30_000
"""How long a leader may wait for its replicas."""

EVERYTHING: Final = 2**31 - 1
"""Bytes of a fetch without a limit."""

Build: TypeAlias = Callable[[Json, SessionNames], Fields]


def fields_of(api: str, request: Json, names: SessionNames, values: str, now: int) -> Fields:
    """The fields of a request.

    Args:
        api: its name; ProduceMulti is a Produce of several batches.
        request: as the session records it.
        names: of the session.
        values: the beginning of the values of its records.
        now: milliseconds, for the records.
    """
    if api in (Api.PRODUCE, "ProduceMulti"):
        return _produce(request, names, values, now)
    return BUILDS[api](request, names)


def _produce(request: Json, names: SessionNames, values: str, now: int) -> Fields:
    several = "batches" in request
    batches = request.get("batches", [request])
    parts = [
        {
            "index": number_of(batch["partition"]),
            "records": _records(batch, names, f"{values}b{place}" if several else values, now),
        }
        for place, batch in enumerate(batches)
    ]
    return {
        "transactional_id": _transactional_id(request, names),
        "acks": request["acks"],
        "timeout_ms": ANSWER_MS,
        "topic_data": [{"name": names.topic, "topic_id": names.info.topic_id or None, "partition_data": parts}],
    }


def _records(batch: Json, names: SessionNames, values: str, now: int) -> bytes:
    producer_id, epoch = names.number(batch["producer_id"]), batch["producer_epoch"]
    if "control" in batch:
        return marker_batch(producer_id, epoch, ControlType[batch["control"]], batch["coordinator_epoch"], now).encode()
    return b"".join(_batch(batch, producer_id, place, values, now) for place in range(batch.get("batch_count", 1)))


def _batch(batch: Json, producer_id: int, place: int, values: str, now: int) -> bytes:
    """One of the batches of a partition, which continues the one before it."""
    first, count = batch["base_sequence"], batch["record_count"]
    made = value_batch(
        [f"{values}r{record}".encode() for record in range(count)],
        producer_id=producer_id,
        epoch=batch["producer_epoch"],
        base_sequence=first if first < 0 else (first + place * count) % (MAX_SEQUENCE + 1),
        timestamp=now,
        transactional=batch["transactional"],
    )
    return made._replace(last_offset_delta=batch.get("last_offset_delta", made.last_offset_delta)).encode()


def _fetch(request: Json, names: SessionNames) -> Fields:
    limit = request.get("partition_max_bytes", EVERYTHING)
    requested = {
        "partition": number_of(request["partition"]),
        "current_leader_epoch": -1,
        "fetch_offset": request["offset"],
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": limit,
    }
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": limit,
        "isolation_level": int(request["isolation"] == "read_committed"),
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": names.topic, "topic_id": names.info.topic_id or None, "partitions": [requested]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def _init_producer_id(request: Json, names: SessionNames) -> Fields:
    return {
        "transactional_id": _transactional_id(request, names),
        "transaction_timeout_ms": request["timeout"],
        "producer_id": names.number(request.get("producer_id", -1)),
        "producer_epoch": request.get("producer_epoch", -1),
    }


def _add_partitions(request: Json, names: SessionNames) -> Fields:
    identity = {f"v3_and_below_{name}": value for name, value in _identity(request, names).items()}
    numbers = [number_of(partition) for partition in request["partitions"]]
    topics = [{"name": names.topic, "partitions": numbers}]
    transaction = {**_identity(request, names), "verify_only": request.get("verify_only", False), "topics": topics}
    return {**identity, "v3_and_below_topics": topics, "transactions": [transaction]}


def _end_txn(request: Json, names: SessionNames) -> Fields:
    return {**_identity(request, names), "committed": request["committed"]}


def _add_offsets(request: Json, names: SessionNames) -> Fields:
    return {**_identity(request, names), "group_id": names.named(request["group"])}


def _txn_offset_commit(request: Json, names: SessionNames) -> Fields:
    member = request.get("member", "")
    return {
        **_identity(request, names),
        "group_id": names.named(request["group"]),
        "generation_id": request.get("generation", -1),
        "member_id": names.members.get(member, member),
        "group_instance_id": request.get("group_instance_id"),
        "topics": [{"name": names.topic, "partitions": _offsets(request)}],
    }


def _offset_commit(request: Json, names: SessionNames) -> Fields:
    return {
        "group_id": names.named(request["group"]),
        "generation_id_or_member_epoch": request["generation"],
        "member_id": names.members.get(request["member"], request["member"]),
        "group_instance_id": None,
        "retention_time_ms": -1,
        "topics": [{"name": names.topic, "topic_id": names.info.topic_id or None, "partitions": _offsets(request)}],
    }


def _offset_fetch(request: Json, names: SessionNames) -> Fields:
    group, numbers = names.named(request["group"]), [number_of(each) for each in request["partitions"]]
    topic = {"name": names.topic, "partition_indexes": numbers}
    one_of_several = {
        "group_id": group,
        "member_id": None,
        "member_epoch": -1,
        "topics": [{**topic, "topic_id": names.info.topic_id or None}],
    }
    stable = request["require_stable"]
    return {"group_id": group, "topics": [topic], "groups": [one_of_several], "require_stable": stable}


def _markers(request: Json, names: SessionNames) -> Fields:
    return {"markers": [_marker(marker, names) for marker in request["markers"]]}


def _marker(marker: Json, names: SessionNames) -> Fields:
    producer_id = names.number(marker["producer_id"])
    numbers = [number_of(partition) for partition in marker["partitions"]]
    return {
        "producer_id": producer_id,
        "producer_epoch": marker["producer_epoch"],
        "transaction_result": marker["committed"],
        "topics": [{"name": names.topic, "partition_indexes": numbers}],
        "coordinator_epoch": marker["coordinator_epoch"] + names.coordinator_epochs[producer_id],
        "transaction_version": marker.get("transaction_version", 0),
    }


def _list_transactions(request: Json, names: SessionNames) -> Fields:
    wanted = [names.number(named) for named in request["producer_id_filters"]]
    return {"state_filters": list(request["state_filters"]), "producer_id_filters": wanted}


BUILDS: Final[Mapping[str, Build]] = MappingProxyType(
    {
        Api.FETCH: _fetch,
        Api.INIT_PRODUCER_ID: _init_producer_id,
        Api.ADD_PARTITIONS_TO_TXN: _add_partitions,
        Api.END_TXN: _end_txn,
        Api.ADD_OFFSETS_TO_TXN: _add_offsets,
        Api.TXN_OFFSET_COMMIT: _txn_offset_commit,
        Api.OFFSET_COMMIT: _offset_commit,
        Api.OFFSET_FETCH: _offset_fetch,
        Api.WRITE_TXN_MARKERS: _markers,
        Api.LIST_TRANSACTIONS: _list_transactions,
    }
)
"""By the name of the request."""


def _transactional_id(request: Json, names: SessionNames) -> str | None:
    short = request["transactional_id"]
    return None if short is None else names.named(short)


def _identity(request: Json, names: SessionNames) -> dict[str, Any]:
    return {
        "transactional_id": names.named(request["transactional_id"]),
        "producer_id": names.number(request["producer_id"]),
        "producer_epoch": request["producer_epoch"],
    }


def _offsets(request: Json) -> Iterable[Fields]:
    return [
        {
            "partition_index": number_of(partition),
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        for partition, offset in request["offsets"].items()
    ]
