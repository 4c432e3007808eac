"""A partition's log as a line: where its transactions lie, how they ended, what readers may see, what was found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from model_tests.audit.findings import Finding, LogBounds
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.histories.severity import Severity
from spec.vocabulary import ControlType

COLUMNS: Final = 480
"""Places that a line has; offsets beyond share one."""

_LEFT, _WIDTH, _ROW, _GAP = 92, 720, 14, 6
_HEAD, _FOOT = 22, 30


@unique
class TransactionFate(StrEnum):
    """What became of the data of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is drawn of one partition.

    Attributes:
        spans: by fate the columns with data of that fate, first and last, in order.
        markers: columns with a marker.
        found: columns with a finding, and how bad the worst there is.
    """

    name: str
    offsets: LogBounds
    spans: dict[TransactionFate, tuple[tuple[int, int], ...]]
    markers: tuple[int, ...]
    found: tuple[tuple[int, Severity], ...]


def timeline(name: str, offsets: LogBounds, here: PartitionTransactions, findings: Sequence[Finding]) -> Timeline:
    """The line of a partition.

    Args:
        name: of the partition.
        offsets: of the log: start, last stable, high watermark, end.
        here: its transactions.
        findings: of each log.
    """
    columns: dict[TransactionFate, set[int]] = {fate: set() for fate in TransactionFate}
    for run in here.runs:
        first = _column(offsets, run.first_offset)
        after = COLUMNS if run.last_offset + 1 >= offsets.log_end else _column(offsets, run.last_offset + 1)
        columns[_fate(here, run.marker)].update(range(first, max(after, first + 1)))
    worst: dict[int, Severity] = {}
    for finding in findings:
        column = _column(offsets, finding.offset)
        worst[column] = min(worst.get(column, finding.severity), finding.severity, key=list(Severity).index)
    return Timeline(
        name,
        offsets,
        {fate: tuple(_runs(sorted(taken))) for fate, taken in columns.items()},
        tuple(sorted({_column(offsets, marker.offset) for marker in here.markers})),
        tuple(sorted(worst.items())),
    )


def svg_of_timeline(line: Timeline) -> str:
    """The line as SVG, to stand in a page: its classes are the page's."""
    rows = [(fate.value, fate.value, line.spans[fate]) for fate in TransactionFate]
    rows.append(("markers", "marker", tuple((at, at) for at in line.markers)))
    height = _HEAD + len(rows) * (_ROW + _GAP) + _FOOT
    at = line.offsets
    title = f"{line.name}: offsets {at.log_start} to {at.log_end}, last stable offset {at.last_stable}"
    parts = [
        f'<svg class="timeline" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title>",
    ]
    for number, (label, kind, spans) in enumerate(rows):
        top = _HEAD + number * (_ROW + _GAP)
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 11}" text-anchor="end">{label}</text>')
        parts.append(f'<rect class="lane" x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_ROW}"/>')
        parts += (_block(kind, top, first, last) for first, last in spans)
    bottom = height - _FOOT
    for column, severity in line.found:
        parts.append(f'<path class="found {severity}" d="M{_x(column):.1f} {_HEAD - 4} l-5 -9 h10 z"/>')
    stable = _x(_column(at, at.last_stable))
    parts.append(f'<line class="stable" x1="{stable:.1f}" x2="{stable:.1f}" y1="{_HEAD - 4}" y2="{bottom}"/>')
    parts += _scale(line, stable, bottom)
    return "".join((*parts, "</svg>"))


def _scale(line: Timeline, stable: float, bottom: float) -> Iterable[str]:
    """The offsets at both ends, and the last stable one where there is room."""
    at = line.offsets
    yield f'<text x="{_LEFT}" y="{bottom + 16}">{at.log_start}</text>'
    yield f'<text x="{_LEFT + _WIDTH}" y="{bottom + 16}" text-anchor="end">{at.log_end}</text>'
    room = 90 < stable - _LEFT < _WIDTH - 90
    text = f"LSO {at.last_stable}" if room else ""
    yield f'<text class="stable" x="{stable:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>'


def _block(kind: str, top: float, first: int, last: int) -> str:
    width = (last - first + 1) * _WIDTH / COLUMNS
    return f'<rect class="{kind}" x="{_x(first):.1f}" y="{top}" width="{width:.1f}" height="{_ROW}"/>'


def _x(column: int) -> float:
    return _LEFT + column * _WIDTH / COLUMNS


def _column(offsets: LogBounds, offset: int) -> int:
    length = max(offsets.log_end - offsets.log_start, 1)
    return min(max((offset - offsets.log_start) * COLUMNS // length, 0), COLUMNS - 1)


def _fate(here: PartitionTransactions, marker: int) -> TransactionFate:
    if marker < 0:
        return TransactionFate.OPEN
    return (
        TransactionFate.COMMITTED
        if here.markers[marker].outcome == ControlType.COMMIT.value
        else TransactionFate.ABORTED
    )


def _runs(columns: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Columns that follow each other, as first and last."""
    first: int | None = None
    last = 0
    for column in columns:
        if first is not None and column > last + 1:
            yield first, last
            first = None
        first, last = column if first is None else first, column
    if first is not None:
        yield first, last
