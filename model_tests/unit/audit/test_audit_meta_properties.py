"""A broker's `meta.properties` that cannot be read."""

from pathlib import Path

import pytest

from model_tests.audit.run import run
from model_tests.unit.audit.written import data, write_segment

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


def test_properties_that_are_not_there_are_no_damage(tmp_path: Path) -> None:
    """A copy of a partition's folder has none."""
    write_segment(tmp_path / "t-0", [data(0)])

    assert run([tmp_path]).damage == ()
