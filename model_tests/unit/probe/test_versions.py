"""Requests in every version that a session records: they can be written, and their answers can be read."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.probe.answers import recorded
from model_tests.probe.client import Sent
from model_tests.probe.play import Raced
from model_tests.probe.requests import BY_BROKERS, WRITTEN, fields_of, version_of
from model_tests.probe.script import ScriptAction, SessionNames
from model_tests.probe.target import TopicInfo
from reference.wire.codec import (
    RequestHeader,
    decode_body,
    decode_header,
    decode_response,
    encode_request,
    encode_response,
    key_of,
    known_versions,
)
from reference.wire.codec import (
    fields_of as named_fields,
)
from spec.versions import KAFKA_4_3, KAFKA_4_4
from spec.vocabulary import Api

OFFSETS = {"group": "g0", "offsets": {"t-0": 3}}
IDENTITY = {"transactional_id": "t0", "producer_id": "pid0", "producer_epoch": 1}
BATCH = {"partition": "t-0", "record_count": 2, "base_sequence": 0, "transactional": True, "acks": -1}
MARKER = {"producer_id": "pid0", "producer_epoch": 1, "committed": True, "coordinator_epoch": 0, "partitions": ["t-0"]}
REQUESTS: dict[str, dict[str, Any]] = {
    Api.PRODUCE: {**IDENTITY, **BATCH},
    Api.FETCH: {"partition": "t-0", "offset": 0, "isolation": "read_committed"},
    Api.INIT_PRODUCER_ID: {**IDENTITY, "timeout": 1},
    Api.ADD_PARTITIONS_TO_TXN: {**IDENTITY, "partitions": ["t-0"]},
    Api.ADD_OFFSETS_TO_TXN: {**IDENTITY, "group": "g0"},
    Api.END_TXN: {**IDENTITY, "committed": True},
    Api.WRITE_TXN_MARKERS: {"markers": [MARKER]},
    Api.TXN_OFFSET_COMMIT: {**IDENTITY, **OFFSETS, "generation": -1, "member": "", "group_instance_id": None},
    Api.OFFSET_COMMIT: {**OFFSETS, "generation": -1, "member": ""},
    Api.OFFSET_FETCH: {"group": "g0", "partitions": ["t-0"], "require_stable": False},
    Api.LIST_TRANSACTIONS: {"state_filters": [], "producer_id_filters": ["pid0"]},
}


@pytest.fixture
def names() -> SessionNames:
    made = SessionNames("session", "topic", TopicInfo(0, "00112233445566778899aabbccddeeff", (0, 0)))
    made.meet(7)
    made.coordinator_epoch(7, 5)
    return made


def every_version() -> Iterator[tuple[str, int]]:
    for api, (oldest, newest) in WRITTEN.items():
        known = known_versions(api)
        assert known is not None
        newest = max(newest, BY_BROKERS.get(api, (0, 0))[1])
        yield from ((api, version) for version in range(max(oldest, known[0]), min(newest, known[1]) + 1))


@pytest.mark.parametrize(("api", "version"), tuple(every_version()))
def test_a_request_can_be_written_in_each_version(api: str, version: int, names: SessionNames) -> None:
    """What a broker reads names the partition or the id that the session means."""
    frame = encode_request(
        RequestHeader(key_of(api), api, version, 1, "client"), fields_of(api, REQUESTS[api], names, "s0", 0)
    )

    header, body = decode_header(frame)
    read = str(named_fields(decode_body("request", api, version, frame, body)))
    assert (api, version) == (header.api, header.version)
    named = {"session-t0", "session-g0", "topic", names.info.topic_id, "'producer_id': 7", "[7]"}
    assert any(each in read.replace("-", "") or each in read for each in named), read


@pytest.mark.parametrize("version", [3, 4, 5])
def test_partitions_are_added_with_one_error_each(version: int, names: SessionNames) -> None:
    """Since version 4 by transaction."""
    part = [{"partition_index": 0, "partition_error_code": 48}]
    answer = {
        "results_by_topic_v3_and_below": [{"name": "topic", "results_by_partition": part}],
        "results_by_transaction": [
            {"transactional_id": "t0", "topic_results": [{"name": "topic", "results_by_partition": part}]}
        ],
    }

    found = read(Api.ADD_PARTITIONS_TO_TXN, version, answer, names)

    assert {"t-0": "INVALID_TXN_STATE"} == found["partitions"]
    assert "INVALID_TXN_STATE" == found["error"]


def test_a_whole_request_that_is_refused_says_nothing_of_partitions(names: SessionNames) -> None:
    """As for a version that the broker does not take."""
    found = read(Api.ADD_PARTITIONS_TO_TXN, 5, {"error_code": 35, "results_by_transaction": []}, names)

    assert ("UNSUPPORTED_VERSION", {}) == (found["error"], found["partitions"])


@pytest.mark.parametrize("version", [7, 8, 10])
def test_offsets_are_fetched_of_one_group(version: int, names: SessionNames) -> None:
    """Since version 8 it is one of several, and since version 10 topics have ids."""
    parts = [{"partition_index": 0, "committed_offset": 9, "error_code": 0, "metadata": ""}]
    topic: dict[str, Any] = {"name": "topic", "partitions": parts}
    group = {"group_id": "g", "topics": [{**topic, "topic_id": names.info.topic_id}], "error_code": 0}
    answer = {"groups": [group]} if version >= 8 else {"topics": [topic], "error_code": 0}

    found = read(Api.OFFSET_FETCH, version, answer, names)

    assert {"t-0": {"error": "NONE", "error_code": 0, "committed_offset": 9}} == found["partitions"]


def read(api: str, version: int, answer: dict[str, Any], names: SessionNames) -> dict[str, Any]:
    """An answer that went over the wire, as it is recorded."""
    _, body = decode_response(api, version, encode_response(api, version, 1, answer))
    return recorded(api, version, body, REQUESTS[api], names)


@pytest.mark.parametrize(("by_broker", "versions"), [(False, {0, 1, 2, 3}), (True, {4, 5})])
def test_brokers_send_versions_of_their_own(by_broker: bool, versions: set[int]) -> None:
    """A share of the versions, oldest first; none where the broker announces none."""
    action = ScriptAction(1, Api.ADD_PARTITIONS_TO_TXN, by_broker=by_broker)
    shares = [number / 100 for number in range(100)]

    def sent(upto: int) -> set[int | None]:
        there: dict[str, tuple[int, int]] = {Api.ADD_PARTITIONS_TO_TXN: (0, upto)}
        return {
            version_of(
                there, KAFKA_4_4, ScriptAction(1, action.api, by_broker=by_broker, version=share), explicit=False
            )
            for share in shares
        }

    assert versions == sent(5)
    assert ({None} if by_broker else versions) == sent(3)
    assert version_of({}, KAFKA_4_3, action, explicit=False) is None


def test_who_met_another_request_has_had_no_effect() -> None:
    """Only of one transactional id, and only what is refused as concurrent."""

    def raced(transactional_id: str | None, error: str) -> Raced:
        sent = Sent(0, Api.END_TXN, 5, {"transactional_id": transactional_id}, {})
        return Raced(ScriptAction(1, Api.END_TXN), sent, {"error": error})

    refused, other = raced("t0", "CONCURRENT_TRANSACTIONS"), raced("t0", "NONE")

    assert refused.may_have_met([refused, other])
    assert not refused.may_have_met([refused, raced("t1", "NONE")])
    assert not refused.may_have_met([refused])
    assert not other.may_have_met([refused, other])
    assert not raced(None, "CONCURRENT_TRANSACTIONS").may_have_met([refused, other])
