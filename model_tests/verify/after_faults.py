"""What happens after which fault, under version 2: for each pair an instance, pinned, in which it does.

A claim about what follows a fault is about nothing where nothing follows. So each action of the transactions has to
happen after each fault in one of some small instances, which the table names with the length of a shortest run.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from spec.engines.afterwards import shortest_after
from spec.engines.finite import instance_of
from spec.engines.liveness import Graph, graph_of
from spec.engines.verdict import Happening
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.faults import FAULTS, INSTANCES, Happens
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import TransactionKnobs


@dataclass(frozen=True, slots=True)
class AfterFault:
    """An action that happens after a fault.

    Attributes:
        fault: what goes wrong, or in between (`FAULTS`).
        action: of the system of transactions.
        instance: name of the first instance in which it does; empty where it does in none.
        steps: actions of a shortest run there, up to and with this one; 0 where there is none.
    """

    fault: str
    action: str
    instance: str = ""
    steps: int = 0


def table(instances: Mapping[str, TransactionKnobs] = INSTANCES) -> tuple[AfterFault, ...]:
    """A row for each fault and each action of any of the instances."""
    found: dict[tuple[str, str], AfterFault] = {}
    actions: dict[str, None] = {}
    for name, knobs in instances.items():
        system = transactions(knobs, remembered(decisions(knobs)))
        actions |= dict.fromkeys(action.name for action in system.actions)
        graph = graph_of(system, instance_of(system, knobs.sizes()))
        for fault, happens in FAULTS.items():
            for action, steps in _after(graph, happens).items():
                found.setdefault((fault, action), AfterFault(fault, action, name, steps))
    return tuple(found.get((fault, action), AfterFault(fault, action)) for fault in FAULTS for action in actions)


def _after(graph: Graph, happens: Happens) -> Mapping[str, int]:
    def is_fault(happening: Happening) -> bool:
        return happens(happening.action, happening.at)

    return {action: len(run) for action, run in shortest_after(graph, is_fault).items()}


def lacking(rows: Iterable[AfterFault]) -> Iterator[str]:
    """The pairs of which no instance shows that the action happens after the fault: a line each."""
    yield from (f"{row.action} is never seen after: {row.fault}" for row in rows if not row.instance)
