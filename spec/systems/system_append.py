"""The append decision as systems use it: without wrapping, and put to the judge of recorded appends."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from spec.algebra import Term, all_of, implies
from spec.judging.judge import AppendStep, entries_agree, judge
from spec.protocol.append import NOTHING_PENDING, Append, append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.versions import NEWEST, Profile

Decide: TypeAlias = Callable[[ProducerEntry, AppendRequest], Append]
"""The leader's decision, as a function of the producer's entry and the batch."""

UNWRAPPED: Final = replace(NEWEST, max_sequence=None)
"""The newest release without wrapping of sequences; that wrapping changes nothing is a separate fact."""


def remembered(decide: Decide) -> Decide:
    """The decision with a cache of its answers; for values only."""
    answers: dict[tuple[ProducerEntry, AppendRequest], Append] = {}

    def once(entry: ProducerEntry, request: AppendRequest) -> Append:
        arguments = (entry, request)
        if arguments not in answers:
            answers[arguments] = decide(entry, request)
        return answers[arguments]

    return once


def is_as_judged(
    before: ProducerEntry,
    request: AppendRequest,
    after: ProducerEntry,
    profile: Profile,
    seen: MetVerification = NOTHING_PENDING,
) -> Term:
    """The judge expects this entry after the request, and no rule of the step is broken; the answer is the judge's.

    Args:
        before: what the partition knows of the producer.
        request: the batch.
        after: what the system knows of the producer after its step.
        profile: the release.
        seen: the verification that the append meets.
    """
    reply = append(before, request, profile, seen).reply
    expected, checks = judge(AppendStep(before, request, reply, after, seen), profile)
    unbroken = (implies(check.at_stake, check.holds) for check in checks)
    return all_of(entries_agree(expected.entry, after), *unbroken)
