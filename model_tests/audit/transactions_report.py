"""What a report shows of transactions: a table of those in doubt, figures of the others, the same as JSON."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.audit.ended_by import EndedBy, ended_by
from model_tests.audit.times import clock
from model_tests.audit.transaction_findings import outcome_word
from model_tests.audit.transactions import OpenData, TransactionsReport, doubtful
from model_tests.audit.transactions_clusters import coordinator_of, partition_count
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus
from model_tests.logs.coordinator_log import TOPIC
from spec.vocabulary import ABSENT, TransactionState

_MOST_ROWS: Final = 50
"""Rows that are printed; the JSON report has all."""

_CAUSES: Final = {
    EndedBy.CLIENT: "their client",
    EndedBy.FENCE: "a fence",
    EndedBy.TIMEOUT: "their timeout",
    EndedBy.CLIENT_OR_FENCE: "their client or a fence",
}
_STYLES: Final = {
    TransactionStatus.HANGING: "bold red",
    TransactionStatus.TORN: "bold red",
    TransactionStatus.BROKEN: "bold red",
    TransactionStatus.LOST: "cyan",
    TransactionStatus.OPEN: "yellow",
    TransactionStatus.COMPLETING: "yellow",
    TransactionStatus.OVERDUE: "bold yellow",
}


@dataclass(frozen=True, slots=True)
class ListedTransactions:
    """What of the transactions is listed.

    Attributes:
        all_of_them: committed and aborted ones too.
        transactional_id: only this one's, and all of them; empty for every id.
        producer_id: only this one's, and all of them; -1 for every producer.
        since_ms: only what has not ended before, in milliseconds since 1970; -1 for any time.
        until_ms: only what has begun by then, likewise.
    """

    all_of_them: bool = False
    transactional_id: str = ""
    producer_id: int = ABSENT
    since_ms: int = ABSENT
    until_ms: int = ABSENT

    @property
    def timed(self) -> bool:
        """Whether a range of time is selected."""
        return self.since_ms != ABSENT or self.until_ms != ABSENT

    def covers(self, first_ms: int, last_ms: int) -> bool:
        """Whether what lasted from one time to the other is selected; -1 is a time that is not known."""
        ended_before = ABSENT not in (self.since_ms, last_ms) and last_ms < self.since_ms
        begins_after = ABSENT not in (self.until_ms, first_ms) and first_ms > self.until_ms
        return not ended_before and not begins_after

    @property
    def chosen(self) -> bool:
        """Whether only some transactions are selected, and then all of these are listed."""
        return bool(self.transactional_id) or self.producer_id != ABSENT


def listed(report: TransactionsReport, shown: ListedTransactions) -> list[JudgedTransaction]:
    """The transactions to list, by id and place in the coordinator's log."""
    chosen = list(report.judged) if shown.all_of_them or shown.chosen else doubtful(report)
    if shown.transactional_id:
        chosen = [one for one in chosen if one.one.known.transactional_id == shown.transactional_id]
    if shown.producer_id != ABSENT:
        chosen = [one for one in chosen if one.one.known.producer_id == shown.producer_id]
    if shown.timed:
        chosen = [one for one in chosen if shown.covers(one.one.known.started_ms, one.one.known.completed_ms)]
    return sorted(chosen, key=lambda one: (one.one.known.transactional_id, one.one.known.first_offset))


def print_transactions(report: TransactionsReport, shown: ListedTransactions, console: Console) -> None:
    """Write the table of those that are listed."""
    chosen = listed(report, shown)
    opened = [] if shown.chosen else list(report.unknown_open)
    if chosen or opened:
        console.print(_table(chosen[:_MOST_ROWS], opened[:_MOST_ROWS], shown))
    hidden = max(len(chosen) - _MOST_ROWS, 0) + max(len(opened) - _MOST_ROWS, 0)
    if hidden:
        console.print(Text(f"{hidden} more are in the JSON report.", style="dim"))


def transactions_in_one_line(report: TransactionsReport) -> str:
    """What became of how many."""
    counts = ", ".join(
        f"{report.counts[status.value]} {status}" for status in TransactionStatus if report.counts[status.value]
    )
    causes = Counter(ended_by(one.one.known) for one in report.judged if one.status is TransactionStatus.ABORTED)
    why = ", ".join(f"{causes[by]} by {_CAUSES[by]}" for by in _CAUSES if causes[by])
    counts += f" (aborted: {why})" if why else ""
    apart = f"{report.unknown_ended} markers and {len(report.unknown_open)} open without their coordinator's log"
    both = report.unknown_ended or report.unknown_open
    return "Transactions: " + "; ".join(filter(None, (counts, apart if both else ""))) + "."


def transactions_json(report: TransactionsReport, shown: ListedTransactions) -> dict[str, object]:
    """The same as plain JSON values.

    Fields:
        counts.*: transactions by verdict
        without_coordinator_log.markers: markers of producers without their coordinator's log
        without_coordinator_log.open: open transactions of such producers
        undecided[].missing: what would decide more
        undecided[].times: how often it was missed
    """
    return {
        "counts": dict(report.counts),
        "without_coordinator_log": {"markers": report.unknown_ended, "open": len(report.unknown_open)},
        "undecided": [{"missing": why, "times": count} for why, count in report.missing.items()],
        "listed": [judged_json(one) for one in listed(report, shown)],
        "open_without_coordinator_log": [open_json(one) for one in report.unknown_open],
    }


def coordinator_hint(transactional_id: str, report: TransactionsReport) -> str:
    """Where the transactions of an id are of which none is here."""
    partition = coordinator_of(transactional_id, report.ids, report.coordinators)
    if partition == ABSENT:
        return f"No transaction of {transactional_id} is here; which partition of {TOPIC} has it is not known."
    count, shown = partition_count(report.ids, report.coordinators)
    usual = "" if shown else f" (if {TOPIC} has {count} partitions, the usual number)"
    if partition in report.coordinators:
        return f"{TOPIC}-{partition} would have {transactional_id}, and has no transaction of it{usual}."
    return f"{TOPIC}-{partition} has the transactions of {transactional_id}: no log of it was read{usual}."


def _table(chosen: Iterable[JudgedTransaction], opened: Iterable[OpenData], shown: ListedTransactions) -> Table:
    title = "Transactions" if shown.all_of_them or shown.chosen else "Transactions open or in doubt"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("transactional id", overflow="fold")
    for name in ("producer", "epoch"):
        table.add_column(name, justify="right")
    for name in ("verdict, by", "coordinator says", "began (UTC)", "lasted", "partitions: offsets, marker"):
        table.add_column(name, overflow="fold")
    for one in chosen:
        known = one.one.known
        table.add_row(
            Text(known.transactional_id),
            str(known.producer_id),
            str(_epoch(one)),
            Text(_verdict(one), style=_STYLES.get(one.status, "default")),
            _state(one),
            clock(known.started_ms),
            _lasted(one),
            Text("\n".join(_places(one)[:8])),
        )
    for data in opened:
        place = f"{data.place.name}: {data.run.first_offset}.., none"
        table.add_row(
            "?", str(data.run.producer_id), str(data.run.producer_epoch), "undecided", "not read", "", "", place
        )
    return table


def _verdict(one: JudgedTransaction) -> str:
    """The verdict, and who ended it where that is not the client that committed it."""
    by = ended_by(one.one.known)
    return f"{one.status}, {by}" if by and one.status is TransactionStatus.ABORTED else str(one.status)


def _state(one: JudgedTransaction) -> str:
    known = one.one.known
    state = TransactionState(known.state).name.title().replace("_", "")
    return f"{state}; id expired {clock(known.expired_ms)}" if known.expired_ms != ABSENT else state


def _epoch(one: JudgedTransaction) -> int:
    known = one.one.known
    return known.producer_epoch if known.producer_epoch != ABSENT else known.marker_epoch


def _lasted(one: JudgedTransaction) -> str:
    duration = duration_ms(one)
    return f"{duration / 1000:.3f} s" if duration != ABSENT else ""


def duration_ms(one: JudgedTransaction) -> int:
    """From the first partition registered to the last marker written, by the coordinator's clock; -1 if unknown."""
    known = one.one.known
    return known.completed_ms - known.started_ms if known.completed and known.started_ms >= 0 else ABSENT


def _places(one: JudgedTransaction) -> list[str]:
    return [f"{place['topic']}-{place['partition']}: {_place(place, one)}" for place in partitions_json(one)]


def _place(place: dict[str, object], one: JudgedTransaction) -> str:
    if (place["topic"], place["partition"]) in one.unread:
        return "not read"
    data = f"{place['first_offset']}..{place['last_offset']}" if place["first_offset"] != ABSENT else "no data"
    return f"{data}, {place['outcome'] or 'none'}"


def partitions_json(one: JudgedTransaction) -> list[dict[str, object]]:
    """What each partition has of the transaction; -1 where it has none."""
    found: dict[tuple[str, int], dict[str, object]] = {}
    for topic, partition in sorted(one.one.known.partitions):
        found[topic, partition] = _nothing(topic, partition)
    for ended in one.one.ended:
        if ended.again:
            continue
        here = found.setdefault(
            (ended.place.topic, ended.place.partition), _nothing(ended.place.topic, ended.place.partition)
        )
        here |= {"marker_offset": ended.marker.offset, "outcome": outcome_word(ended.marker.outcome)}
        if ended.runs:
            here |= {"first_offset": ended.runs[0].first_offset, "last_offset": ended.runs[-1].last_offset}
            here["records"] = sum(run.records for run in ended.runs)
    for place, run in one.one.open:
        here = found.setdefault((place.topic, place.partition), _nothing(place.topic, place.partition))
        here |= {"first_offset": run.first_offset, "last_offset": run.last_offset, "records": run.records}
    return list(found.values())


def _nothing(topic: str, partition: int) -> dict[str, object]:
    nowhere = dict.fromkeys(("first_offset", "last_offset", "marker_offset"), ABSENT)
    return {"topic": topic, "partition": partition, **nowhere, "records": 0, "outcome": ""}


def judged_json(one: JudgedTransaction) -> dict[str, object]:
    """One transaction of a coordinator's log as plain JSON values.

    Fields:
        producer_id: producer id
        producer_epoch: its epoch
        transactional_id: transactional id
        marker_epoch: epoch of its markers
        verdict: what became of it
        coordinator_state: its last state in the coordinator's log
        coordinator_epoch: of the coordinator that decided; -1 if not known
        ended_by: `client`, `fence`, `timeout`, `client or fence`; empty if it is open or not known
        expired_ms: when its id was removed after it; -1 if it was not
        started_ms: when its first partition was registered, by the coordinator's clock
        duration_ms: from then to its Complete; -1 if it is not there
        timeout_ms: its timeout
        coordinator_offsets[]: of its first record, of Prepare and of Complete; -1 for none
        partitions[].topic: topic
        partitions[].partition: number of the partition
        partitions[].first_offset: of its data; -1 for none
        partitions[].last_offset: of its data; -1 for none
        partitions[].marker_offset: of its marker; -1 for none
        partitions[].records: records
        partitions[].outcome: `COMMIT`, `ABORT`, or empty without a marker
        undecided[]: what would be needed to say more
    """
    known = one.one.known
    return {
        "transactional_id": known.transactional_id,
        "producer_id": known.producer_id,
        "producer_epoch": _epoch(one),
        "marker_epoch": known.marker_epoch,
        "verdict": one.status.value,
        "coordinator_state": TransactionState(known.state).name,
        "coordinator_epoch": known.coordinator_epoch,
        "ended_by": ended_by(known).value,
        "expired_ms": known.expired_ms,
        "started_ms": known.started_ms,
        "duration_ms": duration_ms(one),
        "timeout_ms": known.timeout_ms,
        "coordinator_offsets": [known.first_offset, known.prepared_offset, known.completed_offset],
        "partitions": partitions_json(one),
        "undecided": list(one.missing),
    }


def open_json(data: OpenData) -> dict[str, object]:
    """An open transaction without its coordinator's log as plain JSON values.

    Fields:
        topic: topic
        partition: number of the partition
        producer_id: producer id
        producer_epoch: its epoch
        first_offset: of its data
        last_offset: of its data
    """
    return {
        "topic": data.place.topic,
        "partition": data.place.partition,
        "producer_id": data.run.producer_id,
        "producer_epoch": data.run.producer_epoch,
        "first_offset": data.run.first_offset,
        "last_offset": data.run.last_offset,
    }
