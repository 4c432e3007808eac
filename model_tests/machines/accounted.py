"""The common part of every machine: an account of its runs, invariants that check it, and the checks at the end."""

from typing import ClassVar

from hypothesis.stateful import RuleBasedStateMachine, invariant

from model_tests.machines.rule_counts import Ledger, RuleViolated
from spec.rules import Rule


class AccountedMachine(RuleBasedStateMachine):
    """A machine that stops at the first rule that does not hold.

    Attributes:
        ledger: the account of all runs of this machine; a run of the part makes a class with one of its own.
    """

    ledger: ClassVar[Ledger] = Ledger()

    def holds(self, broken: Rule) -> None:
        """The invariants of a rule have seen nothing wrong in the events so far."""
        violation = self.ledger.seen_by_invariants(broken)
        if violation is not None:
            raise RuleViolated(violation)

    @invariant()
    def nothing_is_broken(self) -> None:
        """Neither an invariant nor a decision has seen anything wrong, in no recorded step."""
        if self.ledger.broken:
            raise RuleViolated(self.ledger.broken[0])


class RestingMachine(AccountedMachine):
    """One whose world comes to its end when the run is over."""

    def comes_to_its_end(self) -> None:
        """Everything under way comes to its end; invariants are asked meanwhile."""
        raise NotImplementedError

    def teardown(self) -> None:
        """The rules still hold at the end, unless one was broken before."""
        if hasattr(self, "world") and not self.ledger.broken:
            self.comes_to_its_end()
            self.nothing_is_broken()
