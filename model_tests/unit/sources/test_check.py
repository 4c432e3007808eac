"""Methods are found in sources, and rows are compared with them."""

import subprocess
from pathlib import Path

import pytest

from model_tests.sources import check as check_module
from model_tests.sources.__main__ import main
from model_tests.sources.check import Clones, bodies, check, says, unseen
from spec.sources.table import SourceRow, Support

SCALA = """
class Log {
  def read(startOffset: Long,
           isolation: Isolation): Data = {
    if (startOffset > end)
      throw new OffsetOutOfRangeException("no")
    def inner(): Unit = {
      logged()
    }
  }

  private def short: Int = 3

  private def analyze(records: Records):
  (Map[Long, Info], Option[Batch]) = {
    findDuplicateBatch(records)
  }
}
"""

JAVA = """
public class Group {
    @Override
    public void validate(
        String member,
        int generation
    ) throws IllegalGenerationException {
        if (generation != this.generation) {
            throw Errors.ILLEGAL_GENERATION.exception();
        }
        validateMember(member);
    }

    private void validateMember(String member) {
        throw Errors.UNKNOWN_MEMBER_ID.exception();
    }
}
"""


@pytest.mark.parametrize(
    ("text", "method", "inside", "outside"),
    [
        (SCALA, "read", "OffsetOutOfRangeException", "findDuplicateBatch"),
        (SCALA, "inner", "logged", "OffsetOutOfRangeException"),
        (SCALA, "short", "3", "findDuplicateBatch"),
        (SCALA, "analyze", "findDuplicateBatch", "short"),
        (JAVA, "validate", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
        (JAVA, "validateMember", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"),
    ],
)
def test_a_method_ends_where_it_ends(text: str, method: str, inside: str, outside: str) -> None:
    """In either language, with parameters over several lines."""
    (body,) = bodies(text, method)

    assert inside in body
    assert outside not in body


def test_a_call_is_no_method() -> None:
    """What is only called somewhere is not declared there."""
    assert list(bodies(SCALA, "findDuplicateBatch")) == []
    assert list(bodies(JAVA, "exception")) == []


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (("startOffset > end", "OffsetOutOfRangeException"), True),
        (("OffsetOutOfRangeException", "startOffset > end"), False),
        (("NotThere|OffsetOutOfRangeException",), True),
        (("a || b",), False),
        ((), True),
    ],
)
def test_words_occur_one_after_the_other(words: tuple[str, ...], there: bool) -> None:
    """So that a row can say which check is first."""
    (body,) = bodies(SCALA, "read")

    assert there == says(body, _row("read", words))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a branch 3.6 that has one file."""
    path = tmp_path / "core" / "Log.scala"
    path.parent.mkdir()
    path.write_text(SCALA, encoding="utf-8")
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    for command in (("init", "-q", "-b", "3.6"), ("add", "."), (*who, "commit", "-qm", "log")):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("method", "words", "absent", "why"),
    [
        ("read", ("OffsetOutOfRangeException",), (), ""),
        ("read", ("UnknownProducerId",), (), "Log.read does not say UnknownProducerId"),
        ("gone", ("x",), (), "no method gone in core/Log.scala"),
        ("read", (), ("OffsetOutOfRangeException",), "Log.read says OffsetOutOfRangeException"),
        ("read", (), ("UnknownProducerId",), ""),
    ],
)
def test_a_row_is_held_against_its_release(
    method: str, words: tuple[str, ...], absent: tuple[str, ...], why: str, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The method is there, has what it should and does not have what it should not."""
    monkeypatch.setattr(check_module, "rows", lambda: (_row(method, words, absent),))
    monkeypatch.setattr(check_module, "files", lambda: {"Log": {"3.6": "core/Log.scala"}})

    assert [finding.why for finding in check(Clones([clone]))] == ([why] if why else [])


def test_a_file_that_is_not_there_is_found(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a class is part of what is checked."""
    monkeypatch.setattr(check_module, "rows", lambda: (_row("read", ("x",)),))
    monkeypatch.setattr(check_module, "files", lambda: {"Log": {"3.6": "storage/Log.java"}})

    assert [str(finding) for finding in check(Clones([clone]))] == [
        "fetch.below = NONE, 3.6 .. 3.6: 3.6: no file storage/Log.java"
    ]


def test_releases_that_no_clone_has_are_reported(clone: Path) -> None:
    """What could not be looked at is not taken for fine."""
    assert "3.6" not in unseen(Clones([clone]))
    assert "4.3" in unseen(Clones([clone]))


def test_without_a_clone_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2: nothing could be looked at."""
    assert main([]) == 2
    assert main([str(tmp_path / "none")]) == 2
    assert "clones of Kafka" in capsys.readouterr().out


def _row(method: str, words: tuple[str, ...], lacks: tuple[str, ...] = ()) -> SourceRow:
    return SourceRow("fetch", "below", "NONE", "3.6", "3.6", Support.SOURCE, f"Log.{method}", words, lacks)
