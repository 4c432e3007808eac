"""The story of a finding: what its producer and its coordinator did around it, as a sequence diagram."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import outcome_word
from model_tests.audit.transactions_judge import JudgedTransaction
from model_tests.audit.transactions_summary import AuditedMarker, DataRun, PartitionTransactions
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Note, Sequence, participants_of
from model_tests.histories.severity import Severity
from spec.vocabulary import ABSENT

COORDINATOR: Final = "coordinator"
AROUND: Final = 3
"""Runs and markers of the producer that are drawn before the finding, and after it."""

_LATER: Final = 1 << 62
"""Stands behind every time of a log: what never came, and what ends the story."""


class StoryEvent(NamedTuple):
    """An event, and what orders it: a time or an offset."""

    at: int
    event: Event


def story(
    finding: Finding, where: str, here: PartitionTransactions, judged: Iterable[JudgedTransaction]
) -> Sequence | None:
    """What the logs have around a finding; nothing where they have nothing of a producer.

    Args:
        finding: the finding.
        where: the partition that it is in.
        here: that partition's evidence of transactions.
        judged: transactions by their coordinator's log.
    """
    producer = f"producer {finding.producer_id}"
    known = _transaction(finding, judged)
    reported = list(_around(here, finding, producer, where) if known is None else _of_transaction(known, producer))
    if finding.producer_id < 0 or not reported:
        return None
    steps = [(each.event,) for each in sorted(reported, key=lambda one: one.at)]
    partitions = dict.fromkeys(who for (event,) in steps for who in event.concerned)
    order = (producer, *(name for name in partitions if name not in (producer, COORDINATOR)), COORDINATOR)
    title = f"{finding.rule.id} at {where}, offset {finding.offset}"
    return Sequence(title, participants_of(steps, order), tuple(steps), _ending(finding))


def _ending(finding: Finding) -> Ending:
    """The last line; it names the rule as violated only for a violation."""
    if finding.severity is Severity.VIOLATION:
        return Ending(finding.rule.id, finding.message)
    return Ending("", f"{finding.rule.id}, {finding.severity}: {finding.message}")


def _transaction(finding: Finding, judged: Iterable[JudgedTransaction]) -> JudgedTransaction | None:
    """The transaction that the finding is about, if a coordinator's log has it."""
    same = (finding.rule.id, finding.offset, finding.producer_id)
    for one in judged:
        if any((found.rule.id, found.offset, found.producer_id) == same for _, found in one.findings):
            return one
    return None


def _of_transaction(judged: JudgedTransaction, producer: str) -> Iterator[StoryEvent]:
    """One transaction, in the order of its times: the coordinator's records, data, markers, and markers that lack."""
    known = judged.one.known
    opened = f"Ongoing: {known.transactional_id}, epoch {known.producer_epoch}"
    if known.started_ms >= 0:
        yield StoryEvent(known.started_ms, Note(COORDINATOR, f"{opened}, at {known.first_offset} of its log"))
    if known.prepared_ms != ABSENT:
        decided = f"Prepare: {outcome_word(known.outcome)} is decided, at {known.prepared_offset}"
        yield StoryEvent(known.prepared_ms, Note(COORDINATOR, decided))
    for ended in judged.one.ended:
        yield from (StoryEvent(run.first_ms, _data(run, producer, ended.place.name)) for run in ended.runs)
        yield StoryEvent(ended.marker.timestamp, _marker(ended.marker, ended.place.name))
    for place, run in judged.one.open:
        yield StoryEvent(run.first_ms, _data(run, producer, place.name))
        yield StoryEvent(_LATER, Note(place.name, "no marker ends this data"))
    if known.completed_ms != ABSENT:
        yield StoryEvent(
            _LATER - 1, Note(COORDINATOR, f"Complete: every marker is written, at {known.completed_offset}")
        )


def _around(here: PartitionTransactions, finding: Finding, producer: str, where: str) -> Iterator[StoryEvent]:
    """What the producer's data and markers in the partition were before the finding, and after it."""
    reported = [StoryEvent(run.first_offset, _data(run, producer, where)) for run in here.runs if _is_its(run, finding)]
    reported += [StoryEvent(one.offset, _marker(one, where)) for one in here.markers if _is_its(one, finding)]
    reported.sort(key=lambda one: one.at)
    before = [one for one in reported if one.at <= finding.offset]
    yield from before[-AROUND:]
    yield from [one for one in reported if one.at > finding.offset][:AROUND]


def _is_its(part: DataRun | AuditedMarker, finding: Finding) -> bool:
    return part.producer_id == finding.producer_id


def _data(run: DataRun, producer: str, where: str) -> DrawnMessage:
    records = f"{run.records} record{'s' if run.records != 1 else ''}"
    return DrawnMessage(
        producer, where, f"epoch {run.producer_epoch}: offsets {run.first_offset} to {run.last_offset}, {records}"
    )


def _marker(marker: AuditedMarker, where: str) -> DrawnMessage:
    text = f"{outcome_word(marker.outcome)} at {marker.offset}, epoch {marker.producer_epoch}"
    return DrawnMessage(COORDINATOR, where, f"{text}, coordinator epoch {marker.coordinator_epoch}")
