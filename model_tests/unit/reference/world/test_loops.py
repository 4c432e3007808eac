"""Applications that consume, transform and produce: what they have read is committed with what they have made of it."""

from model_tests.unit.reference.world.scenes import T0, T1, began, ended, new_world, started
from reference.broker.group_requests import NO_CLAIM
from reference.client.transaction_states import ClientState
from reference.world.instances import ApplicationRun
from reference.world.loops import SESSION_TIMEOUT_MS, Loop
from reference.world.settling import settle
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import ErrorCode


def joined(world: TransactionWorld) -> Loop:
    """A loop that is a member of a complete generation, and has read what there is."""
    loop = world.loops.start()
    world.clock.advance(SESSION_TIMEOUT_MS)
    world.loops.pass_time()
    world.loops.read(loop)
    return loop


def transforms(world: TransactionWorld, instance: ApplicationRun, loop: Loop) -> None:
    """One record of output, and the offsets of the input."""
    began(world, instance, T1)
    world.application_sends_offsets(instance, world.loops.group, world.loops.consumed(loop), loop.claim)
    settle(world)


def test_offsets_are_committed_with_the_output() -> None:
    """The next application of the group continues behind what a committed transaction has read, and only then."""
    positions = []
    for commit in (True, False):
        world = new_world()
        ended(world, began(world, started(world, "source"), T0))
        instance, loop = started(world), joined(world)
        transforms(world, instance, loop)
        ended(world, instance, commit)
        successor = joined(world)
        positions.append(successor.claim.generation > 0 and successor.consumer.positions[T0])
        fetched = [row["offset"] for row in world.recorder.rows if row["api"] == "ClientFetchOffsets"]
        assert [2 if commit else -1] == fetched[-2:-1]

    assert [2, 2] == positions


def test_an_application_whose_place_was_taken_cannot_commit_what_it_has_read() -> None:
    """Its claim is that of a member that is fenced: the transaction can only be aborted (KIP-447)."""
    world = new_world()
    ended(world, began(world, started(world, "source"), T0))
    zombie, former = started(world), joined(world)
    world.loops.start()

    transforms(world, zombie, former)

    assert ClientState.ABORTABLE_ERROR == zombie.producer.state
    (answered,) = [row for row in world.recorder.rows if row["api"] == "ClientSendOffsetsAnswered"]
    assert ErrorCode.FENCED_INSTANCE_ID == answered["error"]


def test_without_a_coordinator_there_is_no_member() -> None:
    """The application claims nothing until the group has a coordinator again."""
    world = new_world()
    world.broker_restarts(0)

    loop = world.loops.start()

    assert NO_CLAIM == loop.claim
