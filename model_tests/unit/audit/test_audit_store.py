import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.logs import locations, stores
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.object_store import BUCKET, object_store
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_world import run_world, write_world
from reference.event import FaultRates
from spec.versions import NEWEST

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a broker's logs: segments, indexes, snapshots, checkpoints, coordinators."""
    directory = tmp_path_factory.mktemp("kept")
    write_world(run_world(15, NEWEST, 400, FaultRates()), directory / "kafka")
    write_segment(directory / "kafka" / "broken-0", [data(0), data(2)])
    return directory


@pytest.fixture(scope="module")
def store(brokers: Path) -> Iterator[tuple[str, list[str]]]:
    """The same as objects."""
    with object_store(brokers) as served:
        yield served


def plain(report: AuditReport, where: str) -> str:
    """The report as text, but for its time and where the logs are."""
    found = {name: value for name, value in report.to_json().items() if name != "seconds"}
    return json.dumps(found).replace(where, "")


def test_logs_in_object_storage_are_judged_as_those_on_disk(brokers: Path, store: tuple[str, list[str]]) -> None:
    """Every file of them, by ranges; the report names objects, without the URL's options of the store."""
    here = run([brokers / "kafka"])

    there = run([f"s3://{BUCKET}/kafka?{store[0]}"])

    assert here.batches > 50
    assert [finding.rule.id for _, finding in here.findings if finding.severity == "violation"] == ["seq.successor"]
    assert plain(here, str(brokers)) == plain(there, f"s3://{BUCKET}")
    assert all(request.startswith("bytes=") for request in store[1])
    assert store[1]


def test_tasks_read_from_object_storage(brokers: Path, store: tuple[str, list[str]]) -> None:
    """The URL's options of the store reach them."""
    there = run([f"s3://{BUCKET}/kafka/broken-0?{store[0]}"], master="local[2]")

    assert plain(there, f"s3://{BUCKET}") == plain(run([brokers / "kafka" / "broken-0"]), str(brokers))


def test_a_large_object_is_read_range_by_range(
    brokers: Path, store: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, each once."""
    monkeypatch.setattr(stores, "RANGE", 100)
    segment = next(path for path in brokers.rglob("*.log") if path.stat().st_size > 300)
    store[1].clear()

    content = locations.located(f"s3://{BUCKET}/{segment.relative_to(brokers)}?{store[0]}").read_bytes()

    assert content == segment.read_bytes()
    assert store[1][:3] == ["bytes=0-99", "bytes=100-199", "bytes=200-299"][: len(store[1])]
    assert len(store[1]) == -(-len(content) // 100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("s3://backup/nothing", "does not exist"),
        ("s3://id:secret@backup/kafka", "credentials do not belong in a URL"),
        ("s3://backup?nonsense=1", "nonsense"),
        ("ftp://host/kafka", "Unrecognized filesystem type"),
        ("file://elsewhere/kafka", "another machine"),
    ],
)
def test_a_url_that_leads_nowhere_is_one_line(store: tuple[str, list[str]], given: str, message: str) -> None:
    """And a damage of its own, beside what can be judged."""
    request = f"{given}?{store[0]}" if given.endswith("nothing") else given

    (bad,) = list_logs([request]).damage

    assert message in bad.message
    assert "\n" not in bad.message


def test_a_file_url_is_a_path(brokers: Path) -> None:
    """With what a URL cannot say escaped."""
    here, there = list_logs([str(brokers / "kafka")]), list_logs([(brokers / "kafka").as_uri()])

    assert here.logs == there.logs
