"""Rounds without faults in a world of pipelines: all that can be done is done, and every answer arrives."""

from typing import Final

from reference.world.messages import ClientSender, Response
from reference.world.pipelines import PipelineWorld
from reference.world.settling import send_all
from reference.world.worker import WorkerPhase

PAUSE_MS: Final = 500
"""Time that passes in a round."""


def catch_up(world: PipelineWorld, rounds: int) -> bool:
    """Rounds until the workers have counted all words that are committed; whether they have."""
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
    """One round; what any node can answer is asked of `node`."""
    world.clock.advance(PAUSE_MS)
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
