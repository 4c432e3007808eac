"""A run that is broken off: what was judged is kept, and what was made is removed as far as that can be."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.addresses import addresses_of
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.conform.replay import run as replayed
from model_tests.probe.connection import BrokerConnection
from model_tests.probe.target import Pace, Target
from model_tests.serve.cluster import Cluster
from model_tests.unit.probe.served import LEAN, probed
from spec.vocabulary import Api

BEFORE = 700
"""Answers that arrive before something happens: some sessions are judged by then, and others are not."""

GROUPS_TOO = replace(LEAN, families=("A", "C"))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster("4.3") as served:
        yield served


def at_answer(number: int, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen while a certain answer is waited for."""
    receive, received = BrokerConnection.receive, [0]

    def counted(connection: BrokerConnection) -> Any:
        received[0] += 1
        if received[0] == number:
            happens()
        return receive(connection)

    monkeypatch.setattr(BrokerConnection, "receive", counted)


def test_ctrl_c_removes_what_was_made_and_keeps_what_was_judged(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a session, with answers under way; sessions with a group are among those before."""
    at_answer(BEFORE, lambda: signal.raise_signal(signal.SIGINT), monkeypatch)

    report = probed(cluster.bootstrap_servers, "4.3", replace(GROUPS_TOO, out=tmp_path))

    assert HOLDS == report.exit_code
    assert "interrupted: what was judged before is reported" in report.notes
    assert report.sessions > 0
    assert report.steps == replayed([tmp_path / "sessions.ndjson"], jobs=1).steps
    assert [] == report.left
    target = Target(tuple(addresses_of(cluster.bootstrap_servers)), 20, Pace(0))
    target.open()
    assert () == target.topics_there
    assert [] == target.request(-1, Api.LIST_GROUPS, 1, {}).groups
    target.close()


def test_a_broker_that_disappears_is_reported_with_what_was_judged(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says so, sessions before it count, and what could not be removed is listed."""
    at_answer(BEFORE, cluster.stop, monkeypatch)

    report = probed(cluster.bootstrap_servers, "4.3", replace(GROUPS_TOO, out=tmp_path))

    assert VIOLATED == report.exit_code
    (line,) = report.failures
    assert f"{cluster.bootstrap_servers} cannot be connected to" in line
    assert report.steps == replayed([tmp_path / "sessions.ndjson"], jobs=1).steps > 0
    assert report.left
    assert "cannot be connected to" in (tmp_path / "report.html").read_text()
