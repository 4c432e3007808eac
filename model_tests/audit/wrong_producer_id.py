"""A batch under another producer's id: it breaks that producer's history, and its own producer lacks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from model_tests.audit.decision import LinkDecisions, scalar_request
from model_tests.audit.diagnosis import Judge, Repair, diagnose
from model_tests.audit.findings import Finding
from model_tests.audit.fold import Break
from model_tests.audit.links import Links
from model_tests.audit.messages import unusual_first, violation
from model_tests.audit.repair_kinds import BATCH_PRODUCER
from model_tests.audit.resynchronization import next_sequence
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches
from spec import rules
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class JudgedBatches:
    """The batches of a log by producer, the decision on each, and what is broken.

    Attributes:
        unusual: first batches of producers that do not begin at sequence 0, each with the offsets of other producers'
            batches that have just what it lacks.
    """

    batches: Batches
    links: Links
    decisions: LinkDecisions
    breaks: list[Break]
    unusual: dict[int, tuple[int, ...]]

    @property
    def blamed(self) -> int:
        """The number of these findings, without mere doubts."""
        return sum(not broken.doubt for broken in self.breaks) + len(self.unusual)

    @property
    def findings(self) -> Iterator[Finding]:
        """These findings."""
        yield from (violation(broken) for broken in self.breaks if not broken.doubt)
        yield from (unusual_first(scalar_request(self.links, number)) for number in self.unusual)


def diagnose_producer_ids(
    judged: JudgedBatches, judge: Callable[[Batches], JudgedBatches]
) -> tuple[JudgedBatches, list[Finding]]:
    """One finding for each batch that two producers' histories need elsewhere, and the log with it in its place."""
    producers = len(np.unique(judged.batches.producer_id))
    judges: Judge[Batches, JudgedBatches, Finding] = Judge(
        judge, lambda one: one.blamed, lambda one: one.findings, len(judged.batches)
    )
    repairs = (
        Repair(
            BATCH_PRODUCER,
            (_misnamed(judged, number, row),),
            partial(_renamed, row, int(judged.links.batches.producer_id[number])),
            producers,
        )
        for number, rows in _lacking(judged)
        for row in rows
    )
    diagnosis = diagnose(judged.batches, judged, repairs, judges)
    _note_elsewhere(diagnosis.judged)
    return diagnosis.judged, [one.causes[0].causes(one.explained) for one in diagnosis.explanations]


def _renamed(row: int, producer_id: int, batches: Batches) -> Batches:
    """The batches, of which one has another producer id."""
    renamed = batches.producer_id.copy()
    renamed[row] = producer_id
    return replace(batches, producer_id=renamed)


def _note_elsewhere(judged: JudgedBatches) -> None:
    """Note at each gap in sequences whose batches have these sequences: another log may show which producer's."""
    breaks = {broken.number: broken for broken in judged.breaks}
    for number, rows in list(_lacking(judged)):
        offsets = tuple(judged.batches.base_offset[rows].tolist())
        if number in judged.unusual:
            judged.unusual[number] = offsets
        else:
            breaks[number].elsewhere = offsets


def _lacking(judged: JudgedBatches) -> Iterator[tuple[int, list[int]]]:
    """Each link before which sequences are left out, with the places of others' batches that have just these."""
    batches, own = judged.batches, judged.links.batches
    expected = [
        (broken.number, next_sequence(broken.before) if broken.guard == "successor" else 0)
        for broken in judged.breaks
        if broken.guard in ("successor", "epoch_reset") and not broken.doubt
    ]
    for number, first in [*expected, *((number, 0) for number in judged.unusual)]:
        missing = int(own.base_sequence[number]) - first
        same = (batches.producer_epoch == own.producer_epoch[number]) & (batches.base_sequence == first)
        same &= (batches.last_offset_delta == missing - 1) & ~batches.control
        same &= (batches.transactional == own.transactional[number]) | (batches.producer_id == ABSENT)
        since, until = _data_before(judged.links, number), int(judged.links.row[number])
        rows = [row for row in np.flatnonzero(same).tolist() if since < row < until]
        if rows:
            yield number, rows


def _data_before(links: Links, number: int) -> int:
    """Place of the producer's last data before a batch; -1 where there is none."""
    for before in range(number - 1, -1, -1):
        if links.batches.producer_id[before] != links.batches.producer_id[number]:
            break
        if not links.batches.control[before]:
            return int(links.row[before])
    return ABSENT


def _misnamed(judged: JudgedBatches, number: int, row: int) -> Finding:
    batches, own = judged.batches, judged.links.batches
    producer_id, epoch = int(batches.producer_id[row]), int(batches.producer_epoch[row])
    first = int(batches.base_sequence[row])
    message = (
        f"the batch has producer id {producer_id}, whose history it breaks, and sequences "
        f"{first}..{first + int(batches.last_offset_delta[row])} of epoch {epoch}, which producer id "
        f"{own.producer_id[number]} lacks before offset {own.base_offset[number]}"
    )
    offset = int(batches.base_offset[row])
    lacks = int(own.producer_id[number])
    return Finding(rules.SEQ_SUCCESSOR, Severity.VIOLATION, offset, producer_id, epoch, message, others=(lacks,))
