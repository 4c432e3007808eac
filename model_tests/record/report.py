"""The report of a recording: requests, outcomes of transactions, and contradictions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.record.counts import Counts

SHOWN = 10
"""Contradictions that are printed."""


@dataclass(frozen=True, slots=True)
class RecordReport:
    """The outcome of a recording.

    Attributes:
        upstream: the broker that was given.
        directory: where the files are.
        seconds: how long it ran.
        brokers: the port that stood for each broker.
        counts: what was counted.
        sessions: how many `eos conform` can judge; None without `--profile`.
        passed_over: those that it cannot, by the reason.
    """

    upstream: str
    directory: str
    seconds: float
    brokers: Mapping[str, int]
    counts: Counts
    sessions: int | None = None
    passed_over: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Whether answers contradict each other, or there were no requests."""
        if self.counts.contradicted:
            return VIOLATED
        return HOLDS if self.counts.requests else NOTHING_JUDGED

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values.

        Fields:
            upstream: the broker that was given
            directory: where the files are
            seconds: duration
            brokers.*: the port that stood for each broker
            connections: connections of clients
            closed: those that were closed because of what came over them
            requests[].api: name of a request
            requests[].software: what the client says that it is
            requests[].count: how many of these came
            errors[].api: name of a request
            errors[].software: what the client says that it is
            errors[].error: name of an error that it was answered
            errors[].count: how often
            transactions.*: transactions by how they ended
            records: records that were acknowledged
            fences: answers by which an instance learned that another has taken its place
            duplicates: batches that were acknowledged once more, as duplicates
            faults.*: what went wrong on the way, by name
            unread.*: requests and answers that passed undecoded, by api and version
            not_journaled.*: acknowledged batches that the journal lacks, by reason
            sessions: sessions that `eos conform` can judge; null without `--profile`
            passed_over.*: sessions that it cannot, by reason
            contradicted: contradictions; `contradictions` has the first of them
            contradictions[].rule: the rule that answers break together
            contradictions[].what: in one line
        """
        counts = self.counts
        return {
            "upstream": self.upstream,
            "directory": self.directory,
            "seconds": self.seconds,
            "brokers": dict(self.brokers),
            "connections": counts.connections,
            "closed": counts.closed,
            "requests": [
                {"api": api, "software": software, "count": count}
                for (software, api), count in sorted(counts.requests.items())
            ],
            "errors": [
                {"api": api, "software": software, "error": error, "count": count}
                for (software, api, error), count in sorted(counts.errors.items())
            ],
            "transactions": dict(sorted(counts.outcomes.items())),
            "records": counts.records,
            "fences": counts.fences,
            "duplicates": counts.duplicates,
            "faults": dict(sorted(counts.faults.items())),
            "unread": dict(sorted(counts.unread.items())),
            "not_journaled": dict(sorted(counts.not_journaled.items())),
            "sessions": self.sessions,
            "passed_over": dict(sorted(self.passed_over.items())),
            "contradicted": counts.contradicted,
            "contradictions": [{**asdict(each), "rule": each.rule.id} for each in counts.contradictions],
        }

    def print(self, console: Console) -> None:
        """Clients, transactions, contradictions."""
        ports = ", ".join(f"{broker} by port {port}" for broker, port in self.brokers.items())
        console.print(f"recorded {ports}; {self.seconds:.1f} s", highlight=False, markup=False)
        console.print(shown(self.counts))
        counts = self.counts
        for what, counted in (("passed undecoded", counts.unread), ("not in the journal", counts.not_journaled)):
            if counted:
                console.print(f"{what}: {_listed(counted)}", highlight=False, markup=False)
        if self.sessions is not None:
            console.print(f"sessions for eos conform: {self.sessions}", highlight=False)
        for why, count in sorted(self.passed_over.items()):
            console.print(f"{count} sessions passed over: {why}", highlight=False, markup=False)
        if counts.closed:
            console.print(f"{counts.closed} connections closed because of what came over them", highlight=False)
        for each in counts.contradictions[:SHOWN]:
            console.print(f"{each.rule.id}: {each.what}", style="red", markup=False, highlight=False)
        console.print(f"answers that cannot all be true: {counts.contradicted}", highlight=False)


def shown(counts: Counts) -> Group:
    """The counters, as they are while a recording runs and when it has ended."""
    table = Table("client", "requests", "errors")
    software = dict.fromkeys(name for name, _ in (*counts.requests, *((name, api) for name, api, _ in counts.errors)))
    for name in sorted(software):
        requests = (f"{api} {count}" for (client, api), count in counts.requests.most_common() if client == name)
        errors = (
            f"{api} {error} {count}" for (client, api, error), count in counts.errors.most_common() if client == name
        )
        table.add_row(*map(Text, (name, ", ".join(requests), ", ".join(errors))))
    lines = [
        f"transactions: {_listed(counts.outcomes) or 'none ended'}",
        f"acknowledged records: {counts.records}, duplicates: {counts.duplicates}, fences: {counts.fences}",
    ]
    if counts.faults:
        lines.append(f"faults: {_listed(counts.faults)}")
    return Group(*([table] if software else []), *map(Text, lines))


def _listed(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))
