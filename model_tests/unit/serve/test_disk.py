"""Data on disk: a server that ended goes on with what it has answered, whenever it ended."""

import json
import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.audit import run as audit
from model_tests.common.reports import VIOLATED
from model_tests.unit.serve.api_bench import START_MS, Bench
from model_tests.unit.serve.disk_session import TOPIC, DiskSession, opened
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import value_batch
from reference.log.broker_directory import UnusableDirectory
from reference.log.disk_partition import DiskPartition
from spec.versions import PROFILES

RELEASES = [("0.11", 1), ("2.7", 2), ("3.9.0", 1), ("4.4", 3)]


def ended(bench: Bench, clean: bool) -> None:
    bench.service.close() if clean else bench.service.crash()


def findings(directory: Path, profile: str) -> list[Any]:
    """What the audit finds wrong."""
    report = audit.run([str(directory)], profile=PROFILES[profile])
    assert VIOLATED != report.exit_code
    return [finding for one in report.audited for finding in one.verdict.findings]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crash"])
@pytest.mark.parametrize(("release", "nodes"), RELEASES)
def test_a_server_goes_on_with_what_it_has_answered(tmp_path: Path, release: str, nodes: int, clean: bool) -> None:
    """Records, outcomes of transactions, offsets of groups; what was open is aborted for the next instance."""
    profile = PROFILES[release]
    session = DiskSession(opened(tmp_path, profile, nodes))
    session.run()
    assert [] == session.bench.violations
    topic = session.bench.service.topics.by_name[TOPIC]
    ended(session.bench, clean)
    assert [] == findings(tmp_path, release)

    session.goes_on(opened(tmp_path, profile, nodes, now=START_MS + 30_000))

    assert topic == session.bench.service.topics.by_name[TOPIC]
    ended(session.bench, not clean)
    assert [] == findings(tmp_path, release)


def test_an_open_transaction_is_open_after_a_crash(tmp_path: Path) -> None:
    """It bounds what readers get, its coordinator knows it, and it times out as if nothing had happened."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"]))
    session.run()
    session.bench.service.crash()

    bench = opened(tmp_path, PROFILES["4.3"], now=START_MS + 1_000)
    leader = bench.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].leader
    assert leader.last_stable < leader.log_end == leader.high_watermark
    described = bench.ask("DescribeTransactions", 0, {"transactional_ids": ["app"]}).transaction_states[0]
    assert ("Ongoing", [TOPIC]) == (described.transaction_state, [topic.topic for topic in described.topics])
    bench.wait(70_000)

    assert leader.last_stable == leader.log_end
    assert [] == bench.violations


def test_followers_copy_what_they_lack_of_the_leader_that_was(tmp_path: Path) -> None:
    """Records that only the leader has are there again at all nodes, and below the high watermark."""
    bench = opened(tmp_path, PROFILES["4.3"], nodes=2)
    bench.service.create_topic(TOPIC, 2)
    replicated = bench.service.world.brokers.partitions[TopicPartition(TOPIC, 1)]
    assert 1 == replicated.leader_node
    replicated.leader.append(value_batch((b"one", b"two")))
    assert [1] == [node for node in range(2) if replicated.replicas[node].log_end]
    bench.service.crash()

    bench = opened(tmp_path, PROFILES["4.3"], nodes=2)

    replicated = bench.service.world.brokers.partitions[TopicPartition(TOPIC, 1)]
    assert [(2, 2), (2, 2)] == [(each.log_end, each.high_watermark) for each in replicated.replicas]
    bench.service.crash()


def test_a_copy_of_a_batch_is_known_after_a_crash(tmp_path: Path) -> None:
    """The newest of a producer, by the snapshot and what is behind it; ids go on with the next block."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"]))
    session.run()
    plain = session.identified(None)
    session.sends_plain(plain, b"once")
    session.bench.service.crash()
    session.bench = opened(tmp_path, PROFILES["4.3"])
    before = session.bench.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].leader.log_end

    assert 0 == session.sends_batch(session.sent, 0)

    assert before == session.bench.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].leader.log_end
    assert session.identified(None)["producer_id"] >= 1_000
    assert [] == session.bench.violations


def test_epochs_of_coordinators_and_ids_of_members_do_not_come_again(tmp_path: Path) -> None:
    """Also after starts in which nothing was written."""
    epochs, members = [], set[str]()
    for _ in range(3):
        bench = opened(tmp_path, PROFILES["4.3"], nodes=2)
        epochs.append(dict(bench.service.world.brokers.log_epochs))
        members.add(bench.service.world.brokers.offsets.new_member_id("reader"))
        bench.service.crash()

    assert [{0: n, 1: n} for n in range(3)] == epochs
    assert 3 == len(members)


class Killed(BaseException):
    """The end of the process, at one of its writes."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Any:
    """The process ends at its write of this number, which leaves half of its bytes, or nothing of a whole file."""
    left = [number]
    pwrite, replace = os.pwrite, Path.replace

    def due() -> bool:
        left[0] -= 1
        return left[0] < 0

    def write(descriptor: int, data: bytes, position: int) -> int:
        if due():
            pwrite(descriptor, data[: len(data) // 2], position)
            raise Killed
        return pwrite(descriptor, data, position)

    def rename(path: Path, target: Path) -> Path:
        if due():
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", write)
        patched.setattr(Path, "replace", rename)
        yield


@pytest.mark.parametrize("number", range(2, 84, 6))
def test_a_server_may_be_killed_at_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """What it has answered is there; what it has not is there once or not at all, and a transaction as a whole."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"], nodes=2))
    with killed_at(monkeypatch, number), pytest.raises(Killed):
        session.run()
    session.bench.service.crash()

    session.goes_on(opened(tmp_path, PROFILES["4.3"], nodes=2, now=START_MS + 30_000))

    session.bench.service.crash()
    assert [] == findings(tmp_path, "4.3")


def test_a_fetch_reads_no_more_than_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the log is; nothing of it is kept in memory."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"]))
    session.run()
    plain = session.identified(None)
    for number in range(200):
        session.sends_plain(plain, b"%d" % number + bytes(1_000))
    leader = session.bench.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].leader
    read: list[int] = []
    pread = os.pread

    def counted(descriptor: int, size: int, position: int) -> bytes:
        read.append(size)
        return pread(descriptor, size, position)

    monkeypatch.setattr(os, "pread", counted)
    result = leader.fetch(100, max_bytes=5_000)

    assert 1 <= len(result.batches) <= 5
    assert sum(read) < 50_000


def test_the_files_are_those_of_a_broker(tmp_path: Path) -> None:
    """Also while it runs: checkpoints follow every five seconds."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"], nodes=2))
    session.run()
    session.bench.wait(5_000)
    end = session.bench.service.world.brokers.partitions[TopicPartition(TOPIC, 1)].leader.log_end
    node = tmp_path / "node-1"
    names = {path.name for path in node.iterdir()}
    assert {"meta.properties", "replication-offset-checkpoint", "recovery-point-offset-checkpoint", ".lock"} <= names
    assert {"orders-0", "orders-1", "__transaction_state-1", "__consumer_offsets-1"} <= names
    assert f"{TOPIC} 1 {end}" in (node / "replication-offset-checkpoint").read_text()
    kept = {"00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata"}
    assert kept <= {path.name for path in (node / "orders-0").iterdir()}

    session.bench.service.close()

    assert (node / ".kafka_cleanshutdown").exists()
    state = json.loads((tmp_path / "cluster.json").read_text())
    assert ("4.3", 2, [TOPIC]) == (state["profile"], state["nodes"], [each["name"] for each in state["topics"]])


def test_folders_of_topics_that_are_gone_are_removed(tmp_path: Path) -> None:
    """A topic's creation that did not end, and a deletion."""
    bench = opened(tmp_path, PROFILES["4.3"])
    bench.service.create_topic("kept", 1)
    bench.service.world.create_topic("begun", 2)
    assert (tmp_path / "node-0" / "begun-1").is_dir()
    bench.service.crash()

    bench = opened(tmp_path, PROFILES["4.3"])

    assert ["kept"] == list(bench.service.topics.by_name)
    assert not list(tmp_path.glob("node-0/begun-*"))
    bench.service.crash()


def test_a_node_that_restarts_reads_its_directory_again(tmp_path: Path) -> None:
    """Within the life of the server."""
    session = DiskSession(opened(tmp_path, PROFILES["4.3"], nodes=2))
    session.run()
    world = session.bench.service.world
    before = [world.brokers.partitions[TopicPartition(TOPIC, 0)].replicas[node].log_end for node in range(2)]

    world.broker_restarts(1)
    for partition in range(2):
        world.coordinator_fails_over(partition, 0)
        world.group_coordinator_fails_over(partition, 0)
    session.bench.wait(50)

    replicas = world.brokers.partitions[TopicPartition(TOPIC, 0)].replicas
    assert before == [replica.log_end for replica in replicas]
    assert isinstance(replicas[1], DiskPartition)
    session.goes_on(session.bench)


# --- directories on which nothing can start --------------------------------------------------------------------


def written_over(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda directory: (directory / name).write_bytes(data)


def moved(directory: Path) -> None:
    (directory / "node-0" / "orders-0").rename(directory / "node-0" / "orders")


BAD = {
    "not json": (written_over("cluster.json", b"{"), "cluster.json: not as eos serve writes it"),
    "no topics": (written_over("cluster.json", b'{"profile": "4.3"}'), "cluster.json: not as eos serve writes it"),
    "a checkpoint": (written_over("node-0/replication-offset-checkpoint", b"7\n"), "replication-offset-checkpoint: "),
    "meta.properties": (written_over("node-0/meta.properties", b"cluster.id=other\n"), "is another broker's"),
    "not properties": (written_over("node-0/meta.properties", b"\xff"), "meta.properties: "),
    "another topic": (written_over("node-0/orders-0/partition.metadata", b"?"), "partition.metadata: "),
    "a folder": (moved, "orders: a folder of no partition"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_damaged_directory_is_named_in_one_line(tmp_path: Path, case: str) -> None:
    """The file, and what is wrong with it; it is not locked afterwards."""
    damages, expected = BAD[case]
    bench = opened(tmp_path, PROFILES["4.3"])
    bench.service.create_topic(TOPIC, 1)
    bench.service.close()
    damages(tmp_path)

    for _ in range(2):
        with pytest.raises(UnusableDirectory) as refused:
            opened(tmp_path, PROFILES["4.3"])
        assert expected in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file, somebody's folder, a server that runs, a cluster of another release or size."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UnusableDirectory, match="file: "):
        opened(file, PROFILES["4.3"])
    with pytest.raises(UnusableDirectory, match="not empty, and eos serve has not written it"):
        opened(tmp_path, PROFILES["4.3"])
    bench = opened(tmp_path / "data", PROFILES["4.3"])
    with pytest.raises(UnusableDirectory, match="another server has this directory open"):
        opened(tmp_path / "data", PROFILES["4.3"])
    bench.service.close()
    for profile, nodes in ((PROFILES["3.9.0"], 1), (PROFILES["4.3"].under(0), 1), (PROFILES["4.3"], 2)):
        with pytest.raises(UnusableDirectory, match=r"of 4\.3, transaction\.version 2, nodes: 1; it cannot be served"):
            opened(tmp_path / "data", profile, nodes)
