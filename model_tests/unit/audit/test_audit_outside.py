"""Data that a transactional producer writes outside of its transactions: brokers take it, no client sends it."""

from pathlib import Path

import pytest

from model_tests.traces.audit.condensed import Condensed, Wanted
from model_tests.traces.audit.holes import Surroundings
from model_tests.traces.audit.partition import audit_batches
from model_tests.unit.audit.test_audit_condensed import condensed, judged, parts_of, together
from model_tests.unit.audit.test_audit_misplaced import all_known
from model_tests.unit.audit.test_audit_one_cause import A, found
from model_tests.unit.audit.written import data, log_of, marker
from reference.log.batch import RecordBatch
from spec.vocabulary import ProducerId


@pytest.mark.parametrize("version", [0, 2])
def test_a_batch_without_the_bit_of_transactions_is_one_finding(tmp_path: Path, version: int) -> None:
    """A violation inside a transaction that is open, suspicious where it would have begun one, or been all of it."""
    severities = set()
    for number, batch in enumerate(all_known(version).logs[A]):
        if batch.is_control:
            continue
        cluster = all_known(version)
        cluster.logs[A][number] = batch._replace(attributes=0)

        (finding,) = found(cluster, tmp_path / str(number))

        assert (finding.rule.id, finding.offset, finding.producer_id) == ("txn.atomic", number, batch.producer_id)
        severities.add(finding.severity.value)
    assert severities == {"violation", "suspicious"}


def of_another(batch: RecordBatch) -> RecordBatch:
    return batch._replace(producer_id=ProducerId(8))


def test_producers_with_and_without_transactions_side_by_side_are_sound() -> None:
    """Each writes in its own way."""
    batches = [data(0, transactional=True), of_another(data(0)), data(1, transactional=True), of_another(data(1))]

    assert audit_batches(log_of(*batches, marker())).findings == ()


def test_a_marker_of_a_producer_without_transactions_does_not_blame_its_data() -> None:
    """What is wrong is the marker, which the join with the coordinator's log tells."""
    batches = [*(data(number) for number in range(5)), marker()]

    assert audit_batches(log_of(*batches)).findings == ()


def test_it_is_found_in_a_part_of_which_little_is_left() -> None:
    """Between transactions, and long before the end of its part."""
    transactions = [(data(number, transactional=True), marker()) for number in range(30)]
    batches = [batch for number, pair in enumerate(transactions) for batch in (pair if number != 9 else [data(9)])]
    log = log_of(*batches)
    parts = parts_of(log, [40])

    def read(wanted: Wanted) -> Condensed:
        return together([condensed(part, wanted) for part in parts], wanted)

    verdict = judged(read, Wanted(Surroundings()))

    assert [(one.offset, one.severity.value) for one in verdict.findings] == [(18, "suspicious")]
    assert verdict == audit_batches(log)
