import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.log import audit_log, read_log, surroundings
from model_tests.audit.part import shows_in_partition
from model_tests.audit.partition_context import transactions
from model_tests.audit.partition_verdict import Judged, PartitionVerdict
from model_tests.audit.recorded import DEFECTS, RECORDED, defect_clusters, defects, observed
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.logs.kafka_log_read import read_checked
from reference.log.reader import intact_batches
from spec.vocabulary import ControlType


@cache
def audited(path: Path) -> dict[str, Judged]:
    """The verdict on each partition under a path, and its damage."""
    return {log.name: audit_log(log, surroundings(log)) for log in list_logs([str(path)]).logs}


def verdicts_on(path: Path) -> dict[str, PartitionVerdict]:
    """The verdict on each partition under a path."""
    return {name: verdict for name, (verdict, _) in audited(path).items()}


@pytest.mark.parametrize("recording", RECORDED)
def test_a_real_log_breaks_nothing_and_agrees_with_its_broker(recordings: Path, recording: str) -> None:
    """No violation; log start, last stable offset, log end and visible records are what the broker said."""
    verdicts = verdicts_on(recordings / recording)

    found = [finding for verdict in verdicts.values() for finding in verdict.findings]
    assert [finding for finding in found if finding.severity is not Severity.UNDECIDED] == []
    for partition, seen in observed(recording).items():
        at = verdicts[partition].offsets
        offsets = (at.log_start, at.last_stable, at.high_watermark, at.log_end)
        assert offsets == (seen.log_start, seen.lso, seen.log_end, seen.log_end)
        assert verdicts[partition].visible_records == seen.delivered


def test_the_delivered_offsets_are_those_of_the_real_consumer(recordings: Path) -> None:
    """Not only their count: where the cleaner was not, every single offset."""
    compared = 0
    for log in list_logs([str(recordings / "kafka-3.9.0")]).logs:
        batches, _ = read_log(log)
        seen = observed("kafka-3.9.0").get(log.name)
        if seen is None or batches.cleaned.any():
            continue
        found = transactions(batches)
        aborted = (found.marker >= 0) & (batches.control_type[found.marker] == ControlType.ABORT)
        shown = ~batches.control & ~(found.joins & aborted) & (batches.base_offset < seen.lso)
        ranges = zip(batches.base_offset[shown], batches.last_offset[shown], strict=True)
        offsets = [str(offset) for first, last in ranges for offset in range(first, last + 1)]
        assert hashlib.sha256(" ".join(offsets).encode()).hexdigest() == seen.delivered_sha256
        compared += 1
    assert compared == 33


@pytest.mark.parametrize("recording", RECORDED)
def test_both_readers_agree(recordings: Path, recording: str) -> None:
    """The audit's reader and the reference's were written apart and read the same batches."""
    names = ("base_offset", "last_offset_delta", "record_count", "producer_id", "producer_epoch", "base_sequence")
    for log in list_logs([str(recordings / recording)]).logs:
        for segment in log.segments:
            ours, _ = read_checked(segment)
            theirs = list(intact_batches(Path(segment.path).read_bytes()))
            for name in names:
                assert np.array_equal(getattr(ours, name), [getattr(batch, name) for batch in theirs])


def test_every_defect_of_a_partition_is_found_and_nothing_else(recordings: Path) -> None:
    """At its offset, by one of its rules; the cases of later checks give no alarm."""
    for case in defects(recordings):
        verdicts = verdicts_on(recordings / DEFECTS / case.case)
        found = [
            finding
            for verdict in verdicts.values()
            for finding in verdict.findings
            if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS)
        ]
        if shows_in_partition(case):
            assert [finding.offset for finding in found] == [case.offset], case.case
            assert found[0].rule.id in case.rules
            assert found[0].producer_id == case.producer_id
        else:
            assert found == [], case.case


def test_damage_is_named_once(recordings: Path) -> None:
    """The flipped bit and the batch cut short, and nothing besides."""
    for case in defects(recordings):
        damage = [bad for _, found in audited(recordings / DEFECTS / case.case).values() for bad in found]
        assert len(damage) == case.damage
        assert all(f"offset {case.offset}" in bad.message for bad in damage)


@pytest.mark.slow  # `eos verify` audits the same, and demands the same of each case
def test_every_defect_of_the_recordings_is_found_and_nothing_else(recordings: Path) -> None:
    """At its offset, by one of its rules; those that need the coordinator's log too."""
    report = run([], clusters=defect_clusters(recordings))

    by_case: dict[str, list[Finding]] = {}
    for one, finding in report.findings:
        if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS):
            by_case.setdefault(Path(one.path).parent.name, []).append(finding)
    expected = {case.case: case for case in defects(recordings) if case.rules}
    assert by_case.keys() == expected.keys()
    for name, case in expected.items():
        (finding,) = by_case[name]
        assert (finding.offset, finding.producer_id) == (case.offset, case.producer_id), name
        assert finding.rule.id in case.rules
