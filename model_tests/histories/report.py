"""What a client history showed: each class of anomalies with its cases, and what could not be read or decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.diagrams import events
from model_tests.histories.anomalies import MEANINGS, SEVERITIES, Anomaly, AnomalyCases, AnomalyKind
from model_tests.histories.log_order import LogOrder, among, log_order
from model_tests.histories.of_cycles import of_cycles
from model_tests.histories.of_order import of_order
from model_tests.histories.of_records import of_records
from model_tests.histories.of_transactions import of_transactions
from model_tests.histories.operations import OperationResult, Operations
from model_tests.histories.severity import Severity
from model_tests.histories.story import story_of
from spec.rules import Rule


def judge(order: LogOrder) -> dict[AnomalyKind, AnomalyCases]:
    """Every class with its cases, those without any included, by what the history shows of the logs."""
    found = [*of_records(order), *of_order(order), *of_cycles(order), *of_transactions(order)]
    return {one.kind: one for one in found}


SHOWN: Final = 8
"""Cases of a class that a report describes; all are counted."""

STYLES: Final[Mapping[Severity, str]] = {
    Severity.VIOLATION: "bold red",
    Severity.SUSPICIOUS: "yellow",
    Severity.KNOWN: "cyan",
    Severity.UNDECIDED: "dim",
}


@dataclass(frozen=True, slots=True)
class ClassReport:
    """One class of anomalies.

    Attributes:
        judged: records, or pairs of them, that were looked at.
        counts: cases by severity.
        cases: the first of them, the gravest first.
        stories: of each of these, where the report is to be pictured and there is something to draw.
    """

    kind: AnomalyKind
    judged: int
    counts: Mapping[Severity, int]
    cases: tuple[Anomaly, ...]
    stories: tuple[events.Sequence | None, ...] = ()

    @property
    def rule(self) -> Rule:
        """That the class breaks."""
        return MEANINGS[self.kind].rule


@dataclass(frozen=True, slots=True)
class ClientsReport:
    """A client history and its anomalies.

    Attributes:
        path: of the history; empty where none was given.
        operations: by how they ended.
        sent: records that were to be sent.
        given: records that readers were given.
        partitions: that the history names.
        processes: likewise.
        classes: all of them, in the order of the docs.
        partial: why the history is not whole, so that what is absent proves nothing.
        undecidable: the number of records of which something is not known, by what.
        damage: lines that could not be read, by reason.
        passed_over: lines without records, by what they are.
        assumed: what the history does not say and the verdicts take for granted.
    """

    path: str = ""
    operations: Mapping[str, int] = field(default_factory=dict)
    sent: int = 0
    given: int = 0
    partitions: int = 0
    processes: int = 0
    classes: tuple[ClassReport, ...] = ()
    partial: tuple[str, ...] = ()
    undecidable: Mapping[str, int] = field(default_factory=dict)
    damage: Mapping[str, int] = field(default_factory=dict)
    passed_over: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether a history was given."""
        return bool(self.path)

    @property
    def records(self) -> int:
        """Records that were judged."""
        return self.sent + self.given

    @property
    def is_violated(self) -> bool:
        """Whether a rule is broken, or a line could not be read."""
        return bool(self.count(Severity.VIOLATION) or self.damage)

    def count(self, severity: Severity) -> int:
        """Cases of all classes with this severity."""
        return sum(one.counts.get(severity, 0) for one in self.classes)

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values.

        Fields:
            path: the client history; empty if none was given, or a journal beside logs
            operations.*: its operations by how they ended
            sent: records that were to be sent
            given: records that readers were given
            partitions: partitions of which it has operations
            processes: processes of which it has operations
            classes[].class: class of anomalies, as Jepsen's checker names it
            classes[].rule: the rule that it breaks
            classes[].statement: what it means
            classes[].allowed: why it may be legal; empty where it never is
            classes[].judged: records, or pairs of them, that were judged
            classes[].violation: cases that break the rule
            classes[].suspicious: cases that are legal
            classes[].undecided: cases that the history does not decide
            classes[].cases[].severity: `violation`, `suspicious` or `undecided`
            classes[].cases[].key: the partition, as the history calls it
            classes[].cases[].offsets[]: offsets that it is about, where they are known
            classes[].cases[].values[]: values that it is about
            classes[].cases[].operations[].index: index of an operation, or its line where the history has none
            classes[].cases[].operations[].process: its process
            classes[].cases[].operations[].name: what was called
            classes[].cases[].message: what was found
            partial[]: why the history is not whole, so that what is absent from it proves nothing
            undecidable.*: records of which something stays open, by what
            damage.*: lines that could not be read, by reason
            passed_over.*: lines without records, by their kind
        """
        return {
            "path": self.path,
            "operations": dict(self.operations),
            "sent": self.sent,
            "given": self.given,
            "partitions": self.partitions,
            "processes": self.processes,
            "classes": [_class_json(one) for one in self.classes],
            "partial": list(self.partial),
            "undecidable": dict(self.undecidable),
            "damage": dict(self.damage),
            "passed_over": dict(self.passed_over),
        }

    def print(self, console: Console) -> None:
        """Write the classes that have cases, what they mean, and what could not be read."""
        found = [one for one in self.classes if any(one.counts.values())]
        if found:
            console.print(_classes(found))
        if any(one.cases for one in found):
            console.print(_cases(found))
        for why in self.partial:
            console.print(Text(f"not whole: {why}", style="yellow"), soft_wrap=True)
        for what, count in self.undecidable.items():
            console.print(Text(f"undecided: {count} {what}", style="dim"), soft_wrap=True)
        for reason, count in self.damage.items():
            console.print(Text(f"damage: {count} lines: {reason}", style="bold red"), soft_wrap=True)
        for what, count in self.passed_over.items():
            console.print(Text(f"passed over: {count} times {what}", style="dim"), soft_wrap=True)

    def in_one_line(self) -> str:
        """For people."""
        ended = ", ".join(f"{count} {name}" for name, count in self.operations.items() if count)
        cases = ", ".join(f"{self.count(one)} {one}" for one in SEVERITIES if one is not Severity.KNOWN)
        unread = sum(self.damage.values())
        return (
            f"Clients: {sum(self.operations.values())} operations ({ended}) of {self.processes} processes on "
            f"{self.partitions} partitions; {self.sent} records sent, {self.given} given: {cases}; {unread} damaged"
        )


def report_on(history: Operations, path: str, *, pictured: bool = False) -> ClientsReport:
    """The report on a history; with the stories of its cases if it is to be pictured.

    Args:
        history: as columns, or its file.
        path: of the history.
        pictured: whether stories are kept, to be drawn.
    """
    order = log_order(history)
    found = judge(order)
    ended = np.bincount(history.outcome, minlength=len(OperationResult)).tolist()
    return ClientsReport(
        path=path,
        operations={outcome.name.lower(): ended[outcome] for outcome in OperationResult},
        sent=len(history.sent),
        given=len(history.given),
        partitions=len(history.keys),
        processes=len(np.unique(history.process)),
        classes=tuple(_class(found[kind], order if pictured else None) for kind in AnomalyKind),
        partial=history.partial,
        undecidable=_undecidable(order),
        damage=history.aside,
        passed_over=history.passed_over,
        assumed=_assumed(read_committed=history.read_committed),
    )


def _assumed(*, read_committed: bool) -> tuple[str, ...]:
    level = "read_committed" if read_committed else "read_uncommitted"
    return (
        f"Readers of the history are {level}.",
        "Its producers are idempotent, wait for all replicas (acks=all), and elections are clean.",
        "No topic is compacted, and nothing is deleted before it is read.",
        "Values are unique on their partition; processes that subscribe are of one group.",
    )


def _undecidable(order: LogOrder) -> dict[str, int]:
    reported = {
        "records whose value was sent more than once": int((~order.once).sum()),
        "given records without a known sender": int(
            ((order.given.record >= 0) & ~among(order.given.record, order.sent.record)).sum()
        ),
        "sent records whose offset is not known": int((order.sent.reported.offset < 0).sum()),
    }
    return {what: count for what, count in reported.items() if count}


def _class(cases: AnomalyCases, pictured: LogOrder | None) -> ClassReport:
    counted = np.bincount(cases.severity, minlength=len(SEVERITIES)).tolist()
    counts = {severity: counted[number] for number, severity in enumerate(SEVERITIES)}
    shown = tuple(cases.examples(SHOWN))
    stories = tuple(story_of(case, pictured) for case in shown) if pictured is not None else ()
    return ClassReport(cases.kind, cases.judged, counts, shown, stories)


def _class_json(one: ClassReport) -> dict[str, object]:
    meaning = MEANINGS[one.kind]
    return {
        "class": one.kind.value,
        "rule": meaning.rule.id,
        "statement": meaning.statement,
        "allowed": meaning.allowed,
        "judged": one.judged,
        "violation": one.counts.get(Severity.VIOLATION, 0),
        "suspicious": one.counts.get(Severity.SUSPICIOUS, 0),
        "undecided": one.counts.get(Severity.UNDECIDED, 0),
        "cases": [_case_json(case) for case in one.cases],
    }


def _case_json(case: Anomaly) -> dict[str, object]:
    return {
        "severity": case.severity.value,
        "key": case.key,
        "offsets": list(case.offsets),
        "values": list(case.values),
        "operations": [{"index": each.index, "process": each.process, "name": each.name} for each in case.operations],
        "message": case.message,
    }


def _classes(found: Sequence[ClassReport]) -> Table:
    table = Table(title="What clients were answered", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("class", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    for severity in (Severity.VIOLATION, Severity.SUSPICIOUS, Severity.UNDECIDED):
        table.add_column(severity.value, justify="right")
    table.add_column("what it means")
    for one in found:
        meaning = MEANINGS[one.kind]
        legal = f"; legal: {meaning.allowed}" if one.counts.get(Severity.SUSPICIOUS, 0) and meaning.allowed else ""
        counts = (one.counts.get(each, 0) for each in (Severity.VIOLATION, Severity.SUSPICIOUS, Severity.UNDECIDED))
        table.add_row(one.kind.value, meaning.rule.id, *map(str, counts), Text(f"{meaning.statement}{legal}"))
    return table


def _cases(found: Sequence[ClassReport]) -> Table:
    table = Table(title="Cases, the first of each class", title_justify="left", show_lines=True)
    table.add_column("where", no_wrap=True)
    table.add_column("what was found")
    for one in found:
        for case in one.cases[:3]:
            where = Text(f"{case.severity}\n", style=STYLES[case.severity])
            where.append(f"{case.kind}\n{one.rule.id}\npartition {case.key}", style="default")
            table.add_row(where, Text(case.message))
    return table
