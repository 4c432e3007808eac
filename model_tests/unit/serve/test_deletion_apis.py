"""Records, groups and offsets that are deleted, markers of administrators, ends of leader epochs, acks=0."""

from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.support.api_requests import (
    READ_COMMITTED,
    add_partition,
    batch,
    fetch_fields,
    fetched,
    initialized,
    join_fields,
    latest,
    produce,
    produce_fields,
)
from model_tests.unit.support.topic_requests import commit, committed, made
from reference.broker.group_deletion import DeletionError
from reference.client.assignment import Subscription
from reference.server.errors import ServerError
from spec import rules
from spec.versions import KAFKA_2_0, KAFKA_2_4, KAFKA_2_7, KAFKA_3_9, KAFKA_4_1, NEWEST, PROFILES, Profile
from spec.vocabulary import ErrorCode

OFFSETS = "__consumer_offsets"


def judged(bench: Bench) -> set[str]:
    """The rules that were judged."""
    return {count.rule for count in bench.monitor.rule_counts()}


# --- DeleteRecords --------------------------------------------------------------------------------------------


def delete(bench: Bench, offset: int, partition: int = 0, topic: str = "orders", node: int = 0) -> tuple[int, int]:
    topics = [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}]
    answer = bench.ask("DeleteRecords", 1, {"topics": topics, "timeout_ms": 1_000}, node)
    (found,) = answer.topics[0].partitions
    return found.error_code, found.low_watermark


@pytest.mark.parametrize("profile", [KAFKA_2_0, NEWEST], ids=lambda each: each.name)
def test_a_log_begins_where_an_administrator_says(profile: Profile) -> None:
    """Up to the high watermark, on every replica; what is below is out of range from then on."""
    bench = made(profile, nodes=3)
    for _ in range(3):
        produce(bench, batch().encode(), version=6)

    assert (0, 2) == delete(bench, 2)
    assert (0, 2) == delete(bench, 1)
    assert (0, 2) == (bench.ask("ListOffsets", 2, latest(-2)).topics[0].partitions[0].error_code, start(bench))
    assert ErrorCode.OFFSET_OUT_OF_RANGE == fetched(bench.ask("Fetch", 8, fetch_fields(1))).error_code
    assert (ErrorCode.OFFSET_OUT_OF_RANGE, -1) == delete(bench, 4)
    assert (ErrorCode.OFFSET_OUT_OF_RANGE, -1) == delete(bench, -2)
    assert (0, 3) == delete(bench, -1)
    assert [] == bench.violations


def start(bench: Bench) -> int:
    return int(bench.ask("ListOffsets", 2, latest(-2)).topics[0].partitions[0].offset)


def test_records_of_an_open_transaction_can_be_deleted() -> None:
    """The bound is the high watermark: the last stable offset goes to where the log begins."""
    bench = made()
    identity = initialized(bench, "app")
    assert 0 == add_partition(bench, identity)
    sent = batch(b"a", b"b", transactional=True, base_sequence=0, **identity).encode()
    assert 0 == produce(bench, sent, transactional_id="app").error_code

    assert (0, 1) == delete(bench, 1)
    answer = fetched(bench.ask("Fetch", 11, fetch_fields(1, READ_COMMITTED, max_wait_ms=0)))
    assert (1, 2) == (answer.last_stable_offset, answer.high_watermark)
    bench.wait(70_000)
    answer = fetched(bench.ask("Fetch", 11, fetch_fields(1, READ_COMMITTED, max_wait_ms=0)))
    assert 3 == answer.last_stable_offset
    assert [] == bench.violations
    assert rules.LSO_BOUNDS.id in judged(bench)


def test_where_no_record_can_be_deleted() -> None:
    """Not at a node that does not lead, not where there is nothing, and never in a topic of the brokers' own."""
    bench = made(nodes=2)

    assert (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1) == delete(bench, 0, node=1)
    assert (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1) == delete(bench, 0, partition=7)
    assert (ServerError.INVALID_TOPIC_EXCEPTION, -1) == delete(bench, 0, topic=OFFSETS)


def test_deletion_waits_for_every_replica_and_no_longer_than_it_is_to() -> None:
    """A replica that lags holds the low watermark back; the log of the leader has begun later all the same."""
    bench = made(nodes=2)
    produce(bench, batch().encode())
    behind = bench.service.world.brokers.partitions[bench.service.topics.by_name["orders"].partition(0)].replicas[1]
    behind.high_watermark = type(behind.high_watermark)(0)
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "offset": 1}]}]

    answers = bench.send("DeleteRecords", 1, {"topics": topics, "timeout_ms": 1_000})
    bench.wait(999)
    assert [] == answers
    bench.wait(1)

    (found,) = answers[0].topics[0].partitions
    assert (ErrorCode.REQUEST_TIMED_OUT, 0, 1) == (found.error_code, found.low_watermark, start(bench))


# --- OffsetForLeaderEpoch -------------------------------------------------------------------------------------


def epoch_end(bench: Bench, epoch: int, current: int = -1, partition: int = 0) -> tuple[int, int, int]:
    request = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    topics = [{"topic": "orders", "partitions": [request]}]
    (found,) = bench.ask("OffsetForLeaderEpoch", 3, {"replica_id": -1, "topics": topics}).topics[0].partitions
    return found.error_code, found.leader_epoch, found.end_offset


def test_a_consumer_is_reported_where_a_leader_epoch_ends() -> None:
    """The newest at or below the one that it asks for; the present one ends at the log end."""
    bench = made(nodes=2)
    partition = bench.service.topics.by_name["orders"].partition(0)
    produce(bench, batch().encode())
    for node in (1, 0):
        bench.service.world.leader_fails_over(partition, node)
    now = bench.service.world.brokers.partitions[partition].leader_epoch
    produce(bench, batch(b"a", b"b").encode())

    assert (0, 0, 1) == epoch_end(bench, 0)
    assert (0, now, 3) == epoch_end(bench, now, current=now)
    assert (0, -1, -1) == epoch_end(bench, now + 5)
    assert ErrorCode.FENCED_LEADER_EPOCH == epoch_end(bench, 0, current=now - 1)[0]
    assert ErrorCode.UNKNOWN_LEADER_EPOCH == epoch_end(bench, 0, current=now + 1)[0]
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == epoch_end(bench, 0, partition=7)[0]


# --- WriteTxnMarkers ------------------------------------------------------------------------------------------


def mark(bench: Bench, identity: dict[str, int], version: int = 1, commit: bool = False, **more: Any) -> Any:
    marker = {
        "producer_id": identity["producer_id"],
        "producer_epoch": identity["epoch"],
        "transaction_result": commit,
        "coordinator_epoch": 0,
        "topics": [{"name": "orders", "partition_indexes": [0]}],
    }
    return bench.ask("WriteTxnMarkers", version, {"markers": [marker | more]}).markers


def outcome(markers: Any) -> list[tuple[str, int, int]]:
    return [(t.name, p.partition_index, p.error_code) for m in markers for t in m.topics for p in t.partitions]


@pytest.mark.parametrize(("profile", "version"), [("0.11", 0), ("2.7", 0), ("3.9.0", 1), ("4.1", 1), ("4.4", 1)])
def test_an_administrator_aborts_a_transaction_that_hangs(profile: str, version: int) -> None:
    """Under the producer's own epoch: readers go on, each step is judged, and the answer names the partition.

    From 4.2 on such a marker, which says no transaction version, is compared with the epoch as those of old clients.
    """
    bench = made(PROFILES[profile])
    identity = initialized(bench, "app", version=0)
    assert 0 == add_partition(bench, identity)
    sent = batch(transactional=True, base_sequence=0, **identity).encode()
    assert 0 == produce(bench, sent, version=3, transactional_id="app").error_code
    if profile != "0.11":
        partitions = {"topics": [{"name": "orders", "partition_indexes": [0]}]}
        (hanging,) = bench.ask("DescribeProducers", 0, partitions).topics[0].partitions[0].active_producers
        assert 0 == hanging.current_txn_start_offset

    assert [("orders", 0, 0)] == outcome(mark(bench, identity, version))
    after = fetched(bench.ask("Fetch", 5, fetch_fields(isolation=READ_COMMITTED, max_wait_ms=0)))
    assert (2, [0]) == (after.last_stable_offset, [txn.first_offset for txn in after.aborted_transactions])
    assert [] == bench.violations
    assert {rules.LSO_DECIDED_BELOW.id, rules.FENCE_COORDINATOR_EPOCH.id} <= judged(bench)


def test_an_old_epoch_marks_nothing() -> None:
    """It is answered as the log refuses it, partition by partition."""
    bench = made(KAFKA_4_1)
    old = initialized(bench, "app")
    now = initialized(bench, "app")
    assert 0 == add_partition(bench, now)
    sent = batch(transactional=True, base_sequence=0, **now).encode()
    assert 0 == produce(bench, sent, transactional_id="app").error_code

    topics = [{"name": "orders", "partition_indexes": [0, 7]}, {"name": OFFSETS, "partition_indexes": [0, 70]}]
    reported = outcome(mark(bench, old, topics=topics))
    assert [
        ("orders", 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        ("orders", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (OFFSETS, 0, ErrorCode.NONE),
        (OFFSETS, 70, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ] == sorted(reported, key=lambda each: (each[0] == OFFSETS, each[1]))
    assert [] == bench.violations
    assert rules.FENCE_STALE_EPOCH.id in judged(bench)


def test_a_marker_of_nobody_fails_the_request() -> None:
    """So does one whose transaction version is not said (since 4.2); a request may be without markers."""
    bench = made()
    unknown = {"producer_id": -1, "epoch": 0}

    assert [("orders", 0, ErrorCode.UNKNOWN_SERVER_ERROR)] == outcome(mark(bench, unknown))
    unsaid = mark(bench, {"producer_id": 7, "epoch": 0}, version=2, transaction_version=-1)
    assert [("orders", 0, ErrorCode.UNKNOWN_SERVER_ERROR)] == outcome(unsaid)
    assert [] == list(bench.ask("WriteTxnMarkers", 1, {"markers": []}).markers)


# --- DeleteGroups and OffsetDelete ----------------------------------------------------------------------------


def delete_groups(bench: Bench, *names: str) -> list[int]:
    return [each.error_code for each in bench.ask("DeleteGroups", 1, {"groups_names": list(names)}).results]


def delete_offsets(bench: Bench, *partitions: int, group: str = "readers", topic: str = "orders") -> tuple[int, Any]:
    topics = [{"name": topic, "partitions": [{"partition_index": number} for number in partitions]}]
    answer = bench.ask("OffsetDelete", 0, {"group_id": group, "topics": topics})
    return answer.error_code, [p.error_code for t in answer.topics for p in t.partitions]


def join(bench: Bench, *topics: str, protocol_type: str = "consumer") -> str:
    """A member of the group in its first generation; its member id."""
    protocols = [{"name": "range", "metadata": Subscription(topics).encode()}]
    fields = join_fields() | {"protocol_type": protocol_type, "protocols": protocols}
    joining = bench.ask("JoinGroup", 5, fields)
    (joined,) = bench.send("JoinGroup", 5, fields | {"member_id": joining.member_id})
    assert 0 == joined.error_code
    return str(joined.member_id)


GROUP_PROFILES = [KAFKA_2_4, KAFKA_3_9, NEWEST]


@pytest.mark.parametrize("profile", GROUP_PROFILES, ids=lambda each: each.name)
def test_a_group_without_members_is_deleted_with_its_offsets(profile: Profile) -> None:
    """What comes after under its name begins without any, here and at a coordinator that reads the log."""
    bench = made(profile)
    commit(bench, "readers", 5)
    commit(bench, "others", 6)

    assert [0, ErrorCode.GROUP_ID_NOT_FOUND] == delete_groups(bench, "readers", "nobody")
    assert ([-1], [6]) == (committed(bench, "readers"), committed(bench, "others"))
    reload_groups(bench)
    assert ([-1], [6]) == (committed(bench, "readers"), committed(bench, "others"))
    assert [ErrorCode.GROUP_ID_NOT_FOUND] == delete_groups(bench, "readers")
    commit(bench, "readers", 1)
    assert [1] == committed(bench, "readers")
    assert [] == bench.judged_whole()


def reload_groups(bench: Bench) -> None:
    for number in range(bench.service.settings.coordinator_partitions):
        bench.service.world.group_coordinator_fails_over(number, 0)


@pytest.mark.parametrize("profile", GROUP_PROFILES, ids=lambda each: each.name)
def test_a_group_with_members_stays(profile: Profile) -> None:
    """It is not empty; once the member has left it is, and goes with the generation that the log has."""
    bench = made(profile)
    member_id = join(bench, "orders")

    assert [DeletionError.NON_EMPTY_GROUP] == delete_groups(bench, "readers")
    leaving = {"group_id": "readers", "member_id": member_id}
    assert 0 == bench.ask("LeaveGroup", 1, leaving).error_code
    assert [0] == delete_groups(bench, "readers")
    reload_groups(bench)
    assert [] == [each.group_id for each in bench.ask("ListGroups", 1, {}).groups]


@pytest.mark.parametrize("profile", GROUP_PROFILES, ids=lambda each: each.name)
def test_offsets_of_a_transaction_go_with_their_group(profile: Profile) -> None:
    """Its end takes nothing over into the group that comes after."""
    bench = made(profile)
    identity = initialized(bench, "app", version=2)
    adding = {"transactional_id": "app", "producer_id": identity["producer_id"], "producer_epoch": identity["epoch"]}
    assert 0 == bench.ask("AddOffsetsToTxn", 0, adding | {"group_id": "readers"}).error_code
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"name": "orders", "partitions": [partition]}]
    answer = bench.ask("TxnOffsetCommit", 0, adding | {"group_id": "readers", "topics": topics})
    assert 0 == answer.topics[0].partitions[0].error_code

    assert [0] == delete_groups(bench, "readers")
    assert 0 == bench.ask("EndTxn", 0, adding | {"committed": True}).error_code
    bench.wait(1)
    assert [-1] == committed(bench, "readers")
    assert [] == bench.violations


@pytest.mark.parametrize("profile", GROUP_PROFILES, ids=lambda each: each.name)
def test_offsets_are_deleted_unless_a_member_reads_their_topic(profile: Profile) -> None:
    """Where there are members, their subscriptions decide; groups of another protocol keep all while they have any."""
    bench = made(profile)
    bench.service.create_topic("other", 1)
    commit(bench, "readers", 5)
    missing = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    assert (0, [0, *missing]) == delete_offsets(bench, 0, 7)
    assert [-1] == committed(bench, "readers")
    reload_groups(bench)
    assert [-1] == committed(bench, "readers")
    commit(bench, "readers", 3)
    join(bench, "orders")
    assert (0, [DeletionError.GROUP_SUBSCRIBED_TO_TOPIC]) == delete_offsets(bench, 0)
    assert (0, [0]) == delete_offsets(bench, 0, topic="other")
    assert [3] == committed(bench, "readers")
    assert [] == bench.judged_whole()


@pytest.mark.parametrize(("profile", "error"), [(KAFKA_2_7, ErrorCode.GROUP_ID_NOT_FOUND), (NEWEST, ErrorCode.NONE)])
def test_before_4_0_a_group_goes_with_its_last_offset(profile: Profile, error: int) -> None:
    """Since then it stays until offsets expire."""
    bench = made(profile)
    commit(bench, "readers", 5)
    assert (0, [0]) == delete_offsets(bench, 0)

    assert [error] == delete_groups(bench, "readers")


def test_whose_offsets_cannot_be_deleted() -> None:
    """Nobody's, a group's without a name, those of members with another protocol; one error for the whole request."""
    bench = made()
    join(bench, protocol_type="connect")

    assert (DeletionError.NON_EMPTY_GROUP, []) == delete_offsets(bench, 0)
    assert (ErrorCode.GROUP_ID_NOT_FOUND, []) == delete_offsets(bench, 0, group="nobody")
    assert (ErrorCode.INVALID_GROUP_ID, []) == delete_offsets(bench, 0, group="")


def test_another_node_deletes_no_group() -> None:
    """It does not coordinate it."""
    bench = made(nodes=2)
    keys = {"key_type": 0, "coordinator_keys": ["readers"]}
    coordinator = bench.ask("FindCoordinator", 4, keys).coordinators[0].node_id
    request = {"groups_names": ["readers"]}

    assert ErrorCode.NOT_COORDINATOR == bench.ask("DeleteGroups", 1, request, 1 - coordinator).results[0].error_code


# --- what is not answered, and what is not known -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "partition", "closed"),
    [(batch().encode(), 0, 0), (b"garbage", 0, 1), (batch().encode(), 9, 1)],
    ids=["taken", "garbage", "nowhere"],
)
def test_a_refused_batch_without_acks_closes_the_connection(sent: bytes, partition: int, closed: int) -> None:
    """Its client hears of it in no other way (`KafkaApis`)."""
    bench = made()

    assert [None] * (1 - closed) == bench.send("Produce", 9, produce_fields(sent, acks=0, partition=partition))
    assert closed == len(bench.closed)
    assert {} == bench.service.world.wires.open


def test_a_batch_without_acks_is_refused_by_its_leader() -> None:
    """A sequence that does not follow; the refusal of a verification comes later, and closes as well."""
    bench = made()
    identity = initialized(bench, None)
    produce(bench, batch(base_sequence=0, **identity).encode())
    assert [] == bench.send("Produce", 9, produce_fields(batch(base_sequence=5, **identity).encode(), acks=0))
    open_none = batch(transactional=True, base_sequence=0, **initialized(bench, "app")).encode()
    assert [] == bench.send("Produce", 9, produce_fields(open_none, acks=0, transactional_id="app"))

    assert ["error 45", "error 48"] == [each.rpartition("with ")[2] for each in bench.closed]
    assert {} == bench.service.world.wires.open


def test_what_list_offsets_may_not_ask_for_is_unsupported() -> None:
    """The newest time before version 7, and what no version has."""
    bench = made()

    def error(timestamp: int, version: int) -> int:
        return int(bench.ask("ListOffsets", version, latest(timestamp)).topics[0].partitions[0].error_code)

    assert [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION] == [error(-3, 6), error(-9, 11)]
    assert [0, 0, 0] == [error(-3, 7), error(-6, 11), error(-1, 1)]
