"""Consume, transform, produce: what was read and what was written become visible together, or neither does."""

from dataclasses import replace

import pytest

from model_tests.unit.reference.world.scenes import (
    BY_VERSION,
    BY_VERSION_IDS,
    T0,
    T1,
    began,
    decided,
    deliver_replies,
    deliver_requests,
    ended,
    known,
    new_world,
    read,
    started,
)
from reference.broker.group_requests import MemberClaim, OffsetAndMetadata
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import CoordinatorAnswer, TxnOffsetCommit
from reference.client.transaction_states import ClientState
from reference.world.coordinator_rows import VERIFY_PARTITIONS
from reference.world.instances import ApplicationRun
from reference.world.messages import CoordinatorCall, Request
from reference.world.settling import settle
from reference.world.transaction_world import TransactionWorld
from spec.versions import KAFKA_3_9, Profile
from spec.vocabulary import ErrorCode, Offset, TransactionState

GROUP = "transformers"

versions = pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)


@pytest.fixture
def world(profile: Profile) -> TransactionWorld:
    """A world with two committed records on the first partition to transform."""
    world = new_world(profile)
    source = started(world, "source")
    for _ in range(2):
        began(world, source, T0)
        ended(world, source)
    return world


@pytest.fixture
def transformer(world: TransactionWorld) -> ApplicationRun:
    return started(world, "transformer")


def transform(world: TransactionWorld, transformer: ApplicationRun, claim: MemberClaim | None = None) -> Consumer:
    """Read the first partition from where the group is, write to the second, and send the offsets along."""
    consumer = Consumer([T0])
    world.readers.consumer_starts(consumer, GROUP)
    received = world.readers.consumer_fetches(consumer, T0)
    world.application_begins(transformer)
    for _ in received:
        world.application_sends(transformer, T1)
    world.application_sends_offsets(transformer, GROUP, consumer.consumed(), claim or MemberClaim())
    settle(world)
    return consumer


def is_offset_commit(request: Request) -> bool:
    """Whether it is a TxnOffsetCommit."""
    return isinstance(request.body, CoordinatorCall) and isinstance(request.body.request, TxnOffsetCommit)


def committed(world: TransactionWorld, *, require_stable: bool = False) -> tuple[ErrorCode, int]:
    """The answer that the group would get about the first partition."""
    answer = world.readers.consumer_starts(Consumer([T0]), GROUP, require_stable=require_stable)
    fetched = answer.partitions[T0]
    return fetched.error, fetched.offset


@versions
def test_a_commit_commits_both(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """After the commit the group continues behind what it has read, and its output is visible."""
    transform(world, transformer)
    assert (ErrorCode.NONE, -1) == committed(world)

    ended(world, transformer)

    assert (ErrorCode.NONE, 4) == committed(world)
    assert (b"1/0/0", b"1/0/1") == read(world)[T1]


@versions
def test_an_abort_drops_both(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """After an abort the group reads the same records again, and the next attempt is the only one that counts."""
    transform(world, transformer)
    ended(world, transformer, commit=False)
    assert ((ErrorCode.NONE, -1), ()) == (committed(world), read(world)[T1])

    transform(world, transformer)
    ended(world, transformer)

    assert (ErrorCode.NONE, 4) == committed(world)
    assert (b"1/1/2", b"1/1/3") == read(world)[T1]


@versions
def test_offsets_alone(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """A transaction may have no records at all; the group's partition is its only participant."""
    world.application_begins(transformer)
    world.application_sends_offsets(transformer, GROUP, {T0: OffsetAndMetadata(Offset(3))})

    ended(world, transformer)

    assert (ErrorCode.NONE, 3) == committed(world)


@versions
def test_undecided_offsets_are_unstable(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """Until the marker is on the group's partition a stable fetch waits, though the producer has its answer."""
    transform(world, transformer)
    decided(world, transformer)

    assert transformer.transaction.is_committed
    assert (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1) == committed(world, require_stable=True)

    settle(world)

    assert (ErrorCode.NONE, 4) == committed(world, require_stable=True)


@pytest.mark.parametrize("profile", [KAFKA_3_9], ids=["3.9"])
def test_a_group_may_apply_a_marker_later(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """The marker is answered, and the transaction is complete, before the group has its offset."""
    transform(world, transformer)
    ended(world, transformer)
    assert TransactionState.COMPLETE_COMMIT is known(world, "transformer").state
    assert (ErrorCode.NONE, -1) == committed(world)

    world.groups_apply_markers(0)

    assert (ErrorCode.NONE, 4) == committed(world)


@pytest.mark.parametrize("first", [True, False], ids=["coordinator first", "group first"])
def test_a_commit_meets_its_group_before_its_coordinator_or_after(first: bool) -> None:
    """A release that looks at the group first does not ask the coordinator about a commit that the group refuses."""
    world = new_world(replace(KAFKA_3_9, offsets_verified_first=first))
    transformer = started(world, "transformer")

    world.application_begins(transformer)
    offsets = {T0: OffsetAndMetadata(Offset(3))}
    world.application_sends_offsets(transformer, GROUP, offsets, MemberClaim(generation=7, member_id="gone"))
    settle(world)

    assert ErrorCode.UNKNOWN_MEMBER_ID == transformer.transaction.offsets[0].result.error
    assert first == any(row["api"] == VERIFY_PARTITIONS for row in world.recorder.rows)


@versions
def test_a_member_of_a_past_generation(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """A former member can only abort, and continues afterwards."""
    transform(world, transformer, MemberClaim(generation=7, member_id="gone"))

    assert ClientState.ABORTABLE_ERROR == transformer.producer.state
    assert ErrorCode.ILLEGAL_GENERATION == transformer.producer.manager.machine.error
    assert ErrorCode.ILLEGAL_GENERATION == transformer.transaction.offsets[0].result.error

    ended(world, transformer, commit=False)
    transform(world, transformer)
    ended(world, transformer)

    assert (ErrorCode.NONE, 4) == committed(world)


@versions
def test_the_group_coordinator_fails_over(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """The new coordinator finds the pending offsets in the log, and decides them with the marker."""
    transform(world, transformer)
    world.group_coordinator_fails_over(0, 1)
    assert (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1) == committed(world, require_stable=True)

    ended(world, transformer)

    assert (ErrorCode.NONE, 4) == committed(world, require_stable=True)
    assert TransactionState.COMPLETE_COMMIT == known(world, "transformer").state


@versions
def test_the_old_group_coordinator_takes_no_offsets(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """A commit that is on its way to it finds that it coordinates the group no more, and goes to the new one."""
    world.application_begins(transformer)
    world.application_sends_offsets(transformer, GROUP, {T0: OffsetAndMetadata(Offset(3))})
    while not any(is_offset_commit(message.payload) for message in world.wires.requests.in_transit):
        world.producer_asks(transformer)
        deliver_requests(world, lambda request: not is_offset_commit(request))
        deliver_replies(world)
    world.group_coordinator_fails_over(0, 1)

    deliver_requests(world, is_offset_commit)
    (refused,) = world.wires.replies.in_transit

    assert CoordinatorAnswer(partitions={T0: ErrorCode.NOT_COORDINATOR}) == refused.payload.answer
    ended(world, transformer)
    assert (ErrorCode.NONE, 3) == committed(world)


@versions
def test_a_commit_of_offsets_gets_lost(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """The answer is lost, the request repeated: it is in the log twice and counts once."""
    world.application_begins(transformer)
    world.application_sends_offsets(transformer, GROUP, {T0: OffsetAndMetadata(Offset(3))})
    pending = world.brokers.offsets.partitions[0]
    while not pending.log_end:
        world.producer_asks(transformer)
        deliver_requests(world, lambda request: True)
        deliver_replies(world)
    (answer,) = world.wires.replies.in_transit
    world.reply_is_lost(answer)

    ended(world, transformer)

    assert (ErrorCode.NONE, 3) == committed(world)
    assert 3 == pending.log_end


# --- the two wrong orders -------------------------------------------------------------------------------------------


def consume(world: TransactionWorld) -> Consumer:
    """Read the first partition from where the group is."""
    consumer = Consumer([T0])
    world.readers.consumer_starts(consumer, GROUP)
    world.readers.consumer_fetches(consumer, T0)
    return consumer


@versions
def test_offsets_first_is_at_most_once(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """A crash after the offsets and before the output: the records are never transformed."""
    consumer = consume(world)
    world.readers.consumer_commits(consumer, GROUP, consumer.consumed())
    world.application_crashes(transformer)

    assert [] == consume(world).received
    assert () == read(world)[T1]


@versions
def test_output_first_is_at_least_once(world: TransactionWorld, transformer: ApplicationRun) -> None:
    """A crash after the output and before the offsets: the records are transformed twice."""
    for instance in (transformer, started(world, "another")):
        world.application_begins(instance)
        for _ in consume(world).received:
            world.application_sends(instance, T1)
        ended(world, instance)
        world.application_crashes(instance)

    assert 4 == len(read(world)[T1])
