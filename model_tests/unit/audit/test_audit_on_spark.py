import json
from pathlib import Path

import pytest

from model_tests.audit.kafka_log import KafkaLog
from model_tests.audit.on_spark import judged_on_spark
from model_tests.audit.options import AuditOptions
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.spark.session import session
from model_tests.unit.audit.written import data, encoded, marker, placed, write_segment
from model_tests.unit.support.printed_reports import printed

MASTER = "local[2]"

pytestmark = pytest.mark.xdist_group("spark")


def test_a_directory_with_everything_wrong_is_judged_to_the_end(tmp_path: Path) -> None:
    """Sound, broken, damaged, empty and foreign input in one run: each is named, the rest judged."""
    write_segment(tmp_path / "sound-0", [data(0), data(1, transactional=True), marker()])
    write_segment(tmp_path / "sound-1", [])
    write_segment(tmp_path / "broken-0", [data(0), data(2)])
    damaged = bytearray(encoded(placed([data(0), data(1), data(2)])))
    damaged[-1] ^= 1
    (tmp_path / "damaged-0").mkdir()
    (tmp_path / "damaged-0" / f"{0:020}.log").write_bytes(damaged)
    write_segment(tmp_path / "damaged-0", [data(4)], base=3)
    (tmp_path / "damaged-1").mkdir()
    (tmp_path / "damaged-1" / f"{0:020}.log").write_bytes(b"no log")

    report = run([tmp_path, "ftp://x/y"], master=MASTER)

    plain = report.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert report.exit_code == VIOLATED
    assert [(one.topic, one.partition, one.verdict.batches) for one in report.audited] == [
        ("broken", 0, 2),
        ("damaged", 0, 3),
        ("damaged", 1, 0),
        ("sound", 0, 3),
        ("sound", 1, 0),
    ]
    assert [(one.topic, finding.rule.id, finding.offset) for one, finding in report.findings] == [
        ("broken", "seq.successor", 1)
    ]
    assert [Path(bad.path).parent.name for bad in report.damage] == ["damaged-0", "damaged-1", "x"]
    assert report.audited[1].verdict.unjudged == 1
    text = printed(report)
    assert "seq.successor" in text
    assert "Unrecognized filesystem type" in text
    assert "The high watermark is the log's end" in text


def test_a_log_that_appears_after_the_listing_takes_no_others_place(tmp_path: Path) -> None:
    """Topics come and go in a live broker's directory; a verdict stays with the log that it is about."""
    write_segment(tmp_path / "b-0", [data(0)])
    write_segment(tmp_path / "c-0", [data(0), data(1)])
    logs = list_logs([str(tmp_path)]).logs
    write_segment(tmp_path / "a-0", [data(0), data(1), data(2)])

    judged = judged_on_spark(logs, [str(tmp_path)], AuditOptions(master=MASTER))

    assert {0: 1, 1: 2} == {number: verdict.batches for number, (verdict, _) in judged.items()}


def test_a_sound_log_holds(tmp_path: Path) -> None:
    """Exit code 0, also where a finding is only suspicious."""
    write_segment(tmp_path / "t-0", [data(5), data(6)])

    report = run([tmp_path / "t-0"], master=MASTER)

    assert report.exit_code == HOLDS
    assert [finding.severity for _, finding in report.findings] == ["suspicious"]


@pytest.mark.parametrize("content", [None, b"", b"x" * 100])
def test_nothing_to_judge_is_no_pass(tmp_path: Path, content: bytes | None) -> None:
    """No path, an empty log, a file that is no log."""
    if content is not None:
        (tmp_path / "t-0").mkdir()
        (tmp_path / "t-0" / f"{0:020}.log").write_bytes(content)

    report = run([tmp_path], master=MASTER)

    assert report.exit_code == NOTHING_JUDGED
    assert "Nothing could be judged" in printed(report)


def test_the_data_source_is_a_table_of_batches(tmp_path: Path) -> None:
    """A log directory can be read as rows."""
    write_segment(tmp_path / "orders-1", [data(0, 3), data(3)])
    spark = session(MASTER)
    spark.dataSource.register(KafkaLog)

    rows = spark.read.format("kafka-log").load(str(tmp_path)).orderBy("base_offset").collect()

    assert [(row.topic, row.partition, row.base_offset, row.record_count, row.damage) for row in rows] == [
        ("orders", 1, 0, 3, None),
        ("orders", 1, 3, 1, None),
    ]
