import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY
from model_tests.unit.audit.written import data, marker, placed
from model_tests.unit.audit.written_world import write_log, written_where
from spec import rules
from spec.versions import NEWEST
from spec.vocabulary import ABSENT, ControlType

ENTRY = ABORTED_ENTRY.itemsize


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    """A broker's directory: a log in several segments, with an aborted transaction in the first and in the last."""
    batches = [data(0, transactional=True), marker(kind=ControlType.ABORT)]
    batches += [data(1 + number, transactional=True) for number in range(12)]
    batches += [marker(kind=ControlType.ABORT), data(13, transactional=True), marker()]
    write_log(tmp_path / "t-0", NEWEST, tuple(placed(batches)), 0)
    return tmp_path


def flushed(broker: Path, offset: int) -> None:
    (broker / "recovery-point-offset-checkpoint").write_text(f"0\n1\nt 0 {offset}\n")


def found(broker: Path) -> list[Finding]:
    return [one for _, one in run([broker]).findings if one.rule is rules.LSO_ABORTED_INDEX]


def indexes(broker: Path) -> list[Path]:
    listed = sorted((broker / "t-0").glob("*.txnindex"))
    assert len(listed) == 2
    return [path for path in listed if path.stat().st_size]


def test_a_missing_index_is_one_without_entries_to_a_broker(broker: Path) -> None:
    """It is not made anew while the segment has its sparse index; what to do is said."""
    assert found(broker) == []
    first, _ = indexes(broker)
    first.unlink()
    flushed(broker, 16)

    (one,) = found(broker)

    assert one.severity is Severity.VIOLATION
    assert one.offset == 0
    assert "is missing, with the aborted transaction at offsets 0..1" in one.message
    assert one.remedy.startswith(f"With the broker stopped, delete {0:020}.index: ")


def test_above_the_recovery_point_of_a_crash_it_is_made_anew(broker: Path) -> None:
    """The next start recovers what was not flushed; after a clean stop it recovers nothing."""
    _, last = indexes(broker)
    last.unlink()
    flushed(broker, 5)

    (crashed,) = found(broker)
    (broker / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    (stopped,) = found(broker)

    assert crashed.severity is Severity.UNDECIDED
    assert "the next start rebuilds it" in crashed.message
    assert stopped.severity is Severity.VIOLATION


def test_a_segment_without_any_index_is_recovered_whole(broker: Path) -> None:
    """Then nothing can be said of its aborted index."""
    first, _ = indexes(broker)
    for kind in ("txnindex", "index", "timeindex"):
        first.with_suffix(f".{kind}").unlink()

    assert found(broker) == []


@pytest.mark.parametrize("left", [1, 33, 35])
def test_what_an_index_lost_with_its_end_its_damage_reports(three_entries: Path, tmp_path: Path, left: int) -> None:
    """A copy that ended within an entry: those behind are no violation."""
    index = of_three(three_entries, tmp_path)
    os.truncate(index, left)

    report = run([tmp_path])

    assert report.findings == ()
    (bad,) = report.damage
    assert (bad.path, bad.position) == (str(index), left - left % ENTRY)


def test_an_entry_that_a_cut_index_lacks_before_its_end_is_a_violation(three_entries: Path, tmp_path: Path) -> None:
    """Those that are left come after it."""
    index = of_three(three_entries, tmp_path)
    index.write_bytes(index.read_bytes()[ENTRY : 2 * ENTRY + 1])

    ((_, finding),) = run([tmp_path]).findings

    assert finding.rule.id == "lso.aborted_index"


def indexes_of_three(broker: Path) -> list[Path]:
    """An aborted index of three entries."""
    return [path for path in broker.rglob("*.txnindex") if path.stat().st_size == 3 * ENTRY]


@pytest.fixture(scope="module")
def three_entries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker's directory with one such index."""
    return written_where(lambda broker: len(indexes_of_three(broker)) == 1, tmp_path_factory.mktemp("worlds"))


def of_three(broker: Path, copy: Path) -> Path:
    """The index of three entries in a copy of the directory."""
    shutil.copytree(broker, copy, dirs_exist_ok=True)
    (index,) = indexes_of_three(copy)
    return index


def test_a_missing_index_is_one_finding_however_much_it_should_list(three_entries: Path, tmp_path: Path) -> None:
    """It has the number of transactions, and no producer where they are of several."""
    index = of_three(three_entries, tmp_path)
    producers = {int(one) for one in np.frombuffer(index.read_bytes(), ABORTED_ENTRY)["producer_id"]}
    index.unlink()

    ((_, finding),) = run([tmp_path]).findings

    assert finding.rule is rules.LSO_ABORTED_INDEX
    assert f"{index.name} is missing, with 3 aborted transactions that it should list" in finding.message
    assert finding.producer_id == (producers.pop() if len(producers) == 1 else ABSENT)
