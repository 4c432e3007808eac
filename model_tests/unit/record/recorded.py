"""Clients on a cluster by way of a recording, and what the recording and an audit say of it."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model_tests.audit import run as audit_run
from model_tests.audit.report import AuditReport
from model_tests.record.recorder import JOURNAL
from model_tests.record.recording import Recording
from model_tests.record.report import RecordReport
from model_tests.record.wire_log import WIRE_LOG
from model_tests.serve.cluster import Cluster


@contextmanager
def recorded(cluster: Cluster, directory: Path, **faults: Any) -> Iterator[Recording]:
    """A running cluster and the recording before it; nothing but the recording is known to clients."""
    with cluster, Recording(cluster.bootstrap_servers, directory, **faults) as recording:
        yield recording


def report_of(recording: Recording) -> RecordReport:
    """What a recording that has stopped says."""
    assert recording.report is not None
    return recording.report


def audit_of(directory: Path, data: Path) -> AuditReport:
    """What `eos audit --history journal data` says."""
    return audit_run.run([str(data)], history=str(directory / JOURNAL))


def wire_lines(directory: Path) -> list[dict[str, Any]]:
    """The lines of the wire log."""
    return [json.loads(line) for line in (directory / WIRE_LOG).read_text().splitlines()]


def journal_lines(directory: Path) -> list[dict[str, Any]]:
    """The events of the journal."""
    return [json.loads(line) for line in (directory / JOURNAL).read_text().splitlines()]


def check_nobody_passed_by(recording: Recording, cluster: Cluster) -> None:
    """Every request that the cluster had, by api, came by way of the recording.

    The last request of a client that goes may not arrive.
    """
    assert cluster.report is not None
    had, passed = Counter[str](), Counter[str]()
    for each in cluster.report.requests:
        had[each.api] += each.count
    for (_, api), count in report_of(recording).counts.requests.items():
        passed[api] += count
    assert had
    assert had <= passed
