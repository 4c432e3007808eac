from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, STATES
from model_tests.unit.support.one_cause import A, found, identified, record, two_producers
from reference.broker.transaction_record import TransactionValue
from reference.log.batch import RecordBatch, marker_batch
from spec.vocabulary import ControlType, Epoch, ProducerId, Sequence

UNKNOWN_PRODUCER = 99


Change = Callable[[TransactionValue], TransactionValue | None]
CHANGES: dict[str, Change] = {
    "another's producer id": lambda value: replace(value, producer_id=ProducerId(15 - value.producer_id)),
    "nobody's producer id": lambda value: replace(value, producer_id=ProducerId(UNKNOWN_PRODUCER)),
    "epoch": lambda value: replace(value, epoch=Epoch(value.epoch + 1)),
    "tombstone": lambda _: None,
    "prepared": lambda value: replace(value, status=STATES.PREPARE_ABORT.value),
}


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_one_wrong_record_of_a_coordinator_is_one_finding(tmp_path: Path, version: int, change: Change) -> None:
    """Whichever record it is; what follows it, and what partitions have of the transaction, is a consequence."""
    violations = 0
    for at, batch in enumerate(two_producers(version).coordinator):
        cluster = two_producers(version)
        name, value = identified(batch)
        wrong = change(value)
        if wrong == value or (wrong is None and value.status in (STATES.COMPLETE_ABORT, STATES.COMPLETE_COMMIT)):
            continue
        cluster.coordinator[at] = record(name, wrong, batch)

        findings = found(cluster, tmp_path / str(at))

        blamed = [one for one in findings if one.severity is not Severity.UNDECIDED]
        assert len(blamed) <= 1 <= len(findings), (at, name, findings)
        violations += len(blamed)
    assert violations > 10


def wrong_data(batch: RecordBatch) -> Iterator[RecordBatch]:
    """The batch with one field that is not as it was sent."""
    yield batch._replace(producer_epoch=Epoch(batch.producer_epoch + 1))
    yield batch._replace(base_sequence=Sequence(batch.base_sequence + 1))
    yield batch._replace(base_sequence=Sequence(batch.base_sequence + 50))
    if batch.producer_epoch:
        yield batch._replace(producer_epoch=Epoch(batch.producer_epoch - 1))


def wrong_markers(batch: RecordBatch) -> Iterator[RecordBatch]:
    """The marker with another epoch, outcome or coordinator."""
    marker = batch.marker()
    assert marker is not None
    kind = ControlType(marker.control_type)
    other = ABORT if kind == COMMIT else COMMIT
    yield marker_batch(batch.producer_id, batch.producer_epoch + 1, kind, 0, batch.max_timestamp)
    yield marker_batch(batch.producer_id, batch.producer_epoch, other, 0, batch.max_timestamp)
    yield marker_batch(UNKNOWN_PRODUCER, batch.producer_epoch, kind, 0, batch.max_timestamp)


@pytest.mark.parametrize("version", [0, 2])
def test_one_wrong_batch_of_a_partition_is_one_finding(tmp_path: Path, version: int) -> None:
    """Whichever batch it is, and whichever of its fields: what comes after it is judged as if it were right."""
    for number, batch in enumerate(two_producers(version).logs[A]):
        for kind, wrong in enumerate(wrong_markers(batch) if batch.is_control else wrong_data(batch)):
            cluster = two_producers(version)
            cluster.logs[A][number] = wrong

            findings = found(cluster, tmp_path / f"{number}-{kind}")

            assert len(findings) == 1, (number, kind, findings)


@pytest.mark.parametrize("version", [0, 2])
def test_a_coordinator_epoch_that_is_too_high_is_one_finding(tmp_path: Path, version: int) -> None:
    """All later markers of the producer seem stale beside it."""
    cluster = two_producers(version)
    first = next(number for number, batch in enumerate(cluster.logs[A]) if batch.is_control)
    batch = cluster.logs[A][first]
    cluster.logs[A][first] = marker_batch(batch.producer_id, batch.producer_epoch, COMMIT, 5, batch.max_timestamp)

    (finding,) = found(cluster, tmp_path)

    assert finding.rule.id == "fence.coordinator_epoch"
