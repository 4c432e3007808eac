"""The records of each transactional id; one under the key of another id is one finding, and is put where it belongs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from model_tests.audit.coordinator_log_changes import CoordinatorLink, judge_changes
from model_tests.audit.diagnosis import Judge, Repair, diagnose
from model_tests.audit.findings import Finding
from model_tests.audit.holes import Holes
from model_tests.audit.repair_kinds import RECORD_KEY
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import StateRecord
from spec import rules
from spec.vocabulary import ABSENT

Reported: TypeAlias = Mapping[str, "ReportedOfId"]
"""What the records of each id say."""


@dataclass(frozen=True, slots=True)
class ReportedOfId:
    """What the records of one id say, and what of it is broken; `judged` changes of state were looked at."""

    records: Sequence[StateRecord]
    links: Sequence[CoordinatorLink]
    findings: Sequence[Finding]
    judged: int

    @property
    def blamed(self) -> int:
        """Findings that nothing excuses."""
        return sum(one.severity is Severity.VIOLATION for one in self.findings)


def judged_id(records: Sequence[StateRecord], missing: Holes, *, whole: bool) -> ReportedOfId:
    """The records of one id, every change between them judged."""
    links = list(_linked(records, missing, whole=whole))
    findings, judged = judge_changes(links)
    return ReportedOfId(records, links, findings, judged)


def _linked(records: Iterable[StateRecord], missing: Holes, *, whole: bool) -> Iterator[CoordinatorLink]:
    """The readable records of one id."""
    before, unread = ABSENT, False
    for record in records:
        if record.unread:
            unread = True
            continue
        gone = missing.cleaned_between(before, record.row) or missing.unreadable_between(before, record.row)
        yield CoordinatorLink(record, unread or gone or (before == ABSENT and not whole))
        before, unread = record.row, False


def diagnose_keys(reported: Reported, missing: Holes, *, whole: bool) -> tuple[Reported, list[Finding]]:
    """One finding for each record that is broken where its key puts it, and missing at the id whose producer it names.

    Returns:
        The histories with these records in their places, and the findings.
    """
    owners = _owners(reported)
    foreign = (
        (record, owners[record.value.producer_id])
        for name, own in reported.items()
        for record in own.records
        if record.value is not None and owners[record.value.producer_id] != name
    )
    judge: Judge[Reported, Reported, Finding] = Judge(
        lambda held: held,
        lambda held: sum(own.blamed for own in held.values()),
        lambda held: (one for own in held.values() for one in own.findings if one.severity is Severity.VIOLATION),
        sum(len(own.records) for own in reported.values()),
    )
    repairs = (
        Repair(
            RECORD_KEY,
            (_misplaced(record, there),),
            partial(_under_key, record, there, missing, whole),
            len(reported),
            predicted=1,
        )
        for record, there in foreign
    )
    diagnosis = diagnose(reported, reported, repairs, judge)
    return diagnosis.judged, [one.causes[0].causes(one.explained) for one in diagnosis.explanations]


def _under_key(record: StateRecord, there: str, missing: Holes, whole: bool, reported: Reported) -> Reported:
    """The histories, of which one has a record of another's: so its producer id is that of its key."""
    here, moved = record.transactional_id, replace(record, transactional_id=there)
    kept = [one for one in reported[here].records if one.offset != record.offset]
    fuller = sorted([*reported[there].records, moved], key=lambda one: one.offset)
    changed = {here: kept, there: fuller}
    return {**reported, **{name: judged_id(own, missing, whole=whole) for name, own in changed.items()}}


def _owners(reported: Reported) -> dict[int, str]:
    """By producer id the transactional id of which most records have it."""
    counts = Counter(
        (one.value.producer_id, name) for name, own in reported.items() for one in own.records if one.value is not None
    )
    return {producer_id: name for (producer_id, name), _ in reversed(counts.most_common())}


def _misplaced(record: StateRecord, owner: str) -> Finding:
    value = record.value
    message = (
        f"the record has the key of {record.transactional_id} and the producer id of {owner}: between the "
        "records of the one it breaks a history, and between those of the other it fits"
    )
    return Finding(
        rule=rules.TXN_LEGAL_TRANSITION,
        severity=Severity.VIOLATION,
        offset=record.offset,
        producer_id=value.producer_id if value else ABSENT,
        producer_epoch=value.producer_epoch if value else ABSENT,
        message=message,
        transactional_id=owner,
        step="the coordinator's append of the record",
        others=(record.transactional_id,),
    )
