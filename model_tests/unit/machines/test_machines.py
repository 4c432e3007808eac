"""What machines are made of: a rule of Hypothesis for each event of their world, an invariant for each rule."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis.stateful import INVARIANT_MARKER, RULE_MARKER

from model_tests.machines.accounted import AccountedMachine, made_of
from model_tests.machines.actions import ACTIONS, EXPIRY
from model_tests.machines.actions import OTHERWISE as PRODUCERS_OTHERWISE
from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_machine import DiskMachine
from model_tests.machines.disk_runs import DISK_ACTIONS
from model_tests.machines.idempotence import IDEMPOTENCE_RULES, ForgetfulMachine, IdempotenceMachine
from model_tests.machines.pipeline_machine import PipelineMachine
from model_tests.machines.pipeline_runs import PIPELINE_ACTIONS
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from model_tests.machines.playing import of_simulation, play
from model_tests.machines.replica_events import ACTIONS as REPLICA_ACTIONS
from model_tests.machines.replica_machine import ReplicaMachine
from model_tests.machines.replica_watch import REPLICA_RULES
from model_tests.machines.rule_counts import Ledger, RuleViolated
from model_tests.machines.sending_events import SENDING_ACTIONS, SENDING_RULES
from model_tests.machines.sending_machine import SendingMachine
from model_tests.machines.transaction_machine import MACHINES, TRANSACTION_RULES, TransactionMachine
from model_tests.machines.transaction_runs import ACTIONS as TRANSACTION_ACTIONS
from model_tests.machines.transaction_runs import OTHERWISE
from model_tests.machines.transaction_setting import STORIES
from reference.event import Event
from reference.simulate.schedule_replicas import REPLICAS
from reference.simulate.schedule_transactions import TRANSACTIONS
from reference.simulate.scheduler import PRODUCERS
from reference.tape import Tape
from spec import rules
from spec.rules import Rule

MADE: Final[tuple[tuple[type[AccountedMachine], Sequence[Event[Any]], Sequence[Rule]], ...]] = (
    (IdempotenceMachine, ACTIONS, IDEMPOTENCE_RULES),
    (ForgetfulMachine, (*ACTIONS, EXPIRY), IDEMPOTENCE_RULES),
    (DiskMachine, DISK_ACTIONS, DISK_RULES),
    (SendingMachine, SENDING_ACTIONS, SENDING_RULES),
    (PipelineMachine, PIPELINE_ACTIONS, PIPELINE_RULES),
    (ReplicaMachine, REPLICA_ACTIONS, REPLICA_RULES),
    *((machine, TRANSACTION_ACTIONS, TRANSACTION_RULES) for machine in MACHINES),
)


@pytest.mark.parametrize(("machine", "events", "kept"), MADE, ids=lambda given: getattr(given, "__name__", ""))
def test_hypothesis_knows_the_events_and_rules_of_the_world(
    machine: type[AccountedMachine], events: Sequence[Event[Any]], kept: Sequence[Rule]
) -> None:
    """Neither has one more than the other, and no event stands in a list twice."""
    found, asked = known_to_hypothesis(machine, RULE_MARKER), known_to_hypothesis(machine, INVARIANT_MARKER)

    assert sorted(event.name for event in events) == sorted(found)
    assert {rule.id.replace(".", "_") for rule in kept} == asked - {"no_rule_is_broken"}


def known_to_hypothesis(machine: type[AccountedMachine], marker: str) -> set[str]:
    return {name for name, member in inspect.getmembers(machine) if hasattr(member, marker)}


def test_stories_name_events_that_there_are() -> None:
    """What happens often or never in a story is an event, and each story has a machine."""
    known = {event.name for event in TRANSACTION_ACTIONS}

    assert set() == {name for story in STORIES for name in (*story.never, *story.often)} - known
    assert list(STORIES) == [machine.story for machine in MACHINES]


class Counter:
    """A world in which there is a number."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.number = 0
        self.fallen: list[int] = []

    def rises(self, choose: Tape) -> None:
        """It rises."""
        self.number += 1 + choose.below(3)

    def falls(self, _: Tape) -> None:
        """It falls to zero."""
        self.fallen.append(self.number)
        self.number = 0

    def after_event(self) -> None:
        """No more than three hundred."""
        self.ledger.expect(rules.SEQ_ORDER, self.number <= 300, f"{self.number}")


EVENTS: Final = (Event(Counter.rises, 5), Event(Counter.falls, 1, lambda world: world.number > 200))


def test_what_is_not_ready_does_not_happen() -> None:
    """A run goes up to where the other event can happen, and ends where an invariant sees a violation."""
    calm, steep = Counter(), Counter()

    kept = play(calm, Tape.seeded(1), [(event, event.weight) for event in EVENTS], 2_000)
    broken = play(steep, Tape.seeded(1), [(EVENTS[0], 1)], 2_000)

    assert (True, False) == (kept, broken)
    assert len(calm.fallen) > 5
    assert min(calm.fallen) > 200
    assert 1 == len(steep.ledger.broken)
    assert 300 < steep.number <= 303


def test_a_machine_stops_at_its_broken_rule_and_keeps_to_what_is_ready() -> None:
    """Its rules let events of the world happen; the invariant of the rule, and no other, raises."""

    @made_of(EVENTS, (rules.SEQ_ORDER, rules.SEQ_FIRST))
    class CountingMachine(AccountedMachine):
        """A machine of the world with a number."""

    machine: Any = CountingMachine()
    machine.world, CountingMachine.ledger = Counter(), Ledger()
    machine.world.ledger = CountingMachine.ledger
    machine.rises(2)
    ready = [event.name for event in EVENTS if machine.may_happen(event)]
    machine.world.number = 300
    machine.rises(0)

    machine.seq_first()
    with pytest.raises(RuleViolated, match="301"):
        machine.seq_order()
    assert ["rises"] == ready


def test_transaction_machines_leave_out_what_their_story_excludes() -> None:
    """An event that is ready is none of a story that never has it."""
    machine, always = TransactionMachine(), next(each for each in TRANSACTION_ACTIONS if each.name == "consumer_reads")
    never = next(each for each in TRANSACTION_ACTIONS if each.name in machine.story.never)
    machine.world = type("World", (), {"instances": [type("Instance", (), {"alive": True})]})

    assert (True, True) == (machine.may_happen(always), never.ready(machine.world))
    assert not machine.may_happen(never)


FROM_SIMULATIONS: Final[tuple[tuple[Sequence[Event[Any]], Sequence[Event[Any]], set[str]], ...]] = (
    (TRANSACTIONS, TRANSACTION_ACTIONS, set(OTHERWISE)),
    (REPLICAS, REPLICA_ACTIONS, set()),
    (PRODUCERS, (*ACTIONS, EXPIRY), set(PRODUCERS_OTHERWISE)),
)
"""A simulation's events, the machine's, and the faults that it replaces by its own."""


@pytest.mark.parametrize(("simulated", "played", "replaced"), FROM_SIMULATIONS)
def test_machines_read_the_list_of_the_simulation(
    simulated: Sequence[Event[Any]], played: Sequence[Event[Any]], replaced: set[str]
) -> None:
    """Whatever goes wrong in a simulation goes wrong in the machine of the same world, under the same name and rate."""
    faults = {event.name: event.fault for event in simulated if event.fault}
    known = {event.name: event.fault for event in played}

    assert replaced <= faults.keys()
    assert {name: rate for name, rate in faults.items() if name not in replaced}.items() <= known.items()


def test_an_event_of_a_simulation_is_noted_and_acts_on_the_scheduler() -> None:
    """Faults are taken over but those that never happen, and what is usual where it is wanted, with its own weight."""
    notes: list[str] = []
    run = SimpleNamespace(simulated=Counter(), happens=notes.append)
    faults = tuple(replace(event, fault="loss") for event in EVENTS)

    (rises,) = of_simulation(EVENTS, {"rises": (7, lambda run: run.simulated.number < 2)})
    both, one = of_simulation(faults, {}), of_simulation(faults, {}, never=("falls",))
    ready = rises.ready(run)
    rises.act(run, Tape.of_number(1))

    assert (2, ["rises"], 7) == (run.simulated.number, notes, rises.weight)
    assert (True, False) == (ready, rises.ready(run))
    assert [["rises", "falls"], ["rises"]] == [[event.name for event in events] for events in (both, one)]
