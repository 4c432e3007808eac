"""Segments that are lost, whatever of a log is kept, and wherever its parts end."""

from pathlib import Path

import pytest

from model_tests.audit.compaction import condense
from model_tests.audit.log import surroundings, wanted_of
from model_tests.audit.lost_segments import lost_segments
from model_tests.audit.reading import read_part
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.audit_case import AuditCase, copied
from model_tests.unit.audit.cases.directories import APART, CLEANER, crash, missing
from model_tests.unit.audit.directory_edits import edits, emptied, gone, removed
from model_tests.unit.audit.written import write_segment
from model_tests.unit.support.divided_logs import Divided
from spec.versions import NEWEST


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        crash("an empty segment", emptied("crash-0", 2), "empty, but not the last segment"),
        crash("three are gone", removed("crash-0", 0, 5, 8), *missing("0..2206", "10830..12925", "17343..19465")),
        crash("two may be gone", edits(removed("crash-0", 2, 5), gone(CLEANER)), "is perhaps missing"),
    ],
    ids=str,
)
def test_it_is_the_same_in_parts(recordings: Path, tmp_path: Path, case: AuditCase) -> None:
    """Wherever the parts end: the offset before a gap is known to the end."""
    divided = Divided(copied(case, recordings, tmp_path))

    (number,) = (number for number, log in enumerate(divided.logs) if log.topic == "crash")
    verdict, damage = divided.verdicts[number]

    assert (verdict, damage) == divided.whole(divided.logs[number])
    assert verdict.findings == ()
    for words in case.damage:
        assert any(words in bad.message for bad in damage), damage


def gaps(messages: list[str]) -> list[str]:
    """The offsets that messages say are missing."""
    return [message.split(" is missing")[0].split()[-1] for message in messages if "is missing" in message]


def test_the_batch_before_a_gap_is_kept_where_nothing_else_needs_it(tmp_path: Path) -> None:
    """Data of no producer, and no snapshot: of such a log hardly anything else is kept."""
    for name, batches in APART.items():
        write_segment(tmp_path / "t-0", batches, int(name[4:] or 0))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (log,) = list_logs([str(tmp_path)]).logs
    around = surroundings(log)
    wanted = wanted_of(log, around, NEWEST)

    left = condense(read_part(log, wanted).log, wanted)

    assert len(left.rows) < 10
    assert gaps([one.message for one in lost_segments(log, left, around)]) == ["10..14"]
