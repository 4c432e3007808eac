"""The assumptions of proofs and searches: of which theorem each is, and whether it was seen to be needed."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from model_tests.verify.results import Control
from model_tests.verify.theorems import CLAIMED, SYSTEMS
from spec.bugs.catalogue import BUGS
from spec.systems.assumptions import BUGS as OF_BUGS
from spec.systems.assumptions import Assumption, registered
from spec.systems.chain import LINKS
from spec.systems.cleaning import CleaningKnobs as OfCleaning
from spec.systems.cleaning import cleaning
from spec.systems.client.producer import ClientKnobs as OfClient
from spec.systems.client.system import client
from spec.systems.coordinator.system import coordinating
from spec.systems.coordinator.transactional_id import CoordinatorKnobs as OfCoordinator
from spec.systems.expiry import ExpiryKnobs as OfExpiry
from spec.systems.expiry import expiry
from spec.systems.language import System
from spec.systems.marking import MarkingKnobs as OfMarking
from spec.systems.marking import marking
from spec.systems.membership import MembershipKnobs as OfMembership
from spec.systems.membership import membership
from spec.systems.offsets import OffsetsKnobs as OfOffsets
from spec.systems.offsets import committing
from spec.systems.replication.system import replication
from spec.systems.transactions.system import transactions
from spec.systems.verifying import VerificationKnobs as OfVerifying
from spec.systems.verifying import verifying

PROOF_OF: Final = "proof of "
"""How the place of an assumption begins that is one of a proof."""


def searched_alone() -> tuple[System, ...]:
    """The systems that are searched, and proved otherwise or not at all."""
    return (
        transactions(),
        replication(),
        cleaning(OfCleaning()),
        committing(OfOffsets()),
        membership(OfMembership()),
        marking(OfMarking()),
        client(OfClient()),
        coordinating(OfCoordinator()),
        expiry(OfExpiry()),
        verifying(OfVerifying()),
    )


@lru_cache(maxsize=1)
def places() -> Mapping[Assumption, tuple[str, ...]]:
    """By assumption the systems that are searched under it, and the proofs that take it for granted."""
    searched = {system.name: system for system in searched_alone()}
    proved = {name: build(CLAIMED) for name, build in SYSTEMS.items()}
    alike = {name: system for name, system in proved.items() if name not in searched and not system.taken}
    lists = {**searched, **alike, **{f"{PROOF_OF}{name}": system for name, system in proved.items()}}
    return MappingProxyType(
        {
            assumption: tuple(name for name, system in lists.items() if assumption in system.assumptions)
            for assumption in registered()
        }
    )


def as_json(assumption: Assumption) -> dict[str, object]:
    """One assumption as plain values.

    Fields:
        id: number of what some result takes for granted; no two have the same
        name: in a few words
        statement: what is assumed
        systems[]: the systems that are searched under it, and the proofs that take it for granted
        controls[].system: the system that breaks without it; `bugs` for a known bug
        controls[].name: what is changed there
        no_control: why there can be no control, where there is none
    """
    return {
        "id": assumption.id,
        "name": assumption.name,
        "statement": assumption.statement,
        "systems": list(places()[assumption]),
        "controls": [{"system": each.system, "name": each.name} for each in assumption.controls],
        "no_control": assumption.no_control,
    }


def unshown(controls: Iterable[Control], assumptions: Iterable[Assumption] | None = None) -> tuple[str, ...]:
    """The controls that an assumption names and that were not seen to break anything, a line each.

    Known bugs are searched by a part of their own; here it is enough that there is such a bug.

    Args:
        controls: all that a run has searched.
        assumptions: whose controls; by default every one.
    """
    seen = _broken(controls)
    known = {(OF_BUGS, name) for name in BUGS}
    return tuple(
        f"{assumption}: its control was not seen to break anything: {named}"
        for assumption in (registered() if assumptions is None else assumptions)
        for named in assumption.controls
        if (named.system, named.name) not in seen | known
    )


def unbroken_links(controls: Iterable[Control]) -> tuple[str, ...]:
    """The controls that a link of the chain names and that were not seen to break anything, a line each.

    Args:
        controls: all that a run has searched.
    """
    seen = _broken(controls)
    return tuple(
        f"the link {link.name}: its control was not seen to break anything: {link.control}"
        for link in LINKS
        if (link.control.system, link.control.name) not in seen
    )


def _broken(controls: Iterable[Control]) -> set[tuple[str, str]]:
    return {(control.system, control.name) for control in controls if control.got == "violated"}
