import pytest

from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.errors import Impossible


def test_no_producer_id_is_given_twice() -> None:
    """Two brokers and a restart: every id is new, a block's rest is lost."""
    allocator = BlockAllocator()
    one, other = ProducerIdManager(allocator), ProducerIdManager(allocator)

    given = [one.generate(), other.generate(), one.generate()]
    one.restart()
    given.append(one.init_producer_id().producer_id)

    assert [0, 1000, 1, 2000] == given


def test_past_the_last_block_nothing_is_reused() -> None:
    """An exhausted controller fails instead of starting over."""
    with pytest.raises(Impossible):
        BlockAllocator(2**63 - 1000).claim()
