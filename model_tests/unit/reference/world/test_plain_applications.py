"""Idempotent and plain producers beside transactional ones, on the same partitions."""

import pytest

from model_tests.unit.reference.world.scenes import T0, T1, began, ended, new_world, read, started
from reference.broker.transaction_api import IdentityAnswer
from reference.recording.recorder import FATE, Fate
from reference.world.authorization import THE_CLUSTER, AclOperation, Resource
from reference.world.node import SET_DATA, Storage
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import KAFKA_0_11, KAFKA_2_7, NEWEST
from spec.vocabulary import ErrorCode


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


# --- producer ids -----------------------------------------------------------------------------------------------------


def test_a_claim_that_comes_too_late_is_repeated() -> None:
    """Annotations say what nodes read and write; ids come from different blocks."""
    world = new_world()
    world.recorder.annotates = True
    one, other = world.plain.start(), world.plain.start()
    given: list[IdentityAnswer] = []
    world.claim_takes_long(0, lambda: given.append(world.plain.ask_for_id(other, 1)))

    given.append(world.plain.ask_for_id(one, 0))

    assert [0, 1000] == [answer.identity.producer_id for answer in given]
    written = [row for row in world.recorder.rows if row["api"] == SET_DATA and row.get(FATE) == Fate.ANSWERED]
    assert [("broker-1", 0), ("broker-0", 95), ("broker-0", 0)] == [(row["client"], row["error"]) for row in written]
    assert 2000 == world.brokers.blocks.read().first


def test_a_producer_without_rights_gets_no_id_and_appends_nothing() -> None:
    """It keeps the one that it has, and its batches are refused likewise."""
    world = new_world()
    application = world.plain.start()
    rights, user = world.brokers.authorizer, application.principal
    world.plain.ask_for_id(application)
    rights.deny(user, AclOperation.IDEMPOTENT_WRITE, Resource.CLUSTER, THE_CLUSTER)
    rights.deny(user, AclOperation.WRITE, Resource.TOPIC, T0.topic)

    answer = world.plain.ask_for_id(application)
    sent = world.plain.send(application, T0)
    world.plain.produce(application, T0)
    settle(world)

    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED == answer.error
    assert (0, 0) == application.producer.identity
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED == sent.batch.error


def test_the_last_id_is_followed_by_an_error() -> None:
    """Every answer is a row, with the id or the error."""
    world = TransactionWorld(KAFKA_2_7, storage=Storage(KAFKA_2_7, first_producer_id=2**63 - 1001))
    applications = [world.plain.start() for _ in range(2)]

    for node, application in enumerate(applications):
        world.plain.ask_for_id(application, node)

    answers = [
        (row["reply_producer_id"], row["error"]) for row in world.recorder.rows if row["api"] == "InitProducerId"
    ]
    assert [(2**63 - 1001, ErrorCode.NONE), (-1, ErrorCode.UNKNOWN_SERVER_ERROR)] == answers
