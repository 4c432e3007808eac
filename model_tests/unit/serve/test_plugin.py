"""Clusters for other people's tests: they start and stop, and a violation fails the test."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import BadInput
from model_tests.judging.check_report import StepViolation
from model_tests.serve.cluster import Cluster, SpecificationViolated

pytest_plugins = ("pytester",)

VIOLATION = StepViolation(0, 7, "seq.successor", "successor", {}, {}, {}, "")

SUITE = """
    import pytest
    from model_tests.unit.serve.test_plugin import break_a_rule

    @pytest.mark.kafka_cluster(profile="2.7", nodes=2, topics={"orders": 1})
    def test_that_holds(kafka_cluster):
        assert 2 == len(kafka_cluster.bootstrap_servers.split(","))

    def test_that_breaks_a_rule(kafka_cluster):
        break_a_rule(kafka_cluster)
"""


def break_a_rule(cluster: Cluster) -> None:
    """Have the cluster report a violation that nothing made."""
    stop = cluster.stop

    def stopped() -> None:
        stop()
        if cluster.report is not None:
            cluster.report = replace(cluster.report, violated=1, violations=(VIOLATION,))

    cluster.stop = stopped  # type: ignore[method-assign]


def test_a_cluster_says_what_came_of_it() -> None:
    """It has an address while it runs, and a report when it has stopped."""
    with Cluster("3.9", nodes=3) as cluster:
        assert 3 == len(cluster.bootstrap_servers.split(","))
        assert [] == cluster.notices

    assert cluster.report is not None
    assert ("3.9.0", 3, 0) == (cluster.report.profile, cluster.report.nodes, cluster.report.violated)


def test_a_violation_fails_the_block() -> None:
    """With the rule in the message."""
    cluster = Cluster()
    break_a_rule(cluster)

    with pytest.raises(SpecificationViolated, match=r"seq\.successor"), cluster:
        pass


def test_an_error_of_the_block_is_not_hidden() -> None:
    """A test that has failed by itself says why."""
    cluster = Cluster()
    break_a_rule(cluster)

    with pytest.raises(ZeroDivisionError), cluster:
        raise ZeroDivisionError


def test_a_release_that_there_is_not_is_bad_input() -> None:
    """Before anything starts."""
    with pytest.raises(BadInput, match="no Kafka version"):
        Cluster("9.9")


def test_the_fixture_fails_a_test_whose_steps_break_a_rule(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark says what the cluster is; the teardown judges."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    pytester.makeconftest('pytest_plugins = ["model_tests.serve.plugin"]')
    pytester.makepyfile(SUITE)

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2, errors=1)
