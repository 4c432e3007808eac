"""`eos record`: what it takes, what it writes, what it says, and how it exits."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.record import command
from model_tests.record.counts import Counts
from model_tests.record.recording import Recording
from model_tests.record.report import RecordReport
from model_tests.serve.cluster import Cluster
from model_tests.unit.record.brokers import broker, echoes, frame_of, silent
from model_tests.unit.record.recorded import journal_lines, wire_lines
from model_tests.unit.serve.fuzzed_frames import framed
from model_tests.unit.source_files import ROOT
from reference.wire.codec import RequestHeader, encode_request, key_of
from spec import rules


def test_the_command_records_until_it_is_interrupted(tmp_path: Path) -> None:
    """A client writes; a signal ends it; the files and the report say what passed."""
    kafka = pytest.importorskip("kafka")
    with Cluster("4.3", topics={"orders": 1}) as cluster:
        arguments = ("--listen", "127.0.0.1:0", "--upstream", cluster.bootstrap_servers, "--out", str(tmp_path / "run"))
        running = subprocess.Popen(
            [sys.executable, "-m", "model_tests", "record", *arguments, "--json", str(tmp_path / "report.json")],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stderr is not None
        upstream, _, port = running.stderr.readline().split()
        assert cluster.bootstrap_servers == upstream
        producer = kafka.KafkaProducer(bootstrap_servers=port, enable_idempotence=True)
        assert 0 == producer.send("orders", b"a value").get(60).offset
        producer.close()
        running.send_signal(signal.SIGINT)
        printed, output = running.communicate(timeout=60)

    assert HOLDS == running.returncode, output
    assert "acknowledged records: 1, duplicates: 0, fences: 0" in printed
    report = json.loads((tmp_path / "report.json").read_text())
    assert {"kafka-python 3.0.12"} <= {each["software"] for each in report["requests"]}
    assert (1, 0, {upstream: int(port.rpartition(":")[2])}) == (
        report["records"],
        report["contradicted"],
        report["brokers"],
    )
    producer_name = journal_lines(tmp_path / "run")[0]["p"]
    acknowledged = {"ev": "ack", "p": producer_name, "txn": None, "topic": "orders", "part": 0, "off": 0}
    assert [{"ev": "producer", "p": producer_name, "tid": None}, acknowledged] == journal_lines(tmp_path / "run")
    lines = wire_lines(tmp_path / "run")
    assert upstream == lines[0]["recorded"]
    (requested,) = [line["request"] for line in lines if line.get("api") == "Produce" and "request" in line]
    (sent,) = requested["topic_data"][0]["partition_data"][0]["records"]["batches"]
    assert (0, 1, False) == (sent["base_sequence"], sent["records"], sent["transactional"])
    assert "a value" not in (tmp_path / "run" / "wire.ndjson").read_text()
    opened, closed = ([line["connection"] for line in lines if what in line] for what in ("opened", "closed"))
    assert sorted(opened) == sorted(closed)


def test_passwords_are_not_written(tmp_path: Path) -> None:
    """Neither those that sign a client in nor those among settings: such requests are in the log without fields."""
    secret = {"name": "sasl.jaas.config", "config_operation": 0, "value": "password"}
    requested: dict[str, dict[str, Any]] = {
        "SaslAuthenticate": {"auth_bytes": b"\0user\0password"},
        "IncrementalAlterConfigs": {"resources": [{"resource_type": 2, "resource_name": "x", "configs": [secret]}]},
    }
    with broker(echoes) as servers, Recording(servers, tmp_path) as recording:
        host, _, port = recording.bootstrap_servers.rpartition(":")
        for api, fields in requested.items():
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(framed(encode_request(RequestHeader(key_of(api), api, 1, 7, "test"), fields)))
                assert frame_of(connection)

    assert b"password" not in (tmp_path / "wire.ndjson").read_bytes()
    assert dict.fromkeys(requested) == {
        line["api"]: line["request"] for line in wire_lines(tmp_path) if "request" in line
    }


def test_tokens_without_a_header_pass(tmp_path: Path) -> None:
    """Those of SASL before KIP-152: they come after SaslHandshake of version 0, and requests come after them."""
    token = b"\0user\0password"
    with broker(echoes) as servers, Recording(servers, tmp_path) as recording:
        host, _, port = recording.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            handshake = RequestHeader(key_of("SaslHandshake"), "SaslHandshake", 0, 7, "test")
            connection.sendall(framed(encode_request(handshake, {"mechanism": "PLAIN"})))
            assert frame_of(connection)
            connection.sendall(framed(token))
            assert token[4:] == frame_of(connection)
            connection.sendall(framed(struct.pack(">hhi", 999, 3, 8)))
            assert struct.pack(">i", 8) == frame_of(connection)

    assert [len(token)] == [line["sasl"] for line in wire_lines(tmp_path) if "sasl" in line]
    assert b"password" not in (tmp_path / "wire.ndjson").read_bytes()


def test_a_recording_that_nobody_uses_says_so(tmp_path: Path) -> None:
    """By its exit code; the files are there."""
    with broker(silent) as servers:
        report = command.run("127.0.0.1:0", servers, tmp_path, seconds=0.01)

    assert NOTHING_JUDGED == report.exit_code
    assert {"journal", "wire.ndjson"} == {file.name for file in tmp_path.iterdir()}


def test_a_contradiction_makes_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """It is printed with its rule."""
    counts = Counts()
    counts.requests["client", "Produce"] += 1
    counts.unread["Produce 2"] += 1
    counts.not_journaled["message format before version 2"] += 1
    counts.contradicts(rules.SEQ_EXACTLY_ONCE, "in-0: what cannot be")
    report = RecordReport("broker:9092", "run", 1.0, {"broker:9092": 9092}, counts)
    report.print(Console(width=200))

    printed = capsys.readouterr().out
    assert VIOLATED == report.exit_code
    assert "seq.exactly_once: in-0: what cannot be" in printed
    assert "not in the journal: message format before version 2 1" in printed
    assert [{"rule": "seq.exactly_once", "what": "in-0: what cannot be"}] == report.to_json()["contradictions"]
    json.dumps(report.to_json())
