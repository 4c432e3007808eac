"""The report of a server: requests by client, transactions by outcome, rules that were judged."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.judging.branch_coverage import Coverage, reported
from model_tests.judging.check_report import SHOWN, RuleCount, StepViolation


@dataclass(frozen=True, slots=True)
class Requests:
    """How many requests of one api came from clients of one kind of software."""

    api: str
    software: str
    count: int


@dataclass(frozen=True, slots=True)
class ServeReport:
    """The outcome of a run.

    Attributes:
        profile: of the nodes.
        steps: of the nodes, in the order in which they were made; the monitor was given each.
        requests: that were answered, by api and software.
        outcomes: transactions that came to each end.
        violated: violations found; `violations` has the first of them.
        closed: connections that were closed because of what came over them.
        faults: how many there were, by name.
    """

    profile: str
    transaction_version: int
    nodes: int
    seconds: float
    steps: int
    requests: tuple[Requests, ...]
    outcomes: Mapping[str, int]
    rules: tuple[RuleCount, ...]
    coverage: tuple[Coverage, ...]
    violated: int
    violations: tuple[StepViolation, ...]
    closed: int
    faults: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Whether a rule was violated, or nothing was judged."""
        if self.violated:
            return VIOLATED
        return HOLDS if self.rules else NOTHING_JUDGED

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values.

        Fields:
            profile: release of the nodes
            transaction_version: their transaction version
            nodes: how many there were
            seconds: duration
            steps: steps of the nodes, each of which was judged
            requests[].api: name of a request
            requests[].software: what the client says that it is
            requests[].count: how many of these were answered
            outcomes.*: transactions by how they ended
            rules[].rule: a rule
            rules[].judged: how often it was at stake
            rules[].violations: how often it was violated
            rules[].known: how often it was violated outside its domain
            coverage[].profile: a release
            coverage[].reachable: branches of decisions that some step can reach
            coverage[].hits.*.*: how often each branch decided, by decision and name
            coverage[].unreached[]: branches that could be reached, and were not
            coverage[].unexpected[]: branches that were met though they cannot be reached
            violated: violations; `violations` has the first of them
            violations[].trace: number of the trace
            violations[].step: number of the step
            violations[].rule: the rule
            violations[].guard: the branch that should decide, or the link that is broken
            violations[].values.*: the columns by which it does
            violations[].got.*: what was answered and what the state became, as far as that is not allowed
            violations[].allowed.*: the same as the specification allows it
            violations[].replay: the command that shows the step again
            closed: connections that were closed because of what came over them
            faults.*: how many there were, by name
        """
        return asdict(self)

    def print(self, console: Console) -> None:
        """Requests, transactions, rules, branches."""
        named = f"{self.profile}, transaction.version {self.transaction_version}, nodes: {self.nodes}"
        console.print(f"{named}; {self.steps} steps in {self.seconds:.1f} s", highlight=False, markup=False)
        table = Table("client", "requests")
        for software in dict.fromkeys(each.software for each in self.requests):
            counts = (f"{each.api} {each.count}" for each in self.requests if each.software == software)
            table.add_row(software, ", ".join(counts))
        if self.requests:
            console.print(table)
        outcomes = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items())) or "none ended"
        console.print(f"transactions: {outcomes}", highlight=False)
        judged = ", ".join(f"{count.rule} {count.judged}" for count in self.rules) or "none"
        console.print(f"rules judged: {judged}", highlight=False)
        for line in reported(self.coverage):
            console.print(line, markup=False, highlight=False)
        if self.faults:
            reported_faults = ", ".join(f"{name} {count}" for name, count in self.faults.items())
            console.print(f"faults: {reported_faults}", highlight=False)
        if self.closed:
            console.print(f"{self.closed} connections closed because of what came over them", highlight=False)
        for violation in self.violations[:SHOWN]:
            console.print(str(violation), style="red", markup=False, highlight=False)
        console.print(f"violations: {self.violated}", highlight=False)
