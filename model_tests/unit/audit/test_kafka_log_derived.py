import shutil
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.logs.kafka_log_derived import parse_epochs, parse_rows, parse_snapshot
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.unit.damages import PlantedDamage as Damaged
from model_tests.unit.damages import damaged, damages, fuzzed

SNAPSHOT = f"{5693:020}.snapshot"
SNAPSHOT_FIELDS = [0, 2, 6]  # version, checksum, count


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
    damage: list[SegmentDamage] = []

    assert parse_snapshot(bytes(content), SNAPSHOT, 0, damage) is None
    assert [(bad.position, bad.message[: len(message)]) for bad in damage] == [(position, message)]


def test_a_snapshot_that_counts_wrongly_is_named(recordings: Path) -> None:
    """Also where the checksum was made to fit the count."""
    content = (recordings / "kafka-3.9.0" / "orders-2" / SNAPSHOT).read_bytes()
    counted = (10**9).to_bytes(4, "big") + content[10:]
    damage: list[SegmentDamage] = []

    read = parse_snapshot(content[:2] + crc32c(counted).to_bytes(4, "big") + counted, SNAPSHOT, 0, damage)

    assert read is None
    assert [(bad.position, bad.message[:23]) for bad in damage] == [(10, "1000000000 entries need")]


def test_an_entry_cut_short_is_named_and_the_others_read() -> None:
    """An index is nothing but entries."""
    damage: list[SegmentDamage] = []

    file = parse_rows(bytes(20), "a.index", 0, ">i8", damage)

    assert file is not None
    assert (len(file.rows), damage) == (2, [SegmentDamage("a.index", 16, "4 bytes are left, an entry has 8")])


@pytest.mark.parametrize(
    "content", [b"1\n0\n", b"0\n2\n0 0\n", b"0\n1\nx 0\n", b"0\n2\n1 0\n1 5\n", b"0\n2\n0 5\n1 3\n", b"\xff\xfe"]
)
def test_damaged_leader_epochs_are_named(content: bytes) -> None:
    """Another version, a wrong count, no numbers, epochs or offsets that fall."""
    damage: list[SegmentDamage] = []

    assert parse_epochs(content, "leader-epoch-checkpoint", damage) is None
    assert len(damage) == 1


Files = dict[Path, bytes]


@pytest.fixture(scope="module")
def partition(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a real partition's folder, to be damaged."""
    return Path(shutil.copytree(recordings / "kafka-3.9.0" / "zombie-0", tmp_path_factory.mktemp("log") / "zombie-0"))


@pytest.fixture(scope="module")
def sound(partition: Path) -> tuple[Files, PartitionVerdict]:
    """Its files, and the verdict on them."""
    (log,) = list_logs([str(partition)]).logs
    verdict, _ = audit_log(log, surroundings(log))
    return {path: path.read_bytes() for path in sorted(partition.iterdir())}, verdict


NUMBERED = st.tuples(st.integers(0, 20), damages(1 << 15, SNAPSHOT_FIELDS, most=2))


def test_no_damaged_file_stops_the_audit(partition: Path, sound: tuple[Files, PartitionVerdict]) -> None:
    """Segments, snapshots and indexes of a real partition, damaged one or several at a time: all else is judged."""
    files, expected = sound
    noticed = []

    @fuzzed(share=0.2)
    @given(st.lists(NUMBERED, min_size=1, max_size=3))
    def check(wrong: list[tuple[int, list[Damaged]]]) -> None:
        harms = {sorted(files)[number % len(files)]: harm for number, harm in wrong}
        spoiled = {file: damaged(content, harms.get(file, ())) for file, content in files.items()}
        changed = {str(file) for file in files if spoiled[file] != files[file]}
        for file, content in spoiled.items():
            file.write_bytes(content)

        (log,) = list_logs([str(partition)]).logs
        verdict, damage = audit_log(log, surroundings(log))

        in_log = any(path.endswith(".log") for path in changed)
        assert all(0 <= bad.position and bad.message for bad in damage)
        assert {path for path in changed if path.endswith(".snapshot")} <= {bad.path for bad in damage}
        assert verdict.batches <= expected.batches
        assert verdict.batches == expected.batches or in_log
        assert {bad.path for bad in damage} <= changed or in_log
        noticed.append(bool(damage or verdict.findings) or not changed)

    check()
    assert sum(noticed) > len(noticed) * 0.8
