"""Batches and markers away from their place among those of their producer: one finding, with what it leads to."""

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.partition import audit_batches
from model_tests.unit.audit.written import data, log_of, marker
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
    assert finding.found_at or last_of_its_epoch or number == 0


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
    assert "belongs" not in finding.message


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
