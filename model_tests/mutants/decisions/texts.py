"""The texts that tables of mutants are about: each decision, each table of the protocol, each system."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import MappingProxyType

import spec.systems
from model_tests.common.derived import Texts, combined, digest, digest_of_file
from model_tests.mutants.decisions.made import mutants, tables


@cache
def of_decisions() -> Texts:
    """The digest of every decision that has mutants, and of every table that decides cell by cell."""
    decided = dict.fromkeys(mutant.of for mutant in mutants() if mutant.table is None)
    found = {decision.name: digest(decision.tree) for decision in decided}
    for module, name, _ in tables():
        family = module.__name__.rpartition(".")[2]
        found[f"{family}.{name}"] = digest(_assignment(inspect.getsource(module), name))
    return MappingProxyType(found)


def of_systems(names: Iterable[str]) -> Texts:
    """The digest of each system: of its own module or package, and of what that has from others among the systems.

    Args:
        names: of systems, as their modules are called.
    """
    return MappingProxyType({f"system {name}": _of_system(name) for name in sorted(set(names))})


@cache
def _of_system(name: str) -> str:
    waiting, read = list(_files(name)), dict[Path, str]()
    while waiting:
        path = waiting.pop()
        if path not in read:
            read[path] = digest_of_file(path)
            waiting.extend(_imported(path))
    return combined([read[path] for path in sorted(read)])


def _files(name: str) -> Iterator[Path]:
    root = Path(spec.systems.__path__[0])
    inside = root / name
    yield from sorted(inside.glob("*.py")) if inside.is_dir() else [root / f"{name}.py"]


def _imported(path: Path) -> Iterator[Path]:
    """The files of systems from which a file imports something."""
    prefix = f"{spec.systems.__name__}."
    root = Path(spec.systems.__path__[0])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(prefix):
            at = root.joinpath(*str(node.module).removeprefix(prefix).split("."))
            named = (at, *(at / alias.name for alias in node.names))
            yield from (module for module in (each.with_suffix(".py") for each in named) if module.exists())


def _assignment(source: str, name: str) -> ast.AST:
    for node in ast.parse(source).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                return node
    raise KeyError(f"nothing is assigned to {name}")
