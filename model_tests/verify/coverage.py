"""Whether every rule has the evidence that it owes: nothing missing, nothing empty, nothing unregistered.

A cell is one kind of evidence for one rule. What a later issue brings is owed, and never counts as passed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model_tests.verify.results import Control, Figure, Mutant, Result, Verdict
from spec.evidence import Layer
from spec.rules import BROUGHT, EVIDENCE_LETTERS, RULES, Rule

Cells = dict[tuple[str, Layer], Result]
"""Results by rule id and kind of evidence, one each."""

_WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.PROVED)


@dataclass(frozen=True, slots=True)
class Owed:
    """Evidence that a rule owes, and the issue that brings it."""

    rule: Rule
    layer: Layer
    issue: int

    @property
    def is_brought(self) -> bool:
        """Whether the issue is among those that are done."""
        return self.issue <= BROUGHT


def owed_by(rule: Rule) -> tuple[Owed, ...]:
    """Everything that the rule owes and that is not waived, in the order of the kinds of evidence."""
    return tuple(
        Owed(rule, Layer(layer), rule.owes[letter])
        for letter, layer in EVIDENCE_LETTERS.items()
        if letter in rule.owes and letter not in rule.waived
    )


def waived_by(rule: Rule) -> dict[Layer, str]:
    """The evidence that the rule need not have, each with the reason."""
    return {Layer(EVIDENCE_LETTERS[letter]): reason for letter, reason in rule.waived.items()}


def brought(rules: Mapping[str, Rule] = RULES) -> Iterator[Owed]:
    """Every cell that must have a result now."""
    return (owed for rule in rules.values() for owed in owed_by(rule) if owed.is_brought)


def joined(results: Iterable[Result]) -> Cells:
    """One result a cell: where several parts judged the same, the worst verdict and the sum of what was judged."""
    cells: Cells = {}
    for result in results:
        key = (result.rule.id, result.layer)
        cells[key] = _both(cells[key], result) if key in cells else result
    return cells


def _both(left: Result, right: Result) -> Result:
    worst = min(left, right, key=lambda result: _WORST_FIRST.index(result.verdict))
    return Result(
        rule=left.rule,
        layer=left.layer,
        verdict=worst.verdict,
        count=left.count + right.count,
        seconds=left.seconds + right.seconds,
        figures=_figures(left.figures, right.figures),
        detail=worst.detail,
    )


def _figures(left: Mapping[str, Figure], right: Mapping[str, Figure]) -> dict[str, Figure]:
    added = dict(left)
    for name, figure in right.items():
        before = added.get(name)
        if name == "depth" and isinstance(before, int) and isinstance(figure, int):
            added[name] = min(before, figure)  # the claim is as deep as the shallower search
        elif isinstance(before, int | float) and isinstance(figure, int | float):
            added[name] = before + figure
        else:
            added[name] = figure
    return added


def uncovered(
    results: Iterable[Result],
    layers: Iterable[Layer] = tuple(Layer),
    rules: Mapping[str, Rule] = RULES,
) -> tuple[str, ...]:
    """Why the results are not the evidence that is owed, one line for each cell; empty if they are.

    Args:
        results: what the parts of a run found.
        layers: the kinds of evidence that the run was to bring.
        rules: the registry.
    """
    everything = tuple(results)
    cells = joined(everything)
    wanted = set(layers)
    missing = (
        f"{owed.rule.id}: {owed.layer} is owed since issue {owed.issue} and has no result"
        for owed in brought(rules)
        if owed.layer in wanted and (owed.rule.id, owed.layer) not in cells
    )
    return (*_unregistered(everything, rules), *missing, *(_why(r) for r in cells.values() if not r.passed))


def _unregistered(results: Iterable[Result], rules: Mapping[str, Rule]) -> Iterator[str]:
    strangers = {(r.rule.id, r.layer): None for r in results if rules.get(r.rule.id) != r.rule}
    return (f"{rule}: {layer} is evidence for a rule that is not registered" for rule, layer in strangers)


def _why(result: Result) -> str:
    cell = f"{result.rule.id}: {result.layer}"
    match result.verdict:
        case Verdict.VIOLATED:
            return f"{cell} is violated: {result.detail or 'without detail'}"
        case Verdict.UNKNOWN:
            return f"{cell} is unknown, which is a failure: {result.detail or 'without detail'}"
        case _:
            return f"{cell} judged nothing: a count of zero is no evidence"


def uncontrolled(
    controls: Iterable[Control], mutants: Iterable[Mutant], rules: Mapping[str, Rule] = RULES
) -> tuple[str, ...]:
    """The rules with evidence that nothing was seen to violate, one line each."""
    seen = {control.rule.id for control in controls} | {mutant.rule.id for mutant in mutants}
    due = {owed.rule.id: None for owed in brought(rules)}
    return tuple(f"{rule}: no control and no mutant violates it" for rule in due if rule not in seen)
