"""How far a doubt about one transaction reaches: to what may be of it, and no farther."""

from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.one_cause import found, identified, record
from spec.vocabulary import Epoch

A, B, C = ("a", 0), ("b", 0), ("c", 0)
HOUR_MS = 3_600_000


def doubtful_in_the_middle(stray: str) -> WrittenCluster:
    """A transaction of which a record is wrong, between two others; before or after it a marker of no transaction."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B])
    if stray == "before":
        _stray(cluster, C)
    cluster.now += HOUR_MS
    cluster.transaction("tx", [A, B])
    cluster.now += HOUR_MS
    begun = len(cluster.coordinator)
    cluster.transaction("tx", [A, B], ABORT)
    name, value = identified(cluster.coordinator[begun])
    wrong = replace(value, epoch=Epoch(value.epoch + 1))
    cluster.coordinator[begun] = record(name, wrong, cluster.coordinator[begun])
    if stray == "beside":
        _stray(cluster, C)
    cluster.now += HOUR_MS
    cluster.transaction("tx", [A, B])
    if stray == "between":
        cluster.send("tx", A)
        _stray(cluster, A)
    cluster.now += 120_000
    if stray == "after":
        _stray(cluster, C)
    cluster.transaction("tx", [A, B])
    return cluster


def _stray(cluster: WrittenCluster, at: tuple[str, int]) -> None:
    cluster.now += 1000
    cluster.mark("tx", at, outcome=COMMIT)
    cluster.now += 1000


@pytest.mark.parametrize("stray", ["before", "between", "after"])
def test_an_orphan_marker_is_named_beside_a_doubtful_transaction_elsewhere(tmp_path: Path, stray: str) -> None:
    """By the markers before and after it in its log, or where there are none by its time, it cannot be of that one."""
    findings = found(doubtful_in_the_middle(stray), tmp_path)
    record_broken, marker = sorted(findings, key=lambda one: one.rule.id != "txn.legal_transition")

    assert record_broken.rule.id == "txn.legal_transition"
    assert marker.rule.id == ("txn.registered_before_data" if stray == "between" else "txn.marker_once")


def test_a_marker_that_may_be_of_a_doubtful_transaction_is_not_named(tmp_path: Path) -> None:
    """Which partitions it had, its broken records do not say for sure."""
    (finding,) = found(doubtful_in_the_middle("beside"), tmp_path)

    assert finding.rule.id == "txn.legal_transition"
