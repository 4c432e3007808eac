"""The report of an audit as one page of HTML without anything from outside, to be sent on."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from model_tests.audit.findings import Finding
from model_tests.audit.needs import NEEDED, fine_of, headline, unexamined_of
from model_tests.audit.report import MOST_CAUSED, AuditedPartition, AuditReport
from model_tests.audit.story import story
from model_tests.audit.timeline import svg_of_timeline, timeline
from model_tests.audit.transactions_report import transactions_json
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.common.html_page import html_page
from model_tests.common.reports import writing
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.histories.anomalies import MEANINGS, Anomaly, AnomalyMeaning
from model_tests.histories.report import ClientsReport
from model_tests.histories.severity import Severity
from spec.rules import RULES
from spec.vocabulary import ABSENT

NOTHING_HERE: Final = PartitionTransactions()

MOST_STORIES: Final = 100
"""Findings of which the story is drawn, the worst first; the rest is described in words."""

MOST_TIMELINES: Final = 200
"""Partitions of which the line is drawn: those with findings first."""


@dataclass(frozen=True, slots=True)
class PageFinding:
    """A finding as the page shows it; `picture` is its story, where one is drawn."""

    where: str
    finding: Finding
    picture: Markup


@dataclass(frozen=True, slots=True)
class PageAnomaly:
    """An anomaly of what clients were answered, as the page shows it; `picture` is its story, where one is drawn."""

    anomaly: Anomaly
    meaning: AnomalyMeaning
    picture: Markup


@dataclass(frozen=True, slots=True)
class Pictured:
    """A partition as the page shows it; `picture` is its line, where one is drawn."""

    name: str
    audited: AuditedPartition
    picture: Markup


def write_page(report: AuditReport, file: Path) -> None:
    """Write the page of a report that was made to be pictured.

    Args:
        report: what the audit found.
        file: where the page goes.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(file):
        file.write_text(page(report), encoding="utf-8")


def page(report: AuditReport) -> str:
    """The page as text."""
    findings = tuple(_reported(report))
    return html_page(
        "model_tests.audit",
        report=report,
        headline=headline(report),
        needed=[one for one in findings if one.finding.severity in NEEDED],
        others=[one for one in findings if one.finding.severity not in NEEDED],
        fine=list(fine_of(report)),
        unexamined=list(unexamined_of(report)),
        clients=report.clients,
        cases=tuple(_cases(report.clients)),
        classes=tuple((one, MEANINGS[one.kind]) for one in report.clients.classes if any(one.counts.values())),
        partitions=tuple(_pictured(report)),
        transactions=transactions_json(report.transactions, report.shown),
        counts={each.value: report.count(each) + report.clients.count(each) for each in Severity},
        judged=sorted(report.judged().items()),
        most_caused=MOST_CAUSED,
        statement={rule.id: rule.statement for rule in RULES.values()},
    )


def _reported(report: AuditReport) -> Iterator[PageFinding]:
    """Every finding, the worst first; the first of them with their stories."""
    worst_first = sorted(report.findings, key=lambda one: list(Severity).index(one[1].severity))
    for number, (one, finding) in enumerate(worst_first):
        here = report.here.get(one.path, NOTHING_HERE)
        drawn = story(finding, _name(one), here, report.transactions.judged) if number < MOST_STORIES else None
        yield PageFinding(report.label(one), finding, Markup("") if drawn is None else _distinct(svg_of(drawn), number))


def _cases(clients: ClientsReport) -> Iterator[PageAnomaly]:
    """The cases that the report has of each class, the gravest first."""
    drawn = [
        (case, picture)
        for one in clients.classes
        for case, picture in zip(one.cases, one.stories or (None,) * len(one.cases), strict=True)
    ]
    drawn.sort(key=lambda each: list(Severity).index(each[0].severity))
    for number, (case, reported) in enumerate(drawn):
        picture = Markup("") if reported is None else _distinct(svg_of(reported), f"-client{number}")
        yield PageAnomaly(case, MEANINGS[case.kind], picture)


def _distinct(svg: str, number: object) -> Markup:
    """A diagram among others on a page: the names of its title and description are its own."""
    for name in ("title", "description"):
        svg = svg.replace(f'id="{name}"', f'id="{name}{number}"')
    svg = svg.replace('aria-labelledby="title description"', f'aria-labelledby="title{number} description{number}"')
    return Markup(svg)  # made by this project, which escapes what comes from logs


def _pictured(report: AuditReport) -> Iterator[Pictured]:
    """Every partition; with its line those with findings or open transactions first, as far as there is room."""
    reported = _reported_of_partitions(report.clients)
    listed = sorted(report.audited, key=lambda one: not (one.verdict.findings or one.verdict.open_transactions))
    for number, one in enumerate(listed):
        here, name, picture = report.here.get(one.path), report.label(one), Markup("")
        found = (*one.verdict.findings, *reported.get(_name(one), ()))
        if (here or found) and number < MOST_TIMELINES:
            line = timeline(name, one.verdict.offsets, here or NOTHING_HERE, found)
            picture = Markup(svg_of_timeline(line))
        yield Pictured(name, one, picture)


def _reported_of_partitions(clients: ClientsReport) -> dict[str, list[Finding]]:
    """By the name of a partition the cases of clients that name it, each at its first offset."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in clients.classes:
        for case in one.cases:
            if case.offsets:
                at = Finding(one.rule, case.severity, case.offsets[0], ABSENT, ABSENT, case.message)
                found[case.key].append(at)
    return found


def _name(one: AuditedPartition) -> str:
    return f"{one.topic}-{one.partition}"
