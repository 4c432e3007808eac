"""Who ended a transaction, and ids whose producers fence each other."""

from pathlib import Path

import pytest

from model_tests.audit.ended_by import EndedBy, ended_by
from model_tests.audit.run import run
from model_tests.audit.transactions_report import transactions_in_one_line
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.printed_reports import printed
from spec.vocabulary import ControlType

A = ("a", 0)
WORDS = {
    EndedBy.CLIENT: "1 by their client",
    EndedBy.FENCE: "1 by a fence",
    EndedBy.TIMEOUT: "1 by their timeout",
    EndedBy.CLIENT_OR_FENCE: "1 by their client or a fence",
}


def ended(cluster: WrittenCluster, outcome: ControlType, *, after_ms: int = 0, fenced: bool = False) -> None:
    """A transaction of `x` with a timeout of a minute."""
    cluster.add("x", A)
    cluster.send("x", A)
    cluster.now += after_ms
    cluster.prepare("x", outcome, fenced=fenced)
    cluster.mark("x", A)
    cluster.complete("x")


@pytest.mark.parametrize(
    ("version", "outcome", "after_ms", "fenced", "expected"),
    [
        (0, COMMIT, 0, False, EndedBy.CLIENT),
        (0, ABORT, 0, False, EndedBy.CLIENT),
        (0, ABORT, 120_000, False, EndedBy.CLIENT),
        (0, ABORT, 0, True, EndedBy.FENCE),
        (0, ABORT, 61_000, True, EndedBy.TIMEOUT),
        (2, ABORT, 0, False, EndedBy.CLIENT_OR_FENCE),
        (2, ABORT, 61_000, False, EndedBy.TIMEOUT),
        (2, COMMIT, 61_000, False, EndedBy.CLIENT),
    ],
)
def test_the_epoch_and_the_time_say_who_ended_it(
    tmp_path: Path, version: int, outcome: ControlType, after_ms: int, fenced: bool, expected: EndedBy
) -> None:
    """Under versions 0 and 1 only the coordinator's own abort raises the epoch; under version 2 every end does."""
    cluster = WrittenCluster(version)
    cluster.init("x", 7)
    ended(cluster, outcome, after_ms=after_ms, fenced=fenced)

    report = run([cluster.write(tmp_path)])

    (one,) = report.transactions.judged
    assert expected is ended_by(one.one.known)
    output = transactions_in_one_line(report.transactions)
    assert (WORDS[expected] in output) if outcome == ABORT else ("aborted" not in output)


@pytest.mark.parametrize(("fences", "found"), [(3, False), (4, True)])
def test_an_id_whose_transactions_others_abort_again_and_again_is_named(
    tmp_path: Path, fences: int, found: bool
) -> None:
    """Four in a row: one fence is how a producer that was restarted begins."""
    cluster = WrittenCluster()
    for number in range(fences):
        cluster.init("x", 7, epoch=2 * number)
        ended(cluster, ABORT, fenced=True)
    cluster.init("x", 7, epoch=2 * fences)
    ended(cluster, COMMIT)

    findings = [one for _, one in run([cluster.write(tmp_path)]).findings]

    assert ["fence.stale_epoch"] * found == [one.rule.id for one in findings]
    for one in findings:
        assert (one.severity, one.offset, one.transactional_id) == (Severity.SUSPICIOUS, 2, "x")
        assert "4 of 5 transactions of x were aborted by a fence" in one.message


def test_an_id_that_expired_is_listed_with_the_time(tmp_path: Path) -> None:
    """Its last transaction has it."""
    cluster = WrittenCluster()
    cluster.init("x", 7)
    ended(cluster, COMMIT)
    cluster.record("x", None)

    report = run([cluster.write(tmp_path)], transactional_id="x")

    (one,) = report.transactions.judged
    assert one.one.known.expired_ms == cluster.now
    assert "expired" in printed(report)
