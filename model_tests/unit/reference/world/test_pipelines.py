"""Workers of one group count words: what each order of offsets and output makes of crashes, zombies, rebalances."""

from collections import Counter
from collections.abc import Callable

import pytest

from reference.client.consumer import Consumer
from reference.client.group_member import MemberSettings, MemberState
from reference.client.transaction_states import ClientState
from reference.recording.recorder import FATE, Fate
from reference.world.pipelines import GROUP, PipelineWorld
from reference.world.settling import catch_up, deliver_to_nodes, play_pipelines
from reference.world.transaction_shape import TransactionShape
from reference.world.worker import Order, WorkerPhase, WorkerRun
from spec.versions import NEWEST
from spec.vocabulary import Api

ROUNDS = 120
WORDS = [*"abacabde"]
VERSIONS = pytest.mark.parametrize("version", [0, 1, 2])


def world_with(words: list[str], version: int = 2, replicas: int = 1) -> PipelineWorld:
    """A world whose input has these words, committed."""
    world = PipelineWorld(NEWEST.under(version), TransactionShape(replicas=replicas))
    write(world, words)
    return world


def write(world: PipelineWorld, words: list[str], *, commits: bool = True) -> None:
    source = world.source_starts(f"source-{len(world.instances)}")
    until(world, lambda: source.instance.producer.state is ClientState.READY)
    world.source_writes(source, words)
    for _ in range(10):
        play_pipelines(world)
    (world.application_commits if commits else world.application_aborts)(source.instance)
    until(world, lambda: source.instance.producer.state is ClientState.READY)


def until(world: PipelineWorld, ready: Callable[[], bool]) -> None:
    """Rounds until something is so."""
    for _ in range(ROUNDS):
        if ready():
            return
        play_pipelines(world)
    raise AssertionError("it never comes to this")


def test_a_world_of_pipelines_has_the_partitions_of_its_two_topics_and_no_others() -> None:
    """Whatever is kept by partition is kept of these, and who may do anything may do it to their topics."""
    world = PipelineWorld(NEWEST, TransactionShape(partitions=3))

    named = [(name.topic, name.partition) for name in world.brokers.partitions]
    assert [(topic, number) for topic in ("words", "counts") for number in range(3)] == named
    assert (*world.inputs, *world.outputs) == world.partitions == tuple(world.handling.appends.waiting)
    assert ("words", "counts") == world.brokers.authorizer.topics


def start(world: PipelineWorld, name: str, order: Order = Order.IN_TRANSACTION) -> WorkerRun:
    settings = MemberSettings(GROUP, client_id=name, session_timeout_ms=6000, heartbeat_ms=1000, max_poll_ms=10_000)
    return world.worker_starts(name, order, settings)


def counted(world: PipelineWorld) -> dict[str, int]:
    """What a read_committed reader counts."""
    reader = Consumer(world.outputs)
    for partition in world.outputs:
        world.readers.consumer_fetches(reader, partition)
    return dict(Counter((each.record.key or b"").decode() for each in reader.received))


@VERSIONS
@pytest.mark.parametrize("order", Order)
def test_words_are_counted(order: Order, version: int) -> None:
    """Where nothing goes wrong every order counts right, and aborted words do not count."""
    world = world_with(WORDS, version)
    write(world, ["never"], commits=False)
    for name in ("one", "two"):
        start(world, name, order)

    assert catch_up(world, ROUNDS)
    assert dict(Counter(WORDS)) == counted(world)


def test_no_more_active_workers_than_partitions() -> None:
    """Of three workers over two partitions one is idle, and takes over when another leaves."""
    world = world_with(WORDS)
    workers = [start(world, name) for name in ("worker-1", "worker-2", "worker-3")]
    until(world, lambda: all(worker.consumer.member.claim.generation == 1 for worker in workers))
    catch_up(world, ROUNDS)
    before = [len(worker.consumer.fetchable) for worker in workers]

    world.worker_leaves(workers[0])
    until(world, lambda: bool(workers[2].consumer.fetchable))

    assert [1, 1, 0] == before
    assert [1, 1] == [len(worker.consumer.fetchable) for worker in workers[1:]]


def crash_before_commit(world: PipelineWorld, worker: WorkerRun) -> None:
    """Everything is written, and the offsets are in the transaction."""
    until(world, lambda: worker.phase is WorkerPhase.SENDING_OFFSETS and not worker.is_blocked)
    world.worker_crashes(worker)


def crash_between(world: PipelineWorld, worker: WorkerRun) -> None:
    """One of offsets and output is committed, the other one is not."""
    until(world, lambda: worker.phase in (WorkerPhase.COMMITTING_FIRST, WorkerPhase.COMMITTING_LAST))
    if worker.order is Order.OFFSETS_FIRST:
        world.worker_continues(worker)
        deliver_to_nodes(world)
    world.worker_crashes(worker)


@VERSIONS
def test_a_crash_before_the_commit(version: int) -> None:
    """The next run aborts what was left open, and does it all again."""
    world = world_with(WORDS, version)
    crash_before_commit(world, start(world, "one"))

    start(world, "one")

    assert catch_up(world, ROUNDS)
    assert dict(Counter(WORDS)) == counted(world)


@pytest.mark.parametrize(("order", "sign"), [(Order.OFFSETS_FIRST, -1), (Order.OUTPUT_FIRST, 1)])
def test_a_crash_between_offsets_and_output(order: Order, sign: int) -> None:
    """Offsets first lose words, output first counts them twice."""
    world = world_with(WORDS)
    crash_between(world, start(world, "one", order))

    start(world, "one", order)
    caught_up = catch_up(world, ROUNDS)
    wrong = Counter(counted(world)).total() - len(WORDS)

    assert caught_up
    assert sign == (wrong > 0) - (wrong < 0)


@VERSIONS
def test_a_zombie(version: int) -> None:
    """A worker that stood still until its session expired cannot commit, and what it has read is read by another."""
    world = world_with(WORDS, version)
    zombie = start(world, "one")
    until(world, lambda: zombie.phase is WorkerPhase.READING and bool(zombie.consumer.fetchable))
    for _ in range(2):
        world.worker_continues(zombie)
    written = zombie.phase
    world.worker_is_suspended(zombie)
    start(world, "two")
    caught_up = catch_up(world, ROUNDS)

    world.worker_resumes(zombie)
    until(world, lambda: zombie.phase is WorkerPhase.ENDING or not zombie.works)
    catch_up(world, ROUNDS)

    assert (WorkerPhase.SENDING_OFFSETS, True) == (written, caught_up)
    assert zombie.instance.transactions[0].is_aborted
    assert dict(Counter(WORDS)) == counted(world)


@VERSIONS
@pytest.mark.parametrize("moved", ["transactions", "groups", "node"])
def test_a_coordinator_moves(moved: str, version: int) -> None:
    """Members find their new coordinator, and nothing is counted twice or lost."""
    world = world_with(WORDS, version)
    worker = start(world, "one")
    until(world, lambda: worker.phase is WorkerPhase.SENDING_OFFSETS)
    if moved == "node":
        world.broker_restarts(0)
    if moved in ("transactions", "node"):
        world.coordinator_fails_over(0, 1)
        world.coordinator_resigns(0, 0)
    if moved in ("groups", "node"):
        world.group_coordinator_fails_over(0, 1)

    assert catch_up(world, ROUNDS)
    assert dict(Counter(WORDS)) == counted(world)


def test_a_rebalance_while_a_transaction_is_open() -> None:
    """A joining member waits for the open transaction's offsets: a stable fetch gives none before they are decided."""
    world = world_with(WORDS)
    first = start(world, "one")
    until(world, lambda: first.phase is WorkerPhase.SENDING_OFFSETS and not first.is_blocked)
    world.worker_crashes(first)
    second = start(world, "two")

    until(world, lambda: second.consumer.member.state is MemberState.STABLE)
    for _ in range(15):
        play_pipelines(world)
    waits = (len(second.consumer.member.assigned), second.consumer.fetchable)
    world.clock.advance(60_001)
    world.coordinator_aborts_timed_out(0)

    assert (2, 1) == (waits[0], len(waits[1]))
    assert catch_up(world, ROUNDS)
    assert dict(Counter(WORDS)) == counted(world)


def test_what_becomes_of_a_members_request_is_annotated() -> None:
    """One that is given up has arrived all the same; its answer is dropped, and the member joins anew."""
    world = world_with(["a"])
    start(world, "worker")
    world.recorder.annotates = True
    until(world, lambda: bool(world.group_requests.open))
    (joins,) = world.group_requests.open.values()

    world.member_stops_waiting(joins)

    assert catch_up(world, ROUNDS)
    rows = [row for row in world.recorder.rows if FATE in row and row["client"] == "reader-0"]
    fates = [(row[FATE], row["member"]) for row in rows if row["message"] == joins.number]
    assert [(Fate.ARRIVED, "worker-1"), (Fate.GIVEN_UP, "worker-1")] == fates
    assert {(Api.JOIN_GROUP, Fate.ANSWERED), (Api.SYNC_GROUP, Fate.ANSWERED), (Api.OFFSET_FETCH, Fate.ANSWERED)} <= {
        (row["api"], row[FATE]) for row in rows
    }
