"""Steps that scenarios of transactions share."""

from collections.abc import Callable
from typing import Final

from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import EndTxn
from reference.world.instances import ApplicationRun
from reference.world.messages import CoordinatorCall, Request, WriteMarker
from reference.world.replica_rows import TOPIC
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import NEWEST, Profile

ID: Final = "payments"
T0, T1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
BY_VERSION: Final = [NEWEST.under(0), NEWEST.under(1), NEWEST]
BY_VERSION_IDS: Final = ["tv0", "tv1", "tv2"]


def new_world(profile: Profile = NEWEST, shape: TransactionShape | None = None) -> TransactionWorld:
    """A world of two nodes and two partitions, unless another shape is given."""
    return TransactionWorld(profile, shape)


def started(world: TransactionWorld, transactional_id: str = ID) -> ApplicationRun:
    """An instance with a producer id."""
    instance = world.application_starts(transactional_id)
    world.application_initializes(instance)
    settle(world)
    return instance


def began(world: TransactionWorld, instance: ApplicationRun, *partitions: TopicPartition) -> ApplicationRun:
    """The instance in a transaction that has one acknowledged record on each of the partitions."""
    world.application_begins(instance)
    for partition in partitions or (T0, T1):
        world.application_sends(instance, partition)
    settle(world)
    return instance


def ended(world: TransactionWorld, instance: ApplicationRun, commit: bool = True) -> None:
    """The transaction is ended, and whatever follows from that has happened."""
    end = world.application_commits if commit else world.application_aborts
    end(instance)
    settle(world)


def deliver_requests(world: TransactionWorld, wanted: Callable[[Request], bool]) -> int:
    """Deliver the requests under way that are wanted; how many they are."""
    messages = [message for message in world.wires.requests.in_transit if wanted(message.payload)]
    for message in messages:
        world.broker_receives(message)
    return len(messages)


def deliver_replies(world: TransactionWorld) -> None:
    """Deliver the answers under way."""
    for message in tuple(world.wires.replies.in_transit):
        world.sender_receives(message)


def is_end(request: Request) -> bool:
    """Whether it is an EndTxn."""
    return isinstance(request.body, CoordinatorCall) and isinstance(request.body.request, EndTxn)


def is_marker(request: Request, partition: TopicPartition | None = None) -> bool:
    """Whether it is a marker, of the partition if one is given."""
    return isinstance(request.body, WriteMarker) and partition in (None, request.body.partition)


def decided(world: TransactionWorld, instance: ApplicationRun, commit: bool = True) -> None:
    """The end of the transaction is decided and the producer has its answer; no marker is sent yet."""
    (world.application_commits if commit else world.application_aborts)(instance)
    world.producer_asks(instance)
    deliver_requests(world, is_end)
    deliver_replies(world)


def read(world: TransactionWorld, *, isolation: int = 1) -> dict[TopicPartition, tuple[bytes | None, ...]]:
    """The values that a new consumer receives, by partition."""
    consumer = Consumer(world.partitions, isolation)
    return {
        partition: tuple(each.record.value for each in world.readers.consumer_fetches(consumer, partition))
        for partition in world.partitions
    }


def known(world: TransactionWorld, transactional_id: str = ID) -> TransactionMetadata:
    """The transactional id as its coordinator has it."""
    node = world.brokers.log_leaders[world.brokers.log.partition_of(transactional_id)]
    return world.brokers.nodes[node].transactions.describe(transactional_id)
