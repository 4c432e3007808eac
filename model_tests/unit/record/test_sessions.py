"""Sessions of a recording: what real clients did is judged by `eos conform FILE`, and the rest has its reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from model_tests.common.reports import BadInput
from model_tests.conform.replay import run as replayed
from model_tests.record import command
from model_tests.record.sessions import OLDER, OVERLAPPED, SESSIONS, UNANSWERED, WIDER, Sessions, sessions_of
from model_tests.record.wire_log import WIRE_LOG
from model_tests.serve.cluster import Cluster
from model_tests.unit.record.recorded import recorded
from model_tests.unit.support.confluent_clients import producer
from spec.versions import KAFKA_4_3

PATIENCE_S = 20
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transactions that commit and abort, a second instance, and an idempotent producer on a topic of its own."""
    directory = tmp_path_factory.mktemp("recording")
    with recorded(Cluster("4.3", topics={"orders": 2, "plain": 1}), directory) as recording:
        servers = recording.bootstrap_servers
        for _ in range(2):
            instance = producer(servers, **{"transactional.id": "app", "linger.ms": 0})
            instance.init_transactions(PATIENCE_S)
            for end in (instance.commit_transaction, instance.abort_transaction):
                instance.begin_transaction()
                for number in range(4):
                    instance.produce("orders", str(number), partition=number % 2)
                instance.flush(PATIENCE_S)
                end(PATIENCE_S)
        plain = producer(servers)
        for number in range(20):
            plain.produce("plain", str(number), partition=0)
        plain.flush(PATIENCE_S)
    return directory / WIRE_LOG


def changed(wire: Path, directory: Path, change: Callable[[Lines], Lines]) -> Sessions:
    """The sessions of the recording with other lines."""
    lines = change([json.loads(line) for line in wire.read_text().splitlines()])
    file = directory / WIRE_LOG
    file.write_text("\n".join(map(json.dumps, lines)))
    return sessions_of(file, KAFKA_4_3)


def disagreed(sessions: Sessions, file: Path) -> int:
    file.write_text("\n".join(map(json.dumps, sessions.found)))
    report = replayed([file], jobs=1)
    assert [] == report.damage
    assert report.steps
    return report.disagreed_steps


def test_what_clients_did_is_judged(wire: Path, tmp_path: Path) -> None:
    """Each topic with its producers is a session, and the broker was right."""
    sessions = sessions_of(wire, KAFKA_4_3)

    assert {} == dict(sessions.passed_over)
    assert 2 == len(sessions.found)
    apis = {step["api"] for session in sessions.found for step in session["steps"]}
    assert {"InitProducerId", "Produce", "EndTxn"} <= apis
    assert 0 == disagreed(sessions, tmp_path / "sessions.ndjson")


def test_an_answer_that_is_wrong_disagrees(wire: Path, tmp_path: Path) -> None:
    """An offset that is not the next one."""
    sessions = sessions_of(wire, KAFKA_4_3)
    steps = [step for session in sessions.found for step in session["steps"] if step["api"] == "Produce"]
    steps[-1]["response"]["base_offset"] += 1

    assert 1 == disagreed(sessions, tmp_path / "sessions.ndjson")


def test_what_began_before_is_passed_over(wire: Path, tmp_path: Path) -> None:
    """Without its InitProducerId, a producer is older than the recording."""
    found = changed(wire, tmp_path, lambda lines: [each for each in lines if each.get("api") != "InitProducerId"])

    assert {OLDER: 2} == dict(found.passed_over)
    assert [] == found.found


def test_what_has_no_answer_is_passed_over(wire: Path, tmp_path: Path) -> None:
    """An EndTxn may have been carried out, or not."""
    found = changed(
        wire, tmp_path, lambda lines: [each for each in lines if each.get("api") != "EndTxn" or "answer" not in each]
    )

    assert {UNANSWERED: 1} == dict(found.passed_over)
    assert 1 == len(found.found)


def test_what_overlaps_is_passed_over(wire: Path, tmp_path: Path) -> None:
    """Requests over two connections before either is answered: nobody knows their order."""

    def late(lines: Lines) -> Lines:
        answers = [each for each in lines if each.get("api") == "EndTxn" and "answer" in each]
        return [*(each for each in lines if each is not answers[0]), answers[0]]

    found = changed(wire, tmp_path, late)

    assert {OVERLAPPED: 1} == dict(found.passed_over)


def test_what_has_several_topics_is_passed_over(wire: Path, tmp_path: Path) -> None:
    """A session has one."""

    def renamed(lines: Lines) -> Lines:
        requested = [each for each in lines if each.get("api") == "Produce" and "request" in each]
        requested[0]["request"]["topic_data"][0] |= {"name": "another", "topic_id": "ff"}
        return lines

    assert WIDER in changed(wire, tmp_path, renamed).passed_over


def test_the_command_writes_sessions_for_a_release(tmp_path: Path) -> None:
    """Where one is given; a release that there is not is refused before anything is recorded."""
    with Cluster("4.3") as cluster:
        arguments = ("127.0.0.1:0", cluster.bootstrap_servers, tmp_path)
        report = command.run(*arguments, seconds=0.1, profile="4.3")
        with pytest.raises(BadInput, match="no Kafka version"):
            command.run(*arguments, seconds=0.1, profile="9.9")
        without = command.run("127.0.0.1:0", cluster.bootstrap_servers, tmp_path / "without", seconds=0.1)

    assert (0, {}) == (report.sessions, dict(report.passed_over))
    assert "" == (tmp_path / SESSIONS).read_text()
    assert without.sessions is None
    assert not (tmp_path / "without" / SESSIONS).exists()
