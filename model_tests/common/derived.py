"""Tables of results that take long to compute, each under the digests of the texts that it is about.

A row is about texts: a decision, a system. When one of them changes, the row is stale, and evidence for nothing. A
table beside the code is renewed before a change goes in: `make lint` names what is stale and the command that renews
it. A table under `build` is what the last runs found: its stale rows are passed over.
"""

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, TypeAlias

from model_tests.common.reports import BadInput


def digest_of(*packages: str) -> str:
    """The digest of the source of these packages or modules; it changes when their text changes."""
    digest = sha256()
    for package in packages:
        parent, _, module = package.rpartition(".")
        found = files(parent).joinpath(module) if parent else files(package)
        found = found if found.is_dir() else files(parent).joinpath(f"{module}.py")
        for name, text in sorted(_sources(found, package)):
            digest.update(name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def _sources(found: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    if found.is_file():
        yield name, found.read_bytes()
        return
    for inner in found.iterdir():
        if inner.name.endswith(".py") or (inner.is_dir() and not inner.name.startswith(("_", "."))):
            yield from _sources(inner, f"{name}/{inner.name}")


Texts: TypeAlias = Mapping[str, str]
"""The digest of each text, by its name."""

Row: TypeAlias = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
EMPTY: Final[tuple[object, ...]] = ("", (), [])
"""Values that a row leaves out. A count of zero is none of them."""
SHOWN: Final = 5
"""Names of stale texts in one line; the rest are counted."""


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """One table.

    Attributes:
        path: where it is kept.
        renew: the command that renews it.
        current: the digests of the texts as they are now.
    """

    path: Path
    renew: str
    current: Callable[[], Texts]

    def rows(self, path: Path | None = None) -> list[Row]:
        """The rows as they were written, stale ones included.

        Args:
            path: another table than its own.

        Raises:
            BadInput: the table is missing, or is not what was written.
        """
        return list(self._read(path or self.path)["rows"])

    def stale(self, path: Path | None = None) -> tuple[str, ...]:
        """Names of the texts that are not those that the rows are about: changed, new, or gone.

        Args:
            path: another table than its own.

        Raises:
            BadInput: the table is missing, or is not what was written.
        """
        kept, now = self._read(path or self.path)["texts"], self.current()
        return tuple(name for name in {**kept, **now} if kept.get(name) != now.get(name))

    def fresh(self, texts_of: Callable[[Row], Iterable[str]], path: Path | None = None) -> list[Row]:
        """The rows of which no text has changed; none if the table is missing.

        Args:
            texts_of: names of the texts that a row is about.
            path: another table than its own.

        Raises:
            BadInput: the table is not what was written.
        """
        if not (path or self.path).exists():
            return []
        stale = set(self.stale(path))
        return [row for row in self.rows(path) if stale.isdisjoint(texts_of(row))]

    def complaint(self) -> str:
        """The problem of the table and the command that renews it, in a line; empty if the table is fresh."""
        try:
            stale = self.stale()
        except BadInput as bad:
            return str(bad)
        if not stale:
            return ""
        more = f" and {len(stale) - SHOWN} more" if len(stale) > SHOWN else ""
        return f"{self._name} is stale for {', '.join(stale[:SHOWN])}{more}: run {self.renew}"

    def write(self, rows: Iterable[Row], path: Path | None = None) -> None:
        """Replace the table as a whole: a line for each row, after the digests of the texts.

        Args:
            rows: plain values; an empty text or list is left out.
            path: another place.
        """
        filled = ({name: value for name, value in row.items() if value not in EMPTY} for row in rows)
        lines = (json.dumps(row, ensure_ascii=False) for row in filled)
        digests = json.dumps(dict(self.current()), indent=0)
        to = path or self.path
        to.parent.mkdir(parents=True, exist_ok=True)
        beginning = to.with_suffix(".new")
        beginning.write_text(f'{{"texts": {digests},\n"rows": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
        beginning.replace(to)

    @property
    def _name(self) -> str:
        return str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else str(self.path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadInput(f"{self._name} is missing: run {self.renew}") from None
        except (ValueError, OSError) as error:
            raise BadInput(f"{self._name} cannot be read ({error}): run {self.renew}") from error
        if not isinstance(content, dict) or set(content) != {"texts", "rows"}:
            raise BadInput(f"{self._name} is not a table with texts and rows: run {self.renew}")
        return content


def digest(tree: ast.AST) -> str:
    """A short digest of a piece of code, without comments, layout, docstrings and the texts that document a name."""
    return sha256(ast.unparse(_without_docstrings(tree)).encode()).hexdigest()[:12]


def digest_of_file(path: Path) -> str:
    """The same of a file."""
    return digest(ast.parse(path.read_text(encoding="utf-8")))


def digest_of_value(value: object) -> str:
    """The digest of a plain value, by what `repr` says of it."""
    return sha256(repr(value).encode()).hexdigest()[:12]


def combined(digests: Sequence[str]) -> str:
    """One digest of several."""
    return sha256(" ".join(digests).encode()).hexdigest()[:12]


class _Bare(ast.NodeTransformer):
    """Leaves out every text that stands as a statement: docstrings, and the texts below constants and attributes."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    def _filled(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _filled  # noqa: N815  # names of ast


def _without_docstrings(tree: ast.AST) -> ast.AST:
    return _Bare().visit(ast.parse(ast.unparse(tree)))  # type: ignore[no-any-return]
