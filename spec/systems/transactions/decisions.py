"""The decisions of the protocol that a system of transactions takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from spec.protocol import append as appending
from spec.protocol import ending, ids, registering
from spec.protocol.append import Append
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.protocol.ending import EndRequest
from spec.protocol.ids import InitRequest
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.protocol.registering import AddRequest
from spec.systems.transactions.world import TransactionKnobs

Answer = TypeVar("Answer")
Decision: TypeAlias = Callable[..., Answer]


@dataclass(frozen=True, slots=True)
class ReleaseDecisions:
    """The decisions of the protocol, of one release, with the guards that a knob takes out."""

    append: Callable[[ProducerEntry, AppendRequest, MetVerification], Append]
    initialize: Callable[[TransactionEntry, InitRequest], Transition]
    register: Callable[[TransactionEntry, AddRequest], Transition]
    end: Callable[[TransactionEntry, EndRequest], Transition]


def decisions(knobs: TransactionKnobs) -> ReleaseDecisions:
    """The decisions of the knobs' release."""
    profile = knobs.profile
    return ReleaseDecisions(
        append=lambda entry, request, seen: appending.append(entry, request, profile, seen, knobs.without),
        initialize=lambda entry, request: ids.initialize(entry, request, profile),
        register=lambda entry, request: registering.register(entry, request, profile),
        end=lambda entry, request: ending.end(entry, request, profile),
    )


def remembered(taken: ReleaseDecisions) -> ReleaseDecisions:
    """The same decisions, each answer worked out once; for values only."""
    return ReleaseDecisions(_once(taken.append), _once(taken.initialize), _once(taken.register), _once(taken.end))


def _once(decide: Decision[Answer]) -> Decision[Answer]:
    answers: dict[tuple[object, ...], Answer] = {}

    def once(*arguments: object) -> Answer:
        if arguments not in answers:
            answers[arguments] = decide(*arguments)
        return answers[arguments]

    return once
