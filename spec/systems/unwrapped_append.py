"""The append decision as systems use it: without wrapping, and memoized where it is searched."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import NEWEST

Decide: TypeAlias = Callable[[ProducerEntry, AppendRequest], Append]
"""From what is known of a producer and a batch to the leader's decision."""

UNWRAPPED: Final = replace(NEWEST, max_sequence=None)
"""The newest release, its sequences never wrapping; that wrapping changes nothing is a fact of its own."""


def remembered(decide: Decide) -> Decide:
    """The decision, each answer worked out once; for values only."""
    answers: dict[tuple[ProducerEntry, AppendRequest], Append] = {}

    def once(entry: ProducerEntry, request: AppendRequest) -> Append:
        arguments = (entry, request)
        if arguments not in answers:
            answers[arguments] = decide(entry, request)
        return answers[arguments]

    return once
