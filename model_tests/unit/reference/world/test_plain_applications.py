"""Idempotent and plain producers beside transactional ones, on the same partitions."""

import pytest

from model_tests.unit.reference.world.scenes import T0, T1, began, ended, new_world, read, started
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import KAFKA_0_11, NEWEST


def test_readers_see_what_is_committed_and_what_is_in_no_transaction() -> None:
    """An aborted transaction leaves the batches of the producers beside it visible, in log order."""
    world = new_world()
    idempotent, plain = world.plain.start(), world.plain.start(idempotent=False, acks=1)
    world.plain.send(idempotent, T0)
    settle(world)
    producer = began(world, started(world), T0)
    world.plain.send(plain, T0)
    world.plain.send(idempotent, T1)
    ended(world, producer, commit=False)

    assert {T0: (b"p0/-1/0", b"p1/-1/0"), T1: (b"p0/-1/1",)} == read(world)


@pytest.mark.parametrize(("acks", "reported"), [(-1, None), (1, True), (0, True)])
def test_when_a_producer_is_reported(acks: int, reported: bool | None) -> None:
    """All waits for the replicas in sync, 1 for the leader, 0 for none, not even for the leader's answer."""
    world = new_world(shape=TransactionShape(replicas=2))
    application = world.plain.start(idempotent=False, acks=acks)
    sent = world.plain.send(application, T0)

    world.plain.produce(application, T0)
    (message,) = world.wires.requests.in_transit
    world.broker_receives(message)
    for answer in tuple(world.wires.replies.in_transit):
        world.sender_receives(answer)

    assert reported is sent.batch.outcome
    assert (acks == 0) == (sent.batch.offset == -1 and reported is True)


def test_a_request_that_is_lost_is_sent_again() -> None:
    """An idempotent producer repeats it and the log has it once; a plain one repeats it and the log has it twice."""
    counts = []
    for idempotent in (True, False):
        world = new_world()
        application = world.plain.start(idempotent=idempotent)
        if idempotent:
            world.plain.ask_for_id(application)
        world.plain.send(application, T0)
        world.plain.produce(application, T0)
        (message,) = world.wires.requests.in_transit
        world.broker_receives(message)
        (answer,) = world.wires.replies.in_transit
        world.reply_is_lost(answer)
        settle(world)
        counts.append(read(world)[T0])

    assert [(b"p0/-1/0",), (b"p0/-1/0", b"p0/-1/0")] == counts


@pytest.mark.parametrize("profile", [KAFKA_0_11, NEWEST], ids=str)
def test_a_crashed_client_gets_no_answer(profile: object) -> None:
    """The batch is in the log, and no row has an acknowledgement for its client."""
    world = TransactionWorld(profile)  # type: ignore[arg-type]  # ids of the parameters are theirs
    application = world.plain.start(idempotent=False)
    world.plain.send(application, T0)
    world.plain.produce(application, T0)

    world.plain.crash(application)
    settle(world)

    assert (b"p0/-1/0",) == read(world)[T0]
    assert ["ClientStart", "ClientSend", "ClientCrash"] == [
        row["api"] for row in world.recorder.rows if row["client"] == "producer-0" and row["api"] != "Produce"
    ]


def test_an_unclean_election_loses_what_was_acknowledged() -> None:
    """A follower that lagged takes over: what it does not have is gone, and readers get an error for their offset."""
    world = new_world(shape=TransactionShape(replicas=2))
    application = world.plain.start(idempotent=False, acks=1)
    sent = world.plain.send(application, T0)
    world.plain.produce(application, T0)
    (message,) = world.wires.requests.in_transit
    world.broker_receives(message)
    (answer,) = world.wires.replies.in_transit
    world.sender_receives(answer)

    world.follower_leaves_insync(T0, 1)
    before = read(world)[T0]
    world.unclean_leader_election(T0, 1)

    assert sent.is_acknowledged
    assert ((b"p0/-1/0",), ()) == (before, read(world)[T0])
    assert "UncleanLeaderElection" in {row["api"] for row in world.recorder.rows}
