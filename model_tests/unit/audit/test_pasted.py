"""Texts as mails, collectors, consoles, pages and editors hand them on: what they say is the same."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.logs import dump_grammar
from model_tests.logs.text_files import LONGEST
from model_tests.unit.audit.pasted import PASTED
from model_tests.unit.audit.text_cases import found, header, read

INNER = dump_grammar._INNER
STATES = ("25-json-4.x", "23-console-formatter")


def output(report: AuditReport) -> tuple[object, ...]:
    """What was read and found, and how many parts are damaged, missing and passed over."""
    return read(report), found(report), len(report.damage), len(report.missing), len(report.ignored)


@pytest.fixture(scope="module")
def plain(posted: Path) -> dict[str, tuple[object, ...]]:
    """What is said of the texts as they were printed."""
    return {case: output(run(sorted((posted / case).iterdir()))) for case in STATES}


@pytest.mark.parametrize("pasted", PASTED)
def test_a_pasted_text_says_what_was_printed(
    posted: Path, plain: dict[str, tuple[object, ...]], tmp_path: Path, pasted: str
) -> None:
    """Dumps with JSON in them, and what a formatter printed."""
    for case in STATES:
        (tmp_path / case).mkdir()
        for path in (posted / case).iterdir():
            (tmp_path / case / path.name).write_bytes(PASTED[pasted](path.read_text()))

        assert output(run(sorted((tmp_path / case).iterdir()))) == plain[case]


def test_a_listing_without_line_ends_may_be_of_any_length(tmp_path: Path) -> None:
    """Lines are read in pieces, which end where a batch begins."""
    count = LONGEST // 200
    lines = (header(n, n * 86) for n in range(count))
    (tmp_path / "orders-3.txt").write_text(" ".join(lines))

    report = run([tmp_path / "orders-3.txt"])

    assert read(report) == {"orders-3": (count, count, count)}
    assert (report.damage, report.missing) == ((), ())


def test_words_behind_a_filled_listing_are_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the prose is, and though it has words of headings."""
    searched = []

    class Counted:
        """The headings within a line, and how much text was searched for them."""

        @staticmethod
        def finditer(text: str, at: int = 0) -> Iterator[re.Match[str]]:
            searched.append(len(text) - at)
            return INNER.finditer(text, at)

        @staticmethod
        def search(text: str, *span: int) -> re.Match[str] | None:
            return INNER.search(text, *span)

    monkeypatch.setattr(dump_grammar, "_INNER", Counted)
    count, prose = 30, ["the ffset: of nothing :: at all, and more words"] * 2_000
    lines = [*textwrap.wrap(" ".join(header(n, n * 86) for n in range(count)), 75), *prose]
    (tmp_path / "orders-3.txt").write_text("\n".join(lines))

    report = run([tmp_path / "orders-3.txt"])

    assert read(report) == {"orders-3": (count, count, count)}
    assert 10 < sum(searched) / sum(map(len, lines)) < 100
