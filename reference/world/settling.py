"""The end of a run, without faults: whatever is under way is delivered, oldest first, until nothing is left to do.

In a world of pipelines this is done in rounds: every participant does what it can do, and every answer arrives.
"""

from collections.abc import Iterator
from typing import Final

from reference.world.instances import ApplicationRun
from reference.world.messages import ClientSender, Response
from reference.world.pipelines import PipelineWorld
from reference.world.transaction_world import TransactionWorld
from reference.world.worker import WorkerPhase

# --- transactions -----------------------------------------------------------------------------------------------------


ROUNDS: Final = 200
PAUSE_MS: Final = 20
"""Time that passes in a round."""


def settle(world: TransactionWorld, rounds: int = ROUNDS) -> bool:
    """Deliver, answer, replicate and complete; returns whether everything is done within the rounds."""
    for turn in range(rounds):
        if not busy(world):
            return True
        world.clock.advance(PAUSE_MS)
        play(world, turn % world.shape.nodes)
    return not busy(world)


def play(world: TransactionWorld, node: int = 0) -> None:
    """One round: each participant does what it can do; requests that any node can answer go to `node`."""
    for instance in living(world):
        send_all(world, instance, node)
    send_plain(world, node)
    for request in tuple(world.wires.requests.in_transit):
        world.broker_receives(request)
    for node in range(world.shape.nodes):
        world.coordinator_sends_markers(node)
    for partition, replicated in world.brokers.partitions.items():
        for node in replicated.behind():
            world.follower_fetches(partition, node)
    for response in tuple(world.wires.replies.in_transit):
        world.sender_receives(response)


def send_all(world: TransactionWorld, instance: ApplicationRun, node: int) -> None:
    """A producer sends whatever it may."""
    world.producer_ticks(instance)
    if instance.producer.may_poll():
        world.producer_asks(instance, node)
    for partition in world.sendable(instance):
        while partition in world.sendable(instance):
            world.producer_sends(instance, partition)


def send_plain(world: TransactionWorld, node: int) -> None:
    """The producers without transactional id send whatever they may."""
    world.plain.tick()
    for application in world.plain.living:
        if application.producer.needs_producer_id:
            world.plain.ask_for_id(application, node)
    while ready := next(world.plain.sendable(), None):
        world.plain.produce(*ready)


def busy(world: TransactionWorld) -> bool:
    """Whether anything is left to do."""
    wires = world.wires
    under_way = wires.open or wires.requests.in_transit or wires.replies.in_transit
    owing = any(owes_as_leader(world, node) for node in range(world.shape.nodes))
    behind = any(replicated.behind() for replicated in world.brokers.partitions.values())
    working = any(instance.producer.may_poll() or instance.producer.is_incomplete for instance in living(world))
    plain = any(each.unreported.batches or each.producer.needs_producer_id for each in world.plain.living)
    return bool(under_way) or owing or behind or working or plain


def owes_as_leader(world: TransactionWorld, node: int) -> bool:
    """Whether a coordinator owes markers that it can still send: another coordinator has those of a zombie by now."""
    return world.owes_markers(node) and node in world.brokers.log_leaders.values()


def living(world: TransactionWorld) -> Iterator[ApplicationRun]:
    """The instances that have not crashed."""
    return (instance for instance in world.instances if instance.alive)


# --- pipelines --------------------------------------------------------------------------------------------------------


ROUND_MS: Final = 500
"""Time that passes in a round."""


def catch_up(world: PipelineWorld, rounds: int) -> bool:
    """Make rounds until the workers have counted all committed words; returns whether they have."""
    for turn in range(rounds):
        if is_caught_up(world):
            return True
        play_pipelines(world, turn % world.shape.nodes)
    return is_caught_up(world)


def is_caught_up(world: PipelineWorld) -> bool:
    """Whether every partition of the input has a worker that has finished all that can be read of it."""
    idle = [worker for worker in world.workers if worker.works and worker.phase is WorkerPhase.READING]
    places = {
        name: worker.consumer.consumer.positions.get(name) for worker in idle for name in worker.consumer.fetchable
    }
    return all(places.get(name) == world.brokers.partitions[name].leader.last_stable for name in world.inputs)


def play_pipelines(world: PipelineWorld, node: int = 0) -> None:
    """One round; requests that any node can answer go to `node`."""
    world.clock.advance(ROUND_MS)
    for worker in world.workers:
        if worker.works:
            world.worker_continues(worker, node)
            world.worker_beats(worker)
    paused = {worker.instance.number for worker in world.workers if worker.paused}
    for instance in world.instances:
        if instance.alive and instance.number not in paused:
            send_all(world, instance, node)
    deliver_to_nodes(world)
    deliver_to_clients(world, paused)
    world.groups_notice_time()


def deliver_to_nodes(world: PipelineWorld) -> None:
    """Every request arrives, followers copy, coordinators send their markers."""
    for requested in tuple(world.group_requests.requests.in_transit):
        world.group_receives(requested)
    for request in tuple(world.wires.requests.in_transit):
        world.broker_receives(request)
    for number in range(world.shape.nodes):
        world.coordinator_sends_markers(number)
    for partition, replicated in world.brokers.partitions.items():
        for number in replicated.behind():
            world.follower_fetches(partition, number)


def deliver_to_clients(world: PipelineWorld, paused: set[int]) -> None:
    """Every answer arrives but those to instances that are paused."""
    for reported in tuple(world.group_requests.replies.in_transit):
        if not world.workers[reported.payload.request.member].paused:
            world.member_receives(reported)
    for answered in tuple(world.wires.replies.in_transit):
        if not is_for(answered.payload, paused):
            world.sender_receives(answered)


def is_for(response: Response, instances: set[int]) -> bool:
    """Whether an answer goes to one of these instances."""
    sender = response.request.sender
    return isinstance(sender, ClientSender) and sender.instance in instances
