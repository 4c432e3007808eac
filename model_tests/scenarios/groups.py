"""Consumer groups: assignments, rebalances, and how a zombie is kept from counting twice."""

from typing import Final

from model_tests.scenarios.group_stage import GroupStage, OfGroups
from model_tests.scenarios.scenario import Facts, scenario
from reference.client.group_member import MemberState
from reference.simulate.transaction_faults import OF_GROUPS
from reference.world.pipelines import AUTO_COMMIT_MS
from reference.world.transaction_shape import TransactionShape
from reference.world.worker import Order, WorkerPhase, WorkerRun
from spec.versions import KAFKA_2_4

THREE: Final = TransactionShape(partitions=3)


@scenario(
    "idle-consumers",
    "More consumers than partitions: one has nothing to do",
    items=(21, 20),
    story="""Three consumers of one group join for two partitions. Each partition has one consumer, so that the third
    one is idle: more consumers than partitions do not make a group faster. When one leaves, the idle one takes its
    partition over, in the next generation.""",
    setting=OfGroups(),
    expected={
        "generation 1": ["words-0", "words-1", "none"],
        "generation 2, without the first": ["words-0", "words-1"],
    },
)
def idle_consumers(stage: GroupStage) -> Facts:
    """Three join, one leaves."""
    workers = together(stage, "worker 1", "worker 2", "worker 3")
    first = stage.owned(*workers)
    stage.leaves(workers[0])
    stage.until(lambda: {(MemberState.STABLE, 2)} == standing(*workers[1:]))
    return {"generation 1": first, "generation 2, without the first": stage.owned(*workers[1:])}


@scenario(
    "assignment-by-range",
    "Partitions assigned by range",
    items=(21,),
    story="""The coordinator makes generations, but it does not assign: the member that leads does, and the others get
    what it sends. By range, each member has a run of neighbouring partitions of every topic, and the first ones have
    one more where it does not come out even.""",
    setting=OfGroups(shape=THREE),
    expected={"worker 1": ["words-0 words-1"], "worker 2": ["words-2"]},
)
@scenario(
    "assignment-by-round-robin",
    "Partitions assigned in turn",
    items=(21,),
    story="""The same group, whose members offer roundrobin: the partitions are dealt out one by one.""",
    setting=OfGroups(shape=THREE, assignor="roundrobin"),
    expected={"worker 1": ["words-0 words-2"], "worker 2": ["words-1"]},
)
def assignment(stage: GroupStage) -> Facts:
    """Two join for three partitions."""
    first, second = together(stage, "worker 1", "worker 2")
    return {"worker 1": stage.owned(first), "worker 2": stage.owned(second)}


@scenario(
    "generation-fence",
    "A worker that the group has given up wants to commit",
    items=(21, 10, 13),
    story="""A worker has read words and written its counts when it stands still for so long that its session expires.
    Another one is assigned its partitions, and counts the words. When the first continues, its offsets name the member
    and the generation that it was in (KIP-447). The group coordinator refuses them, and its transaction is aborted.
    Both have transactional ids of their own: no producer has fenced another.""",
    setting=OfGroups(),
    expected={"the zombie's transaction": "aborted", "counted": ["a: 2", "b: 1"]},
)
@scenario(
    "generation-fence-before-2.5",
    "Before 2.5: a worker that the group has given up commits",
    items=(21, 10, 13, 25),
    story="""The same run before KIP-447. Offsets in a transaction do not say which member sends them, and the
    coordinator takes them from any client: the words are counted twice. Until then, a transactional id for each input
    partition was needed, so that the next owner fences the one before.""",
    setting=OfGroups(KAFKA_2_4),
    expected={"the zombie's transaction": "committed", "counted": ["a: 4", "b: 2"]},
)
def generation_fence(stage: GroupStage) -> Facts:
    """One worker stands still in the middle of a transaction, another one takes over."""
    stage.write("a", "b", "a")
    with stage.story.offstage():
        zombie = stage.start("worker 1")
        stage.until(lambda: zombie.phase is WorkerPhase.READING and len(zombie.consumer.fetchable) == 2)
        for _ in range(2):  # it reads, and it writes
            stage.worker_continues(zombie)
    stage.stands_still(zombie)
    stage.start("worker 2")
    stage.catches_up()
    stage.resumes(zombie)
    transaction = zombie.instance.transactions[0]
    stage.until(lambda: transaction.is_aborted or transaction.is_committed)
    stage.rounds(4)
    return {
        "the zombie's transaction": "aborted" if transaction.is_aborted else "committed",
        "counted": stage.counted(),
    }


@scenario(
    "stable-fetch",
    "The next owner of a partition waits for the offsets of an open transaction",
    items=(21, 13, 17),
    story="""A worker crashes after it has sent its offsets along and before it commits. Whether they will count is
    not decided yet, and so a stable OffsetFetch returns none to the next owner (UNSTABLE_OFFSET_COMMIT). It waits until
    the transaction has timed out and is aborted, and then counts the words itself.""",
    setting=OfGroups(),
    expected={"while the transaction is open": [], "afterwards": ["a: 2", "b: 1"]},
)
def stable_fetch(stage: GroupStage) -> Facts:
    """A crash with everything sent, another transactional id, a timeout."""
    stage.write("a", "b", "a")
    with stage.story.offstage():
        first = stage.start("worker 1")
        stage.until(lambda: first.phase is WorkerPhase.SENDING_OFFSETS and not first.is_blocked)
    stage.crashes(first)
    second = stage.start("worker 2")
    stage.until(lambda: second.consumer.member.state is MemberState.STABLE)
    stage.rounds(2)
    waiting = stage.counted()
    with stage.story.offstage():
        stage.rounds(20)
    stage.events.let(stage.events.transactions_time_out, 0)
    stage.catches_up()
    return {"while the transaction is open": waiting, "afterwards": stage.counted()}


@scenario(
    "group-coordinator-fails",
    "The coordinator of the group fails",
    items=(21, 16),
    story="""Offsets and generations are records of `__consumer_offsets`. The node that leads their partition fails,
    and the next leader reads them: the members find it, and continue in the same generation, without a rebalance.""",
    setting=OfGroups(),
    expected={"generations": [1, 1], "owned": ["words-0", "words-1"], "counted": ["a: 2", "b: 1"]},
)
def group_coordinator_fails(stage: GroupStage) -> Facts:
    """Two members, a new coordinator, and words that come afterwards."""
    workers = together(stage, "worker 1", "worker 2")
    stage.story.remark("group coordinator", "fails; another node reads __consumer_offsets")
    stage.events.let(stage.events.coordinator_fails_over, 1, happening=(OF_GROUPS,))
    stage.write("a", "b", "a")
    stage.catches_up()
    return {
        "generations": [worker.consumer.member.claim.generation for worker in workers],
        "owned": stage.owned(*workers),
        "counted": stage.counted(),
    }


@scenario(
    "automatic-commits",
    "enable.auto.commit: a worker fails between two commits",
    items=(21, 13),
    story="""The consumer commits its positions by itself, where its application asks for more records and
    auto.commit.interval.ms have passed (and before it gives up partitions, in a rebalance). This worker has finished
    what it has when it asks for more. It crashes when its counts are written, and before the next commit; who takes its
    partitions over begins where the group is, and counts the same words again: at least once.""",
    setting=OfGroups(),
    expected={"after the crash": ["a: 2", "b: 1"], "in the end": ["a: 4", "b: 2"]},
)
def automatic_commits(stage: GroupStage) -> Facts:
    """It crashes with its output committed, and offsets that are not."""
    stage.write("a", "b", "a")
    with stage.story.offstage():
        first = stage.start("worker 1", Order.AUTOMATIC)
        stage.until(lambda: any(transaction.is_committed for transaction in first.instance.transactions))
    stage.crashes(first)
    stage.rounds(1)
    before = stage.counted()
    stage.start("worker 2", Order.AUTOMATIC)
    stage.catches_up()
    return {"after the crash": before, "in the end": stage.counted()}


@scenario(
    "automatic-commits-ahead",
    "enable.auto.commit: a worker asks for more before it has finished",
    items=(21, 13),
    story="""The same consumer, whose application works on records in a thread of its own while it continues to
    poll. What is committed is what it was given, finished or not. Its offsets are committed when its work fails: it
    goes back to the group's offset, and that is past the words, so that they are never counted.""",
    setting=OfGroups(),
    expected={"it continues at": ["words-0 4", "words-1 0"], "in the end": []},
)
def automatic_commits_ahead(stage: GroupStage) -> Facts:
    """Its work is aborted, and its offsets are not."""
    stage.write("a", "b", "a")
    with stage.story.offstage():
        worker = stage.start("worker 1", Order.AUTOMATIC_AHEAD)
        stage.until(lambda: worker.phase is WorkerPhase.PROCESSING)
    stage.story.remark("worker 1", "works for as long as auto.commit.interval.ms, and fails in the end")
    stage.clock.advance(AUTO_COMMIT_MS)
    stage.will_fail(worker)
    stage.until(lambda: any(transaction.is_aborted for transaction in worker.instance.transactions))
    stage.catches_up()
    stage.rounds(4)
    places = [f"{topic}-{number} {each.offset}" for (topic, number), each in worker.consumer.positions().items()]
    return {"it continues at": places, "in the end": stage.counted()}


def together(stage: GroupStage, *names: str) -> list[WorkerRun]:
    """Workers that join the first generation of the group."""
    workers = [stage.start(name) for name in names]
    stage.until(lambda: {(MemberState.STABLE, 1)} == standing(*workers))
    stage.rounds(2)
    return workers


def standing(*workers: WorkerRun) -> set[tuple[MemberState, int]]:
    """Where the members stand, and in which generation."""
    members = [worker.consumer.member for worker in workers]
    return {(member.state, member.claim.generation) for member in members}
