"""Kafka's tools: they look, fence, delete records, and abort a transaction that its producer will not end."""

from model_tests.unit.reference.world.scenes import ID, T0, T1, began, ended, known, new_world, read, started
from reference.client.transaction_states import ClientState
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode, TransactionState


def test_a_transaction_that_hangs_is_found_and_aborted() -> None:
    """A late batch of the same epoch is let in after the marker; only an administrator's marker ends what it began."""
    shape = TransactionShape(transaction_timeout_ms=5_000, max_timeout_ms=10_000, delivery_timeout_ms=1_000)
    world = new_world(PROFILES["3.9.0-nover"].under(0), shape)
    producer = began(world, started(world), T0)
    world.application_sends(producer, T0)
    world.producer_sends(producer, T0)
    (late,) = world.wires.requests.in_transit
    world.wires.requests.in_transit.clear()
    world.clock.advance(world.shape.delivery_timeout_ms)
    world.producer_ticks(producer)
    world.sender_stops_waiting(late.payload)
    world.application_aborts(producer)
    settle(world)
    world.wires.requests.in_transit.append(late)
    settle(world)
    world.clock.advance(world.shape.max_timeout_ms + 1)
    leader = world.brokers.partitions[T0].leader

    (hanging,) = world.administrators.hanging()
    stuck = leader.last_stable
    world.administrators.abort(hanging)
    settle(world)

    assert (T0, True) == (hanging.partition, stuck < leader.log_end)
    assert leader.last_stable == leader.log_end
    assert [] == list(world.administrators.hanging())
    assert {T0: (), T1: ()} == read(world)


def test_an_open_transaction_does_not_hang() -> None:
    """What a coordinator will end is left to it, however old it is."""
    world = new_world()
    began(world, started(world))
    world.clock.advance(world.shape.max_timeout_ms * 2)

    assert [] == list(world.administrators.hanging())


def test_nothing_hangs_while_a_coordinator_is_away() -> None:
    """What a loading coordinator has, or a partition without a leader, is in no answer, and is not aborted for it."""
    world = new_world()
    began(world, started(world))
    world.clock.advance(world.shape.max_timeout_ms * 2)
    partition = world.brokers.log.partition_of(ID)

    world.coordinator_fails_over(partition, 1, loads=False)
    world.coordinator_resigns(partition, 0)
    assert [] == list(world.administrators.hanging())

    del world.brokers.log_leaders[partition]
    world.coordinator_resigns(partition, 1)
    assert [] == list(world.administrators.hanging())


def test_a_fence_shuts_out_the_instance() -> None:
    """The open transaction is aborted; the instance can neither end it nor begin another."""
    world = new_world()
    producer = began(world, started(world))

    world.administrators.fence(ID)
    settle(world)
    ended(world, producer)

    assert TransactionState.COMPLETE_ABORT == known(world).state
    assert ClientState.FATAL_ERROR == producer.producer.state


def test_deleted_records_are_gone_on_every_replica() -> None:
    """The log begins later, readers go on there; more than there is cannot be deleted, and then nothing is."""
    world = new_world(shape=TransactionShape(replicas=2))
    producer = started(world)
    for _ in range(2):
        ended(world, began(world, producer, T0))
    replicas = world.brokers.partitions[T0].replicas

    world.administrators.delete_records(T0, 2)
    world.administrators.delete_records(T0, 100)

    assert [2, 2] == [replica.log_start for replica in replicas]
    assert (b"0/1/1",) == read(world)[T0]
    errors = [row["error"] for row in world.recorder.rows if row["api"] == "DeleteRecords"]
    assert [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE] == errors


def test_what_is_shown_is_what_is_known() -> None:
    """A row for each producer of a partition, and one for each id of a node; looking changes nothing."""
    world = new_world()
    producer = began(world, started(world), T0)

    world.administrators.describe_producers(T0)
    world.administrators.describe_producers(T1)
    world.administrators.list_transactions(0)

    (described, listed) = world.recorder.rows[-2:]
    identity = producer.producer.manager.identity
    assert identity == (described["producer_id"], described["producer_epoch"])
    assert ("DescribeProducers", 0) == (described["api"], described["first_offset"])
    assert ("ListTransactions", ID, TransactionState.ONGOING) == (
        listed["api"],
        listed["transactional_id"],
        listed["after_txn_state"],
    )
