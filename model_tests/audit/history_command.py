"""`eos audit --history`: judge a client history alone, or compare it with logs; join a client's journal with logs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from model_tests.audit.findings import Finding
from model_tests.audit.history_judge import TalliedLog, judge_history
from model_tests.audit.history_report import HistoryReport
from model_tests.audit.losses import Led
from model_tests.audit.options import AuditOptions
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.report import AuditReport
from model_tests.audit.transactions import TransactionsReport
from model_tests.audit.transactions_clusters import places_of
from model_tests.common.reports import BadInput
from model_tests.histories.as_journal import ClientJournal
from model_tests.histories.as_trace import as_trace
from model_tests.histories.form import Form
from model_tests.histories.operations import Operations
from model_tests.histories.reading import form_of, read_operations
from model_tests.histories.report import ClientsReport, report_on
from model_tests.histories.severity import Severity
from model_tests.traces.schema import write_ndjson
from spec import rules


def run(options: AuditOptions) -> AuditReport:
    """Judge the history that the options name, without any log.

    Raises:
        BadInput: the file cannot be read, or is no history; or it is a journal, which has no readers, and no option
            names what a reader received.
    """
    began, history = time.monotonic(), options.history
    form = options.history_form or form_of(history)
    if form is Form.JOURNAL and not options.received:
        raise BadInput(f"{history} is a journal, which has no readers: give --received, or the logs")
    clients = _report_on(_read(options, form), options)
    return AuditReport((), (), (), (), time.monotonic() - began, clients=clients)


def write_trace(file: Path, options: AuditOptions) -> None:
    """Write the history of the options in the trace schema, so that `eos check` applies the history rules.

    Args:
        file: one JSON object a line.
        options: the options of the audit; those about the history are used.

    Raises:
        BadInput: there is no history, it cannot be read, or the file is named as no trace is.
    """
    if not options.history:
        raise BadInput("--history-trace writes the history of --history; there is none")
    if file.suffix != ".ndjson":
        raise BadInput(f"{file}: a trace is called something.ndjson")
    reported = _read(options, options.history_form)
    write_ndjson(as_trace(reported), file)


def with_logs(options: AuditOptions) -> ClientsReport:
    """The anomalies of a history beside logs; none for a journal, which is joined with the logs instead."""
    history, form = options.history, options.history_form
    if not history or (form or form_of(history)) is Form.JOURNAL:
        return ClientsReport()
    return _report_on(_read(replace(options, received=""), form), options)


def _report_on(operations: Operations, options: AuditOptions) -> ClientsReport:
    return report_on(operations, options.history, pictured=options.pictured)


def _read(options: AuditOptions, form: Form | None) -> Operations:
    """The history of the options; its readers are read_committed unless it, or an option, says otherwise."""
    found = read_operations(options.history, form, options.received)
    return replace(found, read_committed=found.read_committed and options.read_committed)


_HANGS = (rules.TXN_MARKER_ONCE, rules.OFFSETS_ATOMIC, rules.TXN_REGISTERED_BEFORE_DATA)


def audit_history(
    journal: ClientJournal,
    logs: Sequence[AuditedTransactionLog],
    transactions: TransactionsReport,
    findings: Sequence[tuple[Finding, ...]],
    led: Mapping[int, Led] = MappingProxyType({}),
) -> tuple[HistoryReport, list[tuple[Finding, ...]]]:
    """The journal's report, and all findings of each log with those that the journal adds.

    Args:
        journal: what clients wrote down.
        logs: the logs of all partitions and brokers, in order.
        transactions: the transactions as the join over all logs has them.
        findings: the findings of each log.
        led: for the number of a log, who led its partition, and what elections may have removed from it.
    """
    hanging = {
        (number, finding.producer_id)
        for number, own in enumerate(findings)
        for finding in own
        if finding.rule in _HANGS and finding.severity in (Severity.VIOLATION, Severity.KNOWN)
    }
    report, located = judge_history(journal, _replicas(logs, led), transactions.identities, hanging)
    together = [list(own) for own in findings]
    for number, finding in located:
        together[number].append(finding)
    return report, [tuple(sorted(own, key=lambda one: (one.offset, one.rule.id))) for own in together]


def _replicas(logs: Sequence[AuditedTransactionLog], led: Mapping[int, Led]) -> list[TalliedLog]:
    """For each partition, the replica whose log reaches furthest."""
    places = places_of(
        (number, log.topic, log.partition, log.verdict.reported.here)
        for number, log in enumerate(logs)
        if log.verdict.reported is not None and log.verdict.tallies
    )
    first = {(place.topic, place.partition): place.log for place in reversed(places)}
    return [
        TalliedLog(
            number,
            f"{name[0]}-{name[1]}",
            *name,
            logs[number].verdict.tallies,
            led[number].losses if number in led else (),
            logs[number].verdict.offsets.log_end,
        )
        for name, number in sorted(first.items())
    ]
