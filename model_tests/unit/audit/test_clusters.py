"""Logs of several directories: of one cluster, unless something says otherwise."""

from pathlib import Path

import pytest

from model_tests.audit.clusters import clusters_of
from model_tests.audit.options import named_clusters
from model_tests.audit.run import run
from model_tests.common.reports import BadInput
from model_tests.unit.audit.written import data, write_segment


def test_a_directory_that_names_no_cluster_is_of_the_only_one_that_is_named(tmp_path: Path) -> None:
    """Two that are named are two; what names none is then of neither."""
    first, second = tmp_path / "broker-1", tmp_path / "broker-2"
    paths = [str(write_segment(first / "a-0", []).parent), str(write_segment(second / "b-0", []).parent)]
    (first / "meta.properties").write_text("cluster.id=X\n")

    assert clusters_of(paths, {}) == ["X", "X"]

    (second / "meta.properties").write_text("cluster.id=Y\n")
    assert clusters_of([*paths, str(tmp_path / "c-0")], {}) == ["X", "Y", ""]
    assert clusters_of(paths, {"mine": [str(tmp_path)]}) == ["mine", "mine"]
    assert clusters_of(paths, {"mine": [str(second)]}) == ["X", "mine"]


def test_an_option_names_a_cluster_and_a_path() -> None:
    """Several paths of one name are of one cluster."""
    assert named_clusters(["a=x", "b=y", "a=z=1"]) == {"a": ("x", "z=1"), "b": ("y",)}
    for wrong in ("a", "=x", "a="):
        with pytest.raises(BadInput, match="NAME=PATH"):
            named_clusters([wrong])


NAME = "meta.properties"


@pytest.mark.parametrize(("denied", "why"), [(True, "Permission denied"), (False, "not text")])
def test_a_brokers_properties_that_cannot_be_read_are_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, denied: bool, why: str
) -> None:
    """Whichever of its folders ask for them: whose cluster they are of is not known, and they are judged alone."""
    for broker in ("one", "two"):
        for log in ("t-0", "u-0"):
            write_segment(tmp_path / broker / log, [data(0), data(1)])
        (tmp_path / broker / NAME).write_bytes(b"cluster.id=same\n" if denied or broker == "two" else b"\xff\xfe")
    true_open = Path.open

    def opened(path: Path, *given: object, **more: object) -> object:
        if denied and path == tmp_path / "one" / NAME:
            raise PermissionError(13, "Permission denied")
        return true_open(path, *given, **more)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(Path, "open", opened)

    report = run([tmp_path / "one", tmp_path / "two"])

    (bad,) = report.damage
    assert bad.path == str(tmp_path / "one" / NAME)
    assert why in bad.message
    assert (report.batches, report.findings) == (8, ())
