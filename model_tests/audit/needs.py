"""What of a report comes first: what needs its reader, then what is fine, then what was not examined, and why."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from model_tests.audit.findings import Finding
from model_tests.audit.transactions_judge import TransactionStatus
from model_tests.common.reports import counted
from model_tests.histories.severity import Severity

if TYPE_CHECKING:
    from model_tests.audit.report import AuditedPartition, AuditReport

NEEDED: Final = (Severity.VIOLATION, Severity.SUSPICIOUS)
"""Severities of what its reader has to do something about, the gravest first."""


def needs_of(report: "AuditReport") -> "list[tuple[AuditedPartition, Finding]]":
    """The findings that need the reader, the gravest first."""
    needed = [each for each in report.findings if each[1].severity in NEEDED]
    return sorted(needed, key=lambda each: NEEDED.index(each[1].severity))


def others_of(report: "AuditReport") -> "list[tuple[AuditedPartition, Finding]]":
    """The findings that are explained, or that the logs do not decide."""
    return [each for each in report.findings if each[1].severity not in NEEDED]


def headline(report: "AuditReport") -> str:
    """How much needs the reader, in one line."""
    of_clients = sum(report.clients.count(severity) for severity in NEEDED) + sum(report.clients.damage.values())
    parts = (
        (report.count(Severity.VIOLATION), "broken rule", "broken rules"),
        (report.count(Severity.SUSPICIOUS), "suspicion", "suspicions"),
        (len(report.damage), "damaged place", "damaged places"),
        (of_clients, "finding on what clients were answered", "findings on what clients were answered"),
    )
    count = sum(number for number, _, _ in parts)
    if not count:
        nothing = not report.batches and not report.clients.records
        if nothing:
            return "Nothing could be judged: no readable batch."
        all_clear = not any(unexamined_of(report)) and all(held.sound for held in report.held_back)
        return "Nothing here needs you." if all_clear else _NOT_ALL
    listed = ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in parts if number)
    return f"{count} {'thing needs' if count == 1 else 'things need'} you: {listed}."


_NOT_ALL: Final = "Nothing here is shown to be wrong, but not all could be examined; the list is below."


def fine_of(report: "AuditReport") -> Iterator[str]:
    """What was judged and is as it should be, a line each."""
    troubled = {id(one) for one, finding in report.findings if finding.severity in NEEDED}
    well = [one for one in report.audited if not (id(one) in troubled or one.explained) and one.verdict.batches]
    if well:
        batches = sum(one.verdict.batches for one in well)
        yield f"{counted(len(well), 'partition')} with {counted(batches, 'batch', 'es')}: no rule is broken in them."
    ended = {status: report.transactions.counts[status] for status in _ENDED if report.transactions.counts[status]}
    if ended:
        counts = " and ".join(f"{count:,} {status}" for status, count in ended.items())
        have = "transaction has" if sum(ended.values()) == 1 else "transactions have"
        yield f"{counts} {have} the outcome that the coordinator decided, wherever there is a marker."


_ENDED: Final = (TransactionStatus.COMMITTED, TransactionStatus.ABORTED)


def unexamined_of(report: "AuditReport") -> Iterator[str]:
    """What was not examined or not decided, a line each, with what it lacks."""
    yield from (f"{lack.path} {lack.message}" for lack in report.missing)
    undecided = report.count(Severity.UNDECIDED) - len(report.missing)
    if undecided:
        yield f"undecided, for the logs alone do not say: {counted(undecided, 'finding')}, listed below."
    for why, count in report.transactions.missing.items():
        yield f"undecided: {why} ({counted(count, 'time')})"
    yield from (path.in_one_line() for path in report.given if not path.used)
    unjudged = sum(one.verdict.unjudged for one in report.audited)
    if unjudged:
        yield f"{counted(unjudged, 'batch', 'es')} next to damage: sequences are not judged there."
