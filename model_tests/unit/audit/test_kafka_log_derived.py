import random
import shutil
from pathlib import Path

import pytest

from model_tests.traces.audit_log import audit_log, surroundings
from model_tests.traces.kafka_log_derived import parse_epochs, parse_rows, parse_snapshot
from model_tests.traces.kafka_log_folders import list_logs
from model_tests.traces.kafka_log_segment import Damage
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import Effort

DAMAGED_FILES = 100_000 if effort_from_environment() is Effort.DEEP else 1000
SNAPSHOT = f"{5693:020}.snapshot"


@pytest.mark.parametrize(
    ("at", "new", "position", "message"),
    [
        (0, b"\x00\x02", 0, "version 2"),
        (20, b"\xff", 2, "CRC"),
        (6, b"\x00\x00\x00\x63", 2, "CRC"),
    ],
)
def test_a_damaged_snapshot_is_named(recordings: Path, at: int, new: bytes, position: int, message: str) -> None:
    """With the place in the file, and nothing of it is believed."""
    content = bytearray((recordings / "kafka-3.9.0" / "orders-2" / SNAPSHOT).read_bytes())
    content[at : at + len(new)] = new
    damage: list[Damage] = []

    assert parse_snapshot(bytes(content), SNAPSHOT, 0, damage) is None
    assert [(bad.position, bad.message[: len(message)]) for bad in damage] == [(position, message)]


def test_an_entry_cut_short_is_named_and_the_others_read() -> None:
    """An index is nothing but entries."""
    damage: list[Damage] = []

    file = parse_rows(bytes(20), "a.index", 0, ">i8", damage)

    assert file is not None
    assert (len(file.rows), damage) == (2, [Damage("a.index", 16, "4 bytes are left, an entry has 8")])


@pytest.mark.parametrize(
    "content", [b"1\n0\n", b"0\n2\n0 0\n", b"0\n1\nx 0\n", b"0\n2\n1 0\n1 5\n", b"0\n2\n0 5\n1 3\n", b"\xff\xfe"]
)
def test_damaged_leader_epochs_are_named(content: bytes) -> None:
    """Another version, a wrong count, no numbers, epochs or offsets that fall."""
    damage: list[Damage] = []

    assert parse_epochs(content, "leader-epoch-checkpoint", damage) is None
    assert len(damage) == 1


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """The bytes with one thing wrong."""
    at, kind = chance.randrange(len(content) + 1), chance.randrange(5)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + chance.randbytes(chance.randint(1, 50)) + content[at:]
    if kind == 2:
        return content[:at] + content[at + chance.randint(1, 50) :]
    changed = chance.randbytes(chance.randint(1, 9)) if kind == 3 else bytes(chance.randint(1, 64))
    return content[:at] + changed + content[at + len(changed) :]


def test_no_damaged_file_stops_the_audit(recordings: Path, tmp_path: Path) -> None:
    """Segments, snapshots and indexes of a real partition, damaged one or several at a time: all else is judged."""
    chance = random.Random(20261121)  # a seed, not a secret
    folder = Path(shutil.copytree(recordings / "kafka-3.9.0" / "zombie-0", tmp_path / "zombie-0"))
    files = {file: file.read_bytes() for file in sorted(folder.iterdir())}
    (log,) = list_logs([str(folder)]).logs
    sound, _ = audit_log(log, surroundings(log))
    noticed = 0
    for _ in range(DAMAGED_FILES):
        chosen = chance.sample(sorted(files), chance.choice([1, 1, 1, 3]))
        for file in chosen:
            file.write_bytes(spoiled(files[file], chance))

        (log,) = list_logs([str(folder)]).logs
        verdict, damage = audit_log(log, surroundings(log))

        changed = {str(file) for file in chosen if file.read_bytes() != files[file]}
        spoiled_log = any(path.endswith(".log") for path in changed)
        assert all(0 <= bad.position and bad.message for bad in damage)
        assert verdict.batches <= sound.batches
        assert verdict.batches == sound.batches or spoiled_log
        assert {bad.path for bad in damage} <= changed or spoiled_log
        noticed += bool(damage or verdict.findings)
        for file in chosen:
            file.write_bytes(files[file])
    assert noticed > DAMAGED_FILES * 0.8
