"""Steps that the solver itself judges: whether its reading of the decision gives what Python's gives."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from model_tests.check.samples import undecided
from model_tests.traces.schema import columns_of
from spec.algebra import Term, all_of
from spec.engines.reading_z3 import Numbers, evaluate
from spec.protocol.append import Append, append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry, flatten, scalars
from spec.versions import PROFILES, Profile

_KINDS = {
    name: kind
    for prefix, record in (("before_", ProducerEntry), ("", AppendRequest), ("", MetVerification))
    for name, (_, kind) in zip(columns_of((prefix, record)), scalars(record), strict=True)
}
"""Columns that a decision takes, with the Python types of their values."""

COLUMNS: Final = (*_KINDS, "profile")
"""Columns of a step that are looked at."""


def disagreements(
    steps: Iterable[Mapping[str, Any]], numbers: Numbers, decide: Callable[..., Append] = append
) -> list[Mapping[str, Any]]:
    """The steps on which the solver decides otherwise than `decide` does in Python."""
    terms = {name: _outcome(append, _constant(numbers), profile) for name, profile in PROFILES.items()}
    return [step for step in steps if not _agrees(step, terms[step["profile"]], numbers, decide)]


def _agrees(
    step: Mapping[str, Any], terms: Mapping[str, Term], numbers: Numbers, decide: Callable[..., Append]
) -> bool:
    decided = _outcome(decide, step.__getitem__, PROFILES[step["profile"]])
    agreement = all_of(*(term == decided[name] for name, term in terms.items()))
    return bool(evaluate(agreement, {name: step[name] for name in _KINDS}, numbers))


def _constant(numbers: Numbers) -> Callable[[str], Term]:
    return lambda name: numbers.constant(name, bool if _KINDS[name] is bool else int)


def _outcome(decide: Callable[..., Append], scalar: Callable[[str], Term], profile: Profile) -> dict[str, Term]:
    """Branch, reply and entry after, as terms or as values."""
    entry, request, verification = undecided(scalar)
    decision = decide(entry, request, profile, verification)
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {"branch": decision.branch, **dict(flatten(decision.reply)), **after}
