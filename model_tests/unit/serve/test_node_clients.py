"""kafkajs and @platformatic/kafka against the server, where npm has installed them: the ledger, the judge, the journal.

Node is the one that `EOS_NODE` names, or the one on the path. `npm ci --prefix model_tests/clients` installs the
libraries.
"""

import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.severity import Severity
from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.serve.defects import DEFECTS
from model_tests.unit.serve.journeys import MARKER_DEFECT, audit_of, check_audit, check_plain, check_report, made_of
from model_tests.unit.serve.other_languages import CLIENTS, TOPICS, check_all, ledger_of, node, travel

pytestmark = pytest.mark.slow

OLDEST_NODE = {"kafkajs": 14, "@platformatic/kafka": 22}


def program(library: str) -> list[str]:
    name = library.strip("@").partition("/")[0]
    return [*node(library, OLDEST_NODE[library]), str(CLIENTS / f"{name}_client.mjs")]


@pytest.fixture(params=OLDEST_NODE)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(("profile", "nodes"), [("2.7", 1), ("4.3", 3)])
def test_a_journey_of_kafkajs(profile: str, nodes: int, tmp_path: Path) -> None:
    """Commits and aborts, a fenced instance, a group that makes records of records while members come and go."""
    with Cluster(profile, nodes, topics=TOPICS) as cluster:
        ledger = ledger_of(travel(program("kafkajs"), cluster, tmp_path, aborted=3), tmp_path)

    check_all(ledger)
    check_report(cluster)
    check_audit(audit_of(tmp_path))


@pytest.mark.parametrize(("profile", "nodes"), [("3.9", 1), ("4.3", 3)])
def test_a_journey_of_platformatic(profile: str, nodes: int, tmp_path: Path) -> None:
    """Likewise with one aborted transaction in an answer, as more are not read well.

    2.12.1 goes on with records that it was given before a rebalance took their partition, and commits their offsets
    under the generation that follows; the other member does the same. So what the members share may be made twice.
    """
    with Cluster(profile, nodes, topics=TOPICS) as cluster:
        ledger = ledger_of(travel(program("@platformatic/kafka"), cluster, tmp_path, aborted=1), tmp_path)

    twice = Counter(ledger.made) - Counter(map(made_of, ledger.seen))
    assert all(value.startswith(made_of(b"shared-")) for value in twice)
    assert set(map(made_of, ledger.seen)) == set(ledger.made)
    assert sorted(ledger.acknowledged + ledger.committed) == sorted(ledger.seen)
    assert not set(ledger.aborted) & set(ledger.seen)
    assert ledger.fenced
    check_report(cluster)
    check_audit(audit_of(tmp_path))


def test_several_aborted_transactions_are_read_by_platformatic(tmp_path: Path) -> None:
    """Its own journal convicts it: 2.12.1 keeps one aborted range of a producer. If this fails, it is mended."""
    with Cluster("4.3", topics=TOPICS) as cluster:
        ledger = ledger_of(travel(program("@platformatic/kafka"), cluster, tmp_path, aborted=3), tmp_path)

    report = audit_of(tmp_path)
    assert set(ledger.aborted) & set(ledger.seen)
    assert {AnomalyKind.ABORTED_READ} == {
        each.kind for each in report.clients.classes if each.counts.get(Severity.VIOLATION)
    }


def test_a_second_instance_of_platformatic_needs_its_epoch_asked_for(tmp_path: Path) -> None:
    """2.12.1 asks for the epoch of producer id 0 if it is given none, and is fenced. If this fails, it is mended."""
    script = str(CLIENTS / "platformatic_second.mjs")
    with Cluster("4.3", topics=TOPICS) as cluster:
        command = [*node("@platformatic/kafka", 22), script, cluster.bootstrap_servers]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert "PRODUCER_FENCED" == run.stdout.strip(), run.stderr


@pytest.mark.parametrize("faults", ["gentle", "harsh"])
def test_idempotent_records_are_there_once(library: str, faults: str, tmp_path: Path) -> None:
    """Whatever is lost on the wire."""
    with Cluster("4.3", nodes=3, topics=TOPICS, faults=faults, seed=7) as cluster:
        check_plain(ledger_of(travel(program(library), cluster, tmp_path, "plain"), tmp_path))

    check_audit(audit_of(tmp_path))


def test_a_broken_server_is_convicted(library: str, tmp_path: Path) -> None:
    """The judge sees what the client cannot."""
    cluster = Cluster("4.3", topics=TOPICS, defect=MARKER_DEFECT)
    with suppress(SpecificationViolated), cluster:
        travel(program(library), cluster, tmp_path)

    assert cluster.report is not None
    assert DEFECTS[MARKER_DEFECT].rule.id in {violation.rule for violation in cluster.report.violations}
