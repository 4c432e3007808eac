import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from model_tests.conform.files import LocatedSession, UnreadableSession, read, sessions
from model_tests.unit.conform.written import restart, session

LINE = json.dumps(session(restart())).encode() + b"\n"


def damage_of(path: Path | str) -> list[str]:
    return [str(item) for item in read([path]) if isinstance(item, UnreadableSession)]


@pytest.mark.parametrize(
    ("name", "compress"),
    [("a.ndjson", bytes), ("a.ndjson.gz", gzip.compress), ("a.ndjson.xz", lzma.compress), ("other", lzma.compress)],
)
def test_a_file_is_read_plain_or_compressed(tmp_path: Path, name: str, compress: Callable[[bytes], bytes]) -> None:
    """The bytes say how a file is compressed, not its name."""
    (tmp_path / name).write_bytes(compress(LINE * 2))

    assert [found.id for found in sessions(tmp_path / name)] == ["hand-A-1"] * 2


def test_a_directory_is_searched_and_each_file_is_read_once(tmp_path: Path) -> None:
    """Session files at any depth count once, however often they are given; other files are passed over by name."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.ndjson").write_bytes(LINE)
    (tmp_path / "README.md").write_text("about")

    items = list(read([tmp_path, tmp_path / "deep", tmp_path / "deep" / "a.ndjson"]))

    assert [type(item) for item in items] == [UnreadableSession, LocatedSession]
    assert str(items[0]) == f"{tmp_path / 'README.md'}: no session file by its name, passed over"
    assert isinstance(items[0], UnreadableSession)
    assert items[0].foreign


def test_a_bad_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """Path, line and what is wrong; the other lines are sessions as before."""
    file = tmp_path / "a.ndjson"
    file.write_bytes(b"{]\n" + LINE + b"\n[1]\n" + LINE)

    items = list(read([file]))

    assert [type(item) for item in items] == [UnreadableSession, LocatedSession, UnreadableSession, LocatedSession]
    assert str(items[0]).startswith(f"{file}:1: not JSON: ")
    assert str(items[2]) == f"{file}:4: the session is [1], not an object"


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_a_truncated_file_is_named_where_it_breaks(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    """Compressed data that ends too early is damage."""
    file = tmp_path / "a.ndjson"
    file.write_bytes(compress(LINE * 3)[:-10])

    assert any("compressed data is damaged" in line for line in damage_of(file))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (bytes(range(128, 256)) * 3, "not JSON"),
        (b"one\ntwo\nthree\n", "3 lines, and no session in any of them"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b"}\n", "not JSON"),
    ],
    ids=["empty", "blank", "binary", "text", "deep", "digits"],
)
def test_a_foreign_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    """However many lines are no sessions, a file without any is named once."""
    file = tmp_path / "a.ndjson"
    file.write_bytes(content)

    lines = damage_of(file)

    assert len(lines) == 1
    assert message in lines[0]
    assert "\n" not in lines[0]


def test_what_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    """Missing files, directories without sessions, URLs and devices."""
    assert damage_of(tmp_path / "none") == [f"{tmp_path / 'none'}: no such file or directory"]
    assert damage_of(tmp_path) == [f"{tmp_path}: no session file in it (.ndjson, .ndjson.gz, .ndjson.xz)"]
    assert damage_of("s3://bucket/a") == ["s3://bucket/a: sessions are read from local files only"]
    assert damage_of("/dev/null") == ["/dev/null: neither a file nor a directory"]
