from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.recorded import KAFKA_3_9, UNREGISTERED, defect_clusters, defects
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.stories import BEGUN, cluster_of
from model_tests.unit.support.judged_transactions import found


@pytest.mark.slow  # `eos verify` audits the same, and demands the same of each case
def test_every_defect_of_the_recordings_is_found_and_nothing_else(recordings: Path) -> None:
    """At its offset, by one of its rules; those that need the coordinator's log too."""
    report = run([], clusters=defect_clusters(recordings))

    by_case: dict[str, list[Finding]] = {}
    for one, finding in report.findings:
        if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS):
            by_case.setdefault(Path(one.path).parent.name, []).append(finding)
    expected = {case.case: case for case in defects(recordings) if case.rules}
    assert by_case.keys() == expected.keys()
    for name, case in expected.items():
        (finding,) = by_case[name]
        assert (finding.offset, finding.producer_id) == (case.offset, case.producer_id), name
        assert finding.rule.id in case.rules


def test_the_recorded_transactions_are_what_they_were(recordings: Path) -> None:
    """In 3.9.0 one is open and nothing is wrong; the build of 4.0 has its known defect, and no other."""
    old = run([recordings / KAFKA_3_9])
    new = run([recordings / "kafka-4.0-tv2"])

    assert found(old) == []
    assert old.transactions.counts == {"committed": 789, "aborted": 323, "open": 1}
    (opened,) = [one for one in old.transactions.judged if one.status == "open"]
    assert (opened.one.known.producer_id, len(opened.one.open)) == (1017, 6)
    assert {(name, offset) for _, name, offset in found(new)} == {(name, offset) for _, name, offset in UNREGISTERED}


def test_what_a_task_sends_is_what_it_found(tmp_path: Path) -> None:
    """Summaries and histories come back the same from their wire form."""
    cluster = cluster_of(BEGUN + "add a b c; send a b c; prepare commit; mark a c; complete", version=2)
    for log in list_logs([str(cluster.write(tmp_path))]).logs:
        verdict, damage = audit_log(log, surroundings(log))

        again = VERDICT.decode(VERDICT.encode((verdict, damage)))

        assert again == (verdict, damage)
