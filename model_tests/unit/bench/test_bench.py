import json
import os
import subprocess
import sys
from math import isnan
from pathlib import Path
from time import process_time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from model_tests.audit.checksums import ChecksumReader, sound_batches
from model_tests.audit.kafka_log import PLAN_OPTION, verdict_options
from model_tests.audit.options import DEFAULTS
from model_tests.audit.verdict_tasks import AuditPlan
from model_tests.bench import __main__ as bench
from model_tests.bench import memory, trace_batches
from model_tests.bench.cpus import on_cpus
from model_tests.bench.log_files import client_batches
from model_tests.bench.memory import computed_seconds, peak_mebibytes
from model_tests.bench.serving import Load, messages, served, transactions
from model_tests.bench.trace_batches import write_batch
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema_types import record_batch
from model_tests.verify import results
from model_tests.verify.results import RunEffort
from reference.log.disk_log import DiskLog


def _part(name: str, requested: list[str]) -> bench.Part:
    """A part that notes that it was measured."""

    def measured(_effort: RunEffort, scratch: Path) -> list[bench.Measured]:
        assert scratch.is_dir()
        requested.append(name)
        return [bench.Measured(name, 1.5, "x", "at most 2", met=True)]

    return measured


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The parts that were measured; the measuring itself is left out."""
    names: list[str] = []
    monkeypatch.setattr(bench, "PARTS", {name: _part(name, names) for name in bench.PARTS})
    monkeypatch.setattr(bench, "DIRECTORY", tmp_path)
    return names


def test_one_part_is_measured_alone(requested: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its figures are printed; the report of the last whole run stays as it is."""
    bench.main(["audit"])

    assert requested == ["audit"]
    assert "1.50" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_all_parts_are_measured_where_none_is_named(requested: list[str], tmp_path: Path) -> None:
    """And the report has them all, and names their sources."""
    bench.main([])

    assert requested == list(bench.PARTS)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [*bench.PARTS, "peak memory, Python and JVM"] == [figure["what"] for figure in report["figures"]]
    assert results.digest() == report["sources"]


def test_an_unknown_part_is_named(requested: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are, before anything is measured."""
    with pytest.raises(SystemExit):
        bench.main(["audits"])

    assert requested == []
    output = capsys.readouterr().err
    assert "no audits to measure" in output
    assert "simulation" in output


def test_the_help_names_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader need not look them up in the code."""
    with pytest.raises(SystemExit):
        bench.main(["--help"])

    output = capsys.readouterr().out
    assert all(name in output for name in bench.PARTS)


BATCHES = 50


def counted(directory: Path) -> int:
    """Batches that the tasks say are sound."""
    reader = ChecksumReader(verdict_options(AuditPlan(DEFAULTS, (str(directory),)))[PLAN_OPTION])
    return sum(part or 0 for task in reader.partitions() for _, _, part, _ in reader.read(task))


def test_checksums_alone_are_computed_of_every_batch(tmp_path: Path) -> None:
    """What the audit's time is compared with does look at the bytes: a batch with another bit does not count."""
    log = DiskLog.create(tmp_path / "t-0")
    log.append_all(list(client_batches(BATCHES)))
    log.close()
    sound = counted(tmp_path)
    assert sound == sound_batches(tmp_path)
    path = tmp_path / "t-0" / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert sound == BATCHES
    assert counted(tmp_path) == sound_batches(tmp_path) == BATCHES - 1


ASKED = "import os, sys; from model_tests.bench.checking import keep_to_cores; keep_to_cores(sys.argv[1]); "
ASKED += "print(len(os.sched_getaffinity(0)))"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the operating system has no sched_getaffinity")
@pytest.mark.parametrize("requested", [1, 2])
def test_a_process_keeps_to_the_cores_that_spark_is_given(requested: int) -> None:
    """So has the compiler of a JVM that it starts; never more than there are."""
    assert min(requested, len(os.sched_getaffinity(0))) == _cores_under(f"local[{requested}]")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the operating system has no sched_getaffinity")
@pytest.mark.parametrize("master", ["local[*]", "local-cluster[2,1,2048]"])
def test_other_masters_have_all_cores(master: str) -> None:
    """Their executors say for themselves how many they take."""
    assert len(os.sched_getaffinity(0)) == _cores_under(master)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the operating system has no sched_getaffinity")
def test_what_is_started_keeps_to_the_cpus_until_all_are_allowed_again() -> None:
    """Also where an error ends the measurement."""
    before = os.sched_getaffinity(0)
    counted = [sys.executable, "-c", "import os, sys; print(len(os.sched_getaffinity(0)))"]

    with pytest.raises(subprocess.CalledProcessError), on_cpus(1):
        subprocess.run([*counted[:-1], f"{counted[-1]}; sys.exit(1)"], check=True)
    with on_cpus(1):
        started = subprocess.run(counted, stdout=subprocess.PIPE, text=True, check=True)

    assert (1, before) == (int(started.stdout), os.sched_getaffinity(0))


def _cores_under(master: str) -> int:
    output = subprocess.run([sys.executable, "-c", ASKED, master], stdout=subprocess.PIPE, text=True, check=True)
    return int(output.stdout)


BUSY = """
import sys, time
while time.process_time() < 0.3:
    pass
held = b"x" * (60 << 20)
print(held[0], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(
    not memory.PROCESSES.exists(),
    reason="memory and time of other processes are read from /proc, which this system does not have",
)
def test_time_and_memory_of_what_was_started_count() -> None:
    """What a process of ours computes and holds is ours; and what was computed before is not counted again."""
    before, peak = computed_seconds(), peak_mebibytes()

    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        at_the_child = computed_seconds() - before
        with_the_child = peak_mebibytes() - peak
        child.communicate()

    assert 0.25 <= at_the_child
    assert 60 <= with_the_child
    started = process_time()
    while process_time() - started < 0.2:
        pass
    assert 0.45 <= computed_seconds() - before < 5


def test_nothing_is_known_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere both are no number, which meets no target."""
    monkeypatch.setattr(memory, "PROCESSES", tmp_path / "none")

    assert isnan(peak_mebibytes())
    assert isnan(computed_seconds())
    assert not peak_mebibytes() <= 4096


def test_a_load_is_reported_by_the_second_and_for_one() -> None:
    """The time that passed, and the nodes' own."""
    load = Load(count=1_000, passed=2.0, computed=0.5, grown=0.0)

    assert (500.0, 500.0) == (load.per_second, load.microseconds)


@pytest.mark.slow
def test_nodes_in_another_process_are_under_load() -> None:
    """Everything that was sent is acknowledged, and the nodes have computed for it."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    with served(1, judged=True) as nodes:
        loads = (messages(nodes, 1_000), transactions(nodes, 20))

    assert [1_000, 20] == [load.count for load in loads]
    assert all(load.computed > 0 for load in loads)


@pytest.fixture
def table() -> pa.Table:
    """A few short traces, as many as a batch numbers."""
    return pa.Table.from_batches([record_batch(trace_of(seed, steps=25)) for seed in (0, 1, 2, 3)])


def test_a_batch_is_as_large_as_asked_and_every_step_stands_once(table: pa.Table, tmp_path: Path) -> None:
    """What is repeated gets a number of its own each time."""
    steps = write_batch(table, 950, tmp_path)

    written = pq.read_table(tmp_path, columns=["trace", "step"]).to_pylist()
    assert 1000 == steps == len(written)
    assert 1000 == len({(row["trace"], row["step"]) for row in written})
    assert 40 == len({row["trace"] for row in written})


def test_one_trace_is_hot_and_its_copies_share_nothing(table: pa.Table, tmp_path: Path) -> None:
    """Nine tenths of the steps are of one trace; no node, topic, client or producer id of it comes in two copies.

    The world's clock continues from copy to copy.
    """
    write_batch(table, 1000, tmp_path, hot=True)

    written = pq.read_table(tmp_path)
    hot = written.filter(pc.equal(written["trace"], 0))
    assert 900 == hot.num_rows
    assert list(range(900)) == sorted(hot["step"].to_pylist())
    times = [row["world_ms"] for row in hot.sort_by("step").to_pylist() if row["world_ms"] >= 0]
    assert times == sorted(times)
    for name in (*trace_batches._NAMES, *trace_batches._IDS):
        copies = [set(hot.slice(start, 100)[name].to_pylist()) - {"", -1} for start in range(0, 900, 100)]
        assert not copies[0] & copies[1], name
        assert len(copies[0]) == len(copies[8]), name
    assert {"producer_id", "reply_producer_id"} <= set(trace_batches._IDS)
    assert {"node", "client", "topic", "transactional_id", "group", "member"} <= set(trace_batches._NAMES)
