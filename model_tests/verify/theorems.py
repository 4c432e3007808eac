"""The theorems that are proved without bounds, with what their proofs assume; no solver is needed to name them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spec import rules as named
from spec.rules import Rule
from spec.systems.assumptions import Assumption, ids, in_order

if TYPE_CHECKING:
    from spec.systems.language import Claim, System

CLAIMED: Final = 2
"""The transaction version of the proofs."""


def idempotence(_: int = CLAIMED) -> "System":
    """Idempotent producers."""
    from spec.systems.idempotence.system import idempotence as system

    return system()


def partition(_: int = CLAIMED) -> "System":
    """One partition's log."""
    from spec.systems.partition.system import partition as system

    return system()


def producer_ids(_: int = CLAIMED) -> "System":
    """Blocks of producer ids."""
    from spec.systems.ids.system import ids as system

    return system()


def new_ids(_: int = CLAIMED) -> "System":
    """What blocks of producer ids give to the transactions."""
    from spec.systems.ids.system import new_ids as system

    return system()


def transactions(version: int) -> "System":
    """The newest release under a transaction version, with the lemmas of version 2."""
    from spec.systems.transactions.proof import UNBOUNDED, proved

    return proved(replace(UNBOUNDED, profile=UNBOUNDED.profile.under(version)))


def replicas(_: int = CLAIMED) -> "System":
    """Brokers that replicate."""
    from spec.systems.replication.proof import proved

    return proved()


def completion(version: int = CLAIMED) -> "System":
    """Prepared transactions, under fairness; before version 2 nothing is claimed."""
    from spec.systems.transactions.completion import completion as system

    return _of_version_2(system(), version)


def frame(version: int = CLAIMED) -> "System":
    """Several transactional ids beside each other; before version 2 nothing is claimed."""
    from spec.systems.transactions.frame import frame as system

    return _of_version_2(system(), version)


def reading(version: int = CLAIMED) -> "System":
    """Readers of what clients were answered is committed; before version 2 nothing is claimed."""
    from spec.systems.transactions.reading import reading as system

    return _of_version_2(system(), version)


def joining(version: int = CLAIMED) -> "System":
    """The join of logs, held against the transactions; before version 2 nothing is claimed."""
    from spec.systems.transactions.joining import joining as system

    return _of_version_2(system(), version)


def durable(_: int = CLAIMED) -> "System":
    """What is committed of one partition."""
    from spec.systems.partition.durable import durable as system

    return system()


def kept(_: int = CLAIMED) -> "System":
    """What replicas give to the partition."""
    from spec.systems.replication.proof import kept as system

    return system()


def group(_: int = CLAIMED) -> "System":
    """A group that reads."""
    from spec.systems.group.system import group as system

    return system()


def _of_version_2(system: "System", version: int) -> "System":
    return system if version == CLAIMED else replace(system, theorems=(), lemmas=(), steps=())


SYSTEMS: Final[Mapping[str, Callable[[int], "System"]]] = MappingProxyType(
    {
        "idempotence": idempotence,
        "partition": partition,
        "ids": producer_ids,
        "new_ids": new_ids,
        "transactions": transactions,
        "completion": completion,
        "frame": frame,
        "reading": reading,
        "joining": joining,
        "group": group,
        "replication": replicas,
        "kept": kept,
        "durable": durable,
    }
)
"""How each system is made under a transaction version, of which all but the transactions know nothing.

A system is imported when it is made: `eos rules ID` needs the systems with theorems of that rule, and no other.
"""

FAMILIES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "idempotence": frozenset({"seq", "fence"}),
        "partition": frozenset({"fence", "lso"}),
        "ids": frozenset({"ids"}),
        "new_ids": frozenset({"ids"}),
        "transactions": frozenset({"ids", "seq", "fence", "txn", "lso", "offsets"}),
        "completion": frozenset({"txn"}),
        "frame": frozenset({"txn"}),
        "reading": frozenset({"seq", "lso"}),
        "joining": frozenset({"txn", "fence", "offsets"}),
        "group": frozenset({"offsets"}),
        "replication": frozenset({"repl"}),
        "kept": frozenset({"repl"}),
        "durable": frozenset({"repl"}),
    }
)
"""The rules that each system has theorems of, by family."""


BUNDLES: Final[Mapping[Rule, frozenset[str]]] = MappingProxyType(
    {
        named.TXN_ATOMIC: frozenset(
            {
                "outcome_is_kept",
                "batch_is_in_the_log_once",
                "client_was_reported_the_truth",
                "open_data_will_be_decided",
                "markers_are_let_in",
                "complete_is_awaited",
            }
        )
    }
)
"""Theorems of other rules that a rule's proof has to carry, too: all that the rule's name promises to its users.

A transaction is atomic if it has the same outcome everywhere, what was acknowledged is in the log, the client was
answered that outcome, and what is prepared ends.
"""


def is_theorem_of(claim: "Claim", rule: Rule) -> bool:
    """Whether a theorem is the rule's, or one that its proof has to carry, too."""
    return claim.rule == rule or claim.name in BUNDLES.get(rule, frozenset())


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
        """The same as plain values.

        Fields:
            name: a theorem that is proved
            rule: whose it is
            system: of which system it is a theorem
            sentence: what it says
            assumptions[]: what its proof takes for granted, by number
        """
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
    requested = tuple(rules)
    families = {rule.family for rule in requested}
    return tuple(
        Theorem(claim.name, claim.rule, system.name, claim.sentence, in_order(system.assumptions))
        for system in (build(version) for name, build in SYSTEMS.items() if FAMILIES[name] & families)
        for claim in system.theorems
        if any(is_theorem_of(claim, rule) for rule in requested)
    )


def lines(assumptions: Iterable[Assumption]) -> tuple[str, ...]:
    """The assumptions for a person, a line each, by number."""
    return tuple(f"{each} [{each.shown_by}]" for each in in_order(assumptions))
