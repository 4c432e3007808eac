"""Whether every rule has the evidence that it owes: nothing missing, nothing empty, nothing unregistered.

A cell is one kind of evidence for one rule. The marks of evidence are read from the source, which says which check is
evidence for which rule, because importing every module takes seconds. A test compares them with the marks that
importing makes.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType
from typing import Final, TypeAlias

import model_tests
import reference
import spec
from model_tests.verify.results import Control, Figure, PlantedDefect, Result, RuleVerdict
from spec import rules
from spec.evidence import Layer
from spec.rules import EVIDENCE_LETTERS, RULES, Rule
from spec.systems.assumptions import in_order

# --- modules ----------------------------------------------------------------------------------------------------------


PACKAGES: Final = (spec, reference, model_tests)
"""The packages that this repository installs."""


def production_modules() -> Iterator[str]:
    """Names of all modules except tests."""
    return (name for name in all_modules() if not is_test(name))


def all_modules() -> Iterator[str]:
    """Names of all modules, packages first, each once."""
    for package in PACKAGES:
        yield package.__name__
        yield from (found.name for found in walk_packages(package.__path__, f"{package.__name__}."))


def is_test(module: str) -> bool:
    """Whether the module is a test or serves tests only."""
    last = module.rpartition(".")[2]
    return module.startswith("model_tests.unit") or last.startswith("test_") or last == "conftest"


def import_production_modules() -> None:
    """Import all modules that are no tests, so that every mark of evidence has been made."""
    for name in production_modules():
        import_module(name)


# --- the marks in the source ------------------------------------------------------------------------------------------


Marks: TypeAlias = Mapping[tuple[str, Layer], tuple[str, ...]]
"""Names of the marked checks, as `module.function`, by rule id and layer."""

_LINE: Final = re.compile(
    r"^(?P<indent> *)(?:@evidences\(rules\.(?P<rule>\w+), (?P<layers>[\w., ]+)\)|(?:def|class) (?P<name>\w+))", re.M
)
"""A mark, or the beginning of a function or class. The formatter gives each mark a line of its own."""


@cache
def marks() -> Marks:
    """Every mark in the modules that are no tests, in the order of the files; read once."""
    found: dict[tuple[str, Layer], list[str]] = {}
    for package in PACKAGES:
        for module, text in _texts(package.__name__, package.__path__[0]):
            for key, check in _marked(module, text):
                found.setdefault(key, []).append(check)
    return MappingProxyType({key: tuple(checks) for key, checks in found.items()})


def _texts(package: str, folder: str) -> Iterator[tuple[str, str]]:
    """Name and text of the modules that have a mark: plain strings and bytes, since `eos rules ID` waits for it."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        name, _, suffix = entry.name.rpartition(".")
        if suffix == "py":
            module = package if name == "__init__" else f"{package}.{name}"
            if not is_test(module):
                with open(entry.path, "rb", buffering=0) as file:  # noqa: PTH123  (a Path for each file takes as long)
                    text = file.read()
                if b"@evidences(" in text:
                    yield module, text.decode()
        elif entry.is_dir() and not is_test(f"{package}.{entry.name}") and entry.name != "__pycache__":
            yield from _texts(f"{package}.{entry.name}", entry.path)


def _marked(module: str, text: str) -> Iterator[tuple[tuple[str, Layer], str]]:
    """The marks of a module, with the qualified name of each check."""
    around: list[tuple[int, str]] = []
    waiting: list[tuple[str, Layer]] = []
    for line in _LINE.finditer(text):
        indent = len(line["indent"])
        if line["rule"]:
            rule: rules.Rule = getattr(rules, line["rule"])
            waiting.extend((rule.id, Layer[layer.removeprefix("Layer.")]) for layer in line["layers"].split(", "))
            continue
        around = [*(each for each in around if each[0] < indent), (indent, line["name"])]
        check = ".".join((module, *(name for _, name in around)))
        yield from ((key, check) for key in waiting)
        waiting = []


# --- the cells --------------------------------------------------------------------------------------------------------


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
        layers: the kinds of evidence that the run had to produce.
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
    """The rules with evidence, but without a control or mutant that violates them, one line each."""
    seen = {control.rule.id for control in controls} | {mutant.rule.id for mutant in mutants}
    return tuple(f"{rule}: no control and no mutant violates it" for rule in rules if rule not in seen)
