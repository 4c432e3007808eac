"""Blocks of producer ids: who is granted one, and who is not."""

from spec.protocol.blocks import LARGEST, NOTHING_LEFT, UNREAD, Block, BlockRecord, claim, handed_out
from spec.versions import NEWEST
from spec.vocabulary import PRODUCER_ID_BLOCK, ErrorCode


def test_the_first_claim_gets_the_first_block() -> None:
    """The record is raised by a block, and its version by one."""
    claimed = claim(BlockRecord(), BlockRecord(), PRODUCER_ID_BLOCK, NEWEST)

    assert claimed.granted
    assert Block(0, 1000) == claimed.block
    assert BlockRecord(1000, 1) == claimed.record


def test_a_claim_on_an_older_version_is_raced() -> None:
    """Another broker was faster: nothing is written, and the claim is tried again."""
    record = BlockRecord(2000, 2)

    claimed = claim(record, BlockRecord(1000, 1), PRODUCER_ID_BLOCK, NEWEST)

    assert not claimed.granted
    assert (record, NOTHING_LEFT) == (claimed.record, claimed.block)
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS == claimed.error


def test_nothing_is_claimed_unread() -> None:
    """A broker that has not read the record has nothing to compare."""
    claimed = claim(BlockRecord(), UNREAD, PRODUCER_ID_BLOCK, NEWEST)

    assert not claimed.granted


def test_the_last_whole_block_is_granted() -> None:
    """Its last id is below the largest one."""
    record = BlockRecord(LARGEST - PRODUCER_ID_BLOCK, 7)

    claimed = claim(record, record, PRODUCER_ID_BLOCK, NEWEST)

    assert claimed.granted
    assert LARGEST == claimed.block.end


def test_past_the_last_block_is_an_error_and_no_reuse() -> None:
    """The record stays where it is for ever."""
    record = BlockRecord(LARGEST - PRODUCER_ID_BLOCK + 1, 7)

    claimed = claim(record, record, PRODUCER_ID_BLOCK, NEWEST)

    assert not claimed.granted
    assert record == claimed.record


def test_a_block_is_empty_when_its_last_id_is_handed_out() -> None:
    """Ids are given away one by one."""
    block = Block(0, 2)

    assert not handed_out(block).empty
    assert handed_out(handed_out(block)).empty
