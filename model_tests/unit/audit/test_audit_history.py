from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_tests.audit.recorded import KAFKA_3_9, journal
from model_tests.audit.run import run
from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.histories.as_journal import ReportedEnd
from model_tests.histories.form import Form
from model_tests.histories.reading import read_history
from model_tests.unit.support.audited_histories import PRODUCER, ack, begin, ended, reported
from model_tests.unit.support.judged_transactions import A, begun, found


def test_names_and_numbers_may_be_used_again(tmp_path: Path) -> None:
    """A new producer, and a new begin, leave what came before with an unknown outcome."""
    events = [PRODUCER, begin(1), ack(1, A, 0), begin(1), ack(1, A, 2), ended(1, "abort"), PRODUCER, ack(1, A, 3)]

    attempts = read_history(reported(events, tmp_path / "journal.gz"), Form.JOURNAL).attempts

    assert [one.reported for one in attempts] == [ReportedEnd.UNKNOWN, ReportedEnd.ABORTED, ReportedEnd.UNKNOWN]


@pytest.mark.parametrize("content", ["{}\n", "[1]\n", "no json\n", '{"ev": "ack", "p": "one"}\n'])
def test_a_file_that_is_no_journal_is_one_line(tmp_path: Path, content: str) -> None:
    """With the line where it stops being one."""
    (tmp_path / "journal").write_text(content)

    with pytest.raises(BadInput, match="line 1"):
        read_history(str(tmp_path / "journal"), Form.JOURNAL)


def test_a_journal_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """Before anything is read."""
    begun().write(tmp_path / "logs")

    result = CliRunner().invoke(app, ["audit", str(tmp_path / "logs"), "--history", str(tmp_path / "none.gz")])

    assert result.exit_code == NOTHING_JUDGED
    assert result.output.count("\n") == 1


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_judges_a_recorded_journal_like_this_process(recordings: Path) -> None:
    """Every commit that a real client saw is committed, every abort aborted."""
    there = run([recordings / KAFKA_3_9], master="local[2]", history=journal(KAFKA_3_9))
    here = run([recordings / KAFKA_3_9], history=journal(KAFKA_3_9))

    assert found(there) == []
    assert there.history == here.history
    assert there.history.judged == 244_424
    assert there.transactions.counts == here.transactions.counts
