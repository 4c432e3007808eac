"""Requests of brokers that carry several transactions, and questions that wait: each belongs to its own transaction."""

from collections.abc import Callable
from typing import Final

import pytest

from model_tests.machines.ghost_state import Owner
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_setting import TransactionSetting
from reference.broker.group_requests import OffsetAndMetadata
from reference.network import NetworkMessage
from reference.world.instances import ApplicationRun
from reference.world.messages import BrokerSender, Request, Response, Verify
from reference.world.settling import send_all, settle
from spec import rules
from spec.versions import NEWEST, Profile
from spec.vocabulary import Offset

VERIFYING: Final = (NEWEST, NEWEST.under(1))
"""Under version 2 nodes put partitions into transactions, under version 1 they ask whether these are there."""

GROUP: Final = "readers"


def world_of(profile: Profile, workers: bool = False) -> TransactionRun:
    """Three transactional ids on one node, so that one manager asks for all of them."""
    return TransactionRun(TransactionSetting(profile, ids=3, nodes=2, workers=workers), Ledger())


def questions(world: TransactionRun) -> list[NetworkMessage[Request]]:
    """What brokers ask, on its way to the coordinator."""
    return [each for each in world.wires.requests.in_transit if isinstance(each.payload.body, Verify)]


def ids_asked(world: TransactionRun) -> list[list[str]]:
    """The transactional ids of each question."""
    bodies = (each.payload.body for each in questions(world))
    return [[request.transactional_id for request in body.all] for body in bodies if isinstance(body, Verify)]


def answers(world: TransactionRun) -> list[NetworkMessage[Response]]:
    """What brokers are answered."""
    return [each for each in world.wires.replies.in_transit if isinstance(each.payload.request.body, Verify)]


def arrive_from_clients(world: TransactionRun) -> None:
    """What producers have sent reaches its node, and the answers the producers; of brokers' questions none moves."""
    for _ in range(12):
        for instance in world.instances:
            send_all(world, instance, 0)
        for request in tuple(world.wires.requests.in_transit):
            if not isinstance(request.payload.sender, BrokerSender):
                world.broker_receives(request)
        for answer in tuple(world.wires.replies.in_transit):
            if not isinstance(answer.payload.request.sender, BrokerSender):
                world.sender_receives(answer)


def write(world: TransactionRun, instance: ApplicationRun) -> None:
    """An instance begins a transaction, and its batch waits at the partition's leader for a verification."""
    world.application_begins(instance)
    world.application_sends(instance, world.partitions[0])
    arrive_from_clients(world)


def first_question_is_answered(world: TransactionRun) -> None:
    """The coordinator agrees."""
    world.broker_receives(questions(world)[0])
    world.sender_receives(answers(world)[0])


def first_question_is_lost(world: TransactionRun) -> None:
    """The broker does not learn what became of it."""
    world.request_is_lost(questions(world)[0])


def connection_breaks(world: TransactionRun) -> None:
    """Likewise, with the whole connection."""
    world.connection_breaks(questions(world)[0].payload.sender, questions(world)[0].payload.node)


ENDS: Final = (first_question_is_answered, first_question_is_lost, connection_breaks)
"""How a request to the coordinator's node ends, after which the next one goes out."""


def own(world: TransactionRun) -> dict[str, Owner]:
    """The first transaction of each instance, by its transactional id."""
    return {instance.transactional_id: Owner(instance.number, 0) for instance in world.instances}


each_version = pytest.mark.parametrize(
    "profile", VERIFYING, ids=lambda profile: f"version {profile.transaction_version}"
)


@each_version
@pytest.mark.parametrize("ends", ENDS, ids=lambda function: function.__name__)
def test_each_transaction_of_a_question_is_its_own(ends: Callable[[TransactionRun], None], profile: Profile) -> None:
    """Two ids that wait while a third is verified go in one request; what it changes belongs to each by itself."""
    world = world_of(profile)
    for instance in tuple(world.instances):
        write(world, instance)
    assert [["id-0"]] == ids_asked(world)

    ends(world)
    assert [["id-1", "id-2"]] == ids_asked(world)
    world.broker_receives(questions(world)[0])

    begun = {name: history.current.owner for name, history in world.coordinators.ids.items() if history.current}
    assert {name: own(world)[name] for name in begun} == begun
    assert {"id-1", "id-2"} <= begun.keys()
    for instance in world.instances[1:]:
        world.application_sends(instance, world.partitions[1])
    assert settle(world)
    assert [] == world.ledger.broken


@each_version
def test_offsets_that_waited_together_are_each_instance_s_own(profile: Profile) -> None:
    """One answer lets the offsets of two ids proceed; each is checked against the claim that it was sent with."""
    world = world_of(profile)
    write(world, world.instances[0])
    for instance in world.instances[1:]:
        world.application_begins(instance)
        world.application_sends_offsets(instance, GROUP, {world.partitions[0]: OffsetAndMetadata(Offset(7))})
        arrive_from_clients(world)
    first_question_is_answered(world)
    assert [["id-1", "id-2"]] == ids_asked(world)

    first_question_is_answered(world)

    history = next(history for history in world.histories.values() if history.is_of_offsets)
    wrote = {world.coordinators.owner_of[written.batch.producer_id]: written.owner for written in history.written}
    assert {name: own(world)[name] for name in ("id-1", "id-2")} == wrote
    assert [] == world.ledger.broken


def test_a_member_whose_question_waits_behind_another_s_is_fenced() -> None:
    """The group moves on while a worker's offsets wait; whichever answer comes first, that worker writes nothing."""
    world = world_of(NEWEST.under(1), workers=True)
    write(world, world.instances[0])
    old, new = world.instances[1:]
    for worker in (old, new):
        world._takes_over(worker)
        claim = world.groups.member
        assert claim is not None
        world.application_begins(worker)
        world.groups.claims[Owner(worker.number, 0)] = claim
        world.application_sends_offsets(worker, GROUP, {world.partitions[0]: OffsetAndMetadata(Offset(7))}, claim)
        arrive_from_clients(world)

    first_question_is_answered(world)
    assert [["worker-1", "worker-2"]] == ids_asked(world)
    first_question_is_answered(world)

    history = next(history for history in world.histories.values() if history.is_of_offsets)
    assert [Owner(new.number, 0)] == [written.owner for written in history.written]
    assert [] == world.ledger.broken
    assert world.ledger.at_stake[rules.OFFSETS_GENERATION_FENCE] > 1
