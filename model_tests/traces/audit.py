"""`eos audit`: real log directories, each partition read and judged by one Spark task, which hands back findings."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from model_tests.reports import BadInput
from model_tests.traces.audit_cluster import audit_cluster, told_once, unexplained
from model_tests.traces.audit_controlled import controlled
from model_tests.traces.audit_findings import Finding, Verdict
from model_tests.traces.audit_groups import groups_of, with_offsets
from model_tests.traces.audit_history import History, read_history, read_received
from model_tests.traces.audit_history_join import audit_history
from model_tests.traces.audit_history_judge import HistoryReport
from model_tests.traces.audit_history_log import NOBODY
from model_tests.traces.audit_log import DAY_MS, audit_log, surroundings
from model_tests.traces.audit_report import Audited, AuditReport
from model_tests.traces.audit_transactions import Log, audit_transactions
from model_tests.traces.audit_transactions_clusters import cluster_of
from model_tests.traces.audit_transactions_report import Shown
from model_tests.traces.audit_transactions_summary import PartitionTransactions
from model_tests.traces.audit_wire import decode
from model_tests.traces.dump_segments import Restored, restored
from model_tests.traces.kafka_log import KafkaLog
from model_tests.traces.kafka_log_folders import HIGH_WATERMARK, Listing, list_logs
from model_tests.traces.kafka_log_segment import Damage
from model_tests.traces.kafka_log_verdicts import client_sides
from model_tests.traces.session import LOCAL, session
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT


def run(
    paths: Iterable[object],
    *,
    master: str = LOCAL,
    crc: bool = True,
    checkpointed_watermark: bool = False,
    producer_expiry_ms: int = DAY_MS,
    profile: Profile = NEWEST,
    transactions: bool = False,
    transactional_id: str = "",
    topics: Sequence[str] = (),
    producer_id: int = ABSENT,
    history: str = "",
    received: str = "",
    pictured: bool = False,
) -> AuditReport:
    """Audit everything under the paths.

    Args:
        paths: brokers' log directories, partitions' folders, segments, or what `kafka-dump-log` printed of segments.
        master: where Spark runs.
        crc: whether each batch's CRC-32C is checked.
        checkpointed_watermark: take the high watermark from the broker's checkpoint, not from the log's end.
        producer_expiry_ms: `producer.id.expiration.ms` of the brokers.
        profile: the release whose append decision judges.
        transactions: list all transactions, not only those that are open or in doubt.
        transactional_id: list this one's transactions only, and all of them.
        topics: audit only topics or partitions of these names or patterns, and the brokers' own.
        producer_id: report only what is found about this producer, and list its transactions.
        history: a journal of what clients did and were told.
        received: what a read_committed reader received of every partition up to its end.
        pictured: keep what a page draws of each log.

    Raises:
        BadInput: no partition has one of the names; the checkpoint of the high watermark is asked for, and there is
            none; the client's files cannot be read, or are to be held against more than one cluster.
    """
    began = time.monotonic()
    with restored(map(str, paths)) as given:
        listing = list_logs(given.paths, topics)
        if topics and all(log.topic.startswith("__") for log in listing.logs):
            raise BadInput(f"no partition is called {' or '.join(topics)}")
        if checkpointed_watermark and listing.logs and all(log.checkpointed_watermark < 0 for log in listing.logs):
            raise BadInput(f"no high watermark to take: no {HIGH_WATERMARK} beside the logs names any of them")
        options = {
            "crc": crc,
            "checkpointed_watermark": checkpointed_watermark,
            "producer_expiry_ms": producer_expiry_ms,
            "profile": profile.name,
            "topics": json.dumps(list(topics)),
        }
        journal = _journal(listing, history, received)
        options |= {name: file for name, file in (("history", history), ("received", received)) if file}
        verdicts = _on_spark(given.paths, master, options) if listing.logs else {}
        assumed = (*_assumed(crc, checkpointed_watermark, producer_expiry_ms, profile), *given.assumed)
        shown = Shown(transactions, transactional_id, producer_id)
        report = _report(listing, verdicts, assumed, began, shown, journal)
        return _as_given(replace(report, here=_here(listing, verdicts)) if pictured else report, given)


def run_here(
    paths: Iterable[object],
    *,
    crc: bool = True,
    profile: Profile = NEWEST,
    history: str = "",
    received: str = "",
    pictured: bool = False,
) -> AuditReport:
    """The same in this process, without Spark: for logs so small that starting it would take longer."""
    began = time.monotonic()
    with restored(map(str, paths)) as given:
        listing = list_logs(given.paths)
        journal = _journal(listing, history, received)
        clients = client_sides(listing.logs, history, received)
        verdicts = {
            number: audit_log(log, surroundings(log), profile, crc=crc, client=clients.get(number, NOBODY))
            for number, log in enumerate(listing.logs)
        }
        assumed = (*_assumed(crc, False, DAY_MS, profile), *given.assumed)
        report = _report(listing, verdicts, assumed, began, Shown(), journal)
        return _as_given(replace(report, here=_here(listing, verdicts)) if pictured else report, given)


def _here(listing: Listing, verdicts: Mapping[int, tuple[Verdict, list[Damage]]]) -> dict[str, PartitionTransactions]:
    """What each log tells of its own transactions, by path."""
    told = ((log.path, verdicts[number][0].told) for number, log in enumerate(listing.logs))
    return {path: one.here for path, one in told if one is not None}


def _as_given(report: AuditReport, given: Restored) -> AuditReport:
    """The report with the paths that the user gave, and with what could not be read of dumps."""
    if not given.dumps and not given.damage:
        return report
    damage = [*given.damage, *(replace(each, path=given.told(each.path)) for each in report.damage)]
    return replace(
        report,
        audited=tuple(replace(each, path=given.told(each.path)) for each in report.audited),
        damage=tuple(sorted(damage, key=lambda one: (one.path, one.position))),
        here={given.told(path): one for path, one in report.here.items()},
    )


def _journal(listing: Listing, history: str, received: str) -> History | None:
    """The journal that is given, if the logs are those of one cluster."""
    clusters = {cluster_of(log.path) for log in listing.logs}
    if (history or received) and len(clusters) > 1:
        raise BadInput(f"a client's files are held against one cluster, the paths have logs of {len(clusters)}")
    if received:
        read_received(received)
    return read_history(history) if history else None


def _on_spark(
    paths: Sequence[str], master: str, options: Mapping[str, object]
) -> dict[int, tuple[Verdict, list[Damage]]]:
    """The verdict on every log of the listing, by its number; a task of `kafka-log` reads and judges whole logs."""
    spark = session(master)
    spark.dataSource.register(KafkaLog)
    source = spark.read.format("kafka-log").option("rows", "verdicts").option("paths", json.dumps(list(paths)))
    for name, value in options.items():
        source = source.option(name, str(value))
    source = source.option("tasks", str(2 * spark.sparkContext.defaultParallelism))
    return {row.log: decode(row.verdict) for row in source.load().collect()}


def _report(
    listing: Listing,
    verdicts: dict[int, tuple[Verdict, list[Damage]]],
    assumed: tuple[str, ...],
    began: float,
    shown: Shown,
    journal: History | None,
) -> AuditReport:
    """The report on the logs of a listing, of which each has its verdict, and on the transactions across them."""
    logs = told_once(
        [Log(log.path, log.topic, log.partition, verdicts[number][0]) for number, log in enumerate(listing.logs)]
    )
    damage = [*listing.damage, *(bad for number in verdicts for bad in verdicts[number][1])]
    controllers = controlled(logs)
    transactions, findings = audit_transactions(logs, controllers)
    told = HistoryReport()
    if journal is not None:
        losses = {number: own for one in controllers.values() for number, own in one.losses.items()}
        told, findings = audit_history(journal, logs, transactions, findings, losses)
    cluster, findings = audit_cluster(logs, findings, controllers)
    findings = with_offsets(logs, findings)
    audited = [
        Audited(log.path, log.topic, log.partition, _reported(log.verdict, found, shown))
        for log, found in zip(logs, findings, strict=True)
    ]
    return AuditReport(
        audited=tuple(sorted(audited, key=lambda one: (one.topic, one.partition, one.path))),
        damage=tuple(sorted(unexplained(damage, logs, findings), key=lambda one: (one.path, one.position))),
        ignored=tuple(sorted(set(listing.ignored))),
        assumed=assumed,
        seconds=time.monotonic() - began,
        transactions=transactions,
        shown=shown,
        history=told,
        cluster=cluster,
        groups=groups_of(logs),
    )


def _reported(verdict: Verdict, found: Iterable[Finding], shown: Shown) -> Verdict:
    """The verdict as it is reported: of one producer only, if it is asked for."""
    asked = tuple(one for one in found if shown.producer_id in (ABSENT, one.producer_id))
    return replace(verdict, findings=asked, told=None, cluster=None)


def _assumed(crc: bool, checkpointed_watermark: bool, producer_expiry_ms: int, profile: Profile) -> tuple[str, ...]:
    source = f"{HIGH_WATERMARK} where that names the partition, else " if checkpointed_watermark else ""
    return (
        f"The high watermark is {source}the log's end: the log is at rest.",
        "The log start is log-start-offset-checkpoint where that names the partition, else the first segment's name.",
        f"A broker may forget a producer after {producer_expiry_ms / 3_600_000:g} h without a batch.",
        f"Replicas are compared below the lower of their high watermarks by {HIGH_WATERMARK}.",
        "Offsets that are missing outside the active segment may have been removed by the log cleaner.",
        f"Appends are judged as Kafka {profile.name} decides them.",
        f"CRC-32C was {'checked' if crc else 'not checked'}.",
    )
