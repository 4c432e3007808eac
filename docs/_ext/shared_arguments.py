"""The meaning of arguments that many functions of a package share: its docstring has them, under `Arguments`."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from model_tests.common.command_options import entries_of

MANY: Final = 4
"""A function with so many arguments says what each is."""

SECTION: Final = "Arguments"


@cache
def shared(name: str) -> Mapping[str, str]:
    """What a module or package says of arguments that its functions share."""
    found = find_spec(name)
    if found is None or found.origin is None:
        return {}
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    return entries_of(ast.get_docstring(tree) or "", SECTION)


def meanings(module: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The meaning of each argument of a function of this module; arguments without one are left out."""
    parts = module.split(".")
    nearest = [shared(".".join(parts[:end])) for end in range(len(parts), 0, -1)]
    for name in names:
        meaning_of_name = next((meaning[name] for meaning in nearest if name in meaning), None)
        if meaning_of_name is not None:
            yield name, meaning_of_name


def arguments(node: ast.FunctionDef) -> tuple[str, ...]:
    """The names of a function's arguments, without the one that it is called on."""
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return tuple(each.arg for each in every if each.arg not in ("self", "cls"))


def with_arguments(module: str, node: ast.FunctionDef, docstring: str) -> str:
    """A docstring with what its arguments mean, where it has many and does not say so itself."""
    names = arguments(node)
    known = {} if len(names) < MANY or "Args:" in docstring else dict(meanings(module, names))
    if not known:
        return docstring
    return "\n".join(
        (docstring, "", "Args:", *(f"    {name}: {meaning_of_name}" for name, meaning_of_name in known.items()))
    )
