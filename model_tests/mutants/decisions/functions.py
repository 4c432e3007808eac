"""Every decision function of the protocol, with its syntax tree, from which mutants are made."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Final

import spec.judging
import spec.protocol
from spec.versions import Profile

NO_DECISIONS: Final = "guards"
"""The module in which nothing is decided: guards are put in order there."""

OF_LOGS: Final = ("judge_clients", "judge_join", "judge_orphans", "judge_overdue")
"""The modules of judgements that decide over records of logs; the others compare a step with a decision."""

NAMES_ONLY: Final = frozenset(
    {
        "append.names",
        "append.rules_of",
        "append._listing",
        "coordinator.names_of",
        "produce.names",
        "records.scalars",
        "records.flatten",
        "records.build",
        "records._cached",
        "records._a_record",
        "records._example",
        "coordinator_steps.StepResult.names",
    }
)
"""Functions that list names, or take records apart: no answer and no state depends on them."""

COMPOSED: Final = (
    "committing._decided",
    "committing.commit",
    "committing.commit_in_transaction",
    "completing.marker_of",
    "coordinator_steps.abort",
    "electing.altered",
    "groups._unknown_member",
    "ids._broken",
    "ids.is_refused_at_once",
    "judge_clients.judge_own",
    "judge_clients.judge_owner",
    "produce.admit",
    "registering._unknown",
    "repl._admission",
    "repl.acknowledged",
    "repl.admitted",
    "repl.follower_high_watermark",
    "verification.met",
)
"""Decisions that hand their arguments on to others and decide nothing between."""


@dataclass(frozen=True, slots=True, eq=False)
class DecisionFunction:
    """One decision function.

    Attributes:
        name: its module and its own name, as `txn.is_ongoing`; of a property with its record, as `blocks.Block.empty`.
        function: the function itself, which every module that uses it is bound to.
        tree: its definition.
    """

    name: str
    module: ModuleType
    function: FunctionType
    tree: ast.FunctionDef

    @property
    def family(self) -> str:
        """The module without its package."""
        return self.name.partition(".")[0]

    @property
    def records(self) -> dict[str, dict[str, object]]:
        """The fields of each parameter that is a record, by its name, with their types."""
        found = {}
        for parameter in (*self.tree.args.args, *self.tree.args.kwonlyargs):
            named = ast.unparse(parameter.annotation) if parameter.annotation else ""
            record = vars(self.module).get(named)
            if isinstance(record, type) and is_dataclass(record) and record is not Profile:
                found[parameter.arg] = {field.name: field.type for field in fields(record)}
        return found


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of the protocol that decide something, by name; and those that decide over records of logs."""
    names = sorted(found.name for found in iter_modules(spec.protocol.__path__))
    deciding = (name for name in names if name != NO_DECISIONS)
    of_logs = (f"{spec.judging.__name__}.{name}" for name in OF_LOGS)
    return tuple(import_module(name) for name in (*(f"{spec.protocol.__name__}.{name}" for name in deciding), *of_logs))


@cache
def decisions() -> tuple[DecisionFunction, ...]:
    """Every function, and every property of a record, in the order in which they are written."""
    return tuple(decision for module in modules() for decision in _of(module) if decision.name not in NAMES_ONLY)


def _of(module: ModuleType) -> Iterator[DecisionFunction]:
    family = module.__name__.rpartition(".")[2]
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef):
            yield DecisionFunction(f"{family}.{node.name}", module, getattr(module, node.name), node)
        elif isinstance(node, ast.ClassDef):
            record = getattr(module, node.name)
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield DecisionFunction(
                        f"{family}.{node.name}.{part.name}", module, vars(record)[part.name].fget, part
                    )
