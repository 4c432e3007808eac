"""Directories and segments that nobody wrote: small ones changed by a seed, many audits in one process."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from model_tests.audit.run import run
from model_tests.common.reports import NOTHING_JUDGED

NAMES: Final = (
    "t-0",
    "t-",
    "t-00",
    "00000000000000000000.log",
    "a\nb",
    "é-0",
    "meta.properties",
    "-1",
    "x.log",
    "t-0\n",
)
"""What a file or folder may be called."""

NUMBERS: Final = (b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(8), b"\0\0\0\1", b"\xff" * 8)


def changed(content: bytes, random: Random) -> bytes:
    """Bytes with some written over, cut off, put in or repeated."""
    data = bytearray(content)
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(data) + 1)
        match random.randrange(6):
            case 0:
                data[at : at + 1] = bytes((random.randrange(256),))
            case 1:
                new = random.choice(NUMBERS)
                data[at : at + len(new)] = new
            case 2:
                del data[at:]
            case 3:
                del data[at : at + random.randint(1, 99)]
            case 4:
                data[at:at] = data[: random.randint(1, 300)]
            case _:
                data[at : at + 61] = bytes(61)
    return bytes(data)


def spoiled(folder: Path, random: Random) -> None:
    """Change some files of a directory, and seldom what is there at all."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in random.sample(files, min(len(files), random.randint(1, 3))):
        match random.randrange(12):
            case 0:
                path.unlink()
            case 1:
                to = path.with_name(random.choice(NAMES)) if random.random() < 0.5 else folder / path.name
                _ = to.exists() or path.rename(to)
            case 2:
                path.write_bytes(random.choice([each for each in files if each.exists()]).read_bytes())
            case _:
                path.write_bytes(changed(path.read_bytes(), random))


def fuzz_segments(whole: Sequence[Path], scratch: Path, seeds: range) -> int:
    """Audit for each seed a changed segment alone, under the name of its partition; of how many something was said."""
    segments = [
        (path.parent.name, path.name, path.read_bytes()) for each in whole for path in sorted(each.rglob("*.log"))
    ]
    output = 0
    for seed in seeds:
        random = Random(seed)
        folder, name, content = random.choice(segments)
        path = scratch / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(changed(content, random))
        report = run([path], crc=bool(seed % 3), deep=seed % 7 == 0)
        output += bool(report.batches or report.damage or report.exit_code == NOTHING_JUDGED)
        path.unlink()
    return output


def fuzz_directories(whole: Sequence[Path], scratch: Path, seeds: range) -> int:
    """Audit a spoiled copy for each seed; of how many something was said."""
    output = 0
    for seed in seeds:
        random, copy = Random(seed), scratch / "copy"
        shutil.copytree(random.choice(whole), copy)
        spoiled(copy, random)
        report = run([copy], crc=bool(seed % 3), deep=seed % 11 == 0)
        output += bool(report.batches or report.damage or report.exit_code == NOTHING_JUDGED)
        shutil.rmtree(copy)
    return output
