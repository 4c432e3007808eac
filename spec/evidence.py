"""Kinds of evidence, and the mark that says which rule a check is evidence for."""

from collections.abc import Callable
from enum import StrEnum, unique
from typing import Protocol, TypeVar


@unique
class Layer(StrEnum):
    """A kind of evidence, by the name it has in reports."""

    PROOF = "proof"  # induction, without bounds
    BOUNDED = "bounded"  # no counterexample up to a depth
    EXPLORED = "explored"  # explicit search, with liveness
    STATEFUL = "stateful"  # Hypothesis state machine against the reference
    TRACE = "trace"  # randomized traces judged on Spark
    CONFORMANCE = "conformance"  # recorded sessions of real brokers
    AUDIT = "audit"  # logs of real brokers


class HasId(Protocol):
    """Anything with a rule's id: evidence needs no more of a rule than its name."""

    @property
    def id(self) -> str:
        """The rule's id."""
        ...


Check = TypeVar("Check", bound=Callable[..., object])

_CHECKS: dict[tuple[str, Layer], list[str]] = {}


def evidences(rule: HasId, *layers: Layer) -> Callable[[Check], Check]:
    """Mark a check as evidence for `rule` in `layers`.

    The mark says where to look. Whether the check ran, and on how much, is said by its result alone.
    """

    def mark(check: Check) -> Check:
        for layer in layers:
            where = f"{check.__module__}.{getattr(check, '__qualname__', type(check).__name__)}"
            _CHECKS.setdefault((rule.id, layer), []).append(where)
        return check

    return mark


def checks() -> dict[tuple[str, Layer], tuple[str, ...]]:
    """Every marked check of the modules imported so far, by rule id and layer."""
    return {key: tuple(where) for key, where in _CHECKS.items()}
