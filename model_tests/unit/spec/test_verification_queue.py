"""One request to each coordinator's node waits (AddPartitionsToTxnManager.addTxnData)."""

from dataclasses import replace

import pytest

from spec.protocol.coordinator import names_of
from spec.protocol.verification_queue import PendingVerification, guards, queue
from spec.vocabulary import ErrorCode

WAITING = PendingVerification(any_request=True, version=12, same_id=True, producer_epoch=3)
FENCED, RETRY, NONE = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NETWORK_EXCEPTION, ErrorCode.NONE


@pytest.mark.parametrize(
    ("epoch", "name", "of_waiting", "of_asker"),
    [
        (1, "new_fenced", NONE, FENCED),
        (2, "new_fenced", NONE, FENCED),
        (3, "repeated", RETRY, NONE),
        (4, "waiting_fenced", FENCED, NONE),
        (5, "waiting_fenced", FENCED, NONE),
    ],
)
def test_the_newest_epoch_of_an_id_is_asked_about(
    epoch: int, name: str, of_waiting: ErrorCode, of_asker: ErrorCode
) -> None:
    """A lower epoch is refused at once; an equal or a higher one takes the place of what waits."""
    queued = queue(WAITING, epoch, 12)

    assert name == names_of(guards(WAITING, epoch))[queued.branch]
    assert (of_waiting, of_asker) == (queued.waiting_error, queued.new_error)


@pytest.mark.parametrize("epoch", range(1, 6))
def test_questions_about_other_ids_wait_together(epoch: int) -> None:
    """Epochs are compared within one transactional id."""
    queued = queue(replace(WAITING, same_id=False), epoch, 12)

    assert (0, NONE, NONE) == (queued.branch, queued.waiting_error, queued.new_error)
