"""The theorems that are proved without bounds, with what their proofs assume; no solver is needed to name them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from spec.rules import Rule
from spec.systems.assumptions import Assumption, ids, in_order
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids as producer_ids
from spec.systems.language import System
from spec.systems.partition.system import partition
from spec.systems.transactions.proof import UNBOUNDED
from spec.systems.transactions.proof import proved as transactions_proved

CLAIMED: Final = 2
"""The transaction version of the proofs."""


def transactions(version: int) -> System:
    """The newest release under a transaction version, with the lemmas of version 2."""
    return transactions_proved(replace(UNBOUNDED, profile=UNBOUNDED.profile.under(version)))


SYSTEMS: Final[Mapping[str, Callable[[int], System]]] = MappingProxyType(
    {
        "idempotence": lambda _: idempotence(),
        "partition": lambda _: partition(),
        "ids": lambda _: producer_ids(),
        "transactions": transactions,
    }
)
"""How each system is made under a transaction version, of which all but the last know nothing."""


@dataclass(frozen=True, slots=True)
class Theorem:
    """One theorem of a rule that is proved, and what its proof takes for granted.

    Attributes:
        system: the system that it is a theorem of.
        sentence: what it says.
    """

    name: str
    rule: Rule
    system: str
    sentence: str
    assumptions: tuple[Assumption, ...]

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""
        return {
            "name": self.name,
            "rule": self.rule.id,
            "system": self.system,
            "sentence": self.sentence,
            "assumptions": ids(self.assumptions),
        }


def theorems(rules: Iterable[Rule], version: int = CLAIMED) -> tuple[Theorem, ...]:
    """The theorems of some rules that are proved without bounds, each with the assumptions of its proof.

    Args:
        rules: whose.
        version: the transaction version.
    """
    asked = frozenset(rules)
    return tuple(
        Theorem(claim.name, claim.rule, system.name, claim.sentence, in_order(system.assumptions))
        for system in (build(version) for build in SYSTEMS.values())
        for claim in system.theorems
        if claim.rule in asked
    )


def lines(assumptions: Iterable[Assumption]) -> tuple[str, ...]:
    """The assumptions for a person, a line each, by number."""
    return tuple(f"{each} [{each.shown_by}]" for each in in_order(assumptions))
