"""The table of the audit, row by row."""

from collections import Counter
from pathlib import Path

import pytest

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
