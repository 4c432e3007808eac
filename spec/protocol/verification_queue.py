"""The queue of verification requests: one pending request for each coordinator node, with one part for each id.

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
    """The request that waits to be sent to the coordinator's node.

    Attributes:
        any_request: something waits for the node, for this or another id.
        version: of Produce, of the first question in the request; of offsets, the one that their commit stands for.
        same_id: a question about this transactional id waits.
        producer_epoch: of that question.
    """

    any_request: Term = False
    version: Term = 0
    same_id: Term = False
    producer_epoch: Term = 0


@dataclass(frozen=True, slots=True)
class Queued:
    """The decision on one more question for the node.

    Attributes:
        branch: number of the guard that decided, 0 where the question waits and none had waited for its id.
        waiting_error: the answer to the question that had waited; none where it still waits or there was none.
        new_error: the immediate answer to the new question; none where it waits.
        version: the version of Produce by which every error of the request is encoded.
    """

    branch: Term
    waiting_error: Term
    new_error: Term
    version: Term


def queue(waiting: PendingVerification, producer_epoch: Term, version: Term) -> Queued:
    """Queue a question for the coordinator; it replaces an older one about the same id.

    Epochs are compared without their producer ids: after a rotation the new producer, at epoch 0, is fenced while a
    question of the old one waits. The first question for the node sets the version of all answers.

    Args:
        waiting: the request that waits.
        producer_epoch: of the new question.
        version: of the Produce that caused it.
    """
    checks = guards(waiting, producer_epoch)
    decided = branch(checks)
    error, refused = error_of(checks, decided), decided == 1
    none = ErrorCode.NONE.value
    return Queued(
        decided,
        waiting_error=choose(refused, none, error),
        new_error=choose(refused, error, none),
        version=choose(waiting.any_request, waiting.version, version),
    )


def guards(waiting: PendingVerification, producer_epoch: Term) -> tuple[Guard, ...]:
    """Which of two questions about an id is dropped, and its error."""
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH.value
    rule, both = rules.FENCE_STALE_EPOCH, waiting.same_id
    return (
        Guard("new_fenced", rule, all_of(both, producer_epoch < waiting.producer_epoch), fenced),
        Guard("waiting_fenced", rule, all_of(both, producer_epoch > waiting.producer_epoch), fenced),
        Guard(
            "repeated",
            rules.TXN_REGISTERED_BEFORE_DATA,
            all_of(both, producer_epoch == waiting.producer_epoch),
            ErrorCode.NETWORK_EXCEPTION.value,
        ),
    )


def reported(error: Term, queued: Queued) -> Term:
    """The coordinator's answer, encoded for the version of the first question, which may differ from the asker's."""
    known = any_of(
        queued.version >= verification.ABORTABLE_SINCE, negate(error == ErrorCode.TRANSACTION_ABORTABLE.value)
    )
    return choose(known, error, ErrorCode.INVALID_TXN_STATE.value)
