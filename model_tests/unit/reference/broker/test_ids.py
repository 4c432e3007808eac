import pytest

from model_tests.unit.reference.broker.coordinated import CoordinatedBroker
from reference.broker.coordinator_errors import UnknownServerError
from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.transaction_api import NO_IDENTITY, IdentityAnswer, handle_init_producer_id
from spec import rules
from spec.versions import KAFKA_0_11, KAFKA_2_7, KAFKA_3_6, NEWEST, Profile
from spec.vocabulary import ErrorCode


def test_no_producer_id_is_given_twice() -> None:
    """Two brokers and a restart: every id is new, a block's rest is lost."""
    allocator = BlockAllocator()
    one, other = ProducerIdManager(allocator, NEWEST), ProducerIdManager(allocator, NEWEST)

    given = [one.generate(), other.generate(), one.generate()]
    one.restart()
    given.append(one.init_producer_id().producer_id)

    assert [0, 1000, 1, 2000] == given


def test_a_claim_that_comes_too_late_is_not_written() -> None:
    """A broker that has read the record before another wrote it must read again."""
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
@pytest.mark.parametrize(
    ("profile", "error"),
    [
        (KAFKA_0_11, ErrorCode.UNKNOWN_SERVER_ERROR),
        (KAFKA_2_7, ErrorCode.UNKNOWN_SERVER_ERROR),
        (KAFKA_3_6, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (NEWEST, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
    ids=lambda each: each.name,
)
def test_a_producer_is_reported_that_there_are_no_ids(
    profile: Profile, error: ErrorCode, transactional_id: str | None
) -> None:
    """A broker that claims blocks itself fails; one that asks the controller has the client try again."""
    world = CoordinatedBroker(profile, allocator=BlockAllocator(2**63 - 1000))

    answer = handle_init_producer_id(world.coordinator, 3, transactional_id, 60_000)

    assert IdentityAnswer(error, NO_IDENTITY) == answer
