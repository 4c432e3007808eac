"""The claims of the systems, as formulas: each theorem is evaluated on a state of which only the names are known."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

from formulas import PRIME, TextFormula, claimed, symbol, worded

from model_tests.verify.proving import facts
from spec.rules import Rule
from spec.systems.assumptions import ids as ids_of
from spec.systems.cleaning import CleaningKnobs as OfCleaning
from spec.systems.cleaning import cleaning
from spec.systems.client.producer import ClientKnobs as OfClient
from spec.systems.client.system import client
from spec.systems.coordinator.system import coordinating
from spec.systems.coordinator.transactional_id import CoordinatorKnobs as OfCoordinator
from spec.systems.decision_lemmas import Fact
from spec.systems.expiry import ExpiryKnobs as OfExpiry
from spec.systems.expiry import expiry
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids
from spec.systems.language import Claim, Function, Sort, State, System, Variable
from spec.systems.marking import MarkingKnobs as OfMarkers
from spec.systems.marking import marking
from spec.systems.membership import MembershipKnobs as OfMembership
from spec.systems.membership import membership
from spec.systems.offsets import OffsetsKnobs as OfOffsets
from spec.systems.offsets import committing
from spec.systems.partition.system import partition
from spec.systems.replication.system import replication
from spec.systems.transactions.proof import proved

LONGEST: Final = 420
"""The longest formula, in characters, that is readable; a longer one takes in a whole decision."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One claim of a system, or one fact of a decision for all inputs.

    Attributes:
        where: the system's name; of a fact, "every input".
        formula: empty where it takes in a whole decision.
        assumes: numbers of what is taken for granted of that system.
    """

    rule: Rule
    where: str
    name: str
    sentence: str
    formula: str
    assumes: tuple[str, ...] = ()


def systems() -> tuple[System, ...]:
    """Every system with claims, as it is proved or searched."""
    return (
        idempotence(),
        partition(),
        ids(),
        proved(),
        replication(),
        cleaning(OfCleaning()),
        committing(OfOffsets()),
        membership(OfMembership()),
        marking(OfMarkers()),
        expiry(OfExpiry()),
        client(OfClient()),
        coordinating(OfCoordinator()),
    )


@lru_cache(maxsize=1)
def stated() -> tuple[Stated, ...]:
    """Every theorem of every system, and every fact of a decision for all inputs."""
    theorems = (_theorem(system, claim) for system in systems() for claim in system.theorems)
    return (*theorems, *(_fact(fact) for fact, _ in facts()))


def _theorem(system: System, claim: Claim) -> Stated:
    names = _names(claim.over)
    text = claimed(claim.holds(symbolic(system), *map(TextFormula, names)))
    formula = f"∀ {', '.join(names)}: {text}" if names else text
    shown = formula if len(text) <= LONGEST else ""
    return Stated(claim.rule, system.name, claim.name, claim.sentence, shown, tuple(ids_of(system.assumptions)))


def _fact(fact: Fact) -> Stated:
    return Stated(fact.rule, "every input", fact.name, fact.sentence, "")


def _names(over: tuple[Sort, ...]) -> list[str]:
    """A name for each argument; a second one of a sort has a prime."""
    met: Counter[str] = Counter()
    names = []
    for sort in over:
        names.append(sort.name + PRIME * met[sort.name])
        met[sort.name] += 1
    return names


def symbolic(system: System) -> State:
    """A state of which nothing is known: each function of arguments is its own name applied to them."""
    variables = {variable.name: _applied(variable) for variable in system.variables}
    return State(variables, {least.name: _derived(least.name) for least in system.derived})


def _applied(variable: Variable) -> Function:
    def value(*at: Any) -> Any:
        return unknown(variable.initial, _application(variable.name, at))

    return value


def _derived(name: str) -> Any:
    return lambda _: lambda *at: TextFormula(_application(name, at))


def _application(name: str, at: tuple[Any, ...]) -> str:
    return f"{name}({', '.join(map(worded, at))})" if at else name


def unknown(like: Any, place: str) -> Any:
    """A term, or a record of terms of the same shape, called by its place."""
    if not is_dataclass(like) or isinstance(like, type):
        return TextFormula(place)
    return replace(like, **dict(_parts(like, place)))


def _parts(like: Any, place: str) -> Iterator[tuple[str, Any]]:
    for part in fields(like):
        value = getattr(like, part.name)
        at = f"{place}.{part.name}"
        if isinstance(value, tuple):
            yield part.name, tuple(unknown(each, f"{at}[{slot}]") for slot, each in enumerate(value))
        else:
            yield part.name, unknown(value, at) if is_dataclass(value) else symbol(place, part.name)
