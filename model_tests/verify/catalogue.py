"""The rules as `eos rules` shows them: all in one table, or one with everything known of it."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.common.reports import BadInput
from model_tests.verify.coverage import domain_text, marks, owed_by, waived_by
from model_tests.verify.theorems import Theorem, lines, theorems
from spec.rules import RULES, Rule
from spec.systems.assumptions import ids


def rule_called(rule_id: str) -> Rule:
    """The rule with this id; `BadInput` names the ids that come near it.

    Raises:
        BadInput: there is none.
    """
    if rule_id in RULES:
        return RULES[rule_id]
    near = get_close_matches(rule_id, RULES, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "`eos rules` lists them all"
    raise BadInput(f"no rule is called {rule_id!r}: {hint}")


def print_catalogue(console: Console) -> None:
    """Write every rule: id, statement, and the evidence it owes."""
    table = Table(title=f"{len(RULES)} rules; `eos rules ID` shows one", title_justify="left", show_lines=True)
    table.add_column("rule", no_wrap=True, style="bold")
    table.add_column("statement", overflow="fold")
    table.add_column("evidence", overflow="fold")
    for rule in RULES.values():
        table.add_row(rule.id, rule.statement, ", ".join(owed_by(rule)))
    console.print(table)


def print_rule(rule: Rule, console: Console) -> None:
    """Write one rule: statement, source, domain, evidence and its checks, theorems and what their proofs assume."""
    table = Table(title=rule.id, title_justify="left", show_header=False, show_lines=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("statement", rule.statement)
    table.add_row("source", ", ".join(rule.source))
    table.add_row("domain", domain_text(rule))
    table.add_row("evidence", Text("\n").join(_evidence_lines(rule)))
    if proved := theorems([rule]):
        table.add_row("proved", Text("\n").join(_theorem_lines(proved)))
        table.add_row("assumed", Text("\n").join(_assumption_lines(proved)))
    console.print(table)


def _theorem_lines(proved: Iterable[Theorem]) -> Iterator[Text]:
    for theorem in proved:
        yield Text(f"{theorem.name}, of {theorem.system}: {theorem.sentence}")
        yield Text(f"  assumes {', '.join(ids(theorem.assumptions))}", "dim")


def _assumption_lines(proved: Iterable[Theorem]) -> Iterator[Text]:
    return map(Text, lines(assumption for theorem in proved for assumption in theorem.assumptions))


def _evidence_lines(rule: Rule) -> Iterator[Text]:
    marked = marks()
    for layer in owed_by(rule):
        where = marked.get((rule.id, layer), ())
        yield Text.assemble(f"{layer}: ", ", ".join(where) or ("no check is marked with it", "red"))
    for layer, reason in waived_by(rule).items():
        yield Text(f"{layer}: waived: {reason}", "dim")
