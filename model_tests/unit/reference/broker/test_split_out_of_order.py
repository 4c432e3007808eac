"""The proposed variant that distinguishes a sequence below the expected one from one above it, as a run to read.

With six batches in flight the first one leaves the window of five before its lost acknowledgement is asked for
again. Every release answers OUT_OF_ORDER_SEQUENCE_NUMBER: the client cannot know that the batch is in the log, and
one that renumbers it writes it twice. The variant answers DUPLICATE_SEQUENCE_NUMBER, which clients take for
success. What it costs: the answer has no offset, and it is only as good as the retained state: a producer that the
partition has forgotten and that starts anew has no past to be compared with.
"""

import pytest

from reference.errors import Refusal
from reference.log.batch import value_batch
from reference.log.partition import Partition
from spec.protocol.append import append
from spec.protocol.records import AppendRequest, CachedBatch, ProducerEntry
from spec.versions import NEWEST, SPLIT_OUT_OF_ORDER, Profile
from spec.vocabulary import MAX_SEQUENCE, Epoch, ErrorCode, ProducerId, Sequence


def sent(partition: Partition, sequence: int) -> ErrorCode:
    """The answer to a batch of one record with this sequence."""
    batch = value_batch([b"v"], producer_id=ProducerId(7), epoch=Epoch(0), base_sequence=Sequence(sequence))
    try:
        partition.append(batch)
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE


@pytest.mark.parametrize(
    ("profile", "answer"),
    [(NEWEST, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), (SPLIT_OUT_OF_ORDER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)],
    ids=["released", "proposed"],
)
def test_a_resend_that_left_the_window(profile: Profile, answer: ErrorCode) -> None:
    """Six in flight: the resend of the first is out of order in every release, and a duplicate in the variant."""
    partition = Partition(profile)
    for sequence in range(6):
        assert sent(partition, sequence) == ErrorCode.NONE

    assert answer == sent(partition, 0)


def test_a_gap_is_out_of_order_in_both() -> None:
    """A sequence above the expected one means that something is missing, whatever the variant."""
    for profile in (NEWEST, SPLIT_OUT_OF_ORDER):
        partition = Partition(profile)
        sent(partition, 0)

        assert sent(partition, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


LAST = (-1, 0, 5, 2**30, MAX_SEQUENCE - 1, MAX_SEQUENCE)
GOT = (0, 1, 4, 5, 6, 2**30 - 1, 2**30, 2**30 + 1, MAX_SEQUENCE - 1, MAX_SEQUENCE)


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("got", GOT)
def test_specification_and_reference_agree_at_the_edges(last: int, got: int) -> None:
    """Both distinguish past from future at the same sequence, around the wrap and half a turn away."""
    partition = Partition(SPLIT_OUT_OF_ORDER)
    if last >= 0:
        sent(partition, last)
    cached = (CachedBatch(last, 0, 0) if last >= 0 else CachedBatch(), *[CachedBatch()] * 4)
    entry = ProducerEntry(epoch=0, cached=cached) if last >= 0 else ProducerEntry()
    request = AppendRequest(base_offset=1, producer_id=7, producer_epoch=0, base_sequence=got)

    assert append(entry, request, SPLIT_OUT_OF_ORDER).reply.error == sent(partition, got)
