"""Archives that are too many, too deep or too large, names with control characters, folders with many files."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import NOTHING_JUDGED, PlainConsole
from model_tests.logs import unpacking
from model_tests.unit.audit.text_cases import header
from model_tests.unit.audit.written import data, write_segment


def packed(files: dict[str, bytes]) -> bytes:
    """An archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def damage(report: AuditReport) -> list[str]:
    """What is wrong, in words; nothing could be judged."""
    assert report.exit_code == NOTHING_JUDGED
    return [bad.message for bad in report.damage]


def lines(report: AuditReport, console: type[Console] = PlainConsole) -> list[str]:
    """What is printed."""
    out = io.StringIO()
    report.print(console(file=out, width=200))
    return out.getvalue().split("\n")


def test_what_unpacks_to_far_more_than_it_is_is_not_read_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb, however it is packed."""
    monkeypatch.setattr(unpacking, "_SMALL", 1 << 20)
    bomb = gzip.compress(b"a" * (20 << 20))
    (tmp_path / "x.gz").write_bytes(bomb)
    (tmp_path / "x.zip").write_bytes(packed({"in.gz": bomb}))

    for name in ("x.gz", "x.zip"):
        (words,) = damage(run([tmp_path / name]))

        assert "more than 250 times its size" in words


def test_archives_lie_in_each_other_to_some_depth(tmp_path: Path) -> None:
    """What is deeper is named."""
    content, name = header(0).encode(), "t-0.txt"
    for depth in range(6):
        content, name = packed({name: content}), f"{depth}.zip"
        (tmp_path / name).write_bytes(content)

    assert run([tmp_path / "3.zip"]).batches == 1
    assert damage(run([tmp_path / "5.zip"])) == ["cannot be read: more than 4 archives lie in each other"]


def test_of_an_archive_of_very_many_files_the_first_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That others are not read is said."""
    monkeypatch.setattr(unpacking, "_MOST", 5)
    (tmp_path / "x.zip").write_bytes(packed({f"t-{n}.txt": header(0).encode() for n in range(9)}))

    report = run([tmp_path / "x.zip"])

    assert report.batches == 5
    assert [bad.message for bad in report.damage] == ["cannot be read: only the first 5 files of it are read"]


def test_names_with_control_characters_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    """A terminal would take them for commands, and a line end for the end of what is said."""
    write_segment(tmp_path / "a\x1b[31m-0", [data(0)])
    (tmp_path / "b\nc.x").write_text("x")
    report = run([tmp_path])

    printed = lines(report)

    assert not any("\x1b[31m" in line for line in printed)
    assert any("a\u241b[31m-0" in line for line in printed)
    assert any(line.startswith("ignored: ") and line.endswith("b\\nc.x") for line in printed)


def test_of_many_ignored_files_some_are_named(tmp_path: Path) -> None:
    """With their number; the report has all."""
    write_segment(tmp_path / "t-0", [data(0)])
    for n in range(50):
        (tmp_path / "t-0" / f"{n}.x").write_bytes(b"")

    report = run([tmp_path])

    printed = [line for line in lines(report) if line.startswith("ignored: ")]
    assert (len(report.ignored), len(printed)) == (50, 21)
    assert f"30 more in {tmp_path}/t-0" in printed[-1]


def test_a_text_that_cannot_be_used_is_given_the_reason(tmp_path: Path) -> None:
    """What each path was taken for says what is missing in it."""
    (tmp_path / "x.txt").write_text(header(0))

    (given,) = run([tmp_path / "x.txt"]).given

    assert (given.used, "no line names the dumped file" in given.taken_for) == (False, True)


@pytest.mark.parametrize("name", ["0-1-v1.log", "lastMark"])
def test_a_file_of_another_product_is_named_as_such(tmp_path: Path, name: str) -> None:
    """Also where its name ends as that of a segment does."""
    (tmp_path / name).write_bytes(b"x" * 200)

    (words,) = damage(run([tmp_path / name]))

    assert words.startswith("a file of ")


def test_a_link_that_leads_round_is_named_as_such(tmp_path: Path) -> None:
    """It is neither a text nor missing."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    assert damage(run([tmp_path / "a"])) == ["a symbolic link that leads nowhere, or round in a circle"]
