"""Requests of one client to a server, and what it answers."""

from typing import Any

from model_tests.unit.serve.api_bench import START_MS, Bench
from reference.log.batch import RecordBatch, value_batch

READ_COMMITTED = 1


def batch(*values: bytes, at: int = START_MS, **identity: Any) -> RecordBatch:
    return value_batch(values or (b"one",), timestamp=at, **identity)


def produce_fields(data: bytes, acks: int = -1, transactional_id: str | None = None, partition: int = 0) -> Any:
    parts = [{"index": partition, "records": data}]
    topics = [{"name": "orders", "partition_data": parts}]
    return {"transactional_id": transactional_id, "acks": acks, "timeout_ms": 1_000, "topic_data": topics}


def produce(bench: Bench, data: bytes, version: int = 9, **more: Any) -> Any:
    """What is answered of one partition."""
    answer = bench.ask("Produce", version, produce_fields(data, **more))
    return answer.responses[0].partition_responses[0]


def fetch_fields(offset: int = 0, isolation: int = 0, **more: Any) -> Any:
    partitions = [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 2**20, "current_leader_epoch": -1}]
    common = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 2**20, "isolation_level": isolation}
    return common | {"session_id": 0, "topics": [{"topic": "orders", "partitions": partitions}]} | more


def fetched(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def initialized(
    bench: Bench, transactional_id: str | None, timeout_ms: int = 60_000, version: int = 4
) -> dict[str, int]:
    """The identity that InitProducerId gives, as a batch takes it."""
    fields = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
    answer = bench.ask("InitProducerId", version, fields)
    assert 0 == answer.error_code
    return {"producer_id": answer.producer_id, "epoch": answer.producer_epoch}


def latest(timestamp: int = -1, isolation: int = 0) -> Any:
    partitions = [{"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}]
    return {"replica_id": -1, "isolation_level": isolation, "topics": [{"name": "orders", "partitions": partitions}]}


def add_partition(bench: Bench, identity: dict[str, int], transactional_id: str = "app", partition: int = 0) -> int:
    fields = {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": identity["producer_id"],
        "v3_and_below_producer_epoch": identity["epoch"],
        "v3_and_below_topics": [{"name": "orders", "partitions": [partition]}],
    }
    (topic,) = bench.ask("AddPartitionsToTxn", 3, fields).results_by_topic_v3_and_below
    return int(topic.results_by_partition[0].partition_error_code)


def join_fields(member_id: str = "") -> Any:
    protocols = [{"name": "range", "metadata": b""}]
    timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000}
    return {
        "group_id": "readers",
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": protocols,
    } | timeouts


def create(bench: Bench, name: str, validate_only: bool = False, version: int = 7, **more: Any) -> Any:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []} | more
    return bench.ask(
        "CreateTopics", version, {"topics": [topic], "timeout_ms": 1, "validate_only": validate_only}
    ).topics[0]
