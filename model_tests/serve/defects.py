"""Broken servers: defects that a client's run brings to light, each with the rule that convicts it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from model_tests.common.reports import BadInput
from model_tests.mutants.defects import of_append, of_coordinator, of_groups, of_identities, of_markers
from model_tests.mutants.defects.planted import Planted, planted_in
from spec import rules
from spec.rules import Rule

_PLANTED: Final[Mapping[str, Planted]] = planted_in(
    of_append, of_coordinator, of_groups, of_identities, of_markers, of_append
)


@dataclass(frozen=True, slots=True)
class ServedDefect:
    """A defect of the reference, and the rule that a step of a client's run breaks by it.

    Attributes:
        planted: the defect.
        rule: that convicts it where every step is judged; whole histories of simulated clients may show another.
    """

    planted: Planted
    rule: Rule


def _served(name: str, rule: Rule) -> ServedDefect:
    return ServedDefect(_PLANTED[name], rule)


DEFECTS: Final[Mapping[str, ServedDefect]] = {
    "-".join(defect.planted.name.split()): defect
    for defect in (
        _served("new epoch must continue", rules.SEQ_EPOCH_RESET),
        _served("duplicate of another epoch", rules.SEQ_DUPLICATE_WINDOW),
        _served("a commit is decided as an abort", rules.TXN_LEGAL_TRANSITION),
        _served("a partition that is added replaces the others", rules.TXN_LEGAL_TRANSITION),
        _served("one partition gets its marker", rules.TXN_LEGAL_TRANSITION),
        _served("a marker leaves no coordinator epoch", rules.FENCE_COORDINATOR_EPOCH),
        _served("open transactions do not bound readers", rules.LSO_DECIDED_BELOW),
        _served("a new instance gets the epoch of the one before", rules.IDS_IDENTITY_NEVER_REPEATS),
        _served("a new instance commits what the one before has left open", rules.FENCE_ZOMBIE_CANNOT_COMMIT),
        _served("any epoch ends a transaction", rules.FENCE_STALE_EPOCH),
        _served("an abort is decided as a commit", rules.TXN_LEGAL_TRANSITION),
        _served("the end of a transaction bumps no epoch", rules.FENCE_ZOMBIE_CANNOT_COMMIT),
        _served("a marker ends nothing for its producer", rules.LSO_DECIDED_BELOW),
        _served("raised epoch not noted", rules.SEQ_EPOCH_RESET),
        _served("offsets count before their transaction has ended", rules.OFFSETS_ATOMIC),
    )
}
"""By the name that `eos serve --defect` takes."""


def defect_called(name: str) -> ServedDefect:
    """The defect of a name.

    Raises:
        BadInput: there is none.
    """
    if name not in DEFECTS:
        raise BadInput(f"no defect {name!r}; there are {', '.join(DEFECTS)}")
    return DEFECTS[name]


@contextmanager
def broken(name: str) -> Iterator[None]:
    """The reference has the defect of a name inside this context; an empty name leaves it as it is.

    Raises:
        BadInput: there is no such defect.
    """
    with defect_called(name).planted.in_place() if name else nullcontext():
        yield
