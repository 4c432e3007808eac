"""The page of sources: nothing is left out, and what is wrong or without support is shown."""

from model_tests.unit.docs.extensions import extension
from spec.sources.decisions import DECISIONS, RELEASED
from spec.sources.known import known
from spec.sources.table import SourceRow, Support

page = extension("source_tables")


def test_every_guard_with_each_answer_is_a_line() -> None:
    """In the order of the newest release."""
    lines = page.named("append")
    order = list(DECISIONS["append"](RELEASED[-1]))

    assert {(c.guard, c.answer) for c in known().support if c.decision == "append"} == set(lines)
    assert order == [guard for guard in dict.fromkeys(guard for guard, _ in lines) if guard in order]


def test_every_cell_is_shown_as_it_is_known() -> None:
    """As many of each kind as there are, so that nothing wrong or unsupported is hidden."""
    shown = [
        support
        for decision in (*DECISIONS, page.OF_RELEASES)
        for guard, answer in page.named(decision)
        for support in page.supports(decision, guard, answer)
    ]

    assert {kind: shown.count(page.SHOWN[kind]) for kind in Support} == {
        kind: known().count()[kind] for kind in Support
    }


def test_the_page_counts_what_nothing_supports() -> None:
    """Also where there is none of it."""
    assert len(page.counts()) == len(Support)
    assert page.counts()[-1] == f"{known().count()[Support.UNSUPPORTED]} supported by nothing"


def test_a_row_reports_method_file_and_what_is_so_instead() -> None:
    """A row without a method names its recording."""
    wrong = SourceRow("append", "x", "NONE", "2.4", "2.5", Support.WRONG, "Log.read", ("a",), (), "no error")
    recorded = SourceRow("append", "x", "NONE", "3.9.0", "3.9.0", Support.RECORDING, note="3.9.0")

    assert page.reported(wrong) == "wrong: no error; Log.read (core/src/main/scala/kafka/log/Log.scala)"
    assert page.reported(recorded) == "recorded sessions of 3.9.0"
