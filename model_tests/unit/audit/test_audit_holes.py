"""Sound logs of which batches cannot be read, in partitions and in the coordinator's log: no rule is violated."""

from pathlib import Path
from random import Random
from typing import Final

import pytest

from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from reference.log.batch import HEADER_SIZE, PREFIX_SIZE, decode_header

PARTITIONS: Final = ((("a", 0),), (("a", 0), ("b", 0)), (("b", 0),))

FOUND: Final = (47, 61, 92, 161, 179, 294)
"""Seeds of which something was a violation: markers were taken for those of other transactions."""


def written(chance: Random, version: int) -> WrittenCluster:
    """A few transactions of two ids, at times that are near to each other or far."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.init("ty", 8)
    for _ in range(chance.randint(2, 5)):
        name = chance.choice(["tx", "tx", "ty"])
        cluster.now += chance.choice([0, 100, 200_000])
        cluster.transaction(name, chance.choice(PARTITIONS), chance.choice([COMMIT, ABORT]))
    return cluster


def spoil(directory: Path, chance: Random) -> None:
    """Make up to three neighbouring batches of a log unreadable, of most logs."""
    for segment in sorted(directory.rglob("*.log")):
        content = bytearray(segment.read_bytes())
        begins, end = list[int](), 0
        while end < len(content):
            begins.append(end)
            _, length, *_ = decode_header(bytes(content[end : end + HEADER_SIZE]), 0)
            end += PREFIX_SIZE + length
        if chance.random() < 0.75:
            first = chance.randrange(len(begins))
            for at in begins[first : first + chance.randint(1, 3)]:
                content[at + 20] ^= 0xFF
            segment.write_bytes(content)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("seed", [*range(12), *FOUND])
def test_what_cannot_be_read_is_no_violation(seed: int, version: int, tmp_path: Path) -> None:
    """Whatever is missing: a marker, its data, the records of its transaction, or all of them."""
    chance = Random(seed)
    written(chance, version).write(tmp_path)
    spoil(tmp_path, chance)

    report = run([tmp_path], crc=True)

    assert report.batches
    assert [] == [str(found) for _, found in report.findings if found.severity is Severity.VIOLATION]
