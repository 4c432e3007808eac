"""The table of the audit, row by row."""

from collections import Counter
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest

from model_tests.audit import repair_kinds
from model_tests.audit.diagnosis import Judge, Repair
from model_tests.audit.repair_kinds import REPAIR_KINDS, RepairKind
from model_tests.unit.audit.audit_case import AuditCase, hold
from model_tests.unit.audit.cases import ALL_CASES


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=[pytest.mark.slow] * case.slow) for case in ALL_CASES]
)
def test_the_audit_says_what_the_row_says(recordings: Path, tmp_path: Path, case: AuditCase) -> None:
    """All findings and no others: each cause once, with its rule, place, step, remedy, and what it has caused."""
    hold(case, tmp_path, recordings)


def test_every_row_has_its_own_name() -> None:
    """The name is that of its test."""
    assert [name for name, count in Counter(map(str, ALL_CASES)).items() if count > 1] == []


EXPLAINED: Final = {
    repair_kinds.RECORD_KEY: "a record under another key leaves both histories as they were, version 2",
    repair_kinds.BATCH_PRODUCER: "a batch of one producer has the id of another, whose history it breaks",
    repair_kinds.MARKER_PLACE: "a marker stands behind the next, version 2",
    repair_kinds.MARKER_PRODUCER: "the missing marker stands in its place under another's producer id, version 0",
    repair_kinds.UNMARKED_MARKER: "markers 1 and 2 are no control batches, version 0",
    repair_kinds.ONE_BATCH: "a coordinator that never was",
    repair_kinds.FILES: "a broken marker, with all entries that report of it",
    repair_kinds.OTHER_LOG: "data and marker are lost, which causes what the client was not answered, version 2",
    repair_kinds.FOREIGN_FOLDER: "the log of another cluster: every 2th is aborted, every 3th by that, version 0",
    repair_kinds.FOLDER_NAMES: "orders-0 and orders-1 have changed names",
    repair_kinds.COPIED_SEGMENT: "segment 0 of payments-1 is that of orders-2",
}
"""A row that each kind of repair explains."""


@pytest.mark.parametrize("kind", REPAIR_KINDS, ids=lambda kind: kind.name)
def test_without_a_kind_of_repair_its_row_fails(kind: RepairKind, recordings: Path, tmp_path: Path) -> None:
    """With all kinds it holds, and no other kind explains it as well."""
    (case,) = (each for each in ALL_CASES if str(each) == EXPLAINED[kind])
    gain = Judge.gain

    def without(judge: Judge[Any, Any, Any], repair: Repair[Any, Any], explained: int) -> float:
        return -1.0 if repair.kind is kind else gain(judge, repair, explained)

    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    hold(case, tmp_path / "with", recordings)
    with patch.object(Judge, "gain", without), pytest.raises(AssertionError):
        hold(case, tmp_path / "without", recordings)
