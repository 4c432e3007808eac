"""The table of mutants: the fate of each, as the last runs found it, and as a page of the docs shows it.

A row is about texts, by whose digests it is known to be stale: a decision, a table of the protocol, or a system.
"""

import ast
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import spec.systems
from model_tests.common.derived import DerivedTable, Row, Texts, combined, digest
from model_tests.mutants.decisions.equivalence import named, passes
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.made import DecisionMutant, by_name, mutants, tables

# --- the texts that rows are about ------------------------------------------------------------------------------------


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
    """The digest of each system: of its own module or package, and of what it imports from other systems.

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
            read[path], imported = _file(path)
            waiting.extend(imported)
    return combined([read[path] for path in sorted(read)])


def _files(name: str) -> Iterator[Path]:
    root = Path(spec.systems.__path__[0])
    inside = root / name
    yield from sorted(inside.glob("*.py")) if inside.is_dir() else [root / f"{name}.py"]


@cache
def _file(path: Path) -> tuple[str, tuple[Path, ...]]:
    """The digest of a file, and the files of systems from which it imports something."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return digest(tree), tuple(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[Path]:
    prefix = f"{spec.systems.__name__}."
    root = Path(spec.systems.__path__[0])
    for node in ast.walk(tree):
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


# --- the table --------------------------------------------------------------------------------------------------------


DIRECTORY: Final = Path("build/mutants")
"""Where runs put what they find."""

RENEW: Final = "make mutants"

TABLE: Final = DerivedTable(DIRECTORY / "fates.json", RENEW, of_decisions)
"""What the last hunt of each decision's mutants found, a line for each mutant."""


def read(path: Path | None = None) -> tuple[HuntResult, ...]:
    """The table without what is stale: mutants of decisions that have changed. Empty where nothing was run.

    An equivalence is stale, too, when a decision that is the same under the mutant has changed, or when another one
    uses the mutant's.

    Args:
        path: another table than that of the last runs.
    """
    known = by_name()
    fresh = map(_found, TABLE.fresh(_texts, path))
    return tuple(each for each in fresh if each.fate is not MutantFate.EQUIVALENT or _is_masked(each, known))


def _texts(row: Row) -> tuple[str, ...]:
    found = _found(row)
    return (found.decision, *(named(found.place) if found.fate is MutantFate.EQUIVALENT else ()))


def _is_masked(each: HuntResult, known: Mapping[str, DecisionMutant]) -> bool:
    """Whether nothing else uses a mutant's decision than the decisions that are the same under it."""
    return each.mutant in known and passes(known[each.mutant].of, named(each.place))


def write(found: Iterable[HuntResult], path: Path | None = None) -> None:
    """A line for each mutant, under the digests of the decisions as they are now.

    Args:
        found: one for every mutant that is made.
        path: another place.
    """
    TABLE.write(map(asdict, found), path=path)


def _found(row: Row) -> HuntResult:
    known = {part.name: row[part.name] for part in fields(HuntResult) if part.name in row}
    return HuntResult(**{**known, "fate": MutantFate(row["fate"]), "rules": tuple(row.get("rules", ()))})


def counted(found: Iterable[HuntResult]) -> dict[str, int]:
    """How many mutants each layer killed, and how many have another fate."""
    return dict(Counter(f"killed by {each.layer}" if each.layer else str(each.fate) for each in found))


TITLE: Final = "# Mutants of the decisions"


def tried_of(count: int) -> str:
    """How many of the mutants that are made were tried, in a sentence; without any, how to try them."""
    if not count:
        return f"No results are here: `{RENEW}` tries the {len(mutants()):,} mutants of the decisions, in hours.\n"
    return f"{count:,} of {len(mutants()):,} mutants of the decisions were tried by `{RENEW}`.\n"


def page(found: Sequence[HuntResult]) -> str:
    """The summary as a page of Markdown: counts by layer, and every mutant that no layer kills, with the reason.

    Without results it says how to make them.
    """
    if not found:
        return f"{TITLE}\n\n{tried_of(0)}"
    return "\n".join((*_counts(found), *_by_kind(found), *_survivors(found))) + "\n"


def _counts(found: Sequence[HuntResult]) -> Iterator[str]:
    yield TITLE
    yield ""
    yield tried_of(len(found))
    yield "Each mutant is one edit of the syntax tree of its decision, or of one cell of a table that decides."
    yield "Layers try each one in turn, the cheapest first. The table names the first layer that detects it, with the"
    yield "rule that it reports or, for a test, the test. Equivalent: the solver proves the same result for all inputs"
    yield "of a form that is met, under every profile: each form under each profile is a question. Unreachable:"
    yield f"no search distinguishes it. `{TABLE.path}` has the places too."
    yield "`eos verify` tries the mutants of a sample of the decisions in some of the layers; a deep run tries all."
    yield "What the mutants do to the states of small instances is [a page of its own](mutant_states.md)."
    yield ""
    yield "| fate | mutants |"
    yield "| --- | ---: |"
    yield from (f"| {fate} | {count:,} |" for fate, count in sorted(counted(found).items()))
    yield ""


def _by_kind(found: Sequence[HuntResult]) -> Iterator[str]:
    yield "| edit | mutants | killed |"
    yield "| --- | ---: | ---: |"
    killed = Counter(each.kind for each in found if each.fate is MutantFate.KILLED)
    for kind, count in Counter(each.kind for each in found).items():
        yield f"| {kind} | {count:,} | {killed[kind]:,} |"
    yield ""


def _survivors(found: Sequence[HuntResult]) -> Iterator[str]:
    for fate in (MutantFate.GAP, MutantFate.UNTRIED, MutantFate.UNREACHABLE, MutantFate.EQUIVALENT):
        left = [each for each in found if each.fate is fate]
        if not left:
            continue
        yield f"## {fate.capitalize()}: {len(left):,}"
        yield ""
        yield from (f"- `{each.mutant}`: {each.place or _UNSEEN[fate]}" for each in left)
        yield ""


_UNSEEN: Final = {
    MutantFate.GAP: "no check distinguishes it",
    MutantFate.UNTRIED: "the first layers name no rule",
    MutantFate.UNREACHABLE: "",
    MutantFate.EQUIVALENT: "",
}
"""The text for a mutant without another reason."""
