"""`eos audit --history`: a client history by itself, or compared with logs."""

import time
from pathlib import Path

from model_tests.audit.report import AuditReport
from model_tests.common.reports import BadInput
from model_tests.histories.as_trace import as_trace
from model_tests.histories.reading import Form, form_of, read_operations
from model_tests.histories.report import ClientsReport, report_on
from model_tests.traces.schema import write_ndjson


def run(
    history: str,
    *,
    history_form: Form | None = None,
    received: str = "",
    read_committed: bool = True,
    pictured: bool = False,
) -> AuditReport:
    """Judge a history by itself, without any log.

    Args:
        history: the file, or for the system tests a directory of what each program printed.
        history_form: what it is written as, found out if it is not given.
        received: what a reader received, beside a journal.
        read_committed: the history's readers were to see committed records only.
        pictured: keep what a page draws of it.

    Raises:
        BadInput: the history cannot be read, or is none; or it is a journal, which has no readers, without one.
    """
    began = time.monotonic()
    form = history_form or form_of(history)
    if form is Form.JOURNAL and not received:
        raise BadInput(f"{history} is a journal, which has no readers: give --received, or the logs")
    reported = read_operations(history, form, received)
    clients = report_on(reported, history, read_committed=read_committed, pictured=pictured)
    return AuditReport((), (), (), (), time.monotonic() - began, clients=clients)


def write_trace(
    file: Path,
    *,
    history: str = "",
    history_form: Form | None = None,
    received: str = "",
    read_committed: bool = True,
) -> None:
    """Write a history in the trace schema, one JSON object a line, so that `eos check` applies the history rules.

    Raises:
        BadInput: there is no history, it cannot be read, or the file is named as no trace is.
    """
    if not history:
        raise BadInput("--history-trace writes the history of --history; there is none")
    if file.suffix != ".ndjson":
        raise BadInput(f"{file}: a trace is called something.ndjson")
    reported = read_operations(history, history_form, received)
    write_ndjson(as_trace(reported, read_committed=read_committed), file)


def beside_logs(
    history: str, *, form: Form | None = None, read_committed: bool = True, pictured: bool = False
) -> ClientsReport:
    """The anomalies of a history that is compared with logs too; of a journal the logs alone show more."""
    if not history or (form or form_of(history)) is Form.JOURNAL:
        return ClientsReport()
    return report_on(read_operations(history, form), history, read_committed=read_committed, pictured=pictured)
