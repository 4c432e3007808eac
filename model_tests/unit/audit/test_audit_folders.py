import shutil
from collections import Counter
from pathlib import Path

import pytest
from crc32c import crc32c

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.audit.transactions_clusters import coordinator_count, coordinator_partition

TOPICS = ("orders", "payments")
NAMES = tuple(f"tx-{number}" for number in range(12))


@pytest.fixture
def broker(recordings: Path, tmp_path: Path) -> Path:
    """A copy of a broker's directory, without the controller's log."""
    source = recordings / "kafka-3.9.0"
    wanted = [path for topic in (*TOPICS, "__transaction_state") for path in source.glob(f"{topic}-*") if path.is_dir()]
    for path in wanted:
        shutil.copytree(path, tmp_path / path.name)
    shutil.copy(source / "replication-offset-checkpoint", tmp_path)
    assert audited(tmp_path).damage == ()
    assert violations(audited(tmp_path)) == []
    return tmp_path


def audited(broker: Path) -> AuditReport:
    return run([broker])


def violations(report: AuditReport) -> list[str]:
    return [f"{log.topic}-{log.partition} {one.rule.id}" for log, one in report.findings if one.severity == "violation"]


def without_markers(folder: Path, count: int) -> None:
    """Some markers in the middle of a partition are data without a producer; its indexes were not copied."""
    for index in folder.glob("*index"):
        index.unlink()
    (segment,) = list(folder.glob("*.log"))[:1]
    content, places, start = bytearray(segment.read_bytes()), [], 0
    while start < len(content):
        places += [start] if content[start + 22] & 0x20 else []
        start += 12 + int.from_bytes(content[start + 8 : start + 12], "big")
    for place in places[len(places) // 2 :][: 2 * count : 2]:
        size = 12 + int.from_bytes(content[place + 8 : place + 12], "big")
        content[place + 21 : place + 23] = bytes(2)
        content[place + 43 : place + 57] = b"\xff" * 14
        content[place + 17 : place + 21] = crc32c(bytes(content[place + 21 : place + size])).to_bytes(4, "big")
    segment.write_bytes(content)


def test_what_two_folders_lack_does_not_make_them_each_others(broker: Path) -> None:
    """Markers are gone from both; under each other's names more would be broken."""
    for name in ("orders-0", "orders-1"):
        without_markers(broker / name, 3)

    report = audited(broker)

    lacking = Counter(name for name in violations(report) if name.endswith("txn.marker_once"))
    assert sorted(lacking) == ["orders-0 txn.marker_once", "orders-1 txn.marker_once"]
    assert min(lacking.values()) >= 2
    assert report.damage == ()


def here(count: int, given: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """The ids of some partitions of so many."""
    own = [(number, [name for name in NAMES if coordinator_partition(name, count) == number]) for number in given]
    return [(number, names) for number, names in own if names]


def test_the_number_of_coordinators_is_asked_only_where_ids_are_out_of_place() -> None:
    """Where some number explains all, nothing is said; nor where there are too few ids, or they are mixed."""
    (zero, one, *others) = here(4, (0, 1, 2, 3))

    assert coordinator_count([zero, one, *others]) == 0
    assert coordinator_count(here(50, tuple(range(50)))) == 0
    assert coordinator_count([]) == 0
    assert coordinator_count([(zero[0], one[1]), (one[0], zero[1]), *others]) == 4
    assert coordinator_count([(zero[0], one[1][:2]), (one[0], zero[1][:2])]) == 0
    assert coordinator_count([(zero[0], [*one[1], zero[1][0]]), (one[0], zero[1]), *others]) == 0
