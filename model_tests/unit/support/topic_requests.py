"""Requests about topics and their groups."""

from typing import Any

from model_tests.unit.serve.api_bench import Bench
from spec.versions import NEWEST, Profile


def made(profile: Profile = NEWEST, nodes: int = 1) -> Bench:
    """A server with one topic of two partitions."""
    bench = Bench(profile, nodes)
    bench.service.create_topic("orders", 2)
    return bench


def deleted(bench: Bench, *named: dict[str, Any], node: int = 0) -> list[tuple[Any, Any, int]]:
    answer = bench.ask("DeleteTopics", 6, {"topics": list(named), "timeout_ms": 1_000}, node)
    return [(each.name, each.topic_id and each.topic_id.hex, each.error_code) for each in answer.responses]


def by_name(name: str | None, topic_id: Any = None) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id}


def commit(bench: Bench, group: str, offset: int) -> None:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    fields = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "retention_time_ms": -1}
    topics = [{"name": "orders", "partitions": [partition]}]
    answer = bench.ask("OffsetCommit", 2, fields | {"topics": topics})
    assert 0 == answer.topics[0].partitions[0].error_code


def committed(bench: Bench, group: str) -> list[int]:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    answer = bench.ask("OffsetFetch", 1, {"group_id": group, "topics": topics})
    return [each.committed_offset for topic in answer.topics for each in topic.partitions]


def grow(bench: Bench, count: int, assignments: Any = None, name: str = "orders", **more: Any) -> int:
    placed = None if assignments is None else [{"broker_ids": each} for each in assignments]
    topics = [{"name": name, "count": count, "assignments": placed}]
    answer = bench.ask("CreatePartitions", 1, {"topics": topics, "timeout_ms": 1, "validate_only": False} | more)
    return int(answer.results[0].error_code)
