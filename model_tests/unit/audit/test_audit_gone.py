"""Segments of a coordinator's log that go between the reading of their headers and that of their records."""

from pathlib import Path

import pytest

from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs import coordinator_log
from model_tests.logs.locations import Location, located
from model_tests.unit.audit.written_world import run_world, write_world
from reference.event import NO_FAULTS
from spec.versions import NEWEST


@pytest.mark.parametrize("which", ["one", "those before", "those from it on"])
def test_what_was_in_a_segment_that_is_gone_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """Whichever it is: it is named, and no id's next change of state is compared with the one before."""
    write_world(run_world(5, NEWEST, 300, NO_FAULTS), tmp_path)
    broker = tmp_path / "broker-0"
    segments = sorted((broker / "__transaction_state-0").glob("*.log"))
    assert len(segments) > 3
    for number in range(1, len(segments)):
        cut = {"one": (number, number + 1), "those before": (0, number), "those from it on": (number, None)}[which]
        gone = set(map(str, segments[slice(*cut)]))

        def found(path: str, gone: set[str] = gone) -> Location:
            return located(f"{path}.gone" if path in gone else path)

        monkeypatch.setattr(coordinator_log, "located", found)

        report = run([broker])

        blamed = [one for _, one in report.findings if one.severity in (Severity.VIOLATION, Severity.SUSPICIOUS)]
        assert blamed == [], (number, blamed)
        assert {bad.path for bad in report.damage} <= gone
        assert report.damage
