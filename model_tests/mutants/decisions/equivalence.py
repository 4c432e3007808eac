"""Whether a mutant decides as the true decision does for all inputs: asked of the solver, under every profile.

A mutant that differs may still be masked by what uses it. It is equivalent if every decision that uses it is the
same with it in place, up to the decisions that are used from outside the protocol.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import Any, Final, get_type_hints

import model_tests
import spec.systems
from model_tests.mutants.decisions.functions import Decision, decisions
from model_tests.mutants.decisions.made import Mutant
from model_tests.mutants.decisions.occasions import Behaviours, Call, Occasions
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.engines.induction import contradiction
from spec.engines.reading_z3 import INTEGERS
from spec.engines.verdict import Proved
from spec.protocol.guards import Guard
from spec.rules import RULES
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT, GroupState, TransactionState

MANY: Final = 40
"""Arguments of different shape that one decision is asked with, profiles aside."""


class Examples:
    """Arguments that each decision was met with, one of each shape: they tell which are numbers and which are facts."""

    def __init__(self) -> None:
        self._of: dict[Decision, dict[object, dict[str, Any]]] = {}

    def learn(self, occasions: Occasions) -> None:
        """Look at the calls of one layer."""
        for decision, calls in occasions.calls.items():
            hints = get_type_hints(decision.function)
            known = self._of.setdefault(decision, {})
            for call in calls:
                values = _by_name(decision, call)
                shape = tuple((name, _shape(hints.get(name), value)) for name, value in values.items())
                if shape not in known and len(known) < MANY:
                    known[shape] = values

    def of(self, decision: Decision) -> Sequence[dict[str, Any]]:
        """The arguments of a decision, by their names."""
        return tuple(self._of.get(decision, {}).values())


def equivalent(mutant: Mutant, met: Examples) -> str:
    """Where the mutant is proved the same for all inputs: the decisions at which it is; empty if it is not proved."""
    at: list[str] = []
    return ", ".join(dict.fromkeys(at)) if _same(mutant.of, mutant, met, at) else ""


def _same(of: Decision, mutant: Mutant, met: Examples, at: list[str]) -> bool:
    if _proved(of, mutant, met):
        at.append(of.name)
        return True
    users = used_by(of)
    if not users or of.name in used_outside():
        return False
    return all(_same(user, mutant, met, at) for user in users)


def _proved(of: Decision, mutant: Mutant, met: Examples) -> bool:
    shapes = list(_shapes(of, met))
    try:
        return bool(shapes) and all(_alike(of, mutant, arguments) for arguments in shapes)
    except Exception:  # noqa: BLE001  # what cannot be put to the solver is not proved
        return False


def _alike(of: Decision, mutant: Mutant, arguments: Mapping[str, Any]) -> bool:
    positional, named = _bound(of, arguments)
    true = of.function(*positional, **named)
    with mutant.planted():
        mutated = of.function(*positional, **named)
    return _follows(well_formed(arguments), same_answer(true, mutated))


def _bound(of: Decision, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in signature(of.function).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            named[name] = arguments[name]
        elif parameter.kind is Parameter.VAR_POSITIONAL:
            positional += arguments[name]
        else:
            positional.append(arguments[name])
    return positional, named


def _follows(premise: Term, claim: Term) -> bool:
    if isinstance(claim, bool) and isinstance(premise, bool):
        return claim or not premise
    return isinstance(contradiction("the mutant decides otherwise", [premise, negate(claim)]), Proved)


# --- arguments of which nothing is known ----------------------------------------------------------------------


def _shapes(of: Decision, met: Examples) -> Iterator[Mapping[str, Any]]:
    """The arguments as terms, once for each profile, and each way in which what is no term was met."""
    hints = get_type_hints(of.function)
    for values in met.of(of):
        every = [name for name, value in values.items() if isinstance(value, Profile)]
        own = tuple(dict.fromkeys((*_profiles(), *(values[name] for name in every))))
        for profiles in product(own, repeat=len(every)):
            known = {**values, **dict(zip(every, profiles, strict=True))}
            yield {name: symbolic(value, hints.get(name), name) for name, value in known.items()}


@cache
def _profiles() -> tuple[Profile, ...]:
    """Every profile under every transaction version."""
    return tuple(dict.fromkeys(each.under(version) for each in PROFILES.values() for version in (0, 1, 2)))


def _by_name(of: Decision, call: Call) -> dict[str, Any]:
    positional, named = call
    known = dict(named)
    values: dict[str, Any] = {}
    rest = list(positional)
    for name, parameter in signature(of.function).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            values[name] = known[name]
        elif parameter.kind is Parameter.VAR_POSITIONAL:
            values[name] = tuple(rest)
        else:
            values[name] = rest.pop(0)
    return {name: value.profile if isinstance(value, Behaviours) else value for name, value in values.items()}


def _shape(hint: Any, value: Any) -> object:
    """What must be alike of two arguments for them to become the same terms."""
    if isinstance(value, Profile):
        return Profile
    if is_dataclass(value) and not isinstance(value, Guard):
        return (type(value), *(_shape(Any, getattr(value, part.name)) for part in fields(value)))
    if isinstance(value, tuple):
        return tuple(_shape(hint, each) for each in value)
    return type(value) if hint is Any else repr(value)


def symbolic(value: Any, hint: Any, name: str) -> Any:
    """A term, or a record of terms, shaped like a value; what is no term stays as it is."""
    if isinstance(value, Profile | str | frozenset | Guard) or value is None:
        return value
    if is_dataclass(value):
        parts = ((part.name, getattr(value, part.name)) for part in fields(value))
        kind: Any = type(value)
        return kind(**{part: symbolic(each, Any, f"{name}.{part}") for part, each in parts})
    if isinstance(value, tuple):
        return tuple(symbolic(each, hint, f"{name}.{place}") for place, each in enumerate(value))
    if hint is Any or not isinstance(value, bool | int):
        return INTEGERS.constant(name, bool if isinstance(value, bool) else int) if _is_term(value) else value
    return value


def _is_term(value: object) -> bool:
    return type(value) in (bool, int)


# --- the domain -----------------------------------------------------------------------------------------------


def well_formed(arguments: Mapping[str, Any]) -> Term:
    """What is true of every record that is met: no number below -1, states that there are, nothing half absent."""
    return all_of(*(fact for name, value in arguments.items() for fact in _facts(name, value)))


def _facts(name: str, value: Any) -> Iterator[Term]:
    if isinstance(value, Profile | str | frozenset | Guard | bool) or value is None:
        return
    if is_dataclass(value):
        for part in fields(value):
            yield from _facts(part.name, getattr(value, part.name))
        yield from _of_record(type(value).__name__, value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _facts(name, each)
    elif _is_number(value) and name not in ("error", "verification_error", "name_hash"):
        yield value >= ABSENT


def _is_number(value: Any) -> bool:
    return not isinstance(value, int) and str(getattr(value, "sort", lambda: "")()) == "Int"


def _of_record(kind: str, record: Any) -> Iterator[Term]:
    match kind:
        case "TransactionEntry":
            yield any_of(*(record.state == state.value for state in TransactionState))
            yield any_of(record.pending == ABSENT, *(record.pending == state.value for state in TransactionState))
            yield implies(negate(record.known), all_of(record.state == 0, record.pending == ABSENT))
            yield any_of(*(record.client_version == version for version in (0, 1, 2)))
        case "GroupEntry":
            yield any_of(*(record.state == state.value for state in GroupState))
        case "CachedBatch":
            yield implies(record.last_offset == ABSENT, record.last_sequence == ABSENT)
            yield implies(record.last_offset == ABSENT, record.offset_delta == ABSENT)
        case "ProducerEntry":
            unknown = record.epoch == ABSENT
            yield implies(unknown, all_of(record.txn_first_offset == ABSENT, record.coordinator_epoch == ABSENT))
            yield all_of(*(implies(unknown, cached.last_offset == ABSENT) for cached in record.cached))


# --- the same answer ------------------------------------------------------------------------------------------


def same_answer(true: Any, mutated: Any) -> Term:
    """The same in everything that something depends on; of guards, what the first that applies says."""
    if isinstance(true, tuple) and true and isinstance(true[0], Guard):
        return all_of(*(left == right for left, right in zip(_said(true), _said(mutated), strict=True)))
    if is_dataclass(true):
        pairs = ((getattr(true, part.name), getattr(mutated, part.name)) for part in fields(true))
        return all_of(*(same_answer(left, right) for left, right in pairs))
    if isinstance(true, dict):
        return any_of(*true.values()) == any_of(*mutated.values())
    if isinstance(true, tuple):
        if len(true) != len(mutated):
            return False
        return all_of(*(same_answer(left, right) for left, right in zip(true, mutated, strict=True)))
    return true == mutated


def _said(checks: Sequence[Guard]) -> tuple[Term, Term]:
    """Error and rule of the first guard that applies."""
    numbers = {rule.id: number for number, rule in enumerate(RULES.values())}
    nobody: tuple[Term, Term] = (ABSENT - 1, ABSENT)

    def one(after: tuple[Term, Term], guard: Guard) -> tuple[Term, Term]:
        error, rule = after
        return choose(guard.applies, guard.error, error), choose(guard.applies, numbers[guard.rule.id], rule)

    return reduce(one, reversed(checks), nobody)


# --- who uses a decision --------------------------------------------------------------------------------------


@cache
def used_by(of: Decision) -> tuple[Decision, ...]:
    """The decisions that name this one; a property is used by whoever reads an attribute of its name."""
    word = of.name.rpartition(".")[2]
    is_property = of.name.count(".") > 1
    return tuple(other for other in decisions() if other is not of and _names(other, of, word, is_property))


def _names(other: Decision, of: Decision, word: str, is_property: bool) -> bool:
    for node in ast.walk(other.tree):
        match node:
            case ast.Name(id=name) if not is_property and name == word:
                return getattr(other.module, name, None) is of.function
            case ast.Attribute(attr=name, value=ast.Name(id=module)) if name == word and not is_property:
                if getattr(getattr(other.module, module, None), name, None) is of.function:
                    return True
            case ast.Attribute(attr=name) if is_property and name == word:
                return True
    return False


@cache
def used_outside() -> frozenset[str]:
    """Names of the decisions that systems and checks use by themselves; what only lists guards does not decide."""
    folders = (Path(spec.systems.__path__[0]), *(Path(model_tests.__path__[0]) / name for name in READERS))
    words = {word for folder in folders for path in folder.rglob("*.py") for word in _words(path)}
    own = (each for each in decisions() if not each.name.endswith("guards"))
    return frozenset(each.name for each in own if each.name.rpartition(".")[2] in words)


READERS: Final = ("conformance", "traces", "verify")


def _words(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
