"""What one system shows and another takes for granted, each as one formula in words that both have.

That what is below the last stable offset is decided is such a formula, too: the protocol has it (`is_decided_below`).
The step of a durable partition is stated in the words that the partition and the transactions have in common.

Arguments:
    position: of a batch in a log, counted in batches from 0.
"""

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.judging.judge import entries_agree
from spec.protocol.offsets import OffsetReply
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT, ErrorCode


def keeps_committed(committed: Term, position: Term, length: Term, same: Term) -> Term:
    """A new leader's log reaches beyond every batch that is committed, and has it where it was.

    Args:
        committed: the batch at this position is committed.
        position: of a batch in a log, counted in batches from 0.
        length: of the new leader's log.
        same: the new leader has this batch there.
    """
    return implies(committed, all_of(position < length, same))


def is_new(drawn: Term, number: Term, handed_out: Term) -> Term:
    """The producer id that is handed out next was not handed out before.

    Args:
        drawn: the next one.
        number: any producer id.
        handed_out: this one was handed out.
    """
    return implies(handed_out, negate(drawn == number))


def is_of_its_generation(written_in: Term, named: Term) -> Term:
    """Offsets are written only while the generation that their commit names is the group's.

    Args:
        written_in: the group's generation when they were; -1 if they were not.
        named: the generation in the commit.
    """
    return any_of(written_in == ABSENT, written_in == named)


def is_withheld(undecided: Term, reported: OffsetReply) -> Term:
    """A stable fetch returns an error and no offset while an offset of an undecided transaction is in the log.

    Args:
        undecided: there is such an offset.
        reported: the answer to the fetch.
    """
    without = all_of(reported.offset == ABSENT, reported.error == ErrorCode.UNSTABLE_OFFSET_COMMIT.value)
    return implies(undecided, without)


def outcomes_agree(one: Term, other: Term) -> Term:
    """Two markers of a transaction, or a marker and the outcome, say the same.

    Args:
        one: the outcome that one says.
        other: the outcome that the other says.
    """
    return one == other


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
