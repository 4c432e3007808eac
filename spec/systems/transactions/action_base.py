"""The common part of the actions of clients, leaders and coordinators."""

from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

from spec.algebra import Term
from spec.systems.language import Action, Sort
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import TransactionKnobs

Guard: TypeAlias = Iterator[Term]


class TransactionActionBase:
    """Actions as guards (a fact a line, the cheapest first) and effects, each pair by the name of the action."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        self.knobs = knobs
        self.of = partial(TransactionsView, knobs, taken)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))
