"""The records of each transactional id; one under the key of another id is one finding, and is put where it belongs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.audit.coordinator_log_changes import CoordinatorLink, judge_changes
from model_tests.audit.findings import Finding
from model_tests.audit.holes import Holes
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import StateRecord
from spec import rules
from spec.vocabulary import ABSENT

_MOST_TRIED: Final = 64
"""Records under a key that is not their producer's, of which each is tried elsewhere."""


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


def put_right(reported: dict[str, ReportedOfId], missing: Holes, *, whole: bool) -> list[Finding]:
    """One finding for each record that is broken where its key puts it, and missing at the id whose producer it names.

    The histories of the ids in `reported` are replaced by those with the record in its place.
    """
    owners = _owners(reported)
    foreign = [
        (record, owners[record.value.producer_id])
        for name, own in reported.items()
        for record in own.records
        if record.value is not None and owners[record.value.producer_id] != name
    ]
    found: list[Finding] = []
    for record, there in foreign[:_MOST_TRIED]:
        here = record.transactional_id
        moved = replace(record, transactional_id=there)
        kept = [one for one in reported[here].records if one.offset != record.offset]
        fuller = sorted([*reported[there].records, moved], key=lambda one: one.offset)
        after = {here: judged_id(kept, missing, whole=whole), there: judged_id(fuller, missing, whole=whole)}
        if _blamed(after, after) < _blamed(reported, after):
            found.append(_misplaced(record, there))
            reported |= after
    return found


def _owners(reported: Mapping[str, ReportedOfId]) -> dict[int, str]:
    """By producer id the transactional id of which most records have it."""
    counts = Counter(
        (one.value.producer_id, name) for name, own in reported.items() for one in own.records if one.value is not None
    )
    return {producer_id: name for (producer_id, name), _ in reversed(counts.most_common())}


def _blamed(reported: Mapping[str, ReportedOfId], names: Iterable[str]) -> int:
    return sum(reported[name].blamed for name in names)


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
