import pytest

from model_tests.unit.reference.broker.coordinated import World
from reference.broker.coordinator_errors import UnknownServerError
from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.transaction_api import NOBODY, IdentityAnswer, handle_init_producer_id
from spec import rules
from spec.vocabulary import ErrorCode


def test_no_producer_id_is_given_twice() -> None:
    """Two brokers and a restart: every id is new, a block's rest is lost."""
    allocator = BlockAllocator()
    one, other = ProducerIdManager(allocator), ProducerIdManager(allocator)

    given = [one.generate(), other.generate(), one.generate()]
    one.restart()
    given.append(one.init_producer_id().producer_id)

    assert [0, 1000, 1, 2000] == given


def test_a_claim_that_comes_too_late_is_not_written() -> None:
    """Whoever has read the record before another wrote it must read again."""
    allocator = BlockAllocator()
    read = allocator.read()
    other = allocator.claim()

    assert not allocator.write(read, read.first + len(other))
    assert (1000, 1) == allocator.read()


def test_past_the_last_block_nothing_is_reused() -> None:
    """An exhausted controller refuses, for the rule, instead of starting over."""
    with pytest.raises(UnknownServerError) as refused:
        BlockAllocator(2**63 - 1000).claim()

    assert refused.value.rule is rules.IDS_EXHAUSTION


@pytest.mark.parametrize("transactional_id", [None, "payments"])
def test_a_producer_is_told_that_there_are_no_ids(transactional_id: str | None) -> None:
    """The broker of an exhausted controller answers with an error, and goes on."""
    world = World(producer_ids=ProducerIdManager(BlockAllocator(2**63 - 1000)))

    answer = handle_init_producer_id(world.coordinator, 5, transactional_id, 60_000)

    assert IdentityAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, NOBODY) == answer
