"""Whether a mutant decides as the true decision does for all inputs: a question to the solver, under every profile.

A mutant that differs may still be masked by what uses it. It is equivalent if every decision that uses it is the
same with it in place, up to the decisions that are used from outside the protocol.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, reduce
from inspect import Parameter, signature
from itertools import product
from typing import Any, Final, get_type_hints

from model_tests.judging.well_formed import well_formed
from model_tests.mutants.decisions.call_sites import Call, IdentityKey, Occasions
from model_tests.mutants.decisions.functions import DecisionFunction
from model_tests.mutants.decisions.made import DecisionMutant
from model_tests.mutants.decisions.users import used_by, used_outside
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.engines.reading_z3 import INTEGERS
from spec.engines.solving import contradiction
from spec.engines.verdict import Proved
from spec.protocol.guards import Guard
from spec.rules import RULES
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT

MANY: Final = 40
"""Arguments of different shape with which one decision is called, profiles aside."""


class Examples:
    """Arguments that each decision was met with, one of each shape: they show which are numbers and which are facts."""

    def __init__(self) -> None:
        self._of: dict[DecisionFunction, dict[object, dict[str, Any]]] = {}
        self._of_any_form: set[DecisionFunction] = set()

    def learn(self, occasions: Occasions, *, made_up: bool = False) -> None:
        """Look at the calls of one layer.

        Args:
            occasions: the calls.
            made_up: they are those of tests, whose records need not be of a form that is met elsewhere.
        """
        for decision, calls in occasions.calls.items():
            hints = get_type_hints(decision.function)
            known = self._of.setdefault(decision, {})
            for call in calls:
                values = _by_name(decision, call)
                if any(isinstance(value, frozenset) and value for value in values.values()):
                    continue  # guards taken out, as in no release
                formed = well_formed(values)
                if not isinstance(formed, bool):
                    continue  # terms of the solver, which stand for whatever is met
                if not formed and made_up:
                    continue
                if not formed:
                    self._of_any_form.add(decision)
                shape = tuple((name, _shape(hints.get(name), value)) for name, value in values.items())
                if shape not in known and len(known) < MANY:
                    known[shape] = values

    def domain(self, decision: DecisionFunction, arguments: Mapping[str, Any]) -> Term:
        """What may be taken for granted of a decision's arguments: nothing, where a call was met that belies it."""
        return True if decision in self._of_any_form else well_formed(arguments)

    def of(self, decision: DecisionFunction) -> Sequence[dict[str, Any]]:
        """The arguments of a decision, by their names."""
        return tuple(self._of.get(decision, {}).values())


@dataclass(frozen=True, slots=True)
class Sameness:
    """The proof that a mutant decides as the true decision does.

    Attributes:
        at: the decisions at which it is the same.
        questions: each form of their arguments under each profile is one.
    """

    at: tuple[str, ...]
    questions: int

    def __str__(self) -> str:
        """In a line, which `named` reads."""
        requested = "1 question" if self.questions == 1 else f"{self.questions:,} questions"
        return f"proved the same: {', '.join(self.at)} ({requested})"


def named(sameness: str) -> tuple[str, ...]:
    """The decisions that a sameness in words names; of other words none."""
    found = re.fullmatch(r"proved the same: (.+) \(.+\)", sameness)
    return tuple(found[1].split(", ")) if found else ()


def passes(of: DecisionFunction, names: Collection[str]) -> bool:
    """Whether all that a decision does reaches the outside of the protocol by way of some decisions.

    Args:
        of: the decision.
        names: of those decisions, which may have its own.
    """
    if of.name in names:
        return True
    users = used_by(of)
    return bool(users) and of.name not in used_outside() and all(passes(user, names) for user in users)


def equivalent(mutant: DecisionMutant, met: Examples) -> Sameness | None:
    """That the mutant is the same for all inputs, if that is proved."""
    at: dict[str, int] = {}
    return Sameness(tuple(at), sum(at.values())) if _same(mutant.of, mutant, met, at) else None


def _same(of: DecisionFunction, mutant: DecisionMutant, met: Examples, at: dict[str, int]) -> bool:
    questions = _proved(of, mutant, met)
    if questions:
        at[of.name] = questions
        return True
    users = used_by(of)
    if not users or of.name in used_outside():
        return False
    return all(_same(user, mutant, met, at) for user in users)


def _proved(of: DecisionFunction, mutant: DecisionMutant, met: Examples) -> int:
    """How many questions have the answer that a decision is the same under the mutant; 0 if one has not."""
    shapes = list(_shapes(of, met))
    try:
        return len(shapes) if all(_alike(of, mutant, arguments, met) for arguments in shapes) else 0
    except Exception:  # noqa: BLE001  # what the solver cannot take is not proved
        return 0


def _alike(of: DecisionFunction, mutant: DecisionMutant, arguments: Mapping[str, Any], met: Examples) -> bool:
    positional, named = _bound(of, arguments)
    true = of.function(*positional, **named)
    with mutant.planted():
        mutated = of.function(*positional, **named)
    apart = frozenset() if of is mutant.of else NUMBERS_OF_GUARDS
    return _follows(met.domain(of, arguments), same_answer(true, mutated, apart))


def _bound(of: DecisionFunction, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
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


def _shapes(of: DecisionFunction, met: Examples) -> Iterator[Mapping[str, Any]]:
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


def _by_name(of: DecisionFunction, call: Call) -> dict[str, Any]:
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
    return {name: value.value if isinstance(value, IdentityKey) else value for name, value in values.items()}


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
    if isinstance(value, Profile | Mapping | str | frozenset | Guard) or value is None:
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


# --- the same answer ------------------------------------------------------------------------------------------


NUMBERS_OF_GUARDS: Final = frozenset({"branch"})
"""Fields that hold the number of a guard, which only reports use."""


def same_answer(true: Any, mutated: Any, apart: frozenset[str] = frozenset()) -> Term:
    """The same in everything that something depends on; of guards, what the first that applies says.

    Args:
        true: what the decision says.
        mutated: what the mutant says.
        apart: fields that need not be the same.
    """
    if isinstance(true, tuple) and true and isinstance(true[0], Guard):
        return all_of(*(left == right for left, right in zip(_claim(true), _claim(mutated), strict=True)))
    if is_dataclass(true):
        names = [part.name for part in fields(true) if part.name not in apart]
        return all_of(*(same_answer(getattr(true, name), getattr(mutated, name), apart) for name in names))
    if isinstance(true, dict):
        return any_of(*true.values()) == any_of(*mutated.values())
    if isinstance(true, tuple):
        if len(true) != len(mutated):
            return False
        return all_of(*(same_answer(left, right, apart) for left, right in zip(true, mutated, strict=True)))
    return true == mutated


def _claim(checks: Sequence[Guard]) -> tuple[Term, Term]:
    """Error and rule of the first guard that applies."""
    numbers = {rule.id: number for number, rule in enumerate(RULES.values())}
    none: tuple[Term, Term] = (ABSENT - 1, ABSENT)

    def one(after: tuple[Term, Term], guard: Guard) -> tuple[Term, Term]:
        error, rule = after
        return choose(guard.applies, guard.error, error), choose(guard.applies, numbers[guard.rule.id], rule)

    return reduce(one, reversed(checks), none)
