"""The report of an audit: for people, for programs, for the shell."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.audit.cluster import ClusterReport
from model_tests.audit.findings import BrokenRule, Finding
from model_tests.audit.given import GivenPath
from model_tests.audit.groups import GroupsReport
from model_tests.audit.history_report import HistoryReport
from model_tests.audit.needs import fine_of, headline, needs_of, others_of, unexamined_of
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.stalled_lso import HeldBack, held_back
from model_tests.audit.transactions import TransactionsReport
from model_tests.audit.transactions_report import (
    ListedTransactions,
    coordinator_hint,
    listed,
    print_transactions,
    transactions_in_one_line,
    transactions_json,
)
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, counted
from model_tests.histories.report import STYLES, ClientsReport
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules

_MOST_IGNORED: Final = 20
"""Ignored files of one folder that are named on the console: whoever gave a folder by mistake sees what is in it."""

MOST_CAUSED: Final = 3
"""Consequences of one cause that are written out."""

_MOST_PARTITIONS: Final = 24
"""Rows of the table of partitions that fit on a screen with the rest."""


@dataclass(frozen=True, slots=True)
class AuditedPartition:
    """One partition and its verdict.

    Attributes:
        cluster: the name of its cluster, empty where it has none.
        explained: what would be findings of it, each with the cause: damage of a folder or a segment, or a finding of
            another partition.
    """

    path: str
    topic: str
    partition: int
    verdict: PartitionVerdict
    cluster: str = ""
    explained: tuple[tuple[SegmentDamage | Finding, BrokenRule], ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit found.

    Attributes:
        transactions: what became of each, and `shown`, which of them are listed.
        history: what a client's journal showed, where one was given.
        clients: the anomalies of a client history that has itself what readers were given.
        cluster: what replicas and the controller's log show.
        groups: the offsets of consumer groups.
        here: by path, a log's own evidence of transactions; empty unless the report is to be pictured.
        ignored: files and folders that are no part of a log, left alone.
        missing: what texts that stand for logs leave out, and what that costs.
        assumed: what the logs do not say and the verdicts take for granted.
        chosen: what of it is shown, where that is not everything.
        given: what each path that was given was taken for.
    """

    audited: tuple[AuditedPartition, ...]
    damage: tuple[SegmentDamage, ...]
    ignored: tuple[str, ...]
    assumed: tuple[str, ...]
    seconds: float
    transactions: TransactionsReport = field(default_factory=TransactionsReport)
    shown: ListedTransactions = field(default_factory=ListedTransactions)
    history: HistoryReport = field(default_factory=HistoryReport)
    clients: ClientsReport = field(default_factory=ClientsReport)
    cluster: ClusterReport = field(default_factory=ClusterReport)
    groups: GroupsReport = field(default_factory=GroupsReport)
    chosen: tuple[str, ...] = ()
    given: tuple[GivenPath, ...] = ()
    here: Mapping[str, PartitionTransactions] = field(default_factory=dict, repr=False)
    missing: tuple[SegmentDamage, ...] = ()

    @property
    def findings(self) -> tuple[tuple[AuditedPartition, Finding], ...]:
        """Every finding with its partition."""
        return tuple((one, finding) for one in self.audited for finding in one.verdict.findings)

    @property
    def consequences(self) -> Iterator[tuple[AuditedPartition, BrokenRule, str]]:
        """What findings and damage have caused, each with its partition and the id of its cause."""
        names: dict[SegmentDamage | Finding, str] = {
            bad: f"damage-{number}" for number, bad in enumerate(self.damage, start=1)
        }
        for number, (one, finding) in enumerate(self.findings, start=1):
            names[finding] = f"finding-{number}"
            yield from ((one, each, names[finding]) for each in finding.consequences)
        for one in self.audited:
            yield from ((one, each, names[cause]) for cause, each in one.explained if cause in names)

    def caused_by(self, cause: SegmentDamage | Finding) -> tuple[BrokenRule, ...]:
        """What would be findings, and is caused by damage or by a finding; that of other partitions names them."""
        own = cause.consequences if isinstance(cause, Finding) else ()
        elsewhere = (
            replace(each, message=f"{self.label(one)}: {each.message}")
            for one in self.audited
            for other, each in one.explained
            if other == cause
        )
        return (*own, *elsewhere)

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        """The partitions whose last stable offset a transaction holds below their end; alike replicas once."""
        replicas: dict[tuple[str, str], list[AuditedPartition]] = {}
        for one in self.audited:
            replicas.setdefault((one.cluster, _name(one)), []).append(one)
        offsets = self.groups.offsets
        return tuple(
            each
            for own in replicas.values()
            for each in held_back([(self.label(one), one) for one in own], self.transactions, offsets)
        )

    @property
    def batches(self) -> int:
        """Batches judged."""
        return sum(one.verdict.batches for one in self.audited)

    @property
    def exit_code(self) -> int:
        """Whether all holds, something is violated or damaged, or nothing could be judged."""
        if not self.batches and not self.clients.records:
            return NOTHING_JUDGED
        violated = any(finding.severity is Severity.VIOLATION for _, finding in self.findings)
        return VIOLATED if violated or self.damage or self.clients.is_violated else HOLDS

    def count(self, severity: Severity) -> int:
        """The number of findings of this severity."""
        missing = len(self.missing) if severity is Severity.UNDECIDED else 0
        return missing + sum(finding.severity is severity for _, finding in self.findings)

    def judged(self) -> Counter[str]:
        """For each rule's id, the batches it was checked on."""
        total: Counter[str] = Counter()
        for one in self.audited:
            total.update(one.verdict.judged)
        total.update(self.transactions.counted)
        total.update(self.cluster.counted)
        if self.history.attempts:
            total[rules.TXN_CLIENT_VERDICT.id] += self.history.judged
        return total

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values.

        Fields:
            held_back[].producer_id: producer id
            held_back[].producer_epoch: its epoch
            held_back[].name: the partition, as the report calls it
            held_back[].offset: its last stable offset
            held_back[].behind: offsets between that and the high watermark
            held_back[].waiting: records there that are committed, or in no transaction
            held_back[].transactional_id: whose transaction holds it; empty if not known
            held_back[].groups[]: a group's offset that is in the transaction
            held_back[].since_ms: when the transaction began; -1 if not known
            held_back[].aborted_ms: when its coordinator aborts it by itself; -1 if never, or if not known
            held_back[].overdue: it should have been aborted by then
            held_back[].ends: what there is to say of its end, and what to do
            damage[].id: what names it as a cause
            damage[].path: file
            damage[].position: byte in it
            damage[].message: what is wrong
            judged.*: by rule, on how much it was held: batches, transactions, acknowledged records
            summary.headline: how much needs the reader
            summary.fine[]: what was judged and is as it should be
            summary.not_examined[]: what was not examined, or not decided, and why
            given[].path: a path that was given
            given[].used: something in it was judged
            given[].taken_for: what it was taken for, or why it was not used
            missing[].path: a text that stands for a log
            missing[].line: the line of it from which on something is missing
            missing[].message: what is missing, what that costs, and what to give instead
            ignored[]: a file or folder that is no part of a log
            assumed[]: what the logs do not say and the verdicts take for granted
            shown[]: what of the findings and transactions is here, where not all are; all were judged
            seconds: seconds that it took
        """
        return {
            "partitions": [partition_json(one) for one in self.audited],
            "findings": [
                finding_json(one, finding, f"finding-{number}")
                for number, (one, finding) in enumerate(self.findings, start=1)
            ],
            "consequences": [consequence_json(*each) for each in self.consequences],
            "transactions": transactions_json(self.transactions, self.shown),
            "history": self.history.to_json(),
            "clients": self.clients.to_json(),
            "cluster": self.cluster.to_json(),
            "groups": self.groups.to_json(),
            "held_back": [{**asdict(held), "groups": list(held.groups)} for held in self.held_back],
            "damage": [{"id": f"damage-{number}", **asdict(bad)} for number, bad in enumerate(self.damage, start=1)],
            "missing": [{"path": one.path, "line": one.position, "message": one.message} for one in self.missing],
            "judged": dict(self.judged()),
            "ignored": list(self.ignored),
            "summary": {
                "headline": headline(self),
                "fine": list(fine_of(self)),
                "not_examined": list(unexamined_of(self)),
            },
            "given": [asdict(one) for one in self.given],
            "assumed": [*self.assumed, *self.clients.assumed],
            "shown": list(self.chosen),
            "seconds": round(self.seconds, 3),
        }

    def print(self, console: Console) -> None:
        """Write what needs the reader, what is fine, what was not examined, and then the details."""
        self._print_needs(console)
        for title, style, lines in (
            ("Fine", "green", fine_of(self)),
            ("Not examined, or not decided", "yellow", unexamined_of(self)),
        ):
            for number, line in enumerate(lines):
                if not number:
                    console.print(Text(title, style=f"bold {style}"))
                console.print(Text(f"  {line}"), soft_wrap=True)
        self._print_details(console)
        for fact in (*(self.assumed if self.audited else ()), *self.clients.assumed):
            console.print(Text(f"assumed: {fact}", style="dim"), soft_wrap=True)
        if self.clients:
            console.print(Text(self.clients.in_one_line()), soft_wrap=True)
        if self.audited or not self.clients:
            console.print(Text(self._in_one_line()), soft_wrap=True)

    def _print_needs(self, console: Console) -> None:
        """What needs the reader: findings, damage, answers of clients, and partitions that wait."""
        console.print(Text(headline(self), style="bold"), soft_wrap=True)
        needed = needs_of(self)
        if needed:
            console.print(self._findings("Findings", needed))
        if self.damage:
            console.print(self._damage())
        if self.clients:
            self.clients.print(console)
        for held in self.held_back:
            console.print(Text(held.in_one_line(), "bold"), soft_wrap=True)

    def _print_details(self, console: Console) -> None:
        others = others_of(self)
        if others:
            console.print(self._findings("Undecided, or known", others))
        if self.audited:
            self._print_partitions(console)
        if self.transactions or self.shown.all_of_them or self.shown.chosen:
            print_transactions(self.transactions, self.shown, console)
            console.print(Text(transactions_in_one_line(self.transactions)), soft_wrap=True)
        if self.shown.transactional_id and not listed(self.transactions, self.shown):
            console.print(Text(coordinator_hint(self.shown.transactional_id, self.transactions)), soft_wrap=True)
        if self.history.attempts:
            console.print(Text(self.history.in_one_line()), soft_wrap=True)
        if self.cluster:
            console.print(Text(self.cluster.in_one_line()), soft_wrap=True)
        if self.groups:
            self.groups.print(console, self.transactions.owners)
        for path in (path for path in self.given if path.used):
            console.print(Text(path.in_one_line(), style="dim"), soft_wrap=True)
        known = {path.path for path in self.given if not path.used}
        rest = [line for line in self.ignored if line.partition(": ")[0] not in known]
        for line in _some_of_each_folder(rest):
            console.print(Text(f"ignored: {line}", style="dim"), soft_wrap=True)
        for choice in self.chosen:
            console.print(Text(f"shown: {choice}", style="dim"), soft_wrap=True)

    def label(self, one: AuditedPartition) -> str:
        """Topic and partition; with the folder they lie in where several brokers' logs are judged."""
        repeated = len({_name(other) for other in self.audited}) < len(self.audited)
        return f"{Path(one.path).parent.name}/{_name(one)}" if repeated else _name(one)

    def _print_partitions(self, console: Console) -> None:
        """All of them where they are few; of many, those that have findings or open transactions."""
        filled = [one for one in self.audited if one.verdict.batches or one.verdict.findings]
        shown = filled
        if len(filled) > _MOST_PARTITIONS:
            shown = [one for one in filled if one.verdict.findings or one.verdict.open_transactions]
        if shown:
            console.print(self._partitions(shown))
        if len(shown) < len(filled):
            hidden = f"partitions without findings and open transactions, not shown: {len(filled) - len(shown)}"
            console.print(Text(f"{hidden} (--json FILE has them)", "dim"))
        if len(filled) < len(self.audited):
            console.print(Text(f"partitions without a batch, not shown: {len(self.audited) - len(filled)}", "dim"))

    def _partitions(self, shown: Sequence[AuditedPartition]) -> Table:
        table = Table(title="Partitions (open: transactions)", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
        table.add_column("partition", overflow="fold")
        for name in ("start", "LSO", "end", "batches", "records", "visible", "producers", "open"):
            table.add_column(name, justify="right")
        for one in shown:
            verdict, at = one.verdict, one.verdict.offsets
            bounds = (at.log_start, at.last_stable, at.log_end)
            counts = (verdict.batches, verdict.records, verdict.visible_records, verdict.producers)
            table.add_row(
                Text(self.label(one)),
                *("?" if n < 0 else str(n) for n in (*bounds, *counts, len(verdict.open_transactions))),
            )
        return table

    def _findings(self, title: str, findings: Sequence[tuple[AuditedPartition, Finding]]) -> Table:
        table = Table(title=title, title_justify="left", show_lines=True)
        table.add_column("where", no_wrap=True)
        table.add_column("what was found, and what was expected")
        for one, finding in findings:
            where = Text(f"{finding.severity}\n", style=STYLES[finding.severity])
            where.append(f"{finding.rule.id}\n{self.label(one)} offset {finding.offset}", style="default")
            if finding.producer_id >= 0:
                where.append(f"\nproducer {finding.producer_id} epoch {finding.producer_epoch}", style="default")
            if finding.transactional_id:
                where.append(f"\n{finding.transactional_id}", style="default")
            table.add_row(where, Text(self._reported(finding)))
        return table

    def _damage(self) -> Table:
        table = Table("path", "position", "damage", title="Damage", title_justify="left")
        for bad in self.damage:
            sentence = f"{bad.message}{_caused(self.caused_by(bad))}"
            table.add_row(Text(bad.path, overflow="fold"), str(bad.position), Text(sentence))
        return table

    def _reported(self, finding: Finding) -> str:
        """The message, what it has caused, the step that failed, and what can be done."""
        caused = _caused(self.caused_by(finding))
        step = f"\nfailed step: {finding.step}" if finding.step else ""
        remedy = f"\nremedy: {finding.remedy}" if finding.remedy else ""
        return f"{finding.message}{caused}{step}{remedy}"

    def _in_one_line(self) -> str:
        if not self.batches:
            return "Nothing could be judged: no readable batch."
        counts = ", ".join(f"{self.count(severity)} {severity}" for severity in Severity)
        unjudged = sum(one.verdict.unjudged for one in self.audited)
        beside = f" ({counted(unjudged, 'batch', 'es')} next to it not judged by sequence)" if unjudged else ""
        read = f"{counted(len(self.audited), 'partition')}, {counted(self.batches, 'batch', 'es')}"
        return f"{read} in {self.seconds:.1f} s: {counts}; {len(self.damage)} damaged{beside}"


def _caused(consequences: Sequence[BrokenRule]) -> str:
    """What a finding or damage has caused, a line each; of more than a few the number."""
    lines = [
        f"\nand so {one.rule.id} at offset {one.offset}"
        + (f", producer {one.producer_id}: {one.message}" if one.producer_id >= 0 else f": {one.message}")
        for one in consequences[:MOST_CAUSED]
    ]
    more = len(consequences) - len(lines)
    return "".join(lines) + (f"\nand {more} more (--json FILE has them)" if more else "")


def _some_of_each_folder(ignored: Iterable[str]) -> Iterator[str]:
    """What is ignored; of many files in one folder the first, and their number."""
    folders: dict[str, list[str]] = {}
    for each in ignored:
        folders.setdefault(each.partition(": ")[0].rpartition("/")[0], []).append(each.replace("\n", "\\n"))
    for folder, lines in folders.items():
        yield from lines[:_MOST_IGNORED]
        if len(lines) > _MOST_IGNORED:
            yield f"{len(lines) - _MOST_IGNORED:,} more in {folder} (--json FILE has them)"


def _name(one: AuditedPartition) -> str:
    return f"{one.topic}-{one.partition}" if one.partition >= 0 else one.topic


def partition_json(one: AuditedPartition) -> dict[str, object]:
    """One partition as plain JSON values.

    Fields:
        topic: topic
        partition: number of the partition
        log_start: first offset of the log
        lso: last stable offset
        high_watermark: high watermark: the log end of a log at rest
        log_end: offset after the last record
        batches: batches
        records: records
        visible_records: records that a read_committed consumer sees
        producers: producer ids that wrote
        open_transactions[].producer_id: producer id of a transaction without a marker
        open_transactions[].producer_epoch: its epoch
        open_transactions[].first_offset: where it begins
        cleaned: the log cleaner has been here
        unjudged_beside_damage: batches of whose sequence unreadable bytes hide the predecessor
        path: its folder
    """
    verdict, at = one.verdict, one.verdict.offsets
    return {
        "topic": one.topic,
        "partition": one.partition,
        "log_start": at.log_start,
        "lso": at.last_stable,
        "high_watermark": at.high_watermark,
        "log_end": at.log_end,
        "batches": verdict.batches,
        "records": verdict.records,
        "visible_records": verdict.visible_records,
        "producers": verdict.producers,
        "open_transactions": [
            {"producer_id": txn.producer_id, "producer_epoch": txn.producer_epoch, "first_offset": txn.first_offset}
            for txn in verdict.open_transactions
        ],
        "cleaned": verdict.cleaned,
        "unjudged_beside_damage": verdict.unjudged,
        "path": one.path,
    }


def finding_json(one: AuditedPartition, finding: Finding, name: str) -> dict[str, object]:
    """One finding as plain JSON values.

    Fields:
        id: what names it as a cause
        topic: topic
        partition: number of the partition
        producer_id: producer id
        producer_epoch: its epoch
        rule: the rule
        severity: `violation`, `known`, `suspicious` or `undecided`
        offset: base offset of the first offending batch
        message: what was found, and what was expected
        guard: the check of the append decision that refuses the batch; empty if none does
        transactional_id: whose transaction it is; empty if not known
        step: the step of the protocol that failed; empty if not known
        remedy: what can be done: a command, or what to look at; empty if nothing
        path: folder of the partition
    """
    return {
        "id": name,
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        "topic": one.topic,
        "partition": one.partition,
        "offset": finding.offset,
        "producer_id": finding.producer_id,
        "producer_epoch": finding.producer_epoch,
        "message": finding.message,
        "guard": finding.guard,
        "transactional_id": finding.transactional_id,
        "step": finding.step,
        "remedy": finding.remedy,
        "path": one.path,
    }


def consequence_json(one: AuditedPartition, caused: BrokenRule, cause: str) -> dict[str, object]:
    """What would be a finding by itself, and is caused by another one or by damage, as plain JSON values.

    Fields:
        caused_by: the id of the finding, or of the damage, that causes it
        topic: topic
        partition: number of the partition
        producer_id: producer id
        producer_epoch: its epoch
        rule: the rule
        severity: what it would be by itself: `violation`, `known`, `suspicious` or `undecided`
        offset: base offset of the first batch in which it shows
        message: what is found, and what was expected
        path: folder of the partition
    """
    return {
        "caused_by": cause,
        "rule": caused.rule.id,
        "severity": caused.severity.value,
        "topic": one.topic,
        "partition": one.partition,
        "offset": caused.offset,
        "producer_id": caused.producer_id,
        "producer_epoch": caused.producer_epoch,
        "message": caused.message,
        "path": one.path,
    }
