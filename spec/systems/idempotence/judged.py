"""The requests of idempotent producers at a leader, put to the judge of recorded appends; and what is no request."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from spec import rules
from spec.algebra import Term
from spec.systems.idempotence.actions import StreamActions
from spec.systems.idempotence.stream import StreamKnobs, StreamView
from spec.systems.language import State, StepLemma
from spec.systems.system_append import Decide, is_as_judged

_CLIENT: Final = "a step of a client, which the rules of histories judge"

UNJUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "client_sends": _CLIENT,
        "client_receives_acknowledgement": _CLIENT,
        "client_receives_duplicate_answer": _CLIENT,
        "client_starts_over": _CLIENT,
        "client_expires_batch": _CLIENT,
        "client_resolves": _CLIENT,
        "client_raises_epoch": _CLIENT,
        "followers_copy": "replicas have judges of their own",
        "leader_fails_over": "no append: links hold a new leader's entries to its log",
    }
)
"""Actions that no decision on one recorded step is made of, and what judges them instead."""


def judged_steps(knobs: StreamKnobs, decide: Decide) -> tuple[StepLemma, ...]:
    """A lemma for a batch that is appended, and one for a batch that is not."""
    of = partial(StreamView, knobs, decide)

    def as_judged(before: State, after: State, stream: Term, request: Term, others: Term, length: Term) -> Term:
        leader = of(before, stream)
        known, knows = leader.entry(leader.length()), of(after, stream).entry(length)
        return is_as_judged(known, leader.request(request, others), knows, knobs.profile)

    def leader_appends(before: State, after: State, stream: Term, request: Term, others: Term) -> Term:
        """What is known of a producer after an append is what the judge of appends expects."""
        return as_judged(before, after, stream, request, others, before.length(stream) + 1)

    def leader_answers(before: State, after: State, stream: Term, request: Term) -> Term:
        """What is known of a producer after a batch that is not appended is what the judge of appends expects."""
        return as_judged(before, after, stream, request, 0, before.length(stream))

    there = {action.name: action for action in StreamActions(knobs, decide).all()}
    return tuple(
        StepLemma(f"{name}_as_judged", rules.SEQ_SUCCESSOR, str(holds.__doc__), there[name], (), (), holds)
        for name, holds in ((leader_appends.__name__, leader_appends), (leader_answers.__name__, leader_answers))
    )
