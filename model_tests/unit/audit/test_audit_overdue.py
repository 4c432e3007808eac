"""Transactions that should have ended by the time until which the logs go on, and what is said of those in time."""

from pathlib import Path
from shutil import rmtree

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_cluster import COMMIT
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


def of_another(milliseconds: int) -> RecordBatch:
    """The marker of another producer, at a time."""
    return marker_batch(ProducerId(9), Epoch(0), COMMIT, 0, milliseconds)


def the_one(report: AuditReport) -> Finding:
    ((_, finding),) = report.findings
    return finding


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
    story = "late: init late 7; late: add a b; late: send a b; wait 30000; other: init other 8; other: txn a"
    directory = cluster_of(story).write(tmp_path)
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
