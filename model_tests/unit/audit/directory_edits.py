"""What is done to a copy of a log directory, or of those of a cluster's brokers."""

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from model_tests.audit.changes import batches_in, with_change
from model_tests.unit.support.changed_directories import Change, changed, not_marked

Edit: TypeAlias = Callable[[Path], None]


def edits(*each: Edit) -> Edit:
    """One after the other."""

    def edit(directory: Path) -> None:
        for one in each:
            one(directory)

    return edit


def segments(folder: Path) -> list[Path]:
    """Of a partition, in order."""
    return sorted(folder.glob("*.log"))


def removed(name: str, *numbers: int) -> Edit:
    """These segments are gone, with all that is named after them."""

    def edit(directory: Path) -> None:
        listed = segments(directory / name)
        for file in (file for number in numbers for file in (directory / name).glob(f"{listed[number].stem}.*")):
            file.unlink()

    return edit


def batch(partition: str, offset: int, change: Callable[[bytearray], None], *nodes: str) -> Edit:
    """A batch is changed and its checksum right: on these brokers, on all of a cluster where none is named."""
    return lambda directory: with_change(directory, partition, offset, change, *nodes)


def damaged(partition: str, number: int) -> Edit:
    """A bit of a batch of the first segment is wrong, and its checksum is as it was."""

    def edit(directory: Path) -> None:
        first = segments(directory / partition)[0]
        content = bytearray(first.read_bytes())
        content[list(batches_in(content))[number][1] - 2] ^= 1
        first.write_bytes(content)

    return edit


def emptied(name: str, number: int) -> Edit:
    """Of this segment the copy has the name alone."""
    return lambda directory: void(segments(directory / name)[number].write_bytes(b""))


def void(_: object) -> None:
    """What is written has no result."""


def text(name: str, content: str) -> Edit:
    """This file has another content."""
    return lambda directory: void((directory / name).write_text(content))


def gone(*names: str) -> Edit:
    """These files and folders are not there."""

    def edit(directory: Path) -> None:
        for place in (directory / name for name in names):
            shutil.rmtree(place) if place.is_dir() else place.unlink()

    return edit


def retained(name: str, base: int) -> Edit:
    """Retention took the segments below a base, what is derived from them, and earlier leader epochs."""

    def edit(directory: Path) -> None:
        partition = directory / name
        for file in partition.iterdir():
            if file.name[:20].isdigit() and int(file.name[:20]) < base:
                file.unlink()
        checkpoint = partition / "leader-epoch-checkpoint"
        entries = [tuple(map(int, line.split())) for line in checkpoint.read_text().splitlines()[2:]]
        last_before = max(number for number, (_, start) in enumerate(entries) if start <= base)
        left = [f"{epoch} {max(start, base)}" for epoch, start in entries[last_before:]]
        checkpoint.write_text("\n".join(["0", str(len(left)), *left, ""]))

    return edit


def copied_over(own: str, other: str, number: int) -> Edit:
    """The segment is one of another partition."""

    def edit(directory: Path) -> None:
        segments(directory / own)[number].write_bytes(segments(directory / other)[number].read_bytes())

    return edit


def unmarked(name: str, *numbers: int) -> Edit:
    """These markers of the first segment are not marked as such."""
    return with_markers(name, not_marked, *numbers)


def with_markers(name: str, change: Change, *numbers: int) -> Edit:
    """These markers of the first segment are changed, and have the right checksum."""

    def edit(directory: Path) -> None:
        first = segments(directory / name)[0]
        for number in numbers:
            first.write_bytes(changed(first.read_bytes(), number, change, control=True))

    return edit


def twin(directory: Path) -> None:
    """A second partition has the same segments."""
    shutil.copytree(directory / "crash-0", directory / "twin-0")


def renamed(*pairs: tuple[str, str]) -> Edit:
    """Folders have other names, one after the other."""

    def edit(directory: Path) -> None:
        for old, new in pairs:
            (directory / old).rename(directory / new)

    return edit


def exchanged(*names: str) -> Edit:
    """Each folder has the name of the next one, and the last one that of the first."""
    return renamed((names[-1], "between"), *reversed([*pairwise(names)]), ("between", names[0]))


def without_batches(name: str, *numbers: int) -> Edit:
    """These batches of the first segment are gone."""

    def edit(directory: Path) -> None:
        first = segments(directory / name)[0]
        content = first.read_bytes()
        left = (span for number, span in enumerate(batches_in(content)) if number not in numbers)
        first.write_bytes(b"".join(content[start:end] for start, end in left))

    return edit
