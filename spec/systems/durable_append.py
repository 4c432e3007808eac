"""The step of a durable partition, in the words that the partition and the transactions have in common."""

from spec.algebra import Term, all_of
from spec.judging.judge import entries_agree
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.unwrapped_append import Decide


def is_durable_append(before: ProducerEntry, request: AppendRequest, after: ProducerEntry, decide: Decide) -> Term:
    """The batch is appended, and what is known of its producer is what the append decision makes of it.

    Args:
        before: what the partition knows of the producer.
        request: the batch.
        after: what it knows afterwards.
        decide: the append decision.
    """
    decided = decide(before, request)
    return all_of(decided.reply.appended, entries_agree(decided.entry, after))
