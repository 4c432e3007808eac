"""The last run's results for a rule: its evidence, the controls and the mutants that must break it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from docutils import nodes
from run_results import Entry, Evidence, results
from tables import Cell, folded, listed, table

from model_tests.mutants.decisions.hunting import HuntResult
from model_tests.mutants.decisions.table import read
from model_tests.verify.coverage import import_production_modules, owed_by, waived_by
from model_tests.verify.table import UNITS
from spec.evidence import Layer, checks
from spec.rules import Rule

NO_FIGURES: Final = ("verdict", "detail", "seconds", "count", "assumptions")


def evidence_table(rule: Rule, found: Evidence) -> nodes.table:
    """What the rule owes, what the last run found, and which checks are marked with it."""
    rows: list[tuple[Cell, ...]] = [("evidence", "result", "figures", "checked by")]
    for layer in owed_by(rule):
        rows.append((str(layer), *reported(layer, found.get(layer)), checked_by(rule, layer)))
    rows += [(str(layer), "waived", reason, "") for layer, reason in waived_by(rule).items()]
    return table(rows, (14, 14, 32, 40), kind="evidence")


def reported(layer: Layer, result: Mapping[str, Any] | None) -> tuple[str, str]:
    """The verdict and its figures in words."""
    if result is None or not result["count"]:
        return (str(result["verdict"]) if result else "not run"), ""
    time = f"{result['seconds']:.1f} s"
    return str(result["verdict"]), ", ".join((*figures(result, UNITS[layer]), time))


def figures(result: Mapping[str, Any], unit: str) -> list[str]:
    """What was judged, in the unit of its kind first."""
    named = {name: value for name, value in result.items() if name not in NO_FIGURES}
    if unit not in named and result["count"] not in named.values():
        named = {"judged": result["count"], **named}
    return [f"{name.replace('_', ' ')} {_counted(value)}" for name, value in named.items()]


def _counted(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def checked_by(rule: Rule, layer: Layer) -> nodes.inline:
    """The functions that are marked as this evidence, by their last names."""
    where = _marked().get((rule.id, layer), ())
    return listed(nodes.literal("", name.removeprefix("model_tests.")) for name in dict.fromkeys(where))


@lru_cache(maxsize=1)
def _marked() -> Mapping[tuple[str, Any], tuple[str, ...]]:
    import_production_modules()
    return checks()


def results_of_rule(rule: Rule) -> list[nodes.Node]:
    """The controls and mutants of a rule in the last run, and how many edits of decisions are seen under it."""
    found = results()
    controls, mutants = found.controls.get(rule.id, []), found.mutants.get(rule.id, [])
    head: tuple[Cell, ...] = ("what is changed", "kind", "result")
    rows = [*map(_control, controls), *map(_mutant, mutants)]
    edits = _edits(rule)
    if not found.run:
        return folded("What breaks it: not run", *edits)
    shown = [table([head, *rows], (60, 14, 26))] if rows else [nodes.paragraph("", "No control or mutant of it ran.")]
    return folded(f"What breaks it ({len(rows)})", *shown, *edits)


def _edits(rule: Rule) -> Iterator[nodes.Node]:
    """How many edits of decisions are seen under a rule; nothing where none was tried."""
    of = len(_fates())
    if of:
        count = seen_under()[rule.id]
        yield nodes.paragraph("", f"Of {of:,} edits of decisions that were tried, {count:,} are seen under this rule.")


def _control(entry: Entry) -> tuple[Cell, ...]:
    word = "as it must be" if entry["got"] == entry["expected"] else f"not {entry['expected']}"
    return entry["name"], "control", f"{entry['got']}, {word}"


def _mutant(entry: Entry) -> tuple[Cell, ...]:
    return entry["name"], "mutant", "caught" if entry["killed"] else "survives"


@lru_cache(maxsize=1)
def seen_under() -> Counter[str]:
    """By rule, how many edits of decisions are seen under it, of those that were tried."""
    return Counter(rule for each in _fates() for rule in each.rules)


@lru_cache(maxsize=1)
def _fates() -> tuple[HuntResult, ...]:
    return read()
