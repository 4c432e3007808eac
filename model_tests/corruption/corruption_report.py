"""`eos check PATH --corrupt N`: which corruptions of true traces the check detects, and which it does not."""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final, TypeAlias

from rich.console import Console
from rich.table import Table

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace, corrupted
from model_tests.corruption.undetected_reasons import MissingEvidence, Reason, is_unread, why_unseen
from model_tests.monitor.files import rows_of
from model_tests.monitor.monitor import Monitor
from model_tests.simulate.simulate import WORKLOADS
from model_tests.traces.files_at import trace_files
from model_tests.traces.schema import Row


def chosen_traces(path: Path, most: int, seed: int) -> list[tuple[str, Sequence[Row]]]:
    """So many whole traces of a path, each with its workload where the folder of its file is named so.

    Raises:
        BadInput: there is no trace file, one cannot be read, or no trace in them is whole.
    """
    files = trace_files(path)
    named = sorted({(row["trace"], str(file)) for file in files for row in rows_of(file)})
    kept = set(Random(seed).sample(named, min(most, len(named))))  # a sample, no secret
    found: dict[tuple[int, str], list[Row]] = {}
    for file in files:
        for row in rows_of(file):
            if (row["trace"], str(file)) in kept:
                found.setdefault((row["trace"], str(file)), []).append(row)
    whole = [(_workload_of(Path(file)), sorted(rows, key=lambda row: row["step"])) for (_, file), rows in found.items()]
    whole = [(workload, rows) for workload, rows in whole if [row["step"] for row in rows] == list(range(len(rows)))]
    if not whole:
        raise BadInput(f"{path}: no whole trace, from step 0 on, that could be corrupted")
    return [(workload, tuple(rows)) for workload, rows in whole]


def _workload_of(file: Path) -> str:
    return next((name for name in WORKLOADS if name in file.parts), "")


REPORTED: Final = "reported"
SET_ASIDE: Final = "set aside"
KNOWN: Final = "outside a domain"
UNSEEN: Final = "unseen"

MOST_SHOWN: Final = 5
"""What is unseen most often that is printed of each kind; the JSON has all."""

_NOTICED: Final = (REPORTED, SET_ASIDE)
_NOT_REPORTED: Final = tuple(missing.value for missing in MissingEvidence)
_OUTCOMES: Final = (*_NOTICED, KNOWN, *_NOT_REPORTED, UNSEEN)
_TRIES: Final = 4
"""Draws of a step after which a trace is left that cannot be corrupted in some way."""

_Named: TypeAlias = tuple[str, Sequence[Row]]
"""The name of a workload, and a trace of it."""


@dataclass(frozen=True, slots=True)
class CorruptionCount:
    """The number of corruptions of one kind, in one workload, to steps of the same apis, with the same outcome.

    Attributes:
        apis: of the step, or of the two that changed places; with the column that was relabelled.
        outcome: reported, set aside, violated where the rule is not claimed, why the trace may be true all the same, or
            what it does not show; unseen if none of these.
        first: the trace and the place of the first of them.
    """

    kind: str
    workload: str
    apis: str
    outcome: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class CorruptionReport:
    """What was noticed of corrupted traces.

    Attributes:
        traces: true traces that were corrupted.
        left_out: traces that break a rule as they are, so that nothing follows from a corruption.
        contradictions: corruptions that are reported though they are shown to be harmless.
    """

    traces: int
    left_out: int
    seconds: float
    outcomes: tuple[CorruptionCount, ...]
    contradictions: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Whether the check contradicts itself, or there was nothing to corrupt."""
        if self.contradictions:
            return VIOLATED
        return HOLDS if self.outcomes else NOTHING_JUDGED

    def count(self, outcome: str, kind: str = "", workload: str = "") -> int:
        """The number of corruptions with this outcome, of a kind or of all, in a workload or in all."""
        of_these = (o for o in self.outcomes if kind in ("", o.kind) and workload in ("", o.workload))
        return sum(each.count for each in of_these if each.outcome == outcome)

    def harmful(self, kind: str = "", workload: str = "") -> int:
        """The number of corruptions that are not shown to be harmless."""
        return sum(self.count(outcome, kind, workload) for outcome in _OUTCOMES)

    def rate(self, kind: str = "", workload: str = "") -> float | None:
        """Of those, the share that is reported or set aside; None without any."""
        harmful = self.harmful(kind, workload)
        noticed = sum(self.count(outcome, kind, workload) for outcome in _NOTICED)
        return noticed / harmful if harmful else None

    @property
    def rates(self) -> Mapping[str, float | None]:
        """The rate of each kind."""
        return {kind.value: self.rate(kind) for kind in CorruptionKind}

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values, with the rates."""
        by_workload = {name: self.rate(workload=name) for name in sorted({o.workload for o in self.outcomes})}
        return {**asdict(self), "rates": self.rates, "rates_by_workload": by_workload}

    def print(self, console: Console) -> None:
        """Rates by kind, why the others are harmless or cannot be seen, what is unseen, and what contradicts itself."""
        made = sum(each.count for each in self.outcomes)
        left_out = f", {self.left_out} left out that break a rule as they are" if self.left_out else ""
        console.print(f"{made} corruptions of {self.traces} traces{left_out}, {self.seconds:.1f} s", highlight=False)
        console.print(self._table())
        for reason in Reason:
            if count := self.count(reason.value):
                console.print(f"harmless: {count} x {reason.value}", markup=False, highlight=False)
        for missing in MissingEvidence:
            if count := self.count(missing.value):
                console.print(f"not shown: {count} x {missing.value}", markup=False, highlight=False)
        for kind in CorruptionKind:
            unseen = sorted(
                (o for o in self.outcomes if o.kind == kind and o.outcome == UNSEEN), key=lambda o: -o.count
            )
            listed = ", ".join(f"{each.count} x {each.apis} ({each.first})" for each in unseen[:MOST_SHOWN])
            if listed:
                console.print(f"unseen, {kind.value}: {listed}", markup=False, highlight=False)
        for line in self.contradictions:
            console.print(line, style="red", markup=False, highlight=False)

    def _table(self) -> Table:
        table = Table()
        for heading in ("corruption", *_NOTICED, KNOWN, "not shown", UNSEEN, "harmless", "rate"):
            table.add_column(heading, width=max(5, *map(len, heading.split())))
        for kind in CorruptionKind:
            counts = [self.count(outcome, kind) for outcome in (*_NOTICED, KNOWN)]
            counts += [sum(self.count(outcome, kind) for outcome in _NOT_REPORTED), self.count(UNSEEN, kind)]
            without_harm = sum(self.count(reason.value, kind) for reason in Reason)
            rate = self.rate(kind)
            table.add_row(kind.value, *map(str, (*counts, without_harm)), "-" if rate is None else f"{rate:.0%}")
        return table


def run(path: str, corruptions: int, seed: int = 0) -> CorruptionReport:
    """Corrupt true traces of a path by chance, and see what is said of them, in this process.

    Args:
        path: of the traces: a file or a directory, Parquet or NDJSON.
        corruptions: their number.
        seed: draws the traces, the steps, and the changes.

    Raises:
        BadInput: there is no trace, or none that is whole.
    """
    return corruption_report(chosen_traces(Path(path), corruptions, seed), corruptions, seed)


def corruption_report(traces: Sequence[_Named], corruptions: int, seed: int = 0) -> CorruptionReport:
    """The same of traces at hand.

    Args:
        traces: each with the name of its workload, empty where it is not known; one at a time is looked at.
        corruptions: their number; they and the kinds take turns among the traces.
        seed: of the draws.
    """
    started = perf_counter()
    true = [place for place, (_, rows) in enumerate(traces) if rows and not judged(rows)[0]]
    found: dict[tuple[str, str, str, str], list[str]] = {}
    contradictions: list[str] = []
    for number, (workload, rows, kind) in enumerate(islice(_turns(traces, true), corruptions)):
        made = _drawn(rows, kind, Random(zlib.crc32(f"{seed}-{number}".encode())))  # a sample, no secret
        if made is None:
            continue
        outcome, listed = _outcome(rows, made)
        where = f"trace {rows[0]['trace']}, step {made.place}"
        found.setdefault((kind.value, workload, _apis(rows, made), outcome), []).append(where)
        if listed:
            contradictions.append(f"{where}, {kind.value} of {_apis(rows, made)}: {listed}")
    outcomes = tuple(CorruptionCount(*key, len(places), places[0]) for key, places in sorted(found.items()))
    seconds = perf_counter() - started
    return CorruptionReport(len(true), len(traces) - len(true), seconds, outcomes, tuple(contradictions))


def judged(rows: Iterable[Row]) -> tuple[bool, Counter[str]]:
    """Whether a trace breaks a rule that is claimed there, and how often each that is not."""
    monitor = Monitor()
    broken = [violation for row in rows for violation in monitor.judge(row)]
    broken += monitor.finish()
    return bool(broken), Counter({count.rule: count.known for count in monitor.rule_counts()})


def _turns(traces: Sequence[_Named], true: Sequence[int]) -> Iterator[tuple[str, Sequence[Row], CorruptionKind]]:
    """The true traces over and over, each with every kind."""
    for place in cycle(true):
        workload, rows = traces[place]
        yield from ((workload, rows, kind) for kind in CorruptionKind)


def _drawn(rows: Sequence[Row], kind: CorruptionKind, chance: Random) -> RandomlyCorruptedTrace | None:
    return next((made for made in (corrupted(rows, kind, chance) for _ in range(_TRIES)) if made is not None), None)


def _outcome(true: Sequence[Row], made: RandomlyCorruptedTrace) -> tuple[str, str]:
    """What a corruption comes to, and why it should not if it contradicts what was shown."""
    broken, known = judged(made.rows)
    unread = is_unread(true, made)
    if broken:
        return REPORTED, f"reported, but {Reason.UNREAD.value}" if unread else ""
    if unread:
        return Reason.UNREAD.value, ""
    if any(map(is_late, made.rows, made.rows[1:])):
        return SET_ASIDE, ""
    if known - judged(true)[1]:
        return KNOWN, ""
    why = why_unseen(true, made)
    return (UNSEEN if why is None else why.value), ""


def is_late(before: Row, row: Row) -> bool:
    """Whether a step follows one that is later by the world's clock; the check sets it aside by name."""
    return bool(row["world_ms"] >= 0 and before["world_ms"] > row["world_ms"])


def _apis(true: Sequence[Row], made: RandomlyCorruptedTrace) -> str:
    api = str(true[made.place]["api"])
    if made.kind is CorruptionKind.SWAP:
        return " and ".join(sorted((api, str(true[made.other]["api"]))))
    return f"{api}.{made.column}" if made.kind is CorruptionKind.RELABEL else api
