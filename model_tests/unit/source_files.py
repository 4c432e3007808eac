"""The repository as the tests of its own structure read it."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("spec", "reference", "model_tests")

IN_ONE_WORKER: Final = pytest.mark.xdist_group("source files")
"""For tests that read all of them: what was read once is known to the next."""


@dataclass(frozen=True)
class Module:
    """One Python file of ours."""

    path: Path

    @property
    def name(self) -> str:
        """Its name when imported."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def folder(self) -> str:
        """The package that it is in; a package is in itself."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def is_test(self) -> bool:
        """Whether it is a test or serves tests only."""
        return self.name.startswith("model_tests.unit") or self.path.name.startswith(("test_", "conftest"))

    @property
    def text(self) -> str:
        """What is in it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree, made anew each time: all trees together take more memory than all tests."""
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Full names of everything it imports, anywhere in the file; for `from a import b` that is `a` and `a.b`."""
        return frozenset(name for node in ast.walk(self.tree) for name in self._imported(node))

    def _imported(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = ".".join(part for part in (self._package(level), module) if part)
                yield origin
                yield from (f"{origin}.{alias.name}" for alias in names)
            case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(name)), *_]):
                yield name

    def _package(self, level: int) -> str:
        if level == 0:
            return ""
        above = level - 1 if self.path.name == "__init__.py" else level
        parts = self.name.split(".")
        return ".".join(parts[: len(parts) - above])

    def imports_any(self, *packages: str) -> set[str]:
        """What it imports of these packages."""
        return {name for name in self.imports if within(name, packages)}


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Whether the name is one of the packages or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the three packages."""
    return tuple(Module(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


@cache
def production() -> tuple[Module, ...]:
    """Those that are no tests."""
    return tuple(module for module in modules() if not module.is_test)


def tracked() -> tuple[Path, ...]:
    """Every file under version control; without git (as in an archive) every file of the packages and the docs."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return tuple(ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    folders = (*PACKAGES, "docs", ".github", ".ci")
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.is_file())


def reached_from(*names: str, without: tuple[str, ...] = ()) -> tuple[Module, ...]:
    """The modules that are imported with these, at whatever remove, without some that are imported when needed."""
    known = {module.name: module for module in production()}
    reached: dict[str, Module] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in known and name not in reached:
            reached[name] = known[name]
            waiting += known[name].imports
    return tuple(module for name, module in reached.items() if name not in without)
