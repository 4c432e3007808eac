"""What one system shows and another takes for granted, each as one formula in words that both have.

That what is below the last stable offset is decided is such a formula, too: the protocol has it (`is_decided_below`).

Arguments:
    position: of a batch in a log, counted in batches from 0.
"""

from spec.algebra import Term, all_of, implies, negate


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
