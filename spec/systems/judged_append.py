"""An append of a system, put to the judge of recorded appends: what is proved of it is what is judged."""

from spec.algebra import Term, all_of, implies
from spec.judging.judge import AppendStep, entries_agree, judge
from spec.protocol.append import NOTHING_PENDING, append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.versions import Profile


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
