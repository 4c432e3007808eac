"""The description of a directory of simulated traces, without Spark."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from model_tests.common.derived import digest_of
from model_tests.common.reports import BadInput
from model_tests.simulate.simulate import trace_of
from model_tests.simulate.simulation_job import write_piece
from model_tests.simulate.trace_directory import BEGUN, Piece, TraceDirectory, whole

BEGUN_WITH: Final[Mapping[str, Any]] = {
    "seed": 0,
    "steps": 5,
    "workload": None,
    "schema": 1,
    "profiles": ["4.3"],
    "reference": "one text",
}
WANTED: Final = {"raw": range(0, 40, 4), "replicas": range(3, 40, 4)}


def opened(path: Path, **changed: object) -> TraceDirectory:
    return TraceDirectory(path, {**BEGUN_WITH, **changed}, 4)


def write(directory: TraceDirectory, pieces: list[Piece]) -> None:
    for piece in pieces:
        write_piece(piece, directory.path, partial(trace_of, steps=5))


def test_what_is_missing_is_what_no_file_holds(tmp_path: Path) -> None:
    """Pieces that are there are left out, wherever they stand; together they are the requested traces."""
    directory = opened(tmp_path / "out")
    pieces = list(directory.missing(WANTED, 3))
    write(directory, pieces[1:2] + pieces[5:6])

    missing = list(opened(tmp_path / "out").missing(WANTED, 3))

    assert [4, 4] == [sum(piece.workload == name for piece in pieces) for name in WANTED]
    assert [piece for number, piece in enumerate(pieces) if number not in {1, 5}] == missing
    write(directory, missing)
    assert [] == list(directory.missing(WANTED, 3))
    assert [*WANTED["raw"], *WANTED["replicas"]] == [seed for piece in directory.held() for seed in piece.seeds]
    assert 20 * 5 == directory.steps()


def test_more_traces_go_on_where_the_others_end(tmp_path: Path) -> None:
    """A larger number, and pieces of another size, add what is not there; a smaller number is refused."""
    directory = opened(tmp_path / "out")
    write(directory, list(directory.missing(WANTED, 3)))

    added = list(directory.missing({**WANTED, "raw": range(0, 80, 4)}, 7))

    assert list(range(40, 80, 4)) == [seed for piece in added for seed in piece.seeds]
    with pytest.raises(BadInput, match="holds trace 20, which was not requested"):
        list(directory.missing({**WANTED, "raw": range(0, 20, 4)}, 3))


@pytest.mark.parametrize("name", list(BEGUN_WITH))
def test_a_directory_is_continued_only_as_it_was_begun(name: str, tmp_path: Path) -> None:
    """Traces of another seed, length, schema or reference are not mixed with those that are there."""
    opened(tmp_path / "out")

    with pytest.raises(BadInput, match=f"was begun with {name} "):
        opened(tmp_path / "out", **{name: "other"})


def test_an_unfinished_file_is_no_file(tmp_path: Path) -> None:
    """What a killed task leaves is passed over, and removed by the next run; one that failed leaves nothing."""
    directory = opened(tmp_path / "out")
    pieces = list(directory.missing(WANTED, 5))
    write(directory, pieces[:1])
    left = directory.path / "raw" / ".unfinished-0"
    left.write_bytes(b"PAR1")

    with pytest.raises(ZeroDivisionError):
        write_piece(pieces[1], directory.path, lambda seed: [{"trace": 1 // 0}])

    assert pieces[1:] == list(directory.missing(WANTED, 5))
    opened(tmp_path / "out")
    assert [pieces[0].name] == [str(file.relative_to(directory.path)) for file in directory.path.glob("*/*")]


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    """Half a file never has its name."""
    with whole(tmp_path / "file") as unfinished:
        unfinished.write_text("half, ")
        assert not (tmp_path / "file").exists()
        unfinished.write_text("half, and the other half")

    assert ["file"] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["notes.txt", "raw/steps.parquet", "raw/000000000004-000000000012.parquet"])
def test_other_files_are_left_alone(name: str, tmp_path: Path) -> None:
    """Nothing is written beside files that are not ours, or that hold the same traces."""
    if "/" in name:
        directory = opened(tmp_path)
        write(directory, [Piece("raw", range(0, 20, 4))])
    (tmp_path / name).write_text("not ours")

    with pytest.raises(BadInput, match=r"directory of their own|hold the same traces"):
        opened(tmp_path).held()


def test_a_directory_with_an_unreadable_description_is_refused(tmp_path: Path) -> None:
    """It is not known what its traces are."""
    opened(tmp_path)
    (tmp_path / BEGUN).write_text("{half")

    with pytest.raises(BadInput, match="cannot be read"):
        opened(tmp_path)


def test_traces_are_found_without_reading_the_others(tmp_path: Path) -> None:
    """A file has few traces in each row group, with their numbers: a search for one trace reads that one alone."""
    piece = Piece("raw", range(0, 400, 4))

    write_piece(piece, tmp_path, partial(trace_of, steps=5))

    groups = pq.read_metadata(tmp_path / piece.name)
    place = groups.schema.to_arrow_schema().get_field_index("trace")
    bounds = [groups.row_group(number).column(place).statistics for number in range(groups.num_row_groups)]
    assert [(0, 316), (320, 396)] == [(bound.min, bound.max) for bound in bounds]


def test_another_text_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed line, a renamed module and a moved line each show."""
    texts = [{"a": "x = 1\n"}, {"a": "x = 2\n"}, {"b": "x = 1\n"}, {"a": "", "b": "x = 1\n"}]
    package, digests = tmp_path / "digested", set()
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for modules in texts:
        for left in package.glob("*.py"):
            left.unlink()
        for name, text in {"__init__": "", **modules}.items():
            (package / f"{name}.py").write_text(text)
        digests.add(digest_of("digested"))

    assert len(texts) == len(digests)
    assert digest_of("reference") != digest_of("reference", "spec.versions") != digest_of("reference", "spec.rules")
