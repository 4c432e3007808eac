"""The mutants of the decisions: made from their texts, always the same ones, and planted in the running protocol."""

import ast
import copy
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache
from itertools import chain
from types import CodeType, MappingProxyType, ModuleType
from typing import Any, Final
from unittest.mock import patch

from model_tests.mutants.decisions.functions import DecisionFunction, decisions, modules
from model_tests.mutants.decisions.mutations import Edit, MutationKind, edits, numbered

WORKED_OUT: Final = (
    "model_tests.audit",
    "model_tests.check",
    "model_tests.conform",
    "model_tests.corruption",
    "model_tests.histories",
    "model_tests.judging",
    "model_tests.logs",
    "model_tests.traces",
    "spec",
)
"""Packages that keep what they have worked out by decisions, and have to forget it with every mutant."""


@dataclass(frozen=True, slots=True, eq=False)
class DecisionMutant:
    """One defect of one decision.

    Attributes:
        name: the decision and the edit; the same in every run.
        of: the decision, or the one that reads a table.
        edit: of the decision's text; None for the cell of a table.
        table: the module, the table's name in it, and the table with another cell.
    """

    name: str
    kind: MutationKind
    of: DecisionFunction
    edit: Edit | None = None
    table: tuple[ModuleType, str, object] | None = None

    @property
    def decision(self) -> str:
        """The name of the decision; of the cell of a table that of the table."""
        return self.name.partition(":")[0]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Everything that uses the decision uses the mutant inside this context, and nothing is remembered."""
        with self.planted():
            forget()
            try:
                yield
            finally:
                forget()

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The decision is the mutant inside this context, by whatever name it is bound."""
        if self.table is not None:
            module, name, instead = self.table
            with ExitStack() as stack:
                for holder in _holding(name, getattr(module, name)):
                    stack.enter_context(patch.object(holder, name, instead))
                yield
        elif self.edit is not None:
            function, true = self.of.function, self.of.function.__code__
            function.__code__ = _compiled(self.of, self.edit)
            try:
                yield
            finally:
                function.__code__ = true


def _holding(name: str, table: object) -> list[ModuleType]:
    """The modules that know the table by this name: its own, and those that import it."""
    ours = [module for known, module in sys.modules.items() if known.startswith(WORKED_OUT)]
    return [module for module in ours if vars(module).get(name) is table]


def forget() -> None:
    """Whatever was worked out by a decision and kept is worked out again."""
    for kept in _keeping():
        kept.cache_clear()


def _keeping() -> Iterator[Any]:
    return chain.from_iterable(_kept_by(name) for name in list(sys.modules) if name.startswith(WORKED_OUT))


@cache
def _kept_by(name: str) -> tuple[Any, ...]:
    """The functions of a module that keep their results; looked up once, since it happens for every mutant."""
    of = vars(sys.modules[name]).values()
    return tuple(value for value in of if isinstance(value, _lru_cache_wrapper) and value.__module__ == name)


@cache
def mutants() -> tuple[DecisionMutant, ...]:
    """Every mutant of every decision, in the order of the texts; those of tables last."""
    made = [mutant for decision in decisions() for mutant in _of(decision)]
    return (*made, *_of_tables())


def by_name() -> Mapping[str, DecisionMutant]:
    """The mutants by their names."""
    return MappingProxyType({mutant.name: mutant for mutant in mutants()})


def _of(decision: DecisionFunction) -> Iterator[DecisionMutant]:
    found = list(edits(decision.tree, decision.records))
    for edit, what in zip(found, numbered(edit.what for edit in found), strict=True):
        yield DecisionMutant(f"{decision.name}: {what}", edit.kind, decision, edit)


@cache
def _compiled(decision: DecisionFunction, edit: Edit) -> CodeType:
    tree: ast.FunctionDef = copy.deepcopy(decision.tree, {id(edit.node): edit.instead})
    tree.decorator_list = []
    module = ast.fix_missing_locations(ast.Module([tree], []))
    scratch = dict(vars(decision.module))
    exec(compile(module, f"<{decision.name}, mutated>", "exec"), scratch)  # our own text, one node changed
    return scratch[tree.name].__code__  # type: ignore[no-any-return]


# --- tables ---------------------------------------------------------------------------------------------------

READS: Final = {
    "WITHOUT_BUMP": "ending.cell",
    "WITH_BUMP": "ending.cell",
    "EMPTY_ABORT_REFUSED": "ending.cell",
    "REPORTED": "committing.reported",
    "SCALA_REPORTED": "committing.reported",
    "UNAVAILABLE": "verification.reported",
    "HANDING_OUT": "ids.initialize",
    "LOGGED_AS": "coordinator_steps.not_logged",
    "NOT_LOGGED": "coordinator_steps.unless_failed",
    "PASSED_ON": "coordinator_steps.unless_failed",
    "ELSEWHERE": "coordinator_steps.unless_failed",
}
"""Tables of the protocol, and the decision that reads each."""


def tables() -> Iterator[tuple[ModuleType, str, Any]]:
    """Every table of a decision's module that is its own: the module, the name, the table."""
    for module in modules():
        for name, value in vars(module).items():
            of_cells = isinstance(value, MappingProxyType | tuple) and name.isupper() and not name.startswith("_")
            if of_cells and f"{name}: Final" in inspect.getsource(module):
                yield module, name, value


def _of_tables() -> Iterator[DecisionMutant]:
    readers = {decision.name: decision for decision in decisions()}
    for module, name, table in tables():
        of = readers[READS[name]]
        family = module.__name__.rpartition(".")[2]
        for what, instead in _changed(table):
            yield DecisionMutant(f"{family}.{name}: {what}", MutationKind.CELL, of, table=(module, name, instead))


def _changed(table: Any) -> Iterator[tuple[str, object]]:
    """The table with another answer in one cell, for each; with an entry less, where it is a list of names."""
    if isinstance(table, tuple):
        for position, entry in enumerate(table):
            yield f"without {_named(entry)}", (*table[:position], *table[position + 1 :])
        return
    answers = sorted(set(table.values()))
    for cell, answer in table.items():
        other = answers[(answers.index(answer) + 1) % len(answers)]
        yield f"cell {_named(cell)} says {_named(other)}", MappingProxyType({**table, cell: other})


def _named(value: object) -> str:
    return str(getattr(value, "name", value))
