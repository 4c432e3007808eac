"""The history of a transactional id by its coordinator's log: broken, doubtful, damaged."""

from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.common.reports import HOLDS
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, STATES, WrittenCluster
from model_tests.unit.support.judged_transactions import A, B, Story, begun, found
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import by_topic, encode_key
from reference.log.batch import data_batch
from reference.log.record import Record
from spec.vocabulary import Epoch, TransactionState


def changed(cluster: WrittenCluster, state: TransactionState, epoch: int | None = None) -> None:
    """One record more, with another state and perhaps another epoch."""
    value = cluster.values["tx"]
    used = value.epoch if epoch is None else Epoch(epoch)
    cluster.record("tx", replace(value, status=state.value, epoch=used))


def completed_without_prepare(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    changed(cluster, STATES.COMPLETE_COMMIT)


def outcome_turned(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    cluster.prepare("tx", ABORT)
    changed(cluster, STATES.COMPLETE_COMMIT)


def prepared_twice(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    cluster.prepare("tx", COMMIT)
    changed(cluster, STATES.PREPARE_ABORT)


def epoch_falls(cluster: WrittenCluster) -> None:
    cluster.init("tx", 7, 1)
    changed(cluster, STATES.EMPTY, 0)


def epoch_raised_by_a_commit(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    changed(cluster, STATES.PREPARE_COMMIT, 1)


def partition_dropped(cluster: WrittenCluster) -> None:
    cluster.add("tx", A, B)
    only_a = replace(cluster.values["tx"], partitions=by_topic([TopicPartition(*A)]))
    cluster.record("tx", replace(only_a, status=STATES.PREPARE_COMMIT.value))


def expired_while_open(cluster: WrittenCluster) -> None:
    cluster.add("tx", A)
    cluster.record("tx", None)


def reported(story: Story, directory: Path) -> tuple[AuditReport, int]:
    """The audit of what begins with a story, and the offset of the coordinator's last record."""
    cluster = begun()
    story(cluster)
    return run([cluster.write(directory)]), len(cluster.coordinator) - 1


@pytest.mark.parametrize(
    ("story", "rule"),
    [
        (completed_without_prepare, "txn.legal_transition"),
        (outcome_turned, "txn.one_outcome"),
        (epoch_falls, "fence.epoch_monotone"),
        (epoch_raised_by_a_commit, "txn.legal_transition"),
        (partition_dropped, "txn.legal_transition"),
    ],
)
def test_a_broken_history_of_an_id_is_found_at_its_record(tmp_path: Path, story: Story, rule: str) -> None:
    """Each change of state is compared with the coordinator's decisions."""
    report, last = reported(story, tmp_path)

    assert found(report) == [(rule, "__transaction_state-0", last)]


def expired_twice(cluster: WrittenCluster) -> None:
    cluster.record("tx", None)
    cluster.record("tx", None)


def expired_unwritten(cluster: WrittenCluster) -> None:
    cluster.record("other", None)


@pytest.mark.parametrize(
    ("story", "rule"),
    [
        (prepared_twice, "txn.one_outcome"),
        (expired_while_open, "txn.legal_transition"),
        (expired_twice, "txn.legal_transition"),
        (expired_unwritten, "txn.legal_transition"),
    ],
)
def test_what_a_refused_append_would_explain_is_undecided(tmp_path: Path, story: Story, rule: str) -> None:
    """An append may be answered with an error although its record is in the log: the coordinator then goes back."""
    report, last = reported(story, tmp_path)

    ((_, finding),) = report.findings
    assert (finding.rule.id, finding.severity, finding.offset) == (rule, Severity.UNDECIDED, last)
    assert "refused" in finding.message
    assert report.exit_code == HOLDS


def test_a_transaction_that_is_completed_twice_is_one(tmp_path: Path) -> None:
    """The first Complete record was refused though it is in the log; the second completes the same transaction."""
    cluster = begun()
    cluster.transaction("tx", [A])
    cluster.complete_again("tx")
    cluster.add("tx", B)

    report = run([cluster.write(tmp_path)])

    assert report.findings == ()
    assert report.transactions.counts == {"committed": 2, "aborted": 1, "open": 1}


def test_values_of_unknown_versions_are_skipped_and_named(tmp_path: Path) -> None:
    """What they change is a doubt, and the id's transactions are not judged."""
    cluster = begun()
    cluster.add("tx", A)
    cluster.send("tx", A)
    cluster.record("tx", None, content=b"\x00\x07rest")

    report = run([cluster.write(tmp_path)])

    (finding,) = [finding for _, finding in report.findings]
    assert finding.severity is Severity.UNDECIDED
    assert "value of version 7" in finding.message


def test_a_damaged_value_is_damage(tmp_path: Path) -> None:
    """Its place is named, the rest is judged."""
    cluster = begun()
    cluster.record("tx", None, content=b"\x00\x00rest")

    report = run([cluster.write(tmp_path)])

    (bad,) = report.damage
    assert "damaged value" in bad.message
    assert report.transactions.counts == {"committed": 1, "aborted": 1}


def test_a_record_that_is_appended_twice_after_damage_is_no_violation(tmp_path: Path) -> None:
    """A coordinator that gave up waiting for an append continues from the state before it, which is unreadable here."""
    cluster = begun()
    cluster.add("tx", A)
    ongoing = len(cluster.coordinator) - 1
    cluster.send("tx", A)
    cluster.prepare("tx", ABORT, fenced=True)
    cluster.record("tx", cluster.values["tx"])
    cluster.mark("tx", A)
    cluster.complete("tx")
    cluster.coordinator[ongoing] = data_batch([Record(0, 0, encode_key("tx"), b"\x00\x00rest")])

    report = run([cluster.write(tmp_path)])

    assert found(report) == []
    assert len(report.damage) == 1
