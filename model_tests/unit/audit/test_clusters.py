"""Logs of several directories: of one cluster, unless something says otherwise."""

from pathlib import Path

import pytest

from model_tests.audit.clusters import clusters_of
from model_tests.audit.options import named_clusters
from model_tests.audit.run import run
from model_tests.common.reports import BadInput
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.printed_reports import printed

A = ("a", 0)


def split(tmp_path: Path, *, second: str = "broker-2") -> tuple[Path, Path]:
    """A hanging transaction: its partition on one broker, its coordinator on another."""
    cluster = WrittenCluster()
    cluster.init("x", 7)
    cluster.transaction("x", [A])
    cluster.send("x", A)
    whole = cluster.write(tmp_path / "broker-1")
    other = tmp_path / second
    other.mkdir()
    (whole / "__transaction_state-0").rename(other / "__transaction_state-0")
    return whole, other


def test_directories_that_name_no_cluster_are_of_one(tmp_path: Path) -> None:
    """The transaction is joined with its coordinator on another broker, and the report says what it assumes."""
    first, second = split(tmp_path)

    report = run([first, second])

    ((one, finding),) = report.findings
    assert (finding.rule.id, one.topic, finding.offset) == ("txn.registered_before_data", "a", 2)
    assert any("are of one cluster" in fact and "--cluster" in fact for fact in report.assumed)
    assert "no log of it was read" not in printed(report)


def test_clusters_that_are_named_are_apart(tmp_path: Path) -> None:
    """The same directories as of two clusters: nothing is joined."""
    first, second = split(tmp_path)

    report = run([], clusters={"one": [str(first)], "two": [str(second)]})

    assert report.findings == ()
    assert report.transactions.unknown_ended == 1
    assert not any("are of one cluster" in fact for fact in report.assumed)


def test_a_directory_that_names_no_cluster_is_of_the_only_one_that_is_named(tmp_path: Path) -> None:
    """Two that are named are two; what names none is then of neither."""
    first, second = split(tmp_path)
    paths = [str(first / "a-0"), str(second / "__transaction_state-0")]
    (first / "meta.properties").write_text("cluster.id=X\n")

    assert clusters_of(paths, {}) == ["X", "X"]

    (second / "meta.properties").write_text("cluster.id=Y\n")
    assert clusters_of([*paths, str(tmp_path / "b-0")], {}) == ["X", "Y", ""]
    assert clusters_of(paths, {"mine": [str(tmp_path)]}) == ["mine", "mine"]
    assert clusters_of(paths, {"mine": [str(second)]}) == ["X", "mine"]


def test_an_option_names_a_cluster_and_a_path() -> None:
    """Several paths of one name are of one cluster."""
    assert named_clusters(["a=x", "b=y", "a=z=1"]) == {"a": ("x", "z=1"), "b": ("y",)}
    for wrong in ("a", "=x", "a="):
        with pytest.raises(BadInput, match="NAME=PATH"):
            named_clusters([wrong])
