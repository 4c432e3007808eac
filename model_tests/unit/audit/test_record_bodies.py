from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from model_tests.audit.findings import Finding
from model_tests.audit.log import surroundings, wanted_of
from model_tests.audit.reading import read_part
from model_tests.audit.record_bodies import NONE_READ, Bodies, bodies_of
from model_tests.audit.run import run
from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, VIOLATED
from model_tests.logs import kafka_log_bodies, kafka_log_places
from model_tests.logs.kafka_log_bodies import judge_bodies
from model_tests.logs.kafka_log_checks import BodyCheck
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.logs.kafka_log_segment import Cut, SegmentRange, read_bytes
from model_tests.unit.audit.bodies import BODIES, BROKEN, ODD, full, records_of_every_form, sound
from model_tests.unit.audit.dumping import dumped
from model_tests.unit.audit.object_store import BUCKET, object_store
from model_tests.unit.audit.written import encoded, placed, write_segment
from model_tests.unit.audit.written_world import clean_worlds, write_world
from model_tests.unit.support.divided_logs import Divided
from model_tests.unit.support.world_faults import FAULTS
from reference.log.batch import RecordBatch
from reference.log.codecs import Codec, compress
from reference.log.record import MalformedRecords, encode_records
from spec import rules
from spec.versions import NEWEST

HARD: Final = (BodyCheck.RECORD_COUNT, BodyCheck.RECORD_LENGTH, BodyCheck.VARINT, BodyCheck.FIELD_LENGTH)


def read(*batches: RecordBatch) -> Bodies:
    """What is wrong with the bodies of a segment of these batches."""
    content = encoded(placed(batches))
    headers, damage = read_bytes(content, SegmentRange("test.log", 0))
    assert damage == []
    return bodies_of(content, headers)


def test_no_body_is_looked_at_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Whatever is wrong with it: nothing is said of it, and nothing is judged."""
    write_segment(tmp_path / "t-0", [one.of(BODIES * number) for number, one in enumerate((*BROKEN, *ODD))])

    shallow = run([tmp_path])

    assert [bad.message for bad in shallow.damage] == []
    assert rules.SEQ_WELL_FORMED.id not in shallow.judged()
    assert found_in(shallow.findings) == []


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec], ids=lambda codec: codec.name.lower())
def test_compression_hides_nothing(codec: Codec) -> None:
    """Under each codec the same is found, in the same words."""
    plain = [one.of(0) for one in (*BROKEN, *ODD) if one.check not in (BodyCheck.CODEC, BodyCheck.COMPRESSION)]

    for batch in plain:
        packed = batch._replace(attributes=batch.attributes | codec, body=compress(codec, batch.body))
        assert read(batch).wrong
        assert read(packed) == read(batch)


def test_bodies_of_parts_add_up() -> None:
    """Whatever is read together, the same is found in the end."""
    batches = [one.of(8 * number) for number, one in enumerate((*BROKEN, *ODD, *BROKEN))]
    content = encoded(placed(batches))
    headers, _ = read_bytes(content, SegmentRange("test.log", 0))
    whole = bodies_of(content, headers)

    for cut in range(len(batches) + 1):
        first, second = (bodies_of(content, headers.between(*rows)) for rows in ((0, cut), (cut, len(batches))))
        assert whole == first.then(second)
    assert whole == NONE_READ.then(whole) == whole.then(NONE_READ)
    assert len(whole.wrong) < len(BROKEN)


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 50])
def test_long_bodies_are_read_by_and_by(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """As many records at a time as there is room for: nothing is lost where one reading ends and the next begins."""
    batches = [full(), *(one.of(0) for one in (*BROKEN, *ODD)), *sound().values()]
    together = read(*batches)
    monkeypatch.setattr(kafka_log_places, "AT_ONCE", at_once)
    monkeypatch.setattr(kafka_log_bodies, "_TOGETHER", 1000 * at_once)

    assert together == read(*batches)


@given(st.data())
def test_the_reference_reads_what_is_not_blamed(drawn: st.DataObject) -> None:
    """Bytes changed, cut out and put in: what is not blamed for its form has the records of the reference's reader."""
    body = bytearray(encode_records(records_of_every_form()[:3]))
    for _ in range(drawn.draw(st.integers(1, 3))):
        at = drawn.draw(st.integers(0, len(body) - 1))
        body[at : at + drawn.draw(st.integers(0, 2))] = drawn.draw(st.binary(max_size=2))
    batch = full(records=records_of_every_form()[:3])._replace(body=bytes(body))
    found = read(batch).wrong

    try:
        records = batch.records()
    except MalformedRecords:
        assert found
        assert found[0].check in HARD
    else:
        deltas = [record.offset_delta for record in records]
        blamed = {one.check for one in found}
        assert blamed <= {
            BodyCheck.OFFSET_DELTA,
            BodyCheck.MAX_TIMESTAMP,
            BodyCheck.PADDED_VARINT,
            BodyCheck.BASE_TIMESTAMP,
            *HARD,
        }
        if not blamed & {*HARD}:
            assert (BodyCheck.OFFSET_DELTA in blamed) == (deltas != sorted({*deltas} & {0, 1, 2}))


@given(st.binary(max_size=300), st.sampled_from(Codec), st.integers(-2, 40))
def test_any_bytes_are_read_to_the_end(body: bytes, codec: Codec, count: int) -> None:
    """Fuzzed bodies, compressed or said to be so, never stop the audit."""
    packed = full()._replace(record_count=count, attributes=codec, body=compress(codec, body))

    for one in (packed, packed._replace(body=body)):
        found = read(one)
        assert found.judged == 1
        assert len(found.wrong) <= 1


def test_real_brokers_write_what_their_headers_say(recordings: Path) -> None:
    """Not one body of any recorded log, with planted defects and without, is blamed; replicas are often the same."""
    records = 0
    for content, path in {path.read_bytes(): path for path in sorted(recordings.rglob("*.log"))}.items():
        batches, _ = read_bytes(content, SegmentRange(str(path), 0))
        assert judge_bodies(content, batches) == [], path
        records += int(batches.record_count.sum())
    assert records > 300_000


def test_random_worlds_write_what_their_headers_say(tmp_path: Path) -> None:
    """Every log of every broker of some random worlds."""
    for number, world in enumerate(islice(clean_worlds(NEWEST, FAULTS, 300), 3)):
        report = run(write_world(world, tmp_path / str(number)), deep=True)

        assert [one for _, one in report.findings if one.rule is rules.SEQ_WELL_FORMED] == []
        assert report.judged()[rules.SEQ_WELL_FORMED.id] == report.batches > 20


def written(folder: Path) -> Path:
    """A log in three segments, with a broken body in each of two."""
    write_segment(folder / "t-0", [full(), BROKEN[4].of(8)])
    write_segment(folder / "t-0", [full(16), full(24)], base=16)
    write_segment(folder / "t-0", [BROKEN[4].of(32), full(40)], base=32)
    return folder


def found_in(findings: Iterable[tuple[object, Finding]]) -> list[tuple[str, int, str]]:
    return [(one.guard, one.offset, one.message) for _, one in findings if one.rule is rules.SEQ_WELL_FORMED]


def test_a_divided_log_reports_the_same(tmp_path: Path) -> None:
    """Each segment read by a task of its own."""
    divided = Divided(written(tmp_path), deep=True)

    (verdict, damage) = divided.verdicts[0]
    whole = run([tmp_path], deep=True)
    assert len(divided.sizes) == 3
    assert damage == []
    assert found_in((None, one) for one in verdict.findings) == found_in(whole.findings) != []
    assert verdict.judged[rules.SEQ_WELL_FORMED.id] == 6


def test_bodies_in_object_storage_are_read_once(tmp_path: Path) -> None:
    """As those on disk, and each segment is read as often as without."""
    whole = run([written(tmp_path / "kafka")], deep=True)
    with object_store(tmp_path) as (settings, request):
        shallow = run([f"s3://{BUCKET}/kafka?{settings}"])
        before = len(request)

        there = run([f"s3://{BUCKET}/kafka?{settings}"], deep=True)

        assert found_in(there.findings) == found_in(whole.findings) != []
        assert found_in(shallow.findings) == []
        assert len(request) == 2 * before


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_the_command_looks_into_bodies_on_spark(tmp_path: Path) -> None:
    """`eos audit --deep`; and a dump, which has no bodies, is one clear line."""
    folder = written(tmp_path / "kafka")
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join(dumped([folder / "t-0" / f"{16:020}.log"])))

    judged = CliRunner().invoke(app, ["audit", str(folder), "--deep", "--master", "local[2]"])
    refused = CliRunner().invoke(app, ["audit", str(dump), "--deep", "--master", "local[2]"])

    assert judged.exit_code == VIOLATED
    assert "seq.well_formed" in judged.output
    assert refused.exit_code == NOTHING_JUDGED
    assert "is a dump without" in refused.output


def test_a_range_of_a_segment_is_looked_into_where_it_lies(tmp_path: Path) -> None:
    """Positions count from the file's begin, the bytes that were read from the range's."""
    batches = placed([full(), full(8), BROKEN[4].of(16), full(24)])
    path = write_segment(tmp_path / "t-0", batches)
    (log,) = list_logs([str(tmp_path)]).logs
    cut = Cut(len(encoded(batches[:2])), 16)
    first, second = SegmentRange(str(path), 0, until=cut), SegmentRange(str(path), 0, since=cut)
    wanted = wanted_of(log, surroundings(log), NEWEST, deep=True)

    whole, *ranges = (
        read_part(replace(log, segments=segments), wanted).bodies for segments in (log.segments, (first,), (second,))
    )

    assert [one.base for one in whole.wrong] == [16]
    assert whole == ranges[0].then(ranges[1])
    assert [one.judged for one in ranges] == [2, 2]
