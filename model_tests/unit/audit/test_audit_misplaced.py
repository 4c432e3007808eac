"""Batches away from their place, or under another producer id: one finding, wherever they are."""

from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.partition import audit_batches
from model_tests.unit.audit.audit_case import AuditCase, hold
from model_tests.unit.audit.cases.misplaced import RECORDS
from model_tests.unit.audit.written import data, log_of
from reference.log.batch import RecordBatch
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


@pytest.mark.parametrize("case", [case for case in RECORDS if "the producer of another" in case.name], ids=str)
def test_a_broken_record_does_not_give_its_id_the_producer_of_another(tmp_path: Path, case: AuditCase) -> None:
    """Whichever of the two comes first in the log."""
    assert hold(case, tmp_path).transactions.identities == {"tx": {7}, "other": {8}}


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
