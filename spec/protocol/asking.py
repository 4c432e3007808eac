"""How a broker asks coordinators about transactions: one request to each node waits, with one part for each id.

Source: AddPartitionsToTxnManager.addTxnData of 3.6 to 4.4.
"""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import verification
from spec.protocol.guards import Guard, branch, error_of
from spec.vocabulary import ErrorCode


@dataclass(frozen=True, slots=True)
class PendingVerification:
    """What waits to be sent to the coordinator's node.

    Attributes:
        any_request: something waits for the node, be it of another id.
        version: of the Produce whose question was the first of these; of offsets, the one that their commit stands for.
        same_id: a question about this transactional id waits.
        producer_epoch: of that question.
    """

    any_request: Term = False
    version: Term = 0
    same_id: Term = False
    producer_epoch: Term = 0


@dataclass(frozen=True, slots=True)
class Queued:
    """The decision on one more question.

    Attributes:
        branch: number of the guard that decided, 0 where the question waits and nothing had waited for its id.
        waiting_error: what the one is told that had waited, none where it goes on waiting or there was none.
        asker_error: what the new one is told at once, none where it waits.
        version: the version of Produce in whose words everyone in the request is answered.
    """

    branch: Term
    waiting_error: Term
    asker_error: Term
    version: Term


def queue(waiting: PendingVerification, producer_epoch: Term, version: Term) -> Queued:
    """Have a question wait for the coordinator, in place of an older one about the same id.

    Epochs are compared whatever their producer ids: after a rotation the new producer, at epoch 0, is told that it is
    fenced while a question of the old one waits. And whoever was first for the node says how all are answered.

    Args:
        waiting: what waits.
        producer_epoch: of the new question.
        version: of the Produce that it is asked for.
    """
    checks = guards(waiting, producer_epoch)
    decided = branch(checks)
    error, refused = error_of(checks, decided), decided == 1
    none = ErrorCode.NONE.value
    return Queued(
        decided,
        waiting_error=choose(refused, none, error),
        asker_error=choose(refused, error, none),
        version=choose(waiting.any_request, waiting.version, version),
    )


def guards(waiting: PendingVerification, producer_epoch: Term) -> tuple[Guard, ...]:
    """Which of two questions about an id is not asked, and what it is told instead."""
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH.value
    rule, both = rules.FENCE_STALE_EPOCH, waiting.same_id
    return (
        Guard("asker_fenced", rule, all_of(both, producer_epoch < waiting.producer_epoch), fenced),
        Guard("waiting_fenced", rule, all_of(both, producer_epoch > waiting.producer_epoch), fenced),
        Guard(
            "asked_again",
            rules.TXN_REGISTERED_BEFORE_DATA,
            all_of(both, producer_epoch == waiting.producer_epoch),
            ErrorCode.NETWORK_EXCEPTION.value,
        ),
    )


def reported(error: Term, queued: Queued) -> Term:
    """The coordinator's answer in the words of whoever was first, which are not always those of the asker."""
    known = any_of(
        queued.version >= verification.ABORTABLE_SINCE, negate(error == ErrorCode.TRANSACTION_ABORTABLE.value)
    )
    return choose(known, error, ErrorCode.INVALID_TXN_STATE.value)
