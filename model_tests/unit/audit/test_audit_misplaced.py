"""Records, batches and markers away from their place, or under the identity of another: one finding, where they are."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.partition import audit_batches
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.run import run
from model_tests.unit.audit.written import data, log_of, marker
from model_tests.unit.audit.written_cluster import STATES
from model_tests.unit.support.changed_directories import changed, not_marked
from model_tests.unit.support.one_cause import A, found, identified, record, two_producers
from reference.log.batch import TRANSACTIONAL, RecordBatch
from spec.vocabulary import ProducerId, Sequence

NEXT_EPOCH = 4


def stream(count: int = 14) -> list[RecordBatch]:
    """One producer's batches of two records; the epoch rises once."""
    before = [data(2 * number, 2) for number in range(NEXT_EPOCH)]
    return before + [data(2 * number, 2, epoch=1) for number in range(count - NEXT_EPOCH)]


def reported(batches: list[RecordBatch]) -> list[Finding]:
    """What the partition alone shows."""
    return list(audit_batches(log_of(*batches)).findings)


@pytest.mark.parametrize("by", [2, 3, 5, 7])
@pytest.mark.parametrize("number", range(10))
def test_a_batch_that_comes_late_is_one_finding(number: int, by: int) -> None:
    """Where it is missing, or where it stands; beyond the end of its epoch, too."""
    batches = stream()
    late = batches.pop(number)
    batches.insert(number + by, late)

    (finding,) = reported(batches)

    last_of_its_epoch = number == NEXT_EPOCH - 1 and finding.rule.id == "fence.stale_epoch"
    lacking = {one.offset for one in finding.consequences}
    assert last_of_its_epoch or lacking == ({0} if number == 0 else set(finding.found_at))


@pytest.mark.parametrize("by", [2, 3, 5])
@pytest.mark.parametrize("number", range(1, 8))
def test_a_batch_that_comes_early_is_one_finding(number: int, by: int) -> None:
    """Reported at it, or at those of the epoch before that come after it; the batch after it lacks it."""
    batches = stream()
    early = batches.pop(number + by)
    batches.insert(number, early)

    (finding,) = reported(batches)

    assert finding.offset in (2 * number, 2 * number + 2)


@pytest.mark.parametrize("transactional", [False, True])
def test_a_malformed_batch_in_its_place_is_not_said_to_belong_elsewhere(transactional: bool) -> None:
    """The batch after it, in the next transaction, lacks it; its count alone is wrong."""
    batches = [data(2 * number, 2, transactional=transactional) for number in range(4)]
    batches[2] = batches[2]._replace(record_count=3)

    (finding,) = reported([each for one in batches for each in ((one, marker()) if transactional else (one,))])

    assert "has 3 records at 2 offsets" in finding.message
    assert finding.consequences == ()


@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("after", [2, 3, 4])
def test_two_wrong_sequences_are_two_findings(number: int, after: int) -> None:
    """The one too high, the other too low: what is between them and behind them is right."""
    batches = [data(2 * number, 2) for number in range(14)]
    for place, by in ((number, 1), (number + after, -1)):
        batches[place] = batches[place]._replace(base_sequence=Sequence(batches[place].base_sequence + by))

    findings = reported(batches)

    assert [finding.offset for finding in findings] == [2 * number, 2 * (number + after)]


def test_where_what_is_missing_comes_goes_with_the_finding() -> None:
    """And which batches of others have just that."""
    moved, named = stream(), stream()
    moved.insert(4, moved.pop(1))
    named[NEXT_EPOCH] = named[NEXT_EPOCH]._replace(producer_id=ProducerId(9))
    of_moved, of_named = (audit_batches(log_of(*batches)) for batches in (moved, named))

    assert of_moved.findings[0].found_at == (8,)
    assert of_named.findings[0].found_at == (2 * NEXT_EPOCH,)


def test_after_a_record_under_another_key_both_histories_are_reported_as_they_were(tmp_path: Path) -> None:
    """Nothing of their transactions is in doubt."""
    cluster = two_producers(2)
    at = next(at for at, batch in enumerate(cluster.coordinator) if identified(batch)[1].status == 2)
    batch = cluster.coordinator[at]
    sound = run([two_producers(2).write(tmp_path / "sound")])
    cluster.coordinator[at] = record("other", identified(batch)[1], batch)

    report = run([cluster.write(tmp_path / "misplaced")])

    assert report.transactions.counts == sound.transactions.counts


@pytest.mark.parametrize("name", ["tx", "other"])
def test_a_broken_record_does_not_give_its_id_the_producer_of_another(tmp_path: Path, name: str) -> None:
    """Whichever of the two comes first in the log."""
    cluster = two_producers(0)
    at = next(at for at, batch in enumerate(cluster.coordinator) if identified(batch)[0] == name)
    value = identified(cluster.coordinator[at])[1]
    wrong = replace(value, producer_id=ProducerId(15 - value.producer_id), status=STATES.ONGOING.value)
    cluster.coordinator[at] = record(name, wrong, cluster.coordinator[at])

    report = run([cluster.write(tmp_path)])

    assert [finding.rule.id for _, finding in report.findings] == ["txn.legal_transition"]
    assert report.transactions.identities == {"tx": {7}, "other": {8}}


def test_one_that_leaves_its_transaction_open_reports_the_command_that_ends_it(tmp_path: Path) -> None:
    """Where readers of committed records wait, too."""
    cluster = two_producers(0)
    number = max(number for number, batch in enumerate(cluster.logs[A]) if batch.is_control)
    cluster.logs[A][number] = cluster.logs[A][number]._replace(attributes=TRANSACTIONAL)

    report = run([cluster.write(tmp_path)])

    ((_, finding),) = report.findings
    assert "abort --topic a --partition 0 --start-offset" in finding.remedy
    (held,) = report.held_back
    assert finding.remedy in held.in_one_line()


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("first", range(3))
def test_two_such_markers_are_two_findings(tmp_path: Path, version: int, first: int) -> None:
    """What a transaction lacks is the first of them behind its data, though the later one is behind it as well."""
    cluster = two_producers(version)
    markers = [number for number, batch in enumerate(cluster.logs[A]) if batch.is_control and batch.producer_id == 7]
    for number in markers[first : first + 2]:
        cluster.logs[A][number] = cluster.logs[A][number]._replace(attributes=TRANSACTIONAL)

    findings = found(cluster, tmp_path)

    lacking = [[one.offset for one in each.consequences if one.rule.id == "txn.marker_once"] for each in findings]
    assert [(each.rule.id, each.offset) for each in findings] == [
        ("seq.well_formed", number) for number in markers[first : first + 2]
    ]
    assert min(lacking[0]) == markers[first] - (1 if first == 2 else 3)
    assert lacking[1] == ([12] if first == 2 else [])


def test_an_entry_of_the_aborted_index_for_such_a_marker_is_part_of_it(recordings: Path, tmp_path: Path) -> None:
    """Without a coordinator's log the index alone shows that the marker is missing."""
    shutil.copytree(recordings / KAFKA_3_9 / "payments-0", tmp_path / "payments-0")
    segment = min((tmp_path / "payments-0").glob("*.log"))
    segment.write_bytes(changed(segment.read_bytes(), 8, not_marked, control=True))

    ((_, finding),) = run([tmp_path]).findings

    assert finding.rule.id == "seq.well_formed"
    assert any("txnindex" in one.message for one in finding.consequences)


@pytest.mark.parametrize("producer_id", [7, 8, 9])
def test_a_batch_under_another_producer_id_is_one_finding(producer_id: int) -> None:
    """Where it is: at the begin of its producer, in the middle, at the end; under an id that others have or none."""
    named = 0
    for number, batch in enumerate(in_turns()):
        if batch.producer_id == producer_id:
            continue
        batches = in_turns()
        batches[number] = batch._replace(producer_id=ProducerId(producer_id))

        (finding,) = audit_batches(log_of(*batches)).findings

        lacks = f"the batch has producer id {producer_id}" in finding.message
        assert not lacks or finding.offset == log_of(*batches).base_offset[number]
        named += lacks
    assert named > 7


def in_turns() -> list[RecordBatch]:
    """Two producers, whose batches have other sequences."""
    turns = ((data(2 * number, 2), data(number)._replace(producer_id=ProducerId(8))) for number in range(10))
    return [batch for pair in turns for batch in pair]


def test_a_lost_batch_is_lost_though_another_producer_has_the_same_sequences() -> None:
    """Whose history needs them: nothing is gained by giving them to the one that lacks some."""
    batches = [data(number)._replace(producer_id=ProducerId(who)) for number in range(6) for who in (7, 8)]
    lost = batches.pop(6)

    (finding,) = audit_batches(log_of(*batches)).findings

    assert (finding.producer_id, finding.offset) == (lost.producer_id, 7)
