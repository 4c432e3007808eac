"""Offsets of a group that are committed in turn, outside of transactions and in them: the judge follows each."""

from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.support.api_requests import initialized
from model_tests.unit.support.topic_requests import commit, committed
from reference.broker.group_offsets import GroupOffsets
from spec import rules
from spec.versions import KAFKA_2_4, KAFKA_3_9, NEWEST, Profile


def made(profile: Profile) -> Bench:
    bench = Bench(profile)
    bench.service.create_topic("orders", 1)
    return bench


def begin(bench: Bench, offset: int) -> dict[str, Any]:
    """Add an offset of the group to a new transaction; what names the producer."""
    identity = initialized(bench, "app", version=2)
    named = {"transactional_id": "app", "producer_id": identity["producer_id"], "producer_epoch": identity["epoch"]}
    assert 0 == bench.ask("AddOffsetsToTxn", 0, named | {"group_id": "readers"}).error_code
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    topics = [{"name": "orders", "partitions": [partition]}]
    answer = bench.ask("TxnOffsetCommit", 0, named | {"group_id": "readers", "topics": topics})
    assert 0 == answer.topics[0].partitions[0].error_code
    return named


def end(bench: Bench, named: dict[str, Any], commits: bool) -> None:
    assert 0 == bench.ask("EndTxn", 0, named | {"committed": commits}).error_code
    bench.wait(1)


def commit_in_transaction(bench: Bench, offset: int, commits: bool = True) -> None:
    end(bench, begin(bench, offset), commits)


def lost(bench: Bench) -> set[str]:
    """The rules that were violated."""
    return {violation.rule for violation in bench.judged_whole()}


@pytest.mark.parametrize("profile", [KAFKA_2_4, KAFKA_3_9, NEWEST], ids=lambda each: each.name)
def test_a_group_may_go_back_whoever_committed_before(profile: Profile) -> None:
    """The latest commit counts: of a plain one, and of a transaction whose marker the group's log has."""
    bench = made(profile)
    for offset in (8, 3):
        commit(bench, "readers", offset)
        assert [offset] == committed(bench, "readers")
    for offset in (9, 2):
        commit_in_transaction(bench, offset)
        assert [offset] == committed(bench, "readers")
    commit_in_transaction(bench, 7, commits=False)
    assert [2] == committed(bench, "readers")

    assert set() == lost(bench)


def test_a_plain_commit_during_a_transaction_stays_when_it_ends() -> None:
    """The pending offset is older than it: the end of the transaction changes nothing."""
    bench = made(NEWEST)
    named = begin(bench, 9)
    commit(bench, "readers", 4)
    end(bench, named, commits=True)

    assert [4] == committed(bench, "readers")
    assert set() == lost(bench)


def test_an_offset_that_a_committed_transaction_loses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that drops the pending offsets of a committed transaction answers a lower one."""
    bench = made(NEWEST)
    commit(bench, "readers", 3)
    monkeypatch.setattr(GroupOffsets, "complete", lambda offsets, producer_id, _: offsets.pending.pop(producer_id))
    commit_in_transaction(bench, 9)

    assert [3] == committed(bench, "readers")
    assert {rules.OFFSETS_ATOMIC.id} <= lost(bench)
