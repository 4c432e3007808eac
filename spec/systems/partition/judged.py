"""The appends to one partition, put to the judge of recorded appends; and the actions that are no append."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of
from spec.judging.judge import entries_agree
from spec.protocol.records import AppendRequest
from spec.systems.language import State, StepLemma
from spec.systems.partition.actions import PartitionActions
from spec.systems.partition.log import CONFIRMED, PRODUCER, PartitionKnobs, PartitionView
from spec.systems.system_append import Decide, is_as_judged

Request: TypeAlias = Callable[..., AppendRequest]
"""From the log and the arguments after the producer to the batch that an action appends."""

_READ: Final = "a read, which the rules of histories judge"
_OFFSETS: Final = "no append: links hold the offsets of a log to those of the step before"

UNJUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "followers_copy": "replicas have judges of their own",
        "records_are_deleted": _OFFSETS,
        "readers_fetch": _READ,
        "leader_fails_over": "no append: links hold a new leader's entries to its log",
    }
)
"""Actions that no decision on one recorded step is made of, and what judges them instead."""


def judged_steps(knobs: PartitionKnobs, decide: Decide) -> tuple[StepLemma, ...]:
    """A lemma for each action of the system that appends."""
    actions = PartitionActions(knobs, decide)
    requests: dict[str, Request] = {
        "producer_appends": actions.data,
        "producer_appends_plain": actions.plain,
        "group_coordinator_commits": actions.offsets,
        "coordinator_writes_marker": actions.marker,
    }
    of = partial(PartitionView, knobs, decide)

    def holds(request: Request, before: State, after: State, partition: Term, producer: Term, *more: Term) -> Term:
        """The last argument is any producer, of which nothing else is known after the append."""
        *at, other = more
        log, length = of(before, partition), before.length(partition)
        knows = after.entry(partition, producer, length + 1)
        untouched = entries_agree(before.entry(partition, other, length), after.entry(partition, other, length + 1))
        return all_of(
            is_as_judged(log.known(producer), request(log, *at), knows, knobs.profile, CONFIRMED),
            any_of(other == producer, untouched),
        )

    there = {action.name: action for action in actions.all()}
    return tuple(
        StepLemma(
            f"{name}_as_judged",
            rules.FENCE_EPOCH_MONOTONE,
            "What is known of a producer after an append is what the judge of appends expects; of others, as before.",
            there[name],
            (PRODUCER,),
            (),
            partial(holds, request),
        )
        for name, request in requests.items()
        if name in there
    )
