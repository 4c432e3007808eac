"""`eos audit`: real log directories, read and judged by tasks that hand back findings, on Spark or in this process."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from model_tests.audit.cluster import audit_cluster, reported_once, unexplained
from model_tests.audit.clusters import META_PROPERTIES, UNNAMED, clusters_of, unread
from model_tests.audit.controller_view import controlled, with_clients
from model_tests.audit.findings import Finding
from model_tests.audit.folder_repairs import by_their_content, diagnose_folders, explained_in
from model_tests.audit.given import GivenPath, given_paths
from model_tests.audit.group_findings import with_groups
from model_tests.audit.groups import groups_of, with_offsets
from model_tests.audit.history_report import HistoryReport
from model_tests.audit.in_process import judged_in_process
from model_tests.audit.options import DEFAULTS, AuditOptions
from model_tests.audit.partition_verdict import AuditedTransactionLog, Judged
from model_tests.audit.report import AuditedPartition, AuditReport
from model_tests.audit.report_filter import chosen_findings, shown_in_words, time_of
from model_tests.audit.result_cache import directory_for
from model_tests.audit.transactions import audit_transactions
from model_tests.audit.transactions_causes import diagnose_across
from model_tests.audit.transactions_report import ListedTransactions
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.audit.verdict_tasks import bytes_of, only_topic
from model_tests.common.reports import BadInput, listed
from model_tests.histories.as_journal import ClientJournal
from model_tests.histories.from_journal import read_received
from model_tests.logs.kafka_log_folders import HIGH_WATERMARK, Listing, LogFolder, list_logs, renamed
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.texts import Restored, restored
from spec.vocabulary import ABSENT

SPARK_FROM: Final = 1 << 30
"""Bytes of segments from which on Spark runs the tasks: by then its start is a small part of the whole."""

SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""What `spark-submit` sets for the programs that it starts: these run on the Spark that it was given."""


def run(paths: Iterable[object], options: AuditOptions = DEFAULTS, **given: Any) -> AuditReport:
    """Audit everything under the paths.

    Args:
        paths: brokers' log directories, partitions' folders, segments, or what `kafka-dump-log` printed of segments.
        options: how they are audited, and what is reported.
        given: single options in place of those: `run(paths, deep=True)`.

    Raises:
        BadInput: no partition has one of the names; the checkpoint of the high watermark is required, and there is
            none; the client's files cannot be read, or would be compared with more than one cluster; bodies are to be
            decoded of a dump, which has none; a time cannot be read.
        TypeError: there is no such option.
    """
    began = time.monotonic()
    options = replace(options, **given)
    shown = _shown(options)
    named = (path for own in options.clusters.values() for path in own)
    everything = tuple(dict.fromkeys((*map(str, paths), *named)))
    with restored(everything) as texts:
        _require_bodies(texts, deep=options.deep)
        listing = _listed(texts, options)
        folders = [texts.reported(log.path) for log in listing.logs]
        whose = clusters_of(folders, options.clusters)
        journal = _journal(listing, whose, options)
        if options.work is not None:
            options = replace(options, work=directory_for(options.work))
        verdicts = _judged(listing.logs, texts.paths, options)
        report = replace(
            _report(listing, whose, verdicts, shown, journal),
            assumed=(*_assumed(options), *_one_cluster(folders, whose), *texts.assumed),
            chosen=shown_in_words(shown, options.topics),
            **_clients(options),
            here=_here(listing, verdicts) if options.pictured else {},
        )
        report = _as_given(report, texts)
        return replace(report, given=_taken_for(everything, report, listing.logs), seconds=time.monotonic() - began)


def _shown(options: AuditOptions) -> ListedTransactions:
    """What the report lists."""
    since, until = time_of(options.since, "--since"), time_of(options.until, "--until")
    return ListedTransactions(
        options.transactions, options.transactional_id, options.producer_id, since_ms=since, until_ms=until
    )


def _listed(texts: Restored, options: AuditOptions) -> Listing:
    """The logs to audit, which have what the options need."""
    listing = list_logs(texts.paths, options.topics)
    if options.topics and all(log.topic.startswith("__") for log in listing.logs):
        raise BadInput(f"no partition is called {' or '.join(options.topics)}")
    checkpoint = options.checkpointed_watermark
    if checkpoint and listing.logs and all(log.checkpointed_watermark < 0 for log in listing.logs):
        raise BadInput(f"no high watermark to take: no {HIGH_WATERMARK} beside the logs names any of them")
    return listing


def _judged(logs: Sequence[LogFolder], paths: Sequence[str], options: AuditOptions) -> dict[int, Judged]:
    """The verdict on every log, by its number."""
    if not logs:
        return {}
    if not options.master and SUBMITTED not in os.environ and sum(map(bytes_of, logs)) < SPARK_FROM:
        return judged_in_process(logs, paths, options)
    spark = import_module("model_tests.audit.on_spark")  # with pyspark, which takes a second to load
    judged: dict[int, Judged] = spark.judged_on_spark(logs, paths, options)
    return judged


def _here(listing: Listing, verdicts: Mapping[int, Judged]) -> dict[str, PartitionTransactions]:
    """Each log's own evidence of transactions, by path."""
    reported = ((log.path, verdicts[number][0].reported) for number, log in enumerate(listing.logs))
    return {path: one.here for path, one in reported if one is not None}


def _taken_for(paths: Sequence[str], report: AuditReport, logs: Sequence[LogFolder]) -> tuple[GivenPath, ...]:
    """What each path was taken for; one may be a single segment."""
    judged = [(one.path, _name_of(one)) for one in report.audited]
    names = dict(judged)
    segments = ((each.path, names[log.path]) for log in logs if log.path in names for each in log.segments)
    judged += [each for each in segments if each[0] in paths]
    ignored = ((path, why or "no part of a log") for path, _, why in (each.partition(": ") for each in report.ignored))
    return given_paths(
        paths, judged, [*((bad.path, bad.message) for bad in (*report.damage, *report.missing)), *ignored]
    )


def _name_of(one: AuditedPartition) -> str:
    """The partition, and what the name of its folder says besides."""
    name, why = f"{one.topic}-{one.partition}" if one.partition >= 0 else one.topic, renamed(one.path)
    return f"{name} ({why})" if why else name


def _require_bodies(given: Restored, *, deep: bool) -> None:
    """Say that a dump has nothing to look into."""
    if deep and given.dumps:
        raise BadInput(f"--deep decodes the records of batches; {next(iter(given.dumps.values()))} is a dump without")


def _as_given(report: AuditReport, given: Restored) -> AuditReport:
    """The report with the paths that the user gave, and with what could not be read of dumps."""
    found = [each for each in report.damage if (each.path, each.position) not in given.holes]
    damage = [*given.damage, *(replace(each, path=given.reported(each.path)) for each in found)]
    return replace(
        report,
        audited=tuple(_as_known(each, given) for each in report.audited),
        damage=tuple(sorted(damage, key=lambda one: (one.path, one.position))),
        missing=tuple(given.missing),
        ignored=tuple(sorted({*report.ignored, *given.ignored} - set(given.dumps.values()))),
        here={given.reported(path): one for path, one in report.here.items()},
    )


def _as_known(one: AuditedPartition, given: Restored) -> AuditedPartition:
    """The partition under the path that the user gave; what its text lacks may have ended its transactions."""
    unknown, verdict = given.unknown.get(one.path, ABSENT), one.verdict
    still = tuple(txn for txn in verdict.open_transactions if txn.first_offset > unknown)
    if unknown >= 0 and not still:
        verdict = replace(verdict, offsets=replace(verdict.offsets, last_stable=ABSENT))
    return replace(
        one,
        path=given.reported(one.path),
        verdict=replace(verdict, open_transactions=still),
        explained=tuple((_cause_as_given(cause, given), each) for cause, each in one.explained),
    )


def _cause_as_given(cause: SegmentDamage | Finding, given: Restored) -> SegmentDamage | Finding:
    return cause if isinstance(cause, Finding) else replace(cause, path=given.reported(cause.path))


def _journal(listing: Listing, clusters: Sequence[str], options: AuditOptions) -> ClientJournal | None:
    """The journal that is given, if the logs are those of one cluster."""
    count, topic = len(set(clusters)), only_topic(listing.logs)
    if (options.history or options.received) and count > 1:
        raise BadInput(f"a client's files are compared with one cluster, the paths have logs of {count}")
    if options.received:
        read_received(options.received, topic)
    if not options.history:
        return None
    reading = import_module("model_tests.histories.reading")
    return cast(ClientJournal, reading.read_history(options.history, options.history_form, topic))


def _clients(options: AuditOptions) -> dict[str, Any]:
    """The anomalies of a history, if there is one."""
    if not options.history:
        return {}
    return {"clients": import_module("model_tests.audit.history_command").with_logs(options)}


def _one_cluster(paths: Sequence[str], clusters: Sequence[str]) -> Iterator[str]:
    """That several directories are of one cluster, which nothing in them says."""
    unnamed = sorted({str(Path(path).parent) for path, name in zip(paths, clusters, strict=True) if name == UNNAMED})
    if len(unnamed) > 1:
        yield (
            f"{listed(unnamed)} are of one cluster: they have no {META_PROPERTIES} that says otherwise; "
            "--cluster NAME=PATH separates them."
        )


def _report(
    listing: Listing,
    clusters: Sequence[str],
    verdicts: Mapping[int, Judged],
    shown: ListedTransactions,
    journal: ClientJournal | None,
) -> AuditReport:
    """The report on the logs of a listing, of which each has its verdict, and on the transactions across them."""
    given = [
        AuditedTransactionLog(log.path, log.topic, log.partition, verdicts[number][0], clusters[number])
        for number, log in enumerate(listing.logs)
    ]
    logs, misnamed = by_their_content(given, controlled(given))
    logs = reported_once(logs)
    controllers = with_clients(controlled(logs), logs, journal)
    segments = [log.segments for log in listing.logs]
    diagnosis = diagnose_folders(logs, segments, controllers, audit_transactions(logs, controllers))
    logs, (transactions, findings) = list(diagnosis.evidence), diagnosis.judged
    of_folders = [*listing.damage, *unread(log.path for log in listing.logs), *misnamed, *diagnosis.causes]
    damage = [*of_folders, *(bad for number in verdicts for bad in verdicts[number][1])]
    reported = HistoryReport()
    if journal is not None:
        led = {number: own for one in controllers.values() for number, own in one.led.items()}
        command = import_module("model_tests.audit.history_command")
        reported, findings = command.audit_history(journal, logs, transactions, findings, led)
    cluster, findings = audit_cluster(logs, findings, controllers)
    findings, elsewhere = diagnose_across(logs, with_groups(logs, with_offsets(logs, findings), transactions))
    findings = chosen_findings(logs, findings, shown, transactions)
    audited = [
        AuditedPartition(
            one.path,
            one.topic,
            one.partition,
            replace(one.verdict, findings=found, reported=None, cluster=None),
            one.cluster,
            (*explained_in(number, diagnosis), *elsewhere[number]),
        )
        for number, (one, found) in enumerate(zip(given, findings, strict=True))
    ]
    return AuditReport(
        audited=tuple(sorted(audited, key=lambda one: (one.topic, one.partition, one.path))),
        damage=tuple(sorted(unexplained(damage, logs, findings), key=lambda one: (one.path, one.position))),
        ignored=tuple(sorted(set(listing.ignored))),
        assumed=(),
        seconds=0.0,
        transactions=transactions,
        shown=shown,
        history=reported,
        cluster=cluster,
        groups=groups_of(logs),
    )


def _assumed(options: AuditOptions) -> tuple[str, ...]:
    checkpoint = options.checkpointed_watermark
    source = f"{HIGH_WATERMARK} where that names the partition, else " if checkpoint else ""
    return (
        f"The high watermark is {source}the log's end: the log is at rest.",
        "The log start is log-start-offset-checkpoint where that names the partition, else the first segment's name.",
        f"A broker may forget a producer after {options.producer_expiry_ms / 3_600_000:g} h without a batch.",
        f"Replicas are compared below the lower of their high watermarks by {HIGH_WATERMARK}.",
        "Offsets that are missing outside the active segment may have been removed by the log cleaner.",
        f"Appends are judged as Kafka {options.profile.name} decides them.",
        f"CRC-32C was {'checked' if options.crc else 'not checked'}.",
        f"Of records {'all were decoded' if options.deep else 'only those of coordinators and markers were decoded'}.",
    )
