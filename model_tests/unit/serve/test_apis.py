"""What each api answers, in the cases that client libraries seldom ask for."""

from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import START_MS, Bench
from model_tests.unit.support.api_requests import (
    READ_COMMITTED,
    add_partition,
    batch,
    create,
    fetch_fields,
    fetched,
    initialized,
    join_fields,
    latest,
    produce,
    produce_fields,
)
from reference.log.codecs import Codec
from reference.server.configs import max_message_bytes
from reference.server.errors import ServerError
from reference.server.produce_api import MOST_PLAIN_BYTES
from reference.server.service import Fields
from reference.wire.codec import MalformedRequest
from spec.versions import KAFKA_2_0, NEWEST, PROFILES
from spec.vocabulary import ErrorCode


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.service.create_topic("orders", 2)
    return made


# --- Produce --------------------------------------------------------------------------------------------------


def test_a_batch_that_comes_again_is_answered_with_the_offset_and_the_time_of_the_first(bench: Bench) -> None:
    """The answer to a duplicate carries the timestamp that the producer's state keeps."""
    sent = batch(b"one", b"two", base_sequence=0, **initialized(bench, None)).encode()

    first, again = produce(bench, sent), produce(bench, sent)

    assert (0, 0, -1) == (first.error_code, first.base_offset, first.log_append_time_ms)
    assert (0, 0, START_MS) == (again.error_code, again.base_offset, again.log_append_time_ms)
    assert (
        2 == bench.service.world.brokers.partitions[bench.service.topics.by_name["orders"].partition(0)].leader.log_end
    )


@pytest.mark.parametrize(
    ("data", "version", "error"),
    [
        (b"", 9, ErrorCode.INVALID_RECORD),
        (b"garbage", 9, ErrorCode.INVALID_RECORD),
        (batch().encode() + batch().encode(), 9, ErrorCode.INVALID_RECORD),
        (batch().encode()[:-1] + b"\x01", 9, ErrorCode.CORRUPT_MESSAGE),
        (batch()._replace(record_count=2).encode(), 9, ErrorCode.INVALID_RECORD),
        (batch().compressed(4).encode(), 6, ServerError.UNSUPPORTED_COMPRESSION_TYPE),
        (batch()._replace(attributes=7).encode(), 9, ServerError.UNSUPPORTED_COMPRESSION_TYPE),
        (batch(bytes(max_message_bytes(NEWEST))).encode(), 9, ErrorCode.MESSAGE_TOO_LARGE),
        (batch(bytes(MOST_PLAIN_BYTES)).compressed(Codec.GZIP).encode(), 9, ErrorCode.MESSAGE_TOO_LARGE),
        (batch(bytes(MOST_PLAIN_BYTES)).compressed(Codec.ZSTD).encode(), 9, ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=[
        "nothing",
        "garbage",
        "two",
        "checksum",
        "count",
        "zstd too early",
        "no codec",
        "too large",
        "much in gzip",
        "much in zstd",
    ],
)
def test_what_is_no_batch_is_refused(bench: Bench, data: bytes, version: int, error: int) -> None:
    """Nothing is appended then."""
    answer = produce(bench, data, version)

    assert (error, -1) == (answer.error_code, answer.base_offset)
    assert 0 == bench.ask("ListOffsets", 2, latest()).topics[0].partitions[0].offset


@pytest.mark.parametrize("data", [b"garbage", batch()._replace(record_count=2).encode()], ids=["garbage", "count"])
def test_before_2_4_what_is_ill_formed_is_corrupt(data: bytes) -> None:
    """INVALID_RECORD has no code yet."""
    bench = Bench(KAFKA_2_0)
    bench.service.create_topic("orders", 1)

    assert ErrorCode.CORRUPT_MESSAGE == produce(bench, data, 6).error_code


@pytest.mark.parametrize("data", [b"", batch().encode() * 2], ids=["nothing", "two"])
def test_before_2_4_a_produce_with_another_count_of_batches_cannot_be_read(data: bytes) -> None:
    """It is found out while the request is read, so that nothing is answered."""
    bench = Bench(KAFKA_2_0)
    bench.service.create_topic("orders", 1)

    with pytest.raises(MalformedRequest, match="batches for orders-0, and must have one"):
        produce(bench, data, 6)


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_is_taken_and_given_back(bench: Bench, codec: int) -> None:
    """The bytes that a reader gets are those that the producer sent, but for their place."""
    sent = batch(b"one" * 50).compressed(codec)
    assert 0 == produce(bench, sent.encode()).error_code

    answer = fetched(bench.ask("Fetch", 11, fetch_fields()))

    assert sent.at(sent.base_offset, 0).encode() == bytes(answer.records)  # type: ignore[arg-type]


def test_nobody_answers_without_acks(bench: Bench) -> None:
    """The batch is there all the same."""
    assert [None] == bench.send("Produce", 9, produce_fields(batch().encode(), acks=0))
    assert 1 == bench.ask("ListOffsets", 2, latest()).topics[0].partitions[0].offset
    assert {} == bench.service.world.wires.open


def test_acks_and_partitions_that_there_are_not(bench: Bench) -> None:
    """Each is refused by its own error."""
    assert ErrorCode.INVALID_REQUIRED_ACKS == produce(bench, batch().encode(), acks=2).error_code
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == produce(bench, batch().encode(), partition=9).error_code
    by_id = {"topic_id": None, "partition_data": [{"index": 0, "records": batch().encode()}]}
    answer = bench.ask("Produce", 13, {"acks": -1, "timeout_ms": 1, "topic_data": [by_id]})
    assert ServerError.UNKNOWN_TOPIC_ID == answer.responses[0].partition_responses[0].error_code


@pytest.mark.parametrize(
    ("release", "version", "error"),
    [
        ("3.6", 9, ErrorCode.INVALID_REQUIRED_ACKS),
        ("3.9.0", 9, ErrorCode.INVALID_TXN_STATE),
        ("4.3", 11, ErrorCode.TRANSACTION_ABORTABLE),
        ("4.3", 12, ErrorCode.INVALID_REQUIRED_ACKS),
    ],
)
def test_a_transaction_is_verified_before_acks_since_3_8(release: str, version: int, error: ErrorCode) -> None:
    """Or the partition is added to it, though the batch is refused then."""
    bench = Bench(PROFILES[release])
    bench.service.create_topic("orders", 1)
    sent = batch(transactional=True, base_sequence=0, **initialized(bench, "app")).encode()

    assert error == produce(bench, sent, version, acks=2, transactional_id="app").error_code
    described = bench.ask("DescribeTransactions", 0, {"transactional_ids": ["app"]}).transaction_states[0]
    assert ("Ongoing" if version >= 12 else "Empty") == described.transaction_state
    assert 0 == bench.ask("ListOffsets", 2, latest()).topics[0].partitions[0].offset
    assert [] == bench.judged_whole()


@pytest.mark.parametrize(("release", "error"), [("2.7", 0), ("3.6", ErrorCode.INVALID_PRODUCER_ID_MAPPING)])
def test_producers_of_a_request_are_compared_where_they_are_verified(release: str, error: int) -> None:
    """2.7 looks at each partition alone."""
    bench = Bench(PROFILES[release])
    bench.service.create_topic("orders", 2)
    fields = produce_fields(b"", transactional_id="app")
    fields["topic_data"][0]["partition_data"] = [
        {"index": number, "records": batch(transactional=True, base_sequence=0, producer_id=number, epoch=0).encode()}
        for number in range(2)
    ]

    answers = bench.ask("Produce", 9, fields).responses[0].partition_responses
    assert [error] * 2 == [each.error_code for each in answers]


def test_transactional_records_need_a_transactional_id(bench: Bench) -> None:
    """The whole request is refused."""
    sent = batch(transactional=True, base_sequence=0, **initialized(bench, "app")).encode()

    assert ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED == produce(bench, sent).error_code


def test_a_topic_can_be_named_by_its_id(bench: Bench) -> None:
    """As Produce does since version 13, Fetch since 13, Metadata since 12."""
    topic_id = bench.service.topics.by_name["orders"].topic_id
    part = {"index": 0, "records": batch().encode()}
    sent = {"acks": -1, "timeout_ms": 1, "topic_data": [{"topic_id": topic_id, "partition_data": [part]}]}
    assert 0 == bench.ask("Produce", 13, sent).responses[0].partition_responses[0].error_code
    fields = fetch_fields()
    fields["topics"][0] = {"topic_id": topic_id, "partitions": fields["topics"][0]["partitions"]}

    answer = bench.ask("Fetch", 17, fields).responses[0]
    described = bench.ask("Metadata", 12, {"topics": [{"topic_id": topic_id, "name": None}]}).topics[0]

    assert (topic_id, 0) == (answer.topic_id.hex, answer.partitions[0].error_code)
    assert ("orders", 2) == (described.name, len(described.partitions))


# --- Fetch and ListOffsets ------------------------------------------------------------------------------------


def test_a_reader_waits_for_records_and_is_answered_when_they_come(bench: Bench) -> None:
    """Not before, and not later."""
    answers = bench.send("Fetch", 11, fetch_fields())
    bench.wait(100)
    assert [] == answers

    produce(bench, batch().encode())

    assert [1] == [fetched(answer).high_watermark for answer in answers]
    assert [] == bench.service.parked


def test_a_reader_is_answered_in_the_end_without_records(bench: Bench) -> None:
    """After max_wait; and at once if it does not wait."""
    answers = bench.send("Fetch", 11, fetch_fields())
    bench.wait(499)
    assert [] == answers
    bench.wait(1)

    assert [(0, b"")] == [(fetched(answer).error_code, bytes(fetched(answer).records or b"")) for answer in answers]
    assert 1 == len(bench.send("Fetch", 11, fetch_fields(max_wait_ms=0)))


def test_a_reader_may_wait_for_so_many_bytes(bench: Bench) -> None:
    """One small batch is not enough."""
    answers = bench.send("Fetch", 11, fetch_fields(min_bytes=100))
    produce(bench, batch().encode())
    assert [] == answers
    produce(bench, batch(b"more" * 20).encode())

    assert 1 == len(answers)


def test_what_cannot_be_read_is_answered_at_once(bench: Bench) -> None:
    """An offset that there is not, a session that there is not, a leader epoch from the future."""
    assert ErrorCode.OFFSET_OUT_OF_RANGE == fetched(bench.ask("Fetch", 11, fetch_fields(7))).error_code
    assert ServerError.FETCH_SESSION_ID_NOT_FOUND == bench.ask("Fetch", 11, fetch_fields(session_id=5)).error_code
    fields = fetch_fields()
    fields["topics"][0]["partitions"][0]["current_leader_epoch"] = 9
    assert ErrorCode.UNKNOWN_LEADER_EPOCH == fetched(bench.ask("Fetch", 11, fields)).error_code


def test_a_node_that_does_not_lead_says_so() -> None:
    """Partition 0 is led by node 0, partition 1 by node 1."""
    bench = Bench(nodes=2)
    bench.service.create_topic("orders", 2)

    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == fetched(bench.ask("Fetch", 11, fetch_fields(), node=1)).error_code
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == refused_at(bench, 1).error_code
    leaders = [each.leader_id for each in bench.ask("Metadata", 5, {"topics": None}).topics[0].partitions]
    assert [0, 1] == leaders


def refused_at(bench: Bench, node: int) -> Any:
    answer = bench.ask("Produce", 9, produce_fields(batch().encode()), node=node)
    return answer.responses[0].partition_responses[0]


def test_offsets_are_found_by_their_time(bench: Bench) -> None:
    """The first record that is not older; -1 where there is none; the newest time of all since version 7."""
    for minute in range(3):
        produce(bench, batch(b"a", b"b", at=START_MS + 60_000 * minute).encode())

    def requested(timestamp: int) -> tuple[int, int]:
        found = bench.ask("ListOffsets", 7, latest(timestamp)).topics[0].partitions[0]
        return found.offset, found.timestamp

    assert (2, START_MS + 60_000) == requested(START_MS + 1)
    assert (-1, -1) == requested(START_MS + 10**7)
    assert (0, -1) == requested(-2)
    assert (6, -1) == requested(-1)
    assert (4, START_MS + 120_000) == requested(-3)


# --- transactions and time ------------------------------------------------------------------------------------


def test_a_transaction_that_takes_too_long_is_aborted_by_itself(bench: Bench) -> None:
    """A reader of what is committed waits for it, and then passes over it."""
    identity = initialized(bench, "app", timeout_ms=5_000)
    assert 0 == add_partition(bench, identity)
    sent = batch(transactional=True, base_sequence=0, **identity).encode()
    assert 0 == produce(bench, sent, transactional_id="app").error_code
    before = fetched(bench.ask("Fetch", 11, fetch_fields(isolation=READ_COMMITTED, max_wait_ms=0)))
    assert (0, 1) == (before.last_stable_offset, before.high_watermark)

    bench.wait(6_500)

    after = fetched(bench.ask("Fetch", 11, fetch_fields(isolation=READ_COMMITTED, max_wait_ms=0)))
    assert (2, [0]) == (after.last_stable_offset, [txn.first_offset for txn in after.aborted_transactions])
    assert [] == bench.violations


def test_an_abort_without_partitions_is_complete_at_once(bench: Bench) -> None:
    """Under version 2 a client may abort what it has not begun; no marker is owed, and the next transaction begins."""
    identity = initialized(bench, "payments")
    ended = {"transactional_id": "payments", "producer_id": identity["producer_id"], "committed": False}

    answer = bench.ask("EndTxn", 5, ended | {"producer_epoch": identity["epoch"]})

    described = bench.ask("DescribeTransactions", 0, {"transactional_ids": ["payments"]}).transaction_states[0]
    assert (0, identity["epoch"] + 1) == (answer.error_code, answer.producer_epoch)
    assert "CompleteAbort" == described.transaction_state


def test_a_partition_that_there_is_not_joins_no_transaction(bench: Bench) -> None:
    """No coordinator is asked."""
    steps = bench.monitor.steps
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == add_partition(bench, {"producer_id": 1, "epoch": 0}, partition=7)
    assert steps == bench.monitor.steps


def test_a_member_that_is_silent_leaves_its_group(bench: Bench) -> None:
    """Its session expires by itself; the other, which waited for it, is alone in the next generation."""
    for _ in range(2):
        joining = bench.ask("JoinGroup", 5, join_fields())
        assert ErrorCode.MEMBER_ID_REQUIRED == joining.error_code
        answers = bench.send("JoinGroup", 5, join_fields(joining.member_id))
    assert [] == answers

    def state() -> int:
        groups = bench.service.world.brokers.nodes[0].groups
        return len(groups.shards.of_group("readers").groups["readers"].members)

    assert 2 == state()
    bench.wait(10_000)
    assert (1, [0]) == (state(), [answer.error_code for answer in answers])
    bench.wait(10_000)
    assert 0 == state()


# --- topics and nodes -----------------------------------------------------------------------------------------


def test_topics_are_made_as_they_are_asked_for(bench: Bench) -> None:
    """With a number of partitions, with the default one, or only in appearance."""
    assert (0, 5) == (
        create(bench, "five", num_partitions=5).error_code,
        bench.service.topics.by_name["five"].partitions,
    )
    assert 1 == create(bench, "default", num_partitions=-1, replication_factor=-1).num_partitions
    assert (
        0 == create(bench, "not made", validate_only=True).error_code or "not made" not in bench.service.topics.by_name
    )


@pytest.mark.parametrize(
    ("name", "more", "error"),
    [
        ("orders", {}, ServerError.TOPIC_ALREADY_EXISTS),
        ("a b", {}, ServerError.INVALID_TOPIC_EXCEPTION),
        ("none", {"num_partitions": 0}, ServerError.INVALID_PARTITIONS),
        ("many", {"replication_factor": 3}, ServerError.INVALID_REPLICATION_FACTOR),
        ("set", {"configs": [{"name": "cleanup.policy", "value": "compact"}]}, ServerError.INVALID_CONFIG),
    ],
)
def test_topics_that_cannot_be_made(bench: Bench, name: str, more: Any, error: int) -> None:
    """Each by its own error, with a sentence."""
    answer = create(bench, name, **more)

    assert error == answer.error_code
    assert answer.error_message


def test_metadata_makes_a_topic_only_if_it_may(bench: Bench) -> None:
    """The client says whether, and a name that no topic may have is never taken."""

    def requested(name: str, may: bool) -> int:
        answer = bench.ask("Metadata", 9, {"topics": [{"name": name}], "allow_auto_topic_creation": may})
        return int(answer.topics[0].error_code)

    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == requested("new", may=False)
    assert 0 == requested("new", may=True)
    assert ServerError.INVALID_TOPIC_EXCEPTION == requested("a b", may=True)
    assert ["orders", "new"] == list(bench.service.topics.by_name)


@pytest.mark.parametrize(("profile", "levels"), [("3.9.0", []), ("4.3", [2])])
def test_the_transaction_version_is_a_finalized_feature_since_4_0(profile: str, levels: list[int]) -> None:
    """Clients bump their epoch with every transaction where it is 2."""
    software = {"client_software_name": "a", "client_software_version": "1"}
    answer = Bench(PROFILES[profile]).ask("ApiVersions", 4 if profile == "4.3" else 3, software)

    assert levels == [each.max_version_level for each in answer.finalized_features]


def test_coordinators_are_spread_over_the_nodes() -> None:
    """Each key has one node that says so itself, whoever is asked; there is no coordinator of share groups."""
    bench = Bench(nodes=3)
    keys = [f"app-{number}" for number in range(30)]
    found = [
        bench.ask("FindCoordinator", 4, {"key_type": kind, "coordinator_keys": keys}, node=2).coordinators
        for kind in (0, 1)
    ]

    assert all({0, 1, 2} == {each.node_id for each in one} for one in found)
    refused = bench.ask("FindCoordinator", 6, {"key_type": 2, "coordinator_keys": ["g:t:0"]}).coordinators[0]
    assert ErrorCode.INVALID_REQUEST == refused.error_code


# --- AddPartitionsToTxn between brokers -----------------------------------------------------------------------


def asked_of(name: str, identity: dict[str, int], partitions: list[int], *, verify_only: bool = False) -> Fields:
    """One transaction of a request that brokers send."""
    topics = [{"name": "orders", "partitions": partitions}]
    producer = {"producer_id": identity["producer_id"], "producer_epoch": identity["epoch"]}
    return {"transactional_id": name, **producer, "verify_only": verify_only, "topics": topics}


def added(answer: Any) -> dict[str, dict[int, int]]:
    """The errors by transactional id and partition."""
    return {
        each.transactional_id: {
            part.partition_index: part.partition_error_code
            for topic in each.topic_results
            for part in topic.results_by_partition
        }
        for each in answer.results_by_transaction
    }


def test_partitions_of_several_transactions_are_added_or_verified(bench: Bench) -> None:
    """Each transaction has its own answers, and an unknown partition fails its own transaction alone."""
    one, two, three = (initialized(bench, name) for name in ("one", "two", "three"))
    transactions = [
        asked_of("one", one, [0, 1]),
        asked_of("one-again", one, [0]),
        asked_of("two", two, [0, 7]),
        asked_of("three", three, [0], verify_only=True),
    ]
    answer = bench.ask("AddPartitionsToTxn", 5, {"transactions": transactions})

    unknown, skipped = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert 0 == answer.error_code
    assert added(answer) == {
        "one": {0: 0, 1: 0},
        "one-again": {0: ErrorCode.INVALID_PRODUCER_ID_MAPPING},
        "two": {0: skipped, 7: unknown},
        "three": {0: ErrorCode.TRANSACTION_ABORTABLE},
    }
    verified = bench.ask("AddPartitionsToTxn", 4, {"transactions": [asked_of("one", one, [1], verify_only=True)]})
    assert {"one": {1: 0}} == added(verified)
    assert [] == bench.judged_whole()


def test_a_record_that_cannot_be_written_fails_the_whole_request() -> None:
    """Under transaction version 0 no record holds the version of a broker's client; what comes later is not done."""
    bench = Bench(NEWEST.under(0))
    bench.service.create_topic("orders", 1)
    one, two = (initialized(bench, name) for name in ("one", "two"))
    transactions = [asked_of("one", one, [0]), asked_of("two", two, [0], verify_only=True)]

    answer = bench.ask("AddPartitionsToTxn", 5, {"transactions": transactions})

    assert (ErrorCode.UNSUPPORTED_VERSION, []) == (answer.error_code, answer.results_by_transaction)
    assert [] == bench.judged_whole()
