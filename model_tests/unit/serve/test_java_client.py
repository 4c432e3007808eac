"""Kafka's own client for Java against the server, where `EOS_JAVA_CLIENT` has the class path of one.

The class path has kafka-clients and slf4j-api, as `jars/*`; `javac` compiles the program against it.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.serve.defects import DEFECTS
from model_tests.unit.serve.journeys import MARKER_DEFECT, audit_of, check_audit, check_plain, check_report
from model_tests.unit.serve.other_languages import CLIENTS, TOPICS, check_all, ledger_of, travel

pytestmark = pytest.mark.slow

CLASS_PATH = "EOS_JAVA_CLIENT"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the compiled program."""
    given, java, javac = os.environ.get(CLASS_PATH), shutil.which("java"), shutil.which("javac")
    if not given:
        pytest.skip(f"{CLASS_PATH} has no class path of kafka-clients and slf4j-api")
    if java is None or javac is None:
        pytest.skip("there is no javac: a JDK compiles the program")
    classes = tmp_path_factory.mktemp("classes")
    subprocess.run([javac, "-nowarn", "-cp", given, "-d", classes, CLIENTS / "JavaJourney.java"], check=True)
    return [java, "-cp", f"{given}{os.pathsep}{classes}", "JavaJourney"]


@pytest.mark.parametrize(("profile", "nodes"), [("2.5", 1), ("4.3", 3)])
def test_a_journey_of_java(program: list[str], profile: str, nodes: int, tmp_path: Path) -> None:
    """Commits and aborts, a fenced instance, a group that makes records of records while members come and go."""
    with Cluster(profile, nodes, topics=TOPICS) as cluster:
        ledger = ledger_of(travel(program, cluster, tmp_path, aborted=3), tmp_path)

    check_all(ledger)
    check_report(cluster)
    check_audit(audit_of(tmp_path))


@pytest.mark.parametrize("faults", ["gentle", "harsh"])
def test_idempotent_records_are_there_once(program: list[str], faults: str, tmp_path: Path) -> None:
    """Whatever is lost on the wire."""
    with Cluster("4.3", nodes=3, topics=TOPICS, faults=faults, seed=7) as cluster:
        check_plain(ledger_of(travel(program, cluster, tmp_path, "plain"), tmp_path))

    check_audit(audit_of(tmp_path))


def test_a_broken_server_is_convicted(program: list[str], tmp_path: Path) -> None:
    """The judge sees what the client cannot."""
    cluster = Cluster("4.3", topics=TOPICS, defect=MARKER_DEFECT)
    with suppress(SpecificationViolated), cluster:
        travel(program, cluster, tmp_path)

    assert cluster.report is not None
    assert DEFECTS[MARKER_DEFECT].rule.id in {violation.rule for violation in cluster.report.violations}
