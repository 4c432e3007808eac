"""Records and batches under the identity of another: one finding, where they are."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from crc32c import crc32c

from model_tests.audit.partition import audit_batches
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.run import run
from model_tests.unit.audit.written import data, log_of
from model_tests.unit.audit.written_cluster import STATES
from model_tests.unit.support.changed_directories import spans_of
from model_tests.unit.support.one_cause import A, identified, record, two_producers
from reference.log.batch import CONTROL, TRANSACTIONAL, RecordBatch
from spec.vocabulary import ProducerId


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


def test_an_entry_of_the_aborted_index_for_such_a_marker_is_part_of_it(recordings: Path, tmp_path: Path) -> None:
    """Without a coordinator's log the index alone shows that the marker is missing."""
    shutil.copytree(recordings / KAFKA_3_9 / "payments-0", tmp_path / "payments-0")
    segment = min((tmp_path / "payments-0").glob("*.log"))
    content, changed = bytearray(segment.read_bytes()), 0
    for start, end in spans_of(content):
        if content[start + 22] & CONTROL and changed < 9:
            changed += 1
            last = start, end
    start, end = last
    content[start + 22] &= ~CONTROL
    content[start + 17 : start + 21] = crc32c(bytes(content[start + 21 : end])).to_bytes(4, "big")
    segment.write_bytes(content)

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
