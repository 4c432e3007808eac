"""A recorded run of a server, made again from its wire log: judged, shrunk if a rule breaks, and drawn.

The drawing has the lines of the log in words, each request with its node. A log is shrunk by leaving out lines, many at
a time and then one by one, as long as the same rule fails.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias

from rich.console import Console

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput, writing
from model_tests.diagrams.events import Ending
from model_tests.diagrams.events import Sequence as Diagram
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import draw
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.monitor.drawing import sequence_of
from model_tests.monitor.monitor import Monitor
from model_tests.serve.command import with_defect
from model_tests.serve.wire_log import Line, LoggedRun, call_in, fault_in, logged
from model_tests.traces.schema import Row
from reference.log.batch import RecordBatch
from reference.log.reader import read_batches
from reference.server.nodes import NodeFault
from reference.wire.codec import decode_header, fields_of
from spec.vocabulary import ABSENT

# --- the lines of a wire log in words ---------------------------------------------------------------------------------


LONGEST: Final = 40
"""The longest text of a field that is shown, in characters."""

UNSAID: Final[tuple[object, ...]] = (None, "", b"", [], ABSENT)
"""Values of fields that are not shown."""


def reported(lines: Sequence[Line]) -> Iterator[str]:
    """A line of text for each, with the seconds since the first."""
    for line in lines:
        yield f"{(line['time'] - lines[0]['time']) / 1_000:8.3f} s  {described(line)}"


def described(line: Line) -> str:
    """A line of the log in words, without its time."""
    if "bytes" in line:
        call = call_in(line)
        fields = _words(fields_of(call.message))
        return f"connection {call.connection} to node {call.node}: {call.header.api} v{call.version} {fields}"
    if "fault" in line:
        return _fault(fault_in(line))
    if "wire" in line:
        happened = ", ".join(name for name, value in line["wire"].items() if value)
        return f"connection {line['connection']}: {happened.replace('_', ' ')}"
    return "time passes"


def _fault(fault: NodeFault) -> str:
    where = f" {fault.topic}-{fault.partition}" if fault.topic else ""
    times = (
        ("is away for", fault.away_ms),
        ("loads for", fault.loading_ms),
        ("leaves a zombie for", fault.zombie_ms),
    )
    return f"{fault.kind}{where}, node {fault.node}" + "".join(f", {does} {ms} ms" for does, ms in times if ms)


def _words(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in fields.items() if value not in UNSAID)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_words(value)})"
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _bytes(value: bytes) -> str:
    """Batches by the fields of exactly-once; of any other bytes only their number."""
    batches = [found.batch for found in read_batches(value) if not hasattr(found, "kind")]
    return "+".join(map(_batch, batches)) if batches else f"<{len(value)} bytes>"


def _batch(batch: RecordBatch) -> str:
    kind = "transactional " if batch.is_transactional else ""
    identity = f"producer {batch.producer_id}/{batch.producer_epoch} seq {batch.base_sequence}"
    return f"<{kind}{identity}, {batch.record_count} records>"


# --- shrinking --------------------------------------------------------------------------------------------------------


Fails = Callable[[Sequence[Line]], int | None]
"""Plays lines; returns how many it takes until the rule breaks, None if it does not."""

SECONDS: Final = 20.0
"""How long a log is shrunk."""


def fewest(lines: Sequence[Line], fails: Fails, seconds: float = SECONDS) -> tuple[Line, ...]:
    """The fewest lines that are found in the time and still fail.

    Args:
        lines: that fail.
        fails: says whether lines do.
        seconds: how long to look.
    """
    search = _LineSearch(tuple(lines), fails, monotonic() + seconds)
    search.leaves_out_kinds()
    while search.leaves_out_pieces():
        pass
    return search.best


class _LineSearch:
    """The fewest lines so far."""

    def __init__(self, lines: tuple[Line, ...], fails: Fails, deadline: float) -> None:
        self.best = lines
        self._fails = fails
        self._deadline = deadline
        self._tries(lines)

    def leaves_out_kinds(self) -> None:
        """Without all lines of a kind, and without all of a connection, the most frequent first."""
        for group in (kind_of, _connection_of):
            groups = [group(line) for line in self.best]
            for each in sorted(set(groups), key=lambda key: (-groups.count(key), str(key))):
                self._tries(tuple(line for line in self.best if group(line) != each))

    def leaves_out_pieces(self) -> bool:
        """Without pieces, from half of the lines to single ones; whether any could be left out."""
        before, length = len(self.best), max(len(self.best) // 2, 1)
        while length:
            at = 0
            while at < len(self.best):
                if not self._tries(self.best[:at] + self.best[at + length :]):
                    at += length
            length //= 2
        return len(self.best) < before

    def _tries(self, lines: tuple[Line, ...]) -> bool:
        """Play lines; returns whether they fail. If so, they are the best so far, up to the line that fails."""
        if not lines or monotonic() > self._deadline:
            return False
        used = self._fails(lines)
        if used is None:
            return False
        self.best = lines[:used]
        return True


def kind_of(line: Line) -> str:
    """The api of a frame, the kind of a fault, or what else a line is."""
    if "bytes" in line:
        return decode_header(b64decode(line["bytes"]))[0].api
    if "fault" in line:
        return str(line["fault"]["kind"])
    return "wire" if "wire" in line else "time"


def _connection_of(line: Line) -> Hashable:
    return line.get("connection")


# --- the run ----------------------------------------------------------------------------------------------------------


SHRUNK: Final = "shrunk.ndjson"
"""The file of the lines that are left, beside the log; `eos serve --feed` reads it like the log."""

DRAWN: Final = 40
"""Steps that are drawn at most: the last ones."""


Place: TypeAlias = tuple[str, str]
"""The rule that is broken, and the guard that breaks it."""


@dataclass(frozen=True, slots=True)
class WireReplay:
    """A run of a server made again.

    Attributes:
        name: where it comes from, in a few words.
        recorded: lines of the log.
        lines: the lines that are shown: if the run breaks a rule, the fewest that still break it.
        rows: the steps of these.
        rules: how often each was at stake.
        violations: of these steps.
        shrunk: the file with these lines, none if none was written.
    """

    name: str
    recorded: int
    lines: tuple[Line, ...]
    rows: tuple[Row, ...]
    rules: tuple[RuleCount, ...]
    violations: tuple[StepViolation, ...]
    shrunk: Path | None = None

    @property
    def exit_code(self) -> int:
        """Whether a rule breaks, and any was at stake."""
        if self.violations:
            return VIOLATED
        return HOLDS if self.rules else NOTHING_JUDGED

    @property
    def diagram(self) -> Diagram:
        """The last steps, drawn; in the end the rule that is broken."""
        first = next(iter(self.violations), None)
        text = "nothing is broken" if first is None else f"at step {first.step}, by {first.guard}"
        return sequence_of(self.rows[-DRAWN:], self.name, Ending("" if first is None else first.rule, text))

    def to_json(self) -> dict[str, Any]:
        """Counts, violations, the lines as they are and in words, and the steps."""
        return {
            "name": self.name,
            "recorded": self.recorded,
            "lines": [dict(line) for line in self.lines],
            "reported": list(reported(self.lines)),
            "rules": {count.rule: count.judged for count in self.rules},
            "violations": [str(violation) for violation in self.violations],
            "rows": [dict(row) for row in self.rows],
        }

    def print(self, console: Console) -> None:
        """The lines of a shrunk run, the diagram, what was judged, and what is broken."""
        if self.shrunk is not None:
            for line in reported(self.lines):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print(text_of(self.diagram), markup=False, highlight=False, soft_wrap=True)
        counted = f"{len(self.rows)} steps judged, {len(self.rules)} rules at stake, {len(self.violations)} violations"
        console.print(counted, highlight=False)
        if self.shrunk is not None:
            left = f"shrunk from {self.recorded} lines to {len(self.lines)}; to run them again: "
            console.print(f"{left}eos serve --feed {self.shrunk}", markup=False, highlight=False, soft_wrap=True)
        for violation in self.violations:
            console.print(str(violation), markup=False, highlight=False)


@dataclass(frozen=True, slots=True)
class _Played:
    """Lines that were played, up to the one whose steps break a rule, or to the end."""

    rows: tuple[Row, ...]
    violations: tuple[StepViolation, ...]
    used: int
    monitor: Monitor


def run(file: Path, shrink_seconds: float = SECONDS, svg: Path | None = None, **of_traces: object) -> WireReplay:
    """Make the run of a wire log again, with the defect that it had; what breaks a rule is shrunk.

    Args:
        file: the log.
        shrink_seconds: how long it is shrunk; 0 leaves it as it is.
        svg: draw it into this file too.
        **of_traces: what says which trace to make or to read; a log leaves no choice in that.

    Raises:
        BadInput: it is no wire log, the file for what is left of it cannot be written, or a choice was made.
    """
    chosen = [f"--{name.replace('_', '-')}" for name, value in of_traces.items() if value is not None]
    if chosen:
        raise BadInput(f"{file} is a wire log, of one run: nothing in it is chosen by {', '.join(chosen)}")
    found, read = logged(file)
    lines = tuple(read)
    with with_defect(found.wire.defect):
        played, shown, shrunk = _played(found, lines), lines, None
        if played.violations and shrink_seconds:
            with Console(stderr=True).status(f"{played.used} lines to a violation: shrinking"):
                broken_by = _place(played.violations[0])
                shown = _shrunk(found, lines[: played.used], broken_by, shrink_seconds)
            played = _played(found, shown, broken_by)
            shrunk = file.with_name(SHRUNK)
            _write(shrunk, (found.head, *shown))
    again = f"eos replay {file if shrunk is None else shrunk}"
    report = WireReplay(
        _name(found, file),
        len(lines),
        shown,
        played.rows,
        tuple(played.monitor.rule_counts()),
        tuple(replace(violation, replay=again) for violation in played.violations),
        shrunk,
    )
    if svg is not None:
        draw(report.diagram, svg)
    return report


def _write(file: Path, lines: Sequence[Line]) -> None:
    with writing(file):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _name(found: LoggedRun, file: Path) -> str:
    profile = found.settings.profile
    wrong = f", defect {found.wire.defect}" if found.wire.defect else ""
    return f"{file}: {profile.name}, transaction.version {profile.transaction_version}{wrong}"


def _place(violation: StepViolation) -> Place:
    return violation.rule, violation.guard


def _shrunk(found: LoggedRun, lines: Sequence[Line], place: Place, seconds: float) -> tuple[Line, ...]:
    def fails(attempt: Sequence[Line]) -> int | None:
        try:
            played = _played(found, attempt, place)
        except Exception:  # noqa: BLE001  # a defect may break anything, and that is no rule's word
            return None
        return played.used if played.violations else None

    return fewest(lines, fails, seconds)


def _played(found: LoggedRun, lines: Sequence[Line], place: Place | None = None) -> _Played:
    """Play lines until a step breaks a rule by a guard, or any rule if none is given."""
    monitor, rows, again = Monitor(), list[Row](), found.begin()
    violations: list[StepViolation] = []

    def judge(row: Row) -> None:
        rows.append(row)
        violations.extend(each for each in monitor.judge(row) if place in (None, _place(each)))

    again.service.world.observe(judge)
    for used, line in enumerate(lines, start=1):
        again.play((line,))
        if violations:
            return _Played(tuple(rows), tuple(violations), used, monitor)
    violations.extend(each for each in monitor.finish() if place in (None, _place(each)))
    return _Played(tuple(rows), tuple(violations), len(lines), monitor)
