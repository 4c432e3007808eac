"""Client histories as files: which of the known forms one has, and the history in it."""

import gzip
import lzma
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final, TextIO, cast

from model_tests.common.reports import BadInput
from model_tests.histories.as_journal import ClientJournal, as_journal
from model_tests.histories.as_trace import from_lines
from model_tests.histories.form import Form
from model_tests.histories.from_edn import IN_TABS, from_edn
from model_tests.histories.from_journal import CONSOLE, from_journal, read_received
from model_tests.histories.from_tools import events, from_tools
from model_tests.histories.operations import Operations
from model_tests.logs.locations import reason
from model_tests.traces.schema import HISTORY_APIS

_LOOKED_AT: Final = 200
"""Lines from which the form is recognised."""


def form_of(path: str) -> Form:
    """The form of a file, or of the files of a directory, by what is in it.

    Raises:
        BadInput: it is empty, cannot be read, or has none of the known forms.
    """
    lines: list[str] = []
    for file in _files(path):
        with _opened(file) as text:
            lines += _safely(file, islice(text, _LOOKED_AT))
    if not any(line.strip() for line in lines):
        raise BadInput(f"{path} is empty: no history")
    kinds = [_kind(event) for event in events(lines)]
    for form in (Form.TOOLS, Form.JOURNAL, Form.TRACE):
        if form in kinds:
            return form
    if any(":type" in line or IN_TABS.match(line) for line in lines):
        return Form.EDN
    if any(CONSOLE.search(line) for line in lines):
        raise BadInput(f"{path} is what a console consumer printed: give it as --received, with the logs")
    if any(isinstance(event, dict) and "api" in event for event in events(lines)):
        raise BadInput(f"{path} has steps of brokers: eos check judges them, and what their clients were answered")
    raise BadInput(
        f"{path} is no history that is known: neither operations in EDN ({{:type :ok, ...}}), nor lines of JSON with "
        '"name" (Kafka\'s system tests), "ev" (a journal) or "api" (a trace of a history)'
    )


def _kind(event: object) -> Form | None:
    if isinstance(event, dict):
        if "ev" in event:
            return Form.JOURNAL
        if "name" in event or "totalProcessed" in event:
            return Form.TOOLS
        if event.get("api") in HISTORY_APIS:
            return Form.TRACE
    return None


def read_operations(path: str, form: Form | None = None, received: str = "") -> Operations:
    """The history in a file; of the system tests also in the files of a directory, one for each program.

    Args:
        path: the file or directory.
        form: what it is written as, found out if it is not given.
        received: what a reader received, beside a journal.

    Raises:
        BadInput: the file cannot be read, or holds no history.
    """
    form = form or form_of(path)
    if received and form is not Form.JOURNAL:
        raise BadInput(f"--received belongs to a journal; {path} itself has what readers were given")
    if form is Form.JOURNAL:
        return from_journal(path, read_received(received) if received else {})
    files = _files(path)
    if form is Form.TOOLS:
        with ExitStack() as opened:
            return from_tools(
                (str(file.name).split(".")[0], _safely(file, opened.enter_context(_opened(file)))) for file in files
            )
    if len(files) > 1:
        raise BadInput(f"{path}: a history of this form is one file, this is a directory of {len(files)}")
    with _opened(files[0]) as text:
        return (from_lines if form is Form.TRACE else from_edn)(_safely(files[0], text))


def read_history(path: str, form: Form | None = None, topic: str = "") -> ClientJournal:
    """The history as the join with logs takes it: what was acknowledged, and the answers to its transactions.

    Args:
        path: the file or directory.
        form: what it is written as, found out if it is not given.
        topic: whose partitions keys that are numbers name.

    Raises:
        BadInput: the file cannot be read, or holds no history.
    """
    return as_journal(read_operations(path, form), topic)


def _files(path: str) -> list[Path]:
    where = Path(path.removeprefix("file://"))
    if where.is_dir():
        found = sorted(file for file in where.iterdir() if file.is_file())
        if not found:
            raise BadInput(f"{path} has no files")
        return found
    return [where]


def _opened(path: Path) -> TextIO:
    """A file as text; what is not UTF-8 in it is shown as such, and not refused."""
    try:
        if path.suffix == ".gz":
            return cast(TextIO, gzip.open(path, "rt", encoding="utf-8", errors="replace"))
        if path.suffix == ".xz":
            return cast(TextIO, lzma.open(path, "rt", encoding="utf-8", errors="replace"))
        return path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {reason(error)}") from error


def _safely(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """The lines; a file that ends within a compressed block ends there."""
    try:
        yield from lines
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise BadInput(f"{path} cannot be read: {reason(error)}") from error
