"""Who may not do what, the error of each refusal, and what it leaves of the producer."""

import pytest

from model_tests.unit.reference.world.scenes import BY_VERSION, BY_VERSION_IDS, ID, T0, T1, ended, started
from reference.broker.group_requests import OffsetAndMetadata
from reference.client.transaction_states import ClientState
from reference.world.authorization import THE_CLUSTER, AclOperation, Authorizer, Resource
from reference.world.instances import ApplicationRun
from reference.world.replica_rows import TOPIC
from reference.world.settling import settle
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import ErrorCode, Offset, TransactionState

USER = f"User:{ID}"
GROUP = "transformers"

versions = pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)


def failure(instance: ApplicationRun) -> tuple[ClientState, ErrorCode]:
    """Where a producer stands, and why."""
    return instance.producer.state, instance.producer.manager.machine.error


@versions
def test_a_transactional_id_of_another_principal(world: TransactionWorld) -> None:
    """Without the right to the id there is no producer id; the call may be made again once the right is given."""
    world.brokers.authorizer.deny(USER, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, ID)
    instance = started(world)
    assert (ClientState.UNINITIALIZED, ErrorCode.NONE) == failure(instance)
    assert instance.initialized is not None
    assert ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED == instance.initialized.error

    world.brokers.authorizer.allow(USER, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, ID)
    world.application_initializes(instance)
    settle(world)

    assert (ClientState.READY, ErrorCode.NONE) == failure(instance)


@versions
def test_the_coordinator_may_not_be_asked_for(world: TransactionWorld) -> None:
    """Who may not even describe the id is out for good."""
    world.brokers.authorizer.deny(USER, AclOperation.DESCRIBE, Resource.TRANSACTIONAL_ID, ID)

    instance = started(world)

    assert (ClientState.FATAL_ERROR, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) == failure(instance)


@versions
def test_a_right_that_is_taken_away(world: TransactionWorld) -> None:
    """Every later request of the transaction is refused, and the producer is of no use any more."""
    instance = started(world)
    world.brokers.authorizer.deny(USER, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, ID)

    world.application_begins(instance)
    world.application_sends(instance, T0)
    settle(world)

    assert (ClientState.FATAL_ERROR, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) == failure(instance)


@versions
def test_a_topic_that_may_not_be_written(world: TransactionWorld) -> None:
    """The transaction can only be aborted; after that the producer continues."""
    world.recorder.observer = None  # no decision of the coordinator is about who may write to a topic
    instance = started(world)
    world.brokers.authorizer.deny(USER, AclOperation.WRITE, Resource.TOPIC, TOPIC)
    world.application_begins(instance)
    world.application_sends(instance, T0)
    world.application_sends(instance, T1)
    settle(world)
    assert (ClientState.ABORTABLE_ERROR, ErrorCode.TOPIC_AUTHORIZATION_FAILED) == failure(instance)
    assert 0 == world.brokers.partitions[T0].leader.log_end

    ended(world, instance, commit=False)

    assert (ClientState.READY, ErrorCode.NONE) == failure(instance)


@versions
def test_a_group_that_may_not_be_read(world: TransactionWorld) -> None:
    """Offsets of a group need the right to it; without it the transaction can only be aborted."""
    instance = started(world)
    world.brokers.authorizer.deny(USER, AclOperation.READ, Resource.GROUP, GROUP)
    world.application_begins(instance)
    world.application_sends_offsets(instance, GROUP, {T0: OffsetAndMetadata(Offset(1))})
    settle(world)
    assert (ClientState.ABORTABLE_ERROR, ErrorCode.GROUP_AUTHORIZATION_FAILED) == failure(instance)

    ended(world, instance, commit=False)

    assert (ClientState.READY, ErrorCode.NONE) == failure(instance)


def test_a_right_to_some_topic_is_enough_for_a_producer_id() -> None:
    """Idempotence needs the cluster's right, or since KIP-679 that to write to any topic."""
    authorizer = Authorizer(("a", "b"))
    authorizer.deny(USER, AclOperation.IDEMPOTENT_WRITE, Resource.CLUSTER, THE_CLUSTER)
    authorizer.deny(USER, AclOperation.WRITE, Resource.TOPIC, "a")

    assert ErrorCode.NONE == authorizer.check_producer_id(USER, None)
    assert ErrorCode.NONE == authorizer.check_produce(USER, None, "b")
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED == authorizer.check_produce(USER, None, "a")

    authorizer.deny(USER, AclOperation.WRITE, Resource.TOPIC, "b")

    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED == authorizer.check_producer_id(USER, None)
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED == authorizer.check_produce(USER, None, "b")


@versions
def test_one_partition_fails_the_others(world: TransactionWorld) -> None:
    """Refused partitions keep a whole AddPartitionsToTxn from being tried, and the coordinator knows of nothing."""
    world.recorder.observer = None  # no decision of the coordinator is about who may write to a topic
    instance = started(world)
    world.brokers.authorizer.deny(USER, AclOperation.WRITE, Resource.TOPIC, TOPIC)

    world.application_begins(instance)
    world.application_sends(instance, T0)
    settle(world)

    assert TransactionState.EMPTY == world.brokers.nodes[0].transactions.describe(ID).state
