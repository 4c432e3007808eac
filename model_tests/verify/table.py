"""The report of a run as tables on a console."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.verify.coverage import Cells, owed_by, waived_by
from model_tests.verify.results import Control, PartResult, PlantedDefect, Result, RuleVerdict
from model_tests.verify.theorems import lines
from spec.evidence import Layer
from spec.rules import RULES
from spec.systems.assumptions import ids

UNITS: Final[Mapping[Layer, str]] = MappingProxyType(
    {
        Layer.PROOF: "obligations",
        Layer.BOUNDED: "depth",
        Layer.EXPLORED: "states",
        Layer.STATEFUL: "examples",
        Layer.TRACE: "rows",
        Layer.CONFORMANCE: "steps",
        Layer.AUDIT: "batches",
    }
)
"""What the number in a cell counts."""

WIDE: Final = 164
"""Columns of text that the widest table needs."""

_MARKS: Final = MappingProxyType(
    {
        RuleVerdict.PROVED: ("proved", "bold green"),
        RuleVerdict.HOLDS: ("holds", "green"),
        RuleVerdict.VIOLATED: ("VIOLATED", "bold red"),
        RuleVerdict.UNKNOWN: ("UNKNOWN", "bold red"),
    }
)


def rules(console: Console, cells: Cells, ran: Collection[Layer]) -> None:
    """Every rule against every kind of evidence."""
    table = Table(title="Rules and their evidence", title_justify="left")
    table.add_column("rule", no_wrap=True)
    for layer in Layer:
        table.add_column(f"{layer}\n{UNITS[layer]}", justify="right", overflow="fold")
    for rule in RULES.values():
        owed, waived = owed_by(rule), waived_by(rule)
        row = [
            Text("waived", "dim")
            if layer in waived
            else _cell(layer in owed, cells.get((rule.id, layer)), layer in ran)
            for layer in Layer
        ]
        table.add_row(rule.id, *row)
    _wide(console).print(table)


def assumed(console: Console, cells: Cells) -> None:
    """What each proof and each search takes for granted, by number, and the assumptions in one sentence each."""
    found = [result for result in cells.values() if result.assumptions]
    if not found:
        return
    table = Table(title="Assumed, by number", title_justify="left")
    for column in ("rule", "evidence", "assumes"):
        table.add_column(column, overflow="fold")
    for result in found:
        table.add_row(result.rule.id, str(result.layer), ", ".join(ids(result.assumptions)))
    console.print(table)
    for line in lines(assumption for result in found for assumption in result.assumptions):
        console.print(Text(line), soft_wrap=True)


def _wide(console: Console) -> Console:
    """The same console, wide enough for the tables when it is a file or a pipe."""
    if not console.is_terminal and console.width < WIDE:
        console.width = WIDE
    return console


def _cell(is_owed: bool, result: Result | None, ran: bool) -> Text:
    if result is not None:
        return _judged(result)
    if not is_owed:
        return Text("-", "dim")
    return Text("MISSING", "bold red") if ran else Text("not run", "yellow")


def _judged(result: Result) -> Text:
    word, style = _MARKS[result.verdict]
    if result.count == 0:
        word, style = "NOTHING", "bold red"
    figure = result.figures.get(UNITS[result.layer], result.count)
    return Text.assemble((word, style), f" {short(figure)}", (f"\n{result.seconds:.1f} s", "dim"))


def short(figure: float | str) -> str:
    """A figure in at most five characters: 100000 as 100k, 12345678 as 12.3M."""
    if isinstance(figure, str) or figure < 10_000:
        return str(figure)
    return f"{figure / 1e6:.3g}M" if figure >= 1e6 else f"{figure / 1e3:.3g}k"


def controls(console: Console, found: Sequence[Control]) -> None:
    """What must break a rule, and whether it did."""
    if not found:
        return
    table = Table(title="Controls: changes that must break a rule", title_justify="left")
    for column in ("control", "rule", "expected", "got"):
        table.add_column(column, overflow="fold")
    for control in found:
        table.add_row(control.name, control.rule.id, control.expected, _passed(control.got, control.passed))
    console.print(table)


def mutants(console: Console, found: Sequence[PlantedDefect]) -> None:
    """Planted defects, and what saw them."""
    if not found:
        return
    killed = sum(mutant.killed for mutant in found)
    table = Table(title=f"Mutants: {killed} of {len(found)} caught by the rule they break", title_justify="left")
    for column in ("mutant", "rule", "caught by"):
        table.add_column(column, overflow="fold")
    for mutant in found:
        table.add_row(mutant.name, mutant.rule.id, _passed(", ".join(mutant.killed_by) or "nothing", mutant.killed))
    console.print(table)


def _passed(text: str, passed: bool) -> Text:
    return Text(text, "green" if passed else "bold red")


def parts(console: Console, found: Sequence[tuple[PartResult, float, float | None, bool]]) -> None:
    """Each part with its time, its share of the time and its figures as a whole."""
    table = Table(title="Parts of the run", title_justify="left")
    table.add_column("part", no_wrap=True)
    table.add_column("seconds", justify="right", overflow="fold")
    table.add_column("share", justify="right", overflow="fold")
    table.add_column("figures", overflow="fold")
    for part, seconds, share, overran in found:
        time = Text(f"{seconds:.1f}{' OVERRAN' if overran else ''}", "yellow" if overran else "")
        table.add_row(part.name, time, "-" if share is None else f"{share:g}", _figures(part))
    console.print(table)


def _figures(part: PartResult) -> str:
    named = [f"{name} {value}" for name, value in part.extra.items() if isinstance(value, int | float | str)]
    return ", ".join([part.sampled, *named] if part.sampled else named)


def verdict(console: Console, effort: str, failures: Sequence[str], seconds: float) -> None:
    """The failures, one line each, and the last word.

    Args:
        console: that it is written to.
        effort: quick, default or deep.
        failures: a line each.
        seconds: that the run took.
    """
    for failure in failures:
        console.print(Text(f"FAILED  {failure}", "red"), soft_wrap=True)
    if failures:
        console.print(Text(f"verify ({effort}): {len(failures)} failures in {seconds:.0f} s", "bold red"))
    else:
        console.print(Text(f"verify ({effort}): everything holds, in {seconds:.0f} s", "bold green"))
