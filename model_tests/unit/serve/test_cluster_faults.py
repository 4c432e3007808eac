"""Faults that a test asks for: the methods of `Cluster`, beside a client that goes on."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from model_tests.common.reports import HOLDS
from model_tests.serve import command
from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.applications import ApplicationOutcomes, ApplicationTransactions, numbered, read_all
from reference.server.nodes import ImpossibleFault


def until_possible(fault: Callable[[], object]) -> None:
    """Ask for a fault again while the node is away, as the seed may have it."""
    while True:
        try:
            fault()
        except ImpossibleFault:
            time.sleep(0.01)
        else:
            return


def test_an_application_goes_on_whatever_is_asked_for_and_the_record_repeats_it(tmp_path: Path) -> None:
    """Each fault once between two transactions; the run that is fed from its log has the same steps."""
    outcomes = ApplicationOutcomes()
    with Cluster("4.3", 3, topics={"orders": 1}, record=tmp_path / "run", faults="gentle", seed=1) as cluster:
        app = ApplicationTransactions(cluster.bootstrap_servers, "app", outcomes)
        leader = cluster.move_leader("orders")
        coordinator = cluster.move_coordinator("app", loading_seconds=0.1)
        requested: tuple[Callable[[], object], ...] = (
            partial(cluster.move_leader, "orders"),
            partial(cluster.move_coordinator, "app"),
            partial(cluster.move_group_coordinator, "group", loading_seconds=0.1),
            partial(cluster.pause, leader, 0.1),
            partial(cluster.restart, coordinator, 0.1),
            partial(cluster.crash, (coordinator + 1) % 3, 0.1),
            cluster.close_connections,
        )
        for number, fault in enumerate(requested):
            app.run(list(numbered(f"txn-{number}", 2)), "orders", commits=number != 3)
            until_possible(fault)
        app.run([b"last"], "orders", commits=True)
        outcomes.check(read_all(cluster.bootstrap_servers, "orders", 1, len(outcomes.committed)))

    assert cluster.report is not None
    assert {"move leader", "move transaction coordinator", "pause", "restart", "crash"} <= set(cluster.report.faults)
    again = command.run("127.0.0.1:0", 1, (), "4.4", record=tmp_path / "again", feed=tmp_path / "run" / "wire.ndjson")
    assert (HOLDS, cluster.report.steps) == (again.exit_code, again.steps)
    assert again.faults.items() <= cluster.report.faults.items()
    assert (tmp_path / "run" / "trace.ndjson").read_bytes() == (tmp_path / "again" / "trace.ndjson").read_bytes()


def test_faults_are_asked_for_by_any_thread() -> None:
    """Each happens once; of two that exclude each other one is refused."""

    def pauses(node: int) -> bool:
        try:
            cluster.pause(node, 60)
        except ImpossibleFault:
            return False
        return True

    with Cluster("4.3", 3) as cluster, ThreadPoolExecutor(6) as threads:
        assert 3 == sum(threads.map(pauses, [0, 1, 2, 0, 1, 2]))

    assert cluster.report is not None
    assert {"pause": 3} == cluster.report.faults


def test_a_cluster_that_does_not_run_has_no_faults() -> None:
    """Nor one with nodes that are not there, or partitions without another replica."""
    cluster = Cluster("4.3", topics={"orders": 1})
    with pytest.raises(ImpossibleFault, match="has not started"):
        cluster.restart(0)
    with cluster:
        for request in (
            lambda: cluster.move_leader("orders"),
            lambda: cluster.move_leader("nothing"),
            lambda: cluster.move_coordinator("app"),
            lambda: cluster.crash(1),
        ):
            with pytest.raises(ImpossibleFault):
                request()
