"""A directory that traces are simulated into: what it was begun with, which traces it holds, and which are missing.

A file appears under its name when it is whole, and its name gives the traces that it holds. So a run that was killed
leaves nothing half done, and the next one makes what is missing.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow.parquet as pq

from model_tests.common.reports import BadInput

BEGUN: Final = "_begun.json"
"""What the directory was begun with; readers of Parquet pass over names that begin so."""

_UNFINISHED: Final = ".unfinished-"
_NAME: Final = re.compile(r"(\d+)-(\d+)\.parquet", re.ASCII)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of traces, in stretches that have none in common, in rising order."""

    stretches: tuple[range, ...]

    def __len__(self) -> int:
        return sum(map(len, self.stretches))

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.stretches)

    def __contains__(self, seed: object) -> bool:
        return any(seed in stretch for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class Piece:
    """Traces of one workload that stand in one file, by their seeds."""

    workload: str
    seeds: range

    @property
    def name(self) -> str:
        """Path of the file in the directory: the workload, the first seed and the last."""
        return f"{self.workload}/{self.seeds[0]:012}-{self.seeds[-1]:012}.parquet"


class TraceDirectory:
    """A directory of simulated traces, a folder for each workload.

    Raises:
        BadInput: it was begun with something else, or holds what is no part of it.
    """

    def __init__(self, path: Path, begun: Mapping[str, object], turns: int) -> None:
        """Begin the directory, or go on with it.

        Args:
            path: of the directory.
            begun: what makes its traces, by the names of the options of `eos simulate` where there are such.
            turns: from one seed of a workload to the next.
        """
        self.path = path
        self._turns = turns
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path} is a file: the traces need a directory of their own")
        if (path / BEGUN).exists():
            self._require_same(begun)
        else:
            self._begin(begun)
        for left in path.glob(f"*/{_UNFINISHED}*"):
            left.unlink(missing_ok=True)

    def held(self) -> list[Piece]:
        """The pieces that are there, by their first seed in each workload.

        Raises:
            BadInput: two pieces of one workload have seeds in common.
        """
        pieces = [self._piece(file) for file in sorted(self.path.glob("*/*.parquet"))]
        for one, other in pairwise(pieces):
            if one.workload == other.workload and one.seeds[-1] >= other.seeds[0]:
                raise BadInput(f"{self.path}: {one.name} and {other.name} hold the same traces; remove one of them")
        return pieces

    def missing(self, wanted: Mapping[str, Collection[int]], size: int) -> Iterator[Piece]:
        """The pieces, of at most `size` traces, that are still to be made.

        Args:
            wanted: all seeds of each workload, in steps of its turns.
            size: traces in one piece.

        Raises:
            BadInput: the directory holds a trace that is not wanted.
        """
        held: dict[str, set[int]] = {workload: set() for workload in wanted}
        for piece in self.held():
            others = [seed for seed in piece.seeds if seed not in wanted.get(piece.workload, ())]
            if others:
                raise BadInput(f"{self.path} holds trace {others[0]}, which was not requested: request more traces")
            held[piece.workload].update(piece.seeds)
        for workload, seeds in wanted.items():
            for stretch in _stretches((seed for seed in seeds if seed not in held[workload]), self._turns):
                yield from (Piece(workload, stretch[at : at + size]) for at in range(0, len(stretch), size))

    def steps(self) -> int:
        """Steps of all traces that are there."""
        return sum(pq.read_metadata(self.path / piece.name).num_rows for piece in self.held())

    def _piece(self, file: Path) -> Piece:
        named = _NAME.fullmatch(file.name)
        if named is None:
            raise BadInput(f"{file} is no file of simulated traces: they need a directory of their own")
        return Piece(file.parent.name, range(int(named[1]), int(named[2]) + 1, self._turns))

    def _begin(self, begun: Mapping[str, object]) -> None:
        others = [file.name for file in self.path.glob("*")]
        if others:
            raise BadInput(f"{self.path} has other files, as {min(others)}: the traces need a directory of their own")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with whole(self.path / BEGUN) as file:
                file.write_text(json.dumps(dict(begun), indent=1) + "\n")
        except OSError as error:
            raise BadInput(f"{self.path} cannot be made: {error.strerror}") from error

    def _require_same(self, begun: Mapping[str, object]) -> None:
        try:
            before = json.loads((self.path / BEGUN).read_text())
        except (OSError, ValueError):
            raise BadInput(f"{self.path / BEGUN} cannot be read: choose another directory") from None
        for name, value in begun.items():
            if before.get(name) != value:
                reported = f"{name} {_short(before.get(name))}, not {_short(value)}"
                raise BadInput(f"{self.path} was begun with {reported}: use the same options, or write elsewhere")


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Another path to write to, whose content appears under the name of `file` once it is all there."""
    unfinished = file.with_name(f"{_UNFINISHED}{uuid4().hex}")
    try:
        yield unfinished
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _stretches(seeds: Iterable[int], turns: int) -> Iterator[range]:
    """The seeds as ranges without a gap."""
    first = last = -1
    for seed in seeds:
        if last >= 0 and seed != last + turns:
            yield range(first, last + 1, turns)
            last = -1
        first, last = (seed if last < 0 else first), seed
    if last >= 0:
        yield range(first, last + 1, turns)


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
