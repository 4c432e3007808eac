"""`eos serve --dir` is killed with SIGKILL under load, and started again on its directory: its clients go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

import confluent_kafka

from model_tests.audit import run as audit
from model_tests.common.reports import HOLDS, BadInput
from model_tests.serve import command
from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.journeys import PATIENCE_S
from model_tests.unit.source_files import ROOT
from model_tests.unit.support.confluent_clients import producer, reader, take


def started(directory: Path, port: int, errors: Path, *more: str) -> tuple["subprocess.Popen[str]", str, int]:
    """A server that prints into a file, where its clients connect, and its port; it has another one if 0 is given."""
    arguments = ("serve", "--listen", f"127.0.0.1:{port}", "--profile", "4.3", "--dir", str(directory), *more)
    with errors.open("w") as printed:
        running = subprocess.Popen(
            [sys.executable, "-m", "model_tests", *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=printed,
            text=True,
        )
    while "\n" not in errors.read_text() and running.poll() is None:
        time.sleep(0.05)
    where = errors.read_text().splitlines()[0].split()[-1]
    return running, where, int(where.rpartition(":")[2])


def test_clients_go_on_after_the_server_was_killed(tmp_path: Path) -> None:
    """What was acknowledged is read once, the next instance ends what was open, the group goes on at its offset.

    The plain producer has one request in flight: after a crash a partition recognises only its newest batch.
    """
    data = tmp_path / "data"
    acknowledged: list[bytes] = []

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value())

    running, servers, port = started(data, 0, tmp_path / "first", "--topic", "in:1")
    plain = producer(servers, **{"reconnect.backoff.max.ms": 100, "max.in.flight": 1})
    for number in range(200):
        plain.produce("in", b"before-%d" % number, callback=delivered)
    assert 0 == plain.flush(PATIENCE_S)
    first = producer(servers, **{"transactional.id": "app"})
    first.init_transactions(PATIENCE_S)
    first.begin_transaction()
    first.produce("in", b"committed")
    first.commit_transaction(PATIENCE_S)
    consumer = reader(servers, "readers")
    seen = take(consumer, "in", 201)
    consumer.commit(asynchronous=False)
    consumer.close()
    first.begin_transaction()
    first.produce("in", b"open")
    assert 0 == first.flush(PATIENCE_S)
    for number in range(500):
        plain.produce("in", b"under-way-%d" % number, callback=delivered)
        plain.poll(0)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert HOLDS == audit.run([str(data)]).exit_code

    running, servers, _ = started(data, port, tmp_path / "second", "--record", str(tmp_path / "record"))
    assert 0 == plain.flush(PATIENCE_S)
    second = producer(servers, **{"transactional.id": "app"})
    second.init_transactions(PATIENCE_S)
    second.begin_transaction()
    second.produce("in", b"second")
    second.commit_transaction(PATIENCE_S)
    with pytest.raises(confluent_kafka.KafkaException) as fenced:
        first.commit_transaction(PATIENCE_S)
    consumer = reader(servers, "readers")
    seen += take(consumer, "in", 501)
    consumer.close()
    running.send_signal(signal.SIGTERM)
    printed, _ = running.communicate(timeout=PATIENCE_S)
    output = (tmp_path / "second").read_text()

    assert (HOLDS, True) == (running.returncode, fenced.value.args[0].fatal()), output
    assert "violations: 0" in printed
    assert f"recovered {data} after a crash; topics: 1, repairs: 0" in output
    assert sorted([*acknowledged, b"committed", b"second"]) == sorted(seen)
    assert 700 == len(acknowledged)
    assert HOLDS == audit.run([str(data)]).exit_code
    with pytest.raises(BadInput, match="began with the data of an earlier one"):
        command.run(listen="127.0.0.1:0", nodes=1, profile="4.3", feed=tmp_path / "record" / "wire.ndjson")


def test_a_directory_that_cannot_be_served_is_bad_input(tmp_path: Path) -> None:
    """One line that names it, from the command and from a cluster; and a topic of another size."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput, match="file: "):
        command.run(listen="127.0.0.1:0", nodes=1, profile="4.3", seconds=0, directory=file)
    with pytest.raises(BadInput, match="file: "), Cluster("4.3", dir=file):
        pass
    with Cluster("4.3", topics={"orders": 2}, dir=tmp_path / "data") as cluster:
        assert cluster.bootstrap_servers
    with pytest.raises(BadInput, match="topic orders exists with 2 partitions, not 3"):
        command.run(
            listen="127.0.0.1:0", nodes=1, topics=("orders:3",), profile="4.3", seconds=0, directory=tmp_path / "data"
        )
    with Cluster("4.3", topics={"orders": 2}, dir=tmp_path / "data"):
        pass
