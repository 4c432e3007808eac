"""The result of a replay of sessions: for people, for programs, for the shell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.conform.fields import Json
from spec.rules import Rule

SHOWN = 10
"""Disagreements and damages that are printed one by one."""


@dataclass(frozen=True, slots=True)
class SessionDisagreement:
    """A step that one side answered, or left behind, otherwise than the broker.

    Attributes:
        path: file of the session, empty if it is from none.
        by: specification or reference.
        expected: the recorded fields that differ, by where they are.
        got: the same fields on this side.
        guard: which guard of the specification decided, and on which values.
        rules: the rules at stake in the step.
    """

    session: str
    step: int
    by: str
    expected: Mapping[str, object]
    got: Mapping[str, object]
    api: str
    request: Json
    guard: str
    rules: tuple[Rule, ...]
    path: str = ""

    def located(self, path: str) -> "SessionDisagreement":
        """The same, with the file of its session."""
        return replace(self, path=path)

    def to_json(self) -> dict[str, object]:
        """The disagreement as JSON values.

        Fields:
            session: id of the session
            step: number of the step
            by: `specification` or `reference`
            expected.*: recorded fields that differ, by where they are
            got.*: the same on this side
            path: file of the session
            api: name of the request
            request.*: the request as it was recorded
            guard: which check of the specification decided, and on which values
            rules[]: rules at stake in the step
        """
        return {
            "session": self.session,
            "step": self.step,
            "by": self.by,
            "expected": dict(self.expected),
            "got": dict(self.got),
            "path": self.path,
            "api": self.api,
            "request": dict(self.request),
            "guard": self.guard,
            "rules": [rule.id for rule in self.rules],
        }


@dataclass(frozen=True, slots=True)
class Undecided:
    """A step that differs where the recording itself says that it may."""

    session: str
    step: int
    reason: str

    def to_json(self) -> dict[str, object]:
        """The step as JSON values.

        Fields:
            session: id of the session
            step: number of the step
            reason: why it may
        """
        return {"session": self.session, "step": self.step, "reason": self.reason}


@dataclass(slots=True)
class UnjudgedSessions:
    """Sessions that were not judged, because something in them has no specification yet; counted apart."""

    sessions: int = 0
    steps: int = 0
    apis: dict[str, int] = field(default_factory=dict)  # sessions by what they need
    families: dict[str, int] = field(default_factory=dict)

    def add(self, family: str, steps: int, wanting: tuple[str, ...]) -> None:
        """Count a session."""
        self.sessions += 1
        self.steps += steps
        self.families[family] = self.families.get(family, 0) + 1
        for what in wanting:
            self.apis[what] = self.apis.get(what, 0) + 1

    def join(self, other: "UnjudgedSessions") -> None:
        """Count what was counted elsewhere."""
        self.sessions += other.sessions
        self.steps += other.steps
        for counts, more in ((self.apis, other.apis), (self.families, other.families)):
            counts.update({name: counts.get(name, 0) + count for name, count in more.items()})

    def to_json(self) -> dict[str, object]:
        """The counts as JSON values.

        Fields:
            sessions: sessions that were not judged
            steps: their steps
            apis.*: sessions by what they need
            families.*: sessions by family
        """
        return {
            "sessions": self.sessions,
            "steps": self.steps,
            "apis": dict(self.apis),
            "families": dict(self.families),
        }


@dataclass(slots=True)
class SessionTally:
    """Judged sessions of one build and family."""

    sessions: int = 0
    steps: int = 0
    disagreed: int = 0
    undecided: int = 0

    def join(self, other: "SessionTally") -> None:
        """Count what was counted elsewhere."""
        self.sessions += other.sessions
        self.steps += other.steps
        self.disagreed += other.disagreed
        self.undecided += other.undecided


@dataclass(slots=True)
class ConformReport:
    """The outcome of a replay; every judged step is agreed, undecided or disagreed.

    Attributes:
        damage: files and lines that could not be read, one line each.
        notes: what else is worth saying, one line each.
    """

    sessions: int = 0
    steps: int = 0
    disagreed_steps: int = 0
    undecided: list[Undecided] = field(default_factory=list)
    disagreed: list[SessionDisagreement] = field(default_factory=list)
    unsupported: UnjudgedSessions = field(default_factory=UnjudgedSessions)
    tallies: dict[tuple[str, int, str], SessionTally] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def join(self, other: "ConformReport") -> None:
        """Add the results of further sessions; the time is this one's own."""
        self.sessions += other.sessions
        self.steps += other.steps
        self.disagreed_steps += other.disagreed_steps
        self.undecided += other.undecided
        self.disagreed += other.disagreed
        self.unsupported.join(other.unsupported)
        for build, tally in other.tallies.items():
            self.tallies.setdefault(build, SessionTally()).join(tally)
        self.damage += other.damage
        self.notes += other.notes

    @property
    def agreed(self) -> int:
        """Steps on which both sides agree with the broker."""
        return self.steps - self.disagreed_steps - len(self.undecided)

    @property
    def exit_code(self) -> int:
        """0 all agrees, 1 something disagrees or is damaged, 2 nothing was judged."""
        if not self.steps:
            return NOTHING_JUDGED
        return VIOLATED if self.disagreed or self.damage else HOLDS

    def to_json(self) -> dict[str, object]:
        """The whole report.

        Fields:
            damage[]: a file or line that could not be read
            notes[]: what else is worth saying
        """
        return {
            **self.figures(),
            "undecided_steps": [step.to_json() for step in self.undecided],
            "disagreed": [found.to_json() for found in self.disagreed],
            "damage": list(self.damage),
            "notes": list(self.notes),
        }

    def figures(self) -> dict[str, Any]:
        """The counts, without the single steps.

        Fields:
            sessions: sessions that were judged
            steps: their steps; each is agreed, undecided or disagreed
            agreed: steps on which specification and reference agree with the broker
            undecided: steps that differ where the recording says that they may
            disagreed_steps: steps on which one side differs
            families[].kafka: build
            families[].txn_version: its transaction version
            families[].family: family of sessions
            families[].sessions: sessions of it that were judged
            families[].steps: their steps
            seconds: seconds that it took
        """
        return {
            "sessions": self.sessions,
            "steps": self.steps,
            "agreed": self.agreed,
            "undecided": len(self.undecided),
            "disagreed_steps": self.disagreed_steps,
            "unsupported": self.unsupported.to_json(),
            "families": [
                {"kafka": kafka, "txn_version": version, "family": family, "sessions": t.sessions, "steps": t.steps}
                for (kafka, version, family), t in sorted(self.tallies.items())
            ],
            "seconds": round(self.seconds, 3),
        }

    def print(self, console: Console) -> None:
        """Write the report for a person to read."""
        if self.tallies:
            console.print(self._table())
        for found in self.disagreed[:1]:
            _print_disagreement(found, console)
        for line in _some([_line(found) for found in self.disagreed[1:]], "disagreements"):
            console.print(escape(line), soft_wrap=True)
        for line in (*_some(self.damage, "damaged"), *self.notes, *self._closing()):
            console.print(escape(line), soft_wrap=True)

    def _table(self) -> Table:
        table = Table(title="Sessions of real brokers: specification and reference", box=None)
        for heading in ("build", "version", "family"):
            table.add_column(heading)
        for heading in ("sessions", "steps", "agreed", "undecided", "disagreed"):
            table.add_column(heading, justify="right")
        for (kafka, version, family), t in sorted(self.tallies.items()):
            counts = (t.sessions, t.steps, t.steps - t.disagreed - t.undecided, t.undecided, t.disagreed)
            table.add_row(kafka, str(version), family, *(f"{count:,}" for count in counts))
        return table

    def _closing(self) -> Iterator[str]:
        waiting = self.unsupported
        if waiting.sessions:
            needs = ", ".join(f"{what} ({count:,})" for what, count in sorted(waiting.apis.items()))
            yield f"not judged: {waiting.sessions:,} sessions of {waiting.steps:,} steps, which need {needs}"
        if not self.steps:
            yield "nothing could be judged"
            return
        yield (
            f"{self.agreed:,} of {self.steps:,} steps agree, {len(self.undecided):,} undecided, "
            f"{self.disagreed_steps:,} disagreed, in {self.seconds:.1f} s"
        )


def _some(lines: list[str], what: str) -> Iterator[str]:
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"... and {len(lines) - SHOWN:,} more {what}"


def _line(found: SessionDisagreement) -> str:
    where = next(iter(found.expected))
    return (
        f"{found.session} step {found.step} ({found.api}) by the {found.by}: "
        f"{where} is {found.got[where]!r}, recorded {found.expected[where]!r}"
    )


def _print_disagreement(found: SessionDisagreement, console: Console) -> None:
    console.print(f"[bold red]disagreed[/] {escape(_line(found))}", soft_wrap=True)
    table = Table("field", "recorded", f"by the {found.by}")
    for where, expected in found.expected.items():
        table.add_row(escape(where), escape(repr(expected)), escape(repr(found.got[where])))
    console.print(f"  request  {escape(repr(dict(found.request)))}", soft_wrap=True)
    if found.guard:
        console.print(f"  decision {escape(found.guard)}", soft_wrap=True)
    if found.rules:
        console.print(f"  rules    {escape(', '.join(rule.id for rule in found.rules))}", soft_wrap=True)
    console.print(table)
