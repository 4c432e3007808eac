"""`eos audit --history`: a client history by itself, or compared with logs."""

import time
from dataclasses import replace
from pathlib import Path

from model_tests.audit.options import AuditOptions
from model_tests.audit.report import AuditReport
from model_tests.common.reports import BadInput
from model_tests.histories.as_trace import as_trace
from model_tests.histories.form import Form
from model_tests.histories.operations import Operations
from model_tests.histories.reading import form_of, read_operations
from model_tests.histories.report import ClientsReport, report_on
from model_tests.traces.schema import write_ndjson


def run(options: AuditOptions) -> AuditReport:
    """Judge the history of the options by itself, without any log.

    Raises:
        BadInput: the history cannot be read, or is none; or it is a journal, which has no readers, without what a
            reader received.
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
        options: of which those of the history count.

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
    """The anomalies of a history that is compared with logs too; of a journal the logs alone show more."""
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
