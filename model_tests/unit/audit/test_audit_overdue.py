"""Transactions that should have ended by the time until which the logs go on, and what is said of those in time."""

from pathlib import Path
from shutil import rmtree

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.audit.transactions_judge import TransactionStatus
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.audit.written_world import write_world
from model_tests.unit.support.printed_reports import printed
from reference.log.batch import RecordBatch, marker_batch
from reference.world.instances import ApplicationRun
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import Epoch, ProducerId

A, B = ("a", 0), ("b", 0)
MINUTE = 60_000
HOUR = 60 * MINUTE


def opened(cluster: WrittenCluster, *partitions: tuple[str, int]) -> None:
    """A transaction of `late`, with a timeout of a minute, that never ends."""
    cluster.init("late", 7)
    cluster.add("late", *partitions)
    for partition in partitions:
        cluster.send("late", partition)


def later(cluster: WrittenCluster, milliseconds: int) -> None:
    """Another id has a whole transaction, after so long."""
    cluster.now += milliseconds
    cluster.init("other", 8)
    cluster.transaction("other", [A])


def of_another(milliseconds: int) -> RecordBatch:
    """The marker of another producer, at a time."""
    return marker_batch(ProducerId(9), Epoch(0), COMMIT, 0, milliseconds)


def the_one(report: AuditReport) -> Finding:
    ((_, finding),) = report.findings
    return finding


def test_a_transaction_past_its_timeout_is_named_where_it_holds_readers_back(tmp_path: Path) -> None:
    """The coordinator's log goes on; what holds back is named with since when, until when, and what waits."""
    cluster = WrittenCluster()
    opened(cluster, A, B)
    later(cluster, 2 * MINUTE)

    report = run([cluster.write(tmp_path)])

    finding = the_one(report)
    assert (finding.rule.id, finding.severity, finding.offset) == ("txn.timeout", Severity.SUSPICIOUS, 0)
    assert finding.transactional_id == "late"
    assert "a-0 offset 0, b-0 offset 0" in finding.message
    assert report.transactions.counts == {TransactionStatus.OVERDUE: 1, TransactionStatus.COMMITTED: 1}
    held, other = report.held_back
    assert (held.name, held.offset, held.waiting, held.transactional_id) == ("a-0", 0, 1, "late")
    assert (other.name, other.waiting) == ("b-0", 0)
    assert held.aborted_ms - held.since_ms == MINUTE
    assert "should have aborted it by itself" in held.in_one_line()


def test_a_transaction_within_its_timeout_is_sound_and_only_that_is_said_to_be(tmp_path: Path) -> None:
    """Its coordinator's log was judged and goes on for less than its timeout."""
    cluster = WrittenCluster()
    opened(cluster, A)
    later(cluster, MINUTE // 2)

    report = run([cluster.write(tmp_path)])

    assert report.findings == ()
    (held,) = report.held_back
    assert "nothing here shows that it hangs" in held.in_one_line()
    assert "its coordinator aborts it by itself at 1970-01-01 00:17:" in held.in_one_line()


def test_a_coordinators_log_that_may_be_older_than_the_partitions_is_doubted(tmp_path: Path) -> None:
    """Only a partition goes on past the timeout, by the marker of another producer."""
    cluster = WrittenCluster()
    opened(cluster, A)
    cluster.logs[A].append(of_another(cluster.now + HOUR))

    finding = next(one for _, one in run([cluster.write(tmp_path)]).findings if one.rule.id == "txn.timeout")

    assert (finding.severity, finding.transactional_id) == (Severity.UNDECIDED, "late")
    assert "copied before" in finding.message
    assert finding.remedy.startswith("copy __transaction_state-0 again")


@pytest.mark.parametrize("marked", [True, False])
def test_a_decided_transaction_that_is_not_completed_for_long_is_named(tmp_path: Path, marked: bool) -> None:
    """With its markers or without; the partition without its marker is held back by it."""
    cluster = WrittenCluster()
    opened(cluster, B)
    cluster.prepare("late", ABORT)
    prepared = len(cluster.coordinator) - 1
    if marked:
        cluster.mark("late", B)
    later(cluster, HOUR)

    report = run([cluster.write(tmp_path)])

    finding = the_one(report)
    assert (finding.rule.id, finding.severity, finding.offset) == ("txn.completes", Severity.SUSPICIOUS, prepared)
    assert ("1 markers are written" if marked else "no marker in b-0") in finding.message
    assert [held.transactional_id for held in report.held_back] == ([] if marked else ["late"])


def test_an_end_that_is_on_its_way_is_no_finding(tmp_path: Path) -> None:
    """Some seconds after the decision."""
    cluster = WrittenCluster()
    opened(cluster, B)
    cluster.prepare("late", ABORT)
    later(cluster, 10_000)

    report = run([cluster.write(tmp_path)])

    assert report.findings == ()
    assert report.transactions.counts == {TransactionStatus.COMPLETING: 1, TransactionStatus.COMMITTED: 1}


def test_a_partition_alone_shows_data_that_is_older_than_any_timeout(tmp_path: Path) -> None:
    """By the markers behind it; what to give next is named, and nothing is said to be sound."""
    ended = (of_another(HOUR), of_another(HOUR + 16 * MINUTE))
    write_segment(tmp_path / "a-0", [data(0, transactional=True, at=MINUTE), *ended])

    report = run([tmp_path])

    finding = the_one(report)
    assert (finding.rule.id, finding.severity, finding.offset) == ("txn.timeout", Severity.SUSPICIOUS, 0)
    assert "by the markers behind it" in finding.message
    assert "__transaction_state-N" in finding.remedy
    assert "nothing here shows" not in printed(report)


def test_old_timestamps_of_clients_make_no_old_transaction(tmp_path: Path) -> None:
    """A marker before the data was written later than the data's own time: that is the time of an input record."""
    own = data(0, transactional=True, at=MINUTE)
    write_segment(tmp_path / "a-0", [of_another(10 * HOUR), own, of_another(10 * HOUR + MINUTE)])

    report = run([tmp_path])

    assert report.findings == ()
    (held,) = report.held_back
    assert "whether it hangs is not known" in held.in_one_line()


def test_an_open_transaction_is_not_called_sound_where_one_of_its_partitions_was_not_read(tmp_path: Path) -> None:
    """What the partition that is missing has, may say that it hangs."""
    cluster = WrittenCluster()
    opened(cluster, A, B)
    later(cluster, MINUTE // 2)
    directory = cluster.write(tmp_path)
    rmtree(directory / "b-0")

    (held,) = run([directory]).held_back

    assert not held.sound
    assert "b-0: no log of it was read" in held.in_one_line()


def settled(world: TransactionWorld) -> None:
    """All that is under way arrives; no time passes."""
    for _ in range(20):
        for instance in world.living:
            if instance.producer.may_poll():
                world.producer_asks(instance)
            for partition in world.sendable(instance):
                world.producer_sends(instance, partition)
        for request in tuple(world.wires.requests.in_transit):
            world.broker_receives(request)
        for answer in tuple(world.wires.replies.in_transit):
            world.sender_receives(answer)


def begun(world: TransactionWorld, transactional_id: str) -> ApplicationRun:
    """An application with a record in a transaction."""
    instance = world.application_starts(transactional_id)
    world.application_initializes(instance)
    settled(world)
    world.application_begins(instance)
    world.application_sends(instance, world.partitions[0])
    settled(world)
    return instance


@pytest.mark.parametrize("broken", [False, True], ids=["as it is", "its reaper never runs"])
def test_a_coordinator_whose_reaper_never_runs_is_shown_by_what_it_wrote(tmp_path: Path, *, broken: bool) -> None:
    """A client crashes in its transaction, and the coordinator serves others for longer than the timeout."""
    world = TransactionWorld(shape=TransactionShape(nodes=1, transaction_timeout_ms=MINUTE))
    world.application_crashes(begun(world, "late"))
    world.clock.advance(2 * MINUTE)
    if not broken:
        world.coordinator_aborts_timed_out(0)
        world.coordinator_sends_markers(0)
        settled(world)
    world.application_commits(begun(world, "other"))
    settled(world)
    world.coordinator_sends_markers(0)
    settled(world)

    report = run(write_world(world, tmp_path))

    found = [(finding.rule.id, finding.transactional_id) for _, finding in report.findings]
    assert found == ([("txn.timeout", "late")] if broken else [])


@pytest.mark.parametrize("broken", [False, True], ids=["as it is", "it sends no markers of one id"])
def test_a_coordinator_that_does_not_complete_is_shown_by_what_it_wrote(tmp_path: Path, *, broken: bool) -> None:
    """A transaction is decided, and others are for hours after it."""
    world = TransactionWorld(shape=TransactionShape(nodes=1, transaction_timeout_ms=MINUTE))
    late = begun(world, "late")
    world.application_commits(late)
    settled(world)
    owed = world.brokers.nodes[0].transactions.markers.owed
    assert len(owed) == 1
    if broken:
        owed.clear()
    for _ in range(3):
        world.clock.advance(HOUR)
        world.application_commits(begun(world, "other"))
        settled(world)
        world.coordinator_sends_markers(0)
        settled(world)

    report = run(write_world(world, tmp_path))

    found = [(finding.rule.id, finding.transactional_id) for _, finding in report.findings]
    assert found == ([("txn.completes", "late")] if broken else [])
