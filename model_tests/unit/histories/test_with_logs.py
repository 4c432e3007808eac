import re
from pathlib import Path

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_world import run_world, write_world
from model_tests.unit.histories.from_trace import as_edn
from reference.event import NO_FAULTS
from spec.versions import NEWEST

MASTER = "local[2]"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str]:
    """The brokers' directories of a simulated world, and what its clients did, in EDN."""
    directory = tmp_path_factory.mktemp("world")
    played = run_world(15, NEWEST, 600, NO_FAULTS)
    return write_world(played, directory), as_edn(list(played.recorder.rows))


def written(text: str, folder: Path) -> str:
    (folder / "history.edn").write_text(text)
    return str(folder / "history.edn")


def contradicted(text: str) -> str:
    """The history with one committed transaction reported as aborted, though its records have their offsets."""
    found = re.search(r"\{:type :ok, :f :txn, :value \[\[:send [^{]*?\[\d+ ", text)
    assert found is not None
    return text[: found.start()] + text[found.start() :].replace(":type :ok", ":type :fail", 1)


def violations(report: AuditReport) -> set[str]:
    return {one.rule.id for _, one in report.findings if one.severity is Severity.VIOLATION}


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_history_is_held_against_logs_on_spark(world: tuple[list[Path], str], tmp_path: Path) -> None:
    """What was acknowledged is there; a committed transaction that was answered as aborted is a finding of both."""
    brokers, text = world
    whole = run(brokers, history=written(text, tmp_path), master=MASTER)
    wrong = run(brokers, history=written(contradicted(text), tmp_path), master=MASTER)

    assert whole.history.judged > 10
    assert whole.history.not_given == 0
    assert violations(whole) == set()
    assert not whole.clients.is_violated
    assert violations(wrong) == {"txn.client_verdict"}
    assert wrong.clients.is_violated
    assert violations(run(brokers, history=written(contradicted(text), tmp_path))) == {"txn.client_verdict"}


def test_numbers_are_partitions_of_the_one_topic(world: tuple[list[Path], str], tmp_path: Path) -> None:
    """Jepsen's keys are numbers; with logs of several topics they name none of them."""
    brokers, text = world
    topics = set(re.findall(r'"([^"/]*)-\d+"', text))
    assert len(topics) == 1
    numbered = re.sub(r'"[^"/]*-(\d+)"', r"\1", text)

    reported = run(brokers, history=written(text, tmp_path)).history
    by_number = run(brokers, history=written(numbered, tmp_path))
    contrary = run(brokers, history=written(contradicted(numbered), tmp_path))
    (brokers[0] / "other-0").mkdir()
    (brokers[0] / "other-0" / f"{0:020}.log").write_bytes(b"")
    several = run(brokers, history=written(numbered, tmp_path)).history

    assert reported == by_number.history
    assert violations(by_number) == set()
    assert violations(contrary) == {"txn.client_verdict"}
    assert (several.judged, several.not_given) == (0, reported.judged)
