"""Whether every rule has the evidence that it owes: nothing missing, nothing empty, nothing unregistered.

A cell is one kind of evidence for one rule.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from model_tests.verify.results import Control, Figure, PlantedDefect, Result, RuleVerdict
from spec.evidence import Layer
from spec.rules import EVIDENCE_LETTERS, RULES, Rule
from spec.systems.assumptions import in_order

Cells = dict[tuple[str, Layer], Result]
"""Results by rule id and kind of evidence, one each."""

_WORST_FIRST: Final = (RuleVerdict.VIOLATED, RuleVerdict.UNKNOWN, RuleVerdict.HOLDS, RuleVerdict.PROVED)


def owed_by(rule: Rule) -> tuple[Layer, ...]:
    """The kinds of evidence that the rule must have, in their order: all that it owes, but for what is waived."""
    return tuple(
        Layer(layer) for letter, layer in EVIDENCE_LETTERS.items() if letter in rule.owes and letter not in rule.waived
    )


def waived_by(rule: Rule) -> dict[Layer, str]:
    """The evidence that the rule need not have, each with the reason."""
    return {Layer(EVIDENCE_LETTERS[letter]): reason for letter, reason in rule.waived.items()}


def owed(rules: Mapping[str, Rule] = RULES) -> Iterator[tuple[Rule, Layer]]:
    """Every cell that must have a result."""
    return ((rule, layer) for rule in rules.values() for layer in owed_by(rule))


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
        assumptions=in_order((*left.assumptions, *right.assumptions)),
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
        f"{rule.id}: {layer} is owed and has no result"
        for rule, layer in owed(rules)
        if layer in wanted and (rule.id, layer) not in cells
    )
    return (*_unregistered(everything, rules), *missing, *(_why(r) for r in cells.values() if not r.passed))


def _unregistered(results: Iterable[Result], rules: Mapping[str, Rule]) -> Iterator[str]:
    strangers = {(r.rule.id, r.layer): None for r in results if rules.get(r.rule.id) != r.rule}
    return (f"{rule}: {layer} is evidence for a rule that is not registered" for rule, layer in strangers)


def _why(result: Result) -> str:
    cell = f"{result.rule.id}: {result.layer}"
    match result.verdict:
        case RuleVerdict.VIOLATED:
            return f"{cell} is violated: {result.detail or 'without detail'}"
        case RuleVerdict.UNKNOWN:
            return f"{cell} is unknown, which is a failure: {result.detail or 'without detail'}"
        case _:
            return f"{cell} judged nothing: a count of zero is no evidence"


def domain_text(rule: Rule) -> str:
    """Where the rule is claimed, in one line."""
    return "; ".join(assumption.text for assumption in rule.domain) or "any circumstances"


def uncontrolled(
    controls: Iterable[Control], mutants: Iterable[PlantedDefect], rules: Mapping[str, Rule] = RULES
) -> tuple[str, ...]:
    """The rules with evidence that nothing was seen to violate, one line each."""
    seen = {control.rule.id for control in controls} | {mutant.rule.id for mutant in mutants}
    return tuple(f"{rule}: no control and no mutant violates it" for rule in rules if rule not in seen)
