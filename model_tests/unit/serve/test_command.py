"""`eos serve`: what it takes, what it says, what it writes, and how it exits."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.addresses import Address
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.serve import command
from model_tests.serve.command import chosen_profile, is_loopback, listen_address, topic_of
from model_tests.serve.judging import LiveJudge
from model_tests.serve.report import ServeReport
from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.source_files import ROOT
from spec.versions import PROFILES


def test_a_release_is_named_as_people_name_it() -> None:
    """3.9 is the recorded 3.9.0; a transaction version may be chosen."""
    assert PROFILES["3.9.0"] == chosen_profile("3.9", None)
    assert 1 == chosen_profile("4.3", 1).transaction_version
    with pytest.raises(BadInput, match=r"no Kafka version '5\.9'"):
        chosen_profile("5.9", None)


def test_where_to_listen_is_a_host_and_a_port_for_each_node() -> None:
    """Also an address with colons in it."""
    assert Address("127.0.0.1", 9092) == listen_address("127.0.0.1:9092", 3)
    assert Address("::1", 0) == listen_address("[::1]:0", 3)
    for wrong in ("9092", "host:", "host:http", "host:65534"):
        with pytest.raises(BadInput, match="--listen is HOST:PORT"):
            listen_address(wrong, 3)


def test_a_topic_is_a_name_and_a_number_of_partitions() -> None:
    """One, if none is given."""
    assert ("orders", 6) == topic_of("orders:6")
    assert ("orders", 1) == topic_of("orders")
    for wrong in ("", "a b", "orders:0", "orders:x", ".."):
        with pytest.raises(BadInput, match="--topic is NAME"):
            topic_of(wrong)


def test_loopback_is_what_this_machine_alone_can_reach() -> None:
    """Anything else is warned of."""
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.2", "broker.example"))


def test_a_place_that_cannot_be_listened_at_is_bad_input() -> None:
    """One line, and nothing judged."""
    with pytest.raises(BadInput, match=r"cannot listen at 203\.0\.113\.1:9"):
        command.run(listen="203.0.113.1:9", nodes=1, profile="4.3", seconds=0)


def test_a_run_that_nobody_asks_anything_judges_nothing(tmp_path: Path) -> None:
    """The exit code says so; the files of the record are there."""
    report = command.run(
        listen="127.0.0.1:0", nodes=2, topics=("orders:3",), profile="2.7", record=tmp_path, seconds=0.01
    )

    assert (NOTHING_JUDGED, 0, "2.7", 2) == (report.exit_code, report.violated, report.profile, report.nodes)
    assert {"trace.ndjson", "wire.ndjson"} == {file.name for file in tmp_path.iterdir()}


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """A client is served, a signal ends it, and the report says what happened; the trace can be checked again."""
    kafka = pytest.importorskip("kafka")
    arguments = (
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--record",
        str(tmp_path / "run"),
        "--json",
        str(tmp_path / "r.json"),
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "model_tests", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    where = running.stderr.readline().split()[-1]
    producer = kafka.KafkaProducer(bootstrap_servers=where, enable_idempotence=True)
    assert 0 == producer.send("orders", b"one").get(60).offset
    producer.close()
    running.send_signal(signal.SIGINT)
    printed, output = running.communicate(timeout=60)

    assert HOLDS == running.returncode, output
    assert "violations: 0" in printed
    report = json.loads((tmp_path / "r.json").read_text())
    assert {"kafka-python 3.0.12"} <= {each["software"] for each in report["requests"]}
    rows = [json.loads(line) for line in (tmp_path / "run" / "trace.ndjson").read_text().splitlines()]
    assert ["InitProducerId", "Produce"] == [row["api"] for row in rows]
    again = command.run(
        listen="127.0.0.1:0", nodes=1, profile="4.4", record=tmp_path / "again", feed=tmp_path / "run" / "wire.ndjson"
    )
    assert (len(rows), 0) == (again.steps, again.violated)
    assert (tmp_path / "run" / "trace.ndjson").read_bytes() == (tmp_path / "again" / "trace.ndjson").read_bytes()


@pytest.mark.parametrize("text", ["", "no JSON", "{}", '{"profile": "9.9"}', "[]"])
def test_a_file_that_is_no_wire_log_is_bad_input(tmp_path: Path, text: str) -> None:
    """Whatever it is instead; and a file that is not there."""
    file = tmp_path / "wire.ndjson"
    file.write_text(text)

    for path in (file, tmp_path / "nowhere"):
        with pytest.raises(BadInput):
            command.run(listen="127.0.0.1:0", nodes=1, profile="4.4", feed=path)


def test_a_violation_is_said_when_it_happens_and_makes_the_exit_code() -> None:
    """With the rule, the guard, the values, and a drawing of the steps before it."""
    output: list[str] = []
    bench, judge = Bench(), LiveJudge(output.append)
    bench.service.world.recorder.observer = judge
    bench.service.create_topic("orders", 1)
    identity = bench.ask("InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 1})
    row = dict(bench.service.world.recorder.add("Produce", bench.service.world.clock.now, {}))

    judge({**row, **APPENDED, "producer_id": identity.producer_id})

    assert judge.violated
    assert "seq.first" in output[0] or "seq.successor" in output[0]
    assert "the latest steps" in output[-1]
    assert VIOLATED == report_with(judge).exit_code


APPENDED = {
    "step": 99,
    "topic": "orders",
    "partition": 0,
    "node": "broker-0",
    "client": "instance-1",
    "origin": 0,
    "batch_count": 1,
    "sent_base_offset": 0,
    "producer_epoch": 0,
    "base_sequence": 0,
    "last_offset_delta": 0,
    "record_count": 1,
    "error": 0,
    "appended": True,
    "first_offset": 5,
    "last_offset": 5,
    "before_epoch": 0,
    "before_cached_0_last_sequence": 7,
    "before_cached_0_last_offset": 4,
    "before_cached_0_offset_delta": 0,
    "before_log_start": 0,
    "before_last_stable": 5,
    "before_high_watermark": 5,
    "before_log_end": 5,
    "after_epoch": 0,
    "after_cached_0_last_sequence": 0,
    "after_cached_0_last_offset": 5,
    "after_cached_0_offset_delta": 0,
    "after_log_start": 0,
    "after_last_stable": 6,
    "after_high_watermark": 6,
    "after_log_end": 6,
}
"""An append that no broker makes: the sequence after 7 is 0."""


def report_with(judge: LiveJudge) -> ServeReport:
    report = ServeReport(
        "4.4", 2, 1, 1.0, judge.steps, (), {}, judge.rules(), (), judge.violated, tuple(judge.violations), 3
    )
    report.print(Console(quiet=True))
    assert report.to_json()["violated"] == judge.violated
    return report
