"""The common part of every machine: its rules from a list of events, an account of its runs, and invariants."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from model_tests.machines.playing import NUMBERS
from model_tests.machines.rule_counts import Ledger, RuleViolated
from reference.event import Event
from reference.tape import Tape
from spec.rules import Rule

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


class AccountedMachine(RuleBasedStateMachine):
    """A machine that stops at the first rule that does not hold.

    Attributes:
        ledger: the account of all runs of this machine; a run of the part makes a class with one of its own.
        world: what the events happen in.
    """

    ledger: ClassVar[Ledger] = Ledger()
    world: Any

    def may_happen(self, event: Event[Any]) -> bool:
        """Whether an event is one of those that can be chosen now."""
        return event.ready(self.world)

    def happens(self, event: Event[Any], number: int) -> None:
        """Let an event happen, and look."""
        event.act(self.world, Tape.of_number(number))
        self.world.after_event()

    def holds(self, broken: Rule) -> None:
        """The invariants of a rule have seen nothing wrong in the events so far."""
        violation = self.ledger.seen_by_invariants(broken)
        if violation is not None:
            raise RuleViolated(violation)

    @invariant()
    def no_rule_is_broken(self) -> None:
        """Neither an invariant nor a decision has seen anything wrong, in no recorded step."""
        if self.ledger.broken:
            raise RuleViolated(self.ledger.broken[0])


class RestingMachine(AccountedMachine):
    """One whose world comes to its end when the run is over."""

    def run_to_completion(self) -> None:
        """Everything under way comes to its end; invariants are checked meanwhile."""
        raise NotImplementedError

    def teardown(self) -> None:
        """The rules still hold at the end, unless one was broken before."""
        if hasattr(self, "world") and not self.ledger.broken:
            self.run_to_completion()
            self.no_rule_is_broken()


Machine = TypeVar("Machine", bound=AccountedMachine)


def made_of(events: Iterable[Event[Any]], kept: Iterable[Rule] = ()) -> Callable[[type[Machine]], type[Machine]]:
    """Give a machine a rule of Hypothesis for each event, and for each rule of Kafka an invariant of its name.

    Args:
        events: what may happen.
        kept: rules that must hold after each event.
    """

    def generated(machine: type[Machine]) -> type[Machine]:
        for event in events:
            setattr(machine, event.name, _rule_of(event))
        for each in kept:
            setattr(machine, each.id.replace(".", "_"), _invariant_of(each))
        return machine

    return generated


def _rule_of(event: Event[Any]) -> Callable[..., None]:
    def happens(machine: AccountedMachine, number: int) -> None:
        machine.happens(event, number)

    happens.__name__, happens.__doc__ = event.name, event.act.__doc__
    return precondition(lambda machine: machine.may_happen(event))(rule(number=NUMBER)(happens))


def _invariant_of(kept: Rule) -> Callable[[AccountedMachine], None]:
    def holds(machine: AccountedMachine) -> None:
        machine.holds(kept)

    holds.__name__, holds.__doc__ = kept.id.replace(".", "_"), kept.statement
    return invariant()(holds)
