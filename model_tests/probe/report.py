"""What came of probing a broker: for people, for programs, for the shell."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.probe.fingerprint import Fingerprint
from model_tests.probe.shrinking import Signature

SHOWN = 5
"""Disagreements that are printed with their drawing."""


@dataclass(slots=True)
class Cause:
    """Disagreements with one signature.

    Attributes:
        signature: of all of them.
        sessions: how many sessions showed it.
        script: the shortest script that does, a line a step.
        session: that script as it was played, in the format of recorded sessions.
        drawing: it as a sequence diagram of text.
        svg: likewise, for a page.
        given: the broker's value in that script.
        allowed: the specification's value there.
        guard: of the specification, which decided, and on which values.
        rules: at stake, each with its source.
        runs: sessions that shrinking took.
        behaviours: each of which alone explains it, with the value that does; two that do together if none does alone.
        file: that the session was written to, empty where it was not.
    """

    signature: Signature
    sessions: int = 1
    script: tuple[str, ...] = ()
    session: Mapping[str, Any] = field(default_factory=dict)
    drawing: str = ""
    svg: str = ""
    given: str = ""
    allowed: str = ""
    guard: str = ""
    rules: tuple[tuple[str, str], ...] = ()
    runs: int = 0
    behaviours: tuple[str, ...] = ()
    file: str = ""

    def to_json(self) -> dict[str, Any]:
        """The cause as JSON values.

        Fields:
            api: name of the request that is answered otherwise
            field: the first field that differs
            given: the broker's value, in the shortest script
            allowed: the specification's value there
            sessions: sessions that showed it
            steps: of the shortest script that shows it
            script[]: that script, a line a step
            guard: which check of the specification decided, and on which values
            rules[].rule: a rule at stake
            rules[].source: where it is from
            runs: sessions that shrinking took
            behaviours[]: behaviour and value, each of which alone explains it, or two of them that do together
            file: file of the session; empty if it was not written
            session.*: the session, in the format of recordings
        """
        return {
            "api": self.signature.api,
            "field": self.signature.field,
            "given": self.given,
            "allowed": self.allowed,
            "sessions": self.sessions,
            "steps": len(self.script),
            "script": list(self.script),
            "guard": self.guard,
            "rules": [{"rule": rule, "source": source} for rule, source in self.rules],
            "runs": self.runs,
            "behaviours": list(self.behaviours),
            "file": self.file,
            "session": dict(self.session),
        }


@dataclass(slots=True)
class FamilyTally:
    """Sessions of one family."""

    sessions: int = 0
    steps: int = 0
    undecided: int = 0
    disagreed: int = 0


@dataclass(slots=True)
class ProbeReport:
    """The outcome of a run; every judged step is agreed, undecided or disagreed.

    Attributes:
        broker: its address.
        profile: the release that it was compared with.
        level: how much of its state it shows.
        seed: of the scripts.
        origins: how many sessions were drawn, directed and probing.
        undecided: steps and ends of sessions that decide nothing, by reason.
        branches: how often each branch of the specification decided, by name.
        reachable: the branches that sessions can reach under this release.
        failures: why the broker could not be judged to the end, one line each.
        left: what could not be removed.
        fingerprint: what the broker behaves like, if that was to be found.
    """

    broker: str
    profile: str = ""
    transaction_version: int = 0
    level: str = ""
    seed: int = 0
    families: dict[str, FamilyTally] = field(default_factory=dict)
    origins: Counter[str] = field(default_factory=Counter)
    causes: dict[Signature, Cause] = field(default_factory=dict)
    undecided: Counter[str] = field(default_factory=Counter)
    branches: Counter[str] = field(default_factory=Counter)
    reachable: frozenset[str] = frozenset()
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    fingerprint: Fingerprint | None = None
    requests: int = 0
    seconds: float = 0.0

    @property
    def sessions(self) -> int:
        """How many were played."""
        return sum(tally.sessions for tally in self.families.values())

    @property
    def steps(self) -> int:
        """How many were judged."""
        return sum(tally.steps for tally in self.families.values())

    @property
    def disagreed(self) -> int:
        """Steps at which the broker differs: at most one of a session."""
        return sum(tally.disagreed for tally in self.families.values())

    @property
    def missed(self) -> tuple[str, ...]:
        """The branches that sessions can reach and none has."""
        return tuple(sorted(self.reachable - set(self.branches)))

    @property
    def exit_code(self) -> int:
        """0 all agrees, 1 something disagrees or the broker failed in the middle, 2 nothing was judged."""
        if not self.steps:
            return NOTHING_JUDGED
        return VIOLATED if self.causes or self.failures else HOLDS

    def to_json(self) -> dict[str, Any]:
        """The whole report.

        Fields:
            broker: its address
            profile: the release that it was compared with
            transaction_version: the transaction version that it was compared with
            observed: how much of its state it shows: `full`, `offsets` or `none`
            seed: of the scripts
            sessions: sessions that were played
            origins.*: of these, `drawn` from the seed, `directed`, and `probing` for behaviours of releases
            steps: steps that were judged: agreed, undecided or disagreed
            agreed: steps that are as the specification allows
            disagreed_steps: steps that are not
            undecided.*: steps and ends of sessions that decide nothing, by reason
            families.*.sessions: sessions of the family
            families.*.steps: steps of these
            families.*.undecided: of these, undecided ones
            families.*.disagreed: of these, disagreed ones
            branches.*: how often a branch of the specification decided, by name
            branches_reachable: branches that sessions can reach under this release
            branches_missed[]: those that none has reached
            failures[]: why the broker could not be judged to the end
            notes[]: what else is to be known: neighbours that no client can distinguish, interruptions
            left[]: what could not be removed
            requests: requests that were sent
            seconds: duration
        """
        return {
            "broker": self.broker,
            "profile": self.profile,
            "transaction_version": self.transaction_version,
            "observed": self.level,
            "seed": self.seed,
            "sessions": self.sessions,
            "origins": dict(self.origins),
            "steps": self.steps,
            "agreed": self.steps - self.disagreed - sum(tally.undecided for tally in self.families.values()),
            "disagreed_steps": self.disagreed,
            "undecided": dict(self.undecided),
            "families": {name: asdict(tally) for name, tally in self.families.items()},
            "causes": [cause.to_json() for cause in self.causes.values()],
            "branches": dict(self.branches),
            "branches_reachable": len(self.reachable | set(self.branches)),
            "branches_missed": list(self.missed),
            "failures": list(self.failures),
            "notes": list(self.notes),
            "left": list(self.left),
            "fingerprint": None if self.fingerprint is None else self.fingerprint.to_json(),
            "requests": self.requests,
            "seconds": round(self.seconds, 3),
        }

    def print(self, console: Console) -> None:
        """Write the report for a person to read."""
        for line in self.fingerprint.lines() if self.fingerprint is not None else ():
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if self.families:
            console.print(self._table())
        for number, cause in enumerate(self.causes.values()):
            console.print(f"[bold red]disagreed[/] {escape(str(cause.signature))}: in {cause.sessions} sessions")
            if number < SHOWN:
                for line in _detailed(cause):
                    console.print(line, markup=False, highlight=False, soft_wrap=True)
        for reason, count in self.undecided.most_common():
            console.print(f"undecided, {count} times: {reason}", markup=False, highlight=False, soft_wrap=True)
        for line in (
            *self.failures,
            *self.notes,
            *(f"not removed: {what}" for what in self.left[:SHOWN]),
            self._closing(),
        ):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _table(self) -> Table:
        title = f"{self.broker} compared with Kafka {self.profile}, transaction.version {self.transaction_version}"
        table = Table(title=title, box=None)
        table.add_column("family")
        for heading in ("sessions", "steps", "undecided", "disagreed"):
            table.add_column(heading, justify="right")
        for name, tally in self.families.items():
            counts = (tally.sessions, tally.steps, tally.undecided, tally.disagreed)
            table.add_row(name, *(f"{count:,}" for count in counts))
        return table

    def _closing(self) -> str:
        if not self.steps:
            return "nothing could be judged"
        state = {"full": "its whole state", "offsets": "the ends of its partitions", "none": "its answers alone"}
        return (
            f"{self.steps:,} steps of {played_in(self)} judged by {state.get(self.level, self.level)}, "
            f"{self.disagreed:,} disagreed for {len(self.causes)} causes; {coverage_of(self)}; "
            f"{self.requests:,} requests in {self.seconds:.1f} s"
        )


def played_in(report: ProbeReport) -> str:
    """How many sessions, and how many of them were drawn, directed and probing."""
    origins = ", ".join(f"{count:,} {origin}" for origin, count in report.origins.most_common())
    return f"{report.sessions:,} sessions ({origins})"


def coverage_of(report: ProbeReport) -> str:
    """How much of what sessions can reach was reached."""
    reached = len(report.branches)
    return f"{reached} of {reached + len(report.missed)} branches that sessions can reach decided"


def _detailed(cause: Cause) -> Iterator[str]:
    yield from cause.drawing.splitlines()
    yield f"  allowed  {cause.allowed}"
    yield f"  given    {cause.given}"
    yield f"  decision {cause.guard}"
    for rule, source in cause.rules:
        yield f"  rule     {rule} ({source})"
    if cause.behaviours:
        yield f"  explained by {' or '.join(cause.behaviours)}"
    yield f"  shrunk to {len(cause.script)} steps in {cause.runs} runs"
    if cause.file:
        yield f"  again    eos conform {cause.file}"
