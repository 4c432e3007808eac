"""The table of mutants: the fate of each, kept beside the code, and shown by a page of the docs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from model_tests.common.derived import DerivedTable, Row
from model_tests.mutants.decisions import texts
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.made import DecisionMutant

TABLE: Final = DerivedTable(Path(__file__).parent / "table.json", "make tables", texts.of_decisions)
"""What the last hunt of each decision's mutants found, a line for each mutant."""


def read(path: Path | None = None) -> tuple[HuntResult, ...]:
    """The table as it was written, but for what is stale.

    Args:
        path: another table than the one beside the code.
    """
    rows = tuple(map(_found, TABLE.rows(path)))
    stale = TABLE.stale(path)
    return tuple(each for each in rows if decision_of(each) not in stale)


def write(found: Iterable[HuntResult], path: Path | None = None) -> None:
    """A line for each mutant, under the digests of the decisions as they are now.

    Args:
        found: one for every mutant that is made.
        path: another place than the one beside the code.
    """
    TABLE.write(map(asdict, found), path=path)


def _found(row: Row) -> HuntResult:
    known = {part.name: row[part.name] for part in fields(HuntResult) if part.name in row}
    return HuntResult(**{**known, "fate": MutantFate(row["fate"]), "rules": tuple(row.get("rules", ()))})


def counted(found: Iterable[HuntResult]) -> dict[str, int]:
    """How many mutants each layer killed, and how many have another fate."""
    return dict(Counter(f"killed by {each.layer}" if each.layer else str(each.fate) for each in found))


def not_hunted(found: Iterable[HuntResult], made: Iterable[DecisionMutant]) -> int:
    """How many mutants there are of which the table says nothing yet."""
    return len({mutant.name for mutant in made} - {each.mutant for each in found})


def page(found: Sequence[HuntResult]) -> str:
    """The summary as a page of Markdown: counts by layer, and every mutant that no layer kills, with the reason."""
    return "\n".join((*_counts(found), *_by_kind(found), *_survivors(found))) + "\n"


def _counts(found: Sequence[HuntResult]) -> Iterator[str]:
    yield "# Mutants of the decisions"
    yield ""
    of = len({decision_of(each) for each in found})
    yield f"{len(found):,} mutants of {of} decisions and tables: each is one edit of the syntax tree of its decision."
    yield "Layers try each one in turn, the cheapest first. The table names the first layer that detects it, with the"
    yield "rule that it reports or, for a test, the test. Equivalent: the solver proves the same result for all inputs"
    yield "of a form that is met, under every profile: each form under each profile is a question. Unreachable:"
    yield "no search distinguishes it. `python -m model_tests.mutants.decisions.survivors` checks both again, as a"
    yield "deep `make verify` does, and names what no longer holds. `table.json`, beside the code, has the places too."
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


def decision_of(each: HuntResult) -> str:
    """The decision that a mutant is of."""
    return each.mutant.partition(":")[0]
