import os
import shutil
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from model_tests.audit.run import run
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY
from model_tests.unit.audit.directory_edits import Edit, edits, text
from model_tests.unit.audit.stories import AuditCase, hold
from model_tests.unit.audit.written import data, marker, placed
from model_tests.unit.audit.written_world import write_log, written_where
from spec import rules
from spec.versions import NEWEST
from spec.vocabulary import ABSENT, ControlType

ENTRY = ABORTED_ENTRY.itemsize


def several_segments(directory: Path) -> None:
    """A log in several segments, with an aborted transaction in the first and in the last."""
    batches = [data(0, transactional=True, at=1_000), marker(kind=ControlType.ABORT)]
    batches += [data(1 + number, transactional=True, at=1_001 + number) for number in range(12)]
    batches += [marker(kind=ControlType.ABORT), data(13, transactional=True, at=1_014), marker()]
    write_log(directory / "t-0", NEWEST, tuple(placed(batches)), 0)
    assert len(indexes(directory)) == 2


def indexes(directory: Path) -> list[Path]:
    """The aborted indexes that have entries."""
    return [path for path in sorted((directory / "t-0").glob("*.txnindex")) if path.stat().st_size]


def without(number: int, *kinds: str) -> Edit:
    """One of the aborted indexes is not there, and no other index of these kinds of its segment."""

    def edit(directory: Path) -> None:
        listed = indexes(directory)
        for kind in ("txnindex", *kinds):
            listed[number].with_suffix(f".{kind}").unlink()

    return edit


def flushed(offset: int) -> Edit:
    """The recovery point."""
    return text("recovery-point-offset-checkpoint", f"0\n1\nt 0 {offset}\n")


STOPPED: Final = text(".kafka_cleanshutdown", '{"version":0,"brokerEpoch":1}')

CASES: Final = (
    AuditCase("no index is missing", edit=several_segments),
    AuditCase(
        "a missing index is one without entries to a broker: it is not made anew while the sparse index is there",
        findings=("violation lso.aborted_index t-0@0, producer 7",),
        says=("is missing, with the aborted transaction at offsets 0..1",),
        remedy=(f"With the broker stopped, delete {0:020}.index: ",),
        edit=edits(several_segments, without(0), flushed(16)),
    ),
    AuditCase(
        "above the recovery point of a crash it is made anew",
        findings=("undecided lso.aborted_index t-0@2, producer 7",),
        says=("the next start rebuilds it",),
        edit=edits(several_segments, without(1), flushed(5)),
    ),
    AuditCase(
        "after a clean stop nothing is recovered",
        findings=("violation lso.aborted_index t-0@2, producer 7",),
        not_said=("the next start rebuilds it",),
        edit=edits(several_segments, without(1), flushed(5), STOPPED),
    ),
    AuditCase(
        "a segment without any index is recovered whole",
        edit=edits(several_segments, without(0, "index", "timeindex")),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_missing_index_is_judged_by_what_the_next_start_makes_of_it(tmp_path: Path, case: AuditCase) -> None:
    """A broker reads a missing index as one without entries; what to do is said."""
    hold(case, tmp_path)


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
