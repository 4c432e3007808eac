import io
import time
from dataclasses import dataclass

from rich.console import Console

from model_tests.audit.progress import progress_line, shown, tasks_done


@dataclass
class ProgressStage:
    """So many tasks, and so many done."""

    numTasks: int  # noqa: N815  # Spark's name
    numCompletedTasks: int  # noqa: N815  # likewise


class Running:
    """Two stages, of which one has just ended."""

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  # Spark's name
        return [3, 4]

    def getStageInfo(self, stageId: int) -> ProgressStage | None:  # noqa: N802, N803  # likewise
        return ProgressStage(8, 2) if stageId == 3 else None


def looked_at(terminal: bool, seconds: float) -> str:
    """What a console shows of an audit that lasts so long."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    with shown(4_000_000, 12, Running(), console, after=0.05):
        time.sleep(seconds)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # the file is the one above


def test_an_audit_reports_bytes_partitions_and_rate() -> None:
    """By the tasks that are done; a stage that has ended is passed over."""
    assert tasks_done(Running()) == (2, 8)
    assert progress_line(1_000_000, 4_000_000, 12, (2, 8), 2.0) == (
        "about 1.0 MB of 4.0 MB in 12 partitions, 2 of 8 tasks, 500.0 kB/s"
    )


def test_progress_is_shown_after_a_while_and_only_to_people() -> None:
    """Not of what is done at once, and not in a file."""
    assert "2 of 8 tasks" in looked_at(terminal=True, seconds=0.3)
    assert "25%" in looked_at(terminal=True, seconds=0.3)
    assert looked_at(terminal=True, seconds=0.0) == ""
    assert looked_at(terminal=False, seconds=0.2) == ""
