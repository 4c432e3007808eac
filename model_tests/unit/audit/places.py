"""One thing wrong at each place of a log in turn: rows of what is wrong, and what each place has in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.audit_case import full_text
from model_tests.unit.audit.written_cluster import Name, WrittenCluster
from reference.log.batch import RecordBatch

Change: TypeAlias = Callable[[list[RecordBatch], int], bool]
"""Makes the batch at a place of a log wrong; false where it cannot."""


@dataclass(frozen=True, slots=True)
class EachPlace:
    """What is wrong at one place of a log after the other, and what an audit says of it each time.

    Attributes:
        logs: makes the logs, of a transaction version.
        where: the partition; None for the coordinator's log.
        least: findings at each place; one is the most. What is none at some places has 0.
        doubts: further findings may be doubts.
        rule: of every finding; empty where it differs.
        holds: of every finding and the batch that was at its place, what else it is about.
        at_its_place: the finding is at the place, counted in records of one each.
        sure: so many findings at least are no doubts.
        words: of messages, each with the least number of places at which the message has them.
    """

    name: str
    logs: Callable[[int], WrittenCluster]
    where: Name | None
    change: Change
    version: int = 0
    least: int = 1
    doubts: bool = False
    rule: str = ""
    holds: Callable[[RecordBatch, Finding], bool] = lambda _, finding: bool(finding.message)
    at_its_place: bool = False
    sure: int = 0
    words: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


def at_each_place(row: EachPlace, directory: Path) -> dict[int, list[Finding]]:
    """The findings at each place where something can be made wrong, compared with what the row says."""
    found: dict[int, list[Finding]] = {}
    for place, batch in enumerate(_log(row, row.logs(row.version))):
        cluster = row.logs(row.version)
        if not row.change(_log(row, cluster), place):
            continue
        report = run([cluster.write(directory / str(place))])
        found[place] = findings = [finding for _, finding in report.findings]
        limited = sure(findings) if row.doubts else findings
        assert len(findings) >= row.least, place
        assert len(limited) <= 1, (place, findings)
        for finding in limited:
            assert row.rule in ("", finding.rule.id), (place, finding)
            assert finding.offset == place or not row.at_its_place, (place, finding)
            assert row.holds(batch, finding), (place, finding)
    assert sum(len(sure(findings)) for findings in found.values()) >= row.sure
    texts = [full_text(finding) for findings in found.values() for finding in findings]
    for part, least in row.words.items():
        assert sum(part in text for text in texts) >= least, (part, texts)
    return found


def sure(findings: list[Finding]) -> list[Finding]:
    """Those that are no doubts."""
    return [finding for finding in findings if finding.severity is not Severity.UNDECIDED]


def _log(row: EachPlace, cluster: WrittenCluster) -> list[RecordBatch]:
    return cluster.coordinator if row.where is None else cluster.logs[row.where]
