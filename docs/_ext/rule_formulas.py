"""The formulas of a rule: the guards of decisions under it, and the claims of systems about it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from claims import Stated, stated
from decision_tables import DECISIONS, GuardRow, rows
from docutils import nodes
from latex import latex
from tables import Cell, folded, table

from spec.rules import Rule


@lru_cache(maxsize=1)
def checks_by_rule() -> Mapping[str, tuple[tuple[str, GuardRow], ...]]:
    """By rule the checks that answer for it, each with the name of its decision."""
    found: dict[str, list[tuple[str, GuardRow]]] = {}
    for name, decision in DECISIONS.items():
        for row in rows(decision):
            found.setdefault(row.guard.rule.id, []).append((name, row))
    return {rule: tuple(each) for rule, each in found.items()}


@lru_cache(maxsize=1)
def claims_by_rule() -> Mapping[str, tuple[Stated, ...]]:
    """By rule what the systems claim; what is a fact of several releases is one claim."""
    found: dict[str, dict[tuple[str, str], Stated]] = {}
    for claim in stated():
        found.setdefault(claim.rule.id, {}).setdefault((claim.where, claim.name.partition("[")[0]), claim)
    return {rule: tuple(each.values()) for rule, each in found.items()}


def formulas_of(rule: Rule) -> list[nodes.Node]:
    """Both as tables to be opened, and all formulas as LaTeX; where there are none it says so."""
    decided, claimed = checks_by_rule().get(rule.id, ()), claims_by_rule().get(rule.id, ())
    if not decided and not claimed:
        text = "No decision answers for it and no system claims it: what checks it is its evidence, above."
        return [nodes.paragraph("", text, classes=["only-in"])]
    shown: list[nodes.Node] = [*_decided(decided), *_claimed(claimed)]
    texts = list(_latex(decided, claimed))
    if texts:
        block = "\n\n".join(texts)
        shown += folded("as LaTeX", nodes.literal_block(block, block, language="latex"))
    return folded(f"Formulas ({len(decided) + len(claimed)})", *shown)


def _decided(decided: tuple[tuple[str, GuardRow], ...]) -> Iterator[nodes.Node]:
    if decided:
        head: tuple[Cell, ...] = ("decision and check", "applies when", "answer")
        body = [(f"{name}: {row.guard.name}", _formula(row.formula), row.answers) for name, row in decided]
        yield table([head, *body], (24, 52, 24), kind="formulas")


def _claimed(claimed: tuple[Stated, ...]) -> Iterator[nodes.Node]:
    for claim in claimed:
        name = nodes.literal("", claim.name.partition("[")[0])
        where = "for all inputs" if claim.where == "every input" else f"in every state of {claim.where}"
        assumes = f" It assumes {', '.join(claim.assumes)}." if claim.assumes else ""
        yield nodes.paragraph("", "", name, nodes.Text(f", {where}: {claim.sentence}{assumes}"))
        if claim.formula:
            yield nodes.paragraph("", "", _formula(claim.formula), classes=["claim"])


def _formula(text: str) -> nodes.inline:
    return nodes.inline("", text, classes=["formula"])


def _latex(decided: tuple[tuple[str, GuardRow], ...], claimed: tuple[Stated, ...]) -> Iterator[str]:
    for name, row in decided:
        if row.guard.name not in DECISIONS[name].instead:
            yield f"% {name}: {row.guard.name}\n{latex(row.formula)}"
    for claim in claimed:
        if claim.formula:
            yield f"% {claim.where}: {claim.name}\n{latex(claim.formula)}"
