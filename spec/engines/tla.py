"""A finite instance of a system as a TLA+ module, for TLC: the same guards, effects and claims in another language.

A function of the state is a variable of the module, one of records a variable for each of their scalars. Outside the
instance it has its initial value, as in explicit search. A part that a formula uses more than once is defined once,
by `LET`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Final

from spec.algebra import Term
from spec.engines.finite import Finite, derived
from spec.protocol.records import build, flatten
from spec.readings.formulas import DecisionFormula, Sheet, parts_of, used_again
from spec.systems.language import Action, Claim, Function, Sort, State, System, Variable

_OPERATORS: Final[Mapping[str, str]] = {"==": "=", "and": "/\\", "or": "\\/"}
"""Those that TLA+ writes otherwise; the others are the same."""

_LEAVES: Final = frozenset(("column", "constant"))

WIDE: Final = 112
"""Columns after which a comment continues on another line."""


@dataclass(frozen=True, slots=True)
class TlaModule:
    """A module and what TLC needs to know besides.

    Attributes:
        name: of the module; its file is called after it.
        text: of the module.
        configuration: the text of the `.cfg` file, with the claims as invariants.
        invariants: the operator of each claim, by the claim's name.
    """

    name: str
    text: str
    configuration: str
    invariants: Mapping[str, str]


def module_of(
    system: System, finite: Finite, name: str, claims: Iterable[Claim] | None = None, about: str = ""
) -> TlaModule:
    """One instance of a system as a module.

    Args:
        system: what is written.
        finite: its instance.
        name: of the module, an identifier.
        claims: its invariants; by default the theorems.
        about: a line on the instance.
    """
    return _Writer(system, finite).module(name, system.theorems if claims is None else tuple(claims), about)


class _Writer:
    def __init__(self, system: System, finite: Finite) -> None:
        self._system = system
        self._finite = finite
        self._sheet = Sheet()
        self._taken: set[str] = set()
        self._scalars: dict[str, dict[str, str]] = {}
        self._initial: dict[str, Any] = {}
        self._over: dict[str, tuple[Sort, ...]] = {}
        for variable in system.variables:
            self._scalars[variable.name] = {
                scalar: self._declared(variable, scalar, value) for scalar, value in _scalars_of(variable.initial)
            }
        functions = {variable.name: self._function(variable) for variable in system.variables}
        self._state = State(functions, derived(system, finite))

    def _declared(self, variable: Variable, scalar: str, value: Any) -> str:
        name = self._named(f"{variable.name}_{scalar}" if scalar else variable.name)
        self._initial[name], self._over[name] = value, variable.over
        return name

    def _named(self, name: str) -> str:
        """An identifier that nothing else in the module has."""
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _function(self, variable: Variable) -> Function:
        scalars, kind = self._scalars[variable.name], type(variable.initial)
        if not is_dataclass(variable.initial):
            (name,) = scalars.values()
            return lambda *at: self._sheet.applied(name, *at)
        return lambda *at: build(kind, lambda scalar: self._sheet.applied(scalars[scalar], *at))

    # --- the module -----------------------------------------------------------------------------------------------

    def module(self, name: str, claims: tuple[Claim, ...], about: str) -> TlaModule:
        """The whole text."""
        sorts = {sort.name: sort for over in self._overs() for sort in over}
        self._sets = {sort: self._named(f"{sort.upper()}_SET") for sort in sorts}
        actions = {action.name: self._named(action.name) for action in self._system.actions}
        invariants = {claim.name: self._named(claim.name) for claim in claims}
        lines = [
            f"---- MODULE {name} ----",
            *_comment(f"The system {self._system.name} of the specification. {about}"),
            "EXTENDS Integers",
            "",
            f"VARIABLES {', '.join(self._initial)}",
            f"vars == << {', '.join(self._initial)} >>",
            "",
            *(f"{self._sets[name]} == {_values(self._finite.of(sort))}" for name, sort in sorts.items()),
            "",
            *self._init(),
        ]
        for action in self._system.actions:
            lines += ["", *self._action(actions[action.name], action)]
        lines += ["", "Next ==", *(f"    \\/ {self._some(actions[each.name], each)}" for each in self._system.actions)]
        lines += ["", "Spec == Init /\\ [][Next]_vars"]
        for claim in claims:
            lines += ["", *_comment(claim.sentence), f"{invariants[claim.name]} ==", f"    {self._claim(claim)}"]
        lines += ["", "====", ""]
        configuration = ["INIT Init", "NEXT Next", *(f"INVARIANT {each}" for each in invariants.values()), ""]
        return TlaModule(name, "\n".join(lines), "\n".join(configuration), invariants)

    def _overs(self) -> Iterator[tuple[Sort, ...]]:
        yield from (each.over for each in self._system.variables)
        yield from (each.over for each in self._system.actions)
        yield from (each.over for each in self._system.claims)

    def _init(self) -> Iterator[str]:
        yield "Init =="
        for name, value in self._initial.items():
            yield f"    /\\ {name} = {self._everywhere(self._over[name], 'at', _constant(value))}"

    def _action(self, name: str, action: Action) -> Iterator[str]:
        at = self._bound(action.over, "for")
        yield from _comment(_first_line(action.effect))
        yield f"{name}({', '.join(map(_text_of_bound, at))}) ==" if at else f"{name} =="
        for guard in action.guard(self._state, *at):
            yield f"    /\\ {self._text(guard)}"
        after = action.effect(self._state, *at).functions
        unchanged: list[str] = []
        for variable in self._system.variables:
            function, scalars = after[variable.name], self._scalars[variable.name]
            points = self._bound(variable.over, "at")
            if function is self._state.functions[variable.name]:
                unchanged += scalars.values()
                continue
            for scalar, value in _scalars_of(function(*points)):
                if value is self._sheet.applied(scalars[scalar], *points):
                    unchanged.append(scalars[scalar])
                else:
                    text = self._everywhere(variable.over, "at", self._text(value))
                    yield f"    /\\ {scalars[scalar]}' = {text}"
        if unchanged:
            yield f"    /\\ UNCHANGED << {', '.join(unchanged)} >>"

    def _some(self, name: str, action: Action) -> str:
        if not action.over:
            return name
        at = self._bound(action.over, "for")
        return f"\\E {self._domains(action.over, 'for')} : {name}({', '.join(map(_text_of_bound, at))})"

    def _claim(self, claim: Claim) -> str:
        holds = self._text(claim.holds(self._state, *self._bound(claim.over, "any")))
        return f"\\A {self._domains(claim.over, 'any')} : {holds}" if claim.over else holds

    # --- formulas -------------------------------------------------------------------------------------------------

    def _bound(self, over: Sequence[Sort], role: str) -> list[DecisionFormula]:
        return [self._sheet.column(f"{role}_{place}_{sort.name}") for place, sort in enumerate(over)]

    def _domains(self, over: Sequence[Sort], role: str) -> str:
        names = map(_text_of_bound, self._bound(over, role))
        return ", ".join(f"{name} \\in {self._sets[sort.name]}" for name, sort in zip(names, over, strict=True))

    def _everywhere(self, over: Sequence[Sort], role: str, value: str) -> str:
        return f"[{self._domains(over, role)} |-> {value}]" if over else value

    def _text(self, fact: Term) -> str:
        """A formula, with its shared parts defined in front of it."""
        if not isinstance(fact, DecisionFormula):
            return _constant(fact)
        shared = {part for part in used_again([fact]) if part.operator not in _LEAVES}
        names: dict[DecisionFormula, str] = {}
        definitions = []
        for part in parts_of([fact]):
            if part in shared and part is not fact:
                text = self._part(part, names)
                names[part] = f"part_{len(names)}"
                definitions.append(f"{names[part]} == {text}")
        whole = self._part(fact, names)
        return f"LET {' '.join(definitions)} IN {whole}" if definitions else whole

    def _part(self, part: DecisionFormula, names: Mapping[DecisionFormula, str]) -> str:
        if part in names:
            return names[part]
        operands = [self._part(operand, names) for operand in part.operands]
        match part.operator, operands:
            case "column", _:
                return _text_of_bound(part)
            case "constant", _:
                return _constant(part.value)
            case "applied", _:
                return self._applied(str(part.value), part.operands, operands)
            case "choose", [fact, then, otherwise]:
                return f"(IF {fact} THEN {then} ELSE {otherwise})"
            case "not", [fact]:
                return f"(~{fact})"
            case operator, [left, right]:
                return f"({left} {_OPERATORS.get(operator, operator)} {right})"
        raise ValueError(f"TLA+ is not written for {part.operator}")

    def _applied(self, name: str, operands: Sequence[DecisionFormula], at: Sequence[str]) -> str:
        """The value of a variable at a point; its initial value where the point is outside the instance."""
        if not at:
            return name
        sets = [self._sets[sort.name] for sort in self._over[name]]
        value = f"{name}[{', '.join(at)}]"
        bounds = [
            f"{point} \\in {domain}"
            for point, domain, operand in zip(at, sets, operands, strict=True)
            if operand.operator != "column"  # what is bound ranges over the instance
        ]
        if not bounds:
            return value
        inside = " /\\ ".join(bounds)
        return f"(IF {inside} THEN {value} ELSE {_constant(self._initial[name])})"


def _scalars_of(value: Any) -> Iterable[tuple[str, Any]]:
    """A record's scalars by name; another value under no name."""
    return flatten(value) if is_dataclass(value) else [("", value)]


def _text_of_bound(part: DecisionFormula) -> str:
    return str(part.value)


def _constant(value: Term) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return str(int(value)) if value >= 0 else f"({int(value)})"


def _values(values: Sequence[int]) -> str:
    if tuple(values) == tuple(range(values[0], values[-1] + 1)):
        return f"{values[0]}..{values[-1]}"
    return f"{{{', '.join(map(str, values))}}}"


def _first_line(thing: Any) -> str:
    return str(thing.__doc__ or "").split("\n", 1)[0]


def _comment(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if len(line) + len(word) > WIDE:
            yield f"\\* {line}"
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield f"\\* {line}"
