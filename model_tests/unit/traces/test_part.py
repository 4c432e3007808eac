import weakref
from pathlib import Path

import pytest

from model_tests.check import part
from model_tests.corruption.random_corruption import CorruptionKind
from model_tests.simulate import simulate
from model_tests.traces.schema import Row
from model_tests.verify.results import RunEffort


def test_traces_of_a_deep_run_stay_and_are_of_one_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep run that was stopped is resumed in the same directory; a changed reference gets another one."""
    monkeypatch.setattr(part, "KEPT", tmp_path)
    directories = []
    for text in ("one", "one", "another"):
        monkeypatch.setattr(simulate, "reference", lambda text=text: text)
        with part.directory_of(RunEffort.DEEP) as directory:
            directory.mkdir(exist_ok=True)
            directories.append(directory)

    assert [tmp_path / "one", tmp_path / "one", tmp_path / "another"] == directories
    assert all(directory.exists() for directory in directories)


@pytest.mark.parametrize("effort", [RunEffort.QUICK, RunEffort.DEFAULT])
def test_other_traces_do_not_stay(effort: RunEffort) -> None:
    """They are made again in less time than it takes to find out whether they are still true."""
    with part.directory_of(effort) as directory:
        directory.mkdir()

    assert not directory.exists()
    assert not directory.parent.exists()


class WeaklyHeldTrace(list[Row]):
    """A trace that can be weakly referenced, so that it is known whether anything still holds it."""


@pytest.mark.slow
def test_of_the_traces_that_are_corrupted_few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep run corrupts thousands; each is made when its turn comes, and let go."""
    made, held, trace_of = list[weakref.ref[WeaklyHeldTrace]](), list[int](), simulate.trace_of

    def watched(seed: int) -> WeaklyHeldTrace:
        trace = WeaklyHeldTrace(trace_of(seed))
        made.append(weakref.ref(trace))
        held.append(sum(other() is not None for other in made))
        return trace

    monkeypatch.setattr(simulate, "trace_of", watched)

    assert 20 == part.corruptions(20 * len(CorruptionKind)).traces
    assert max(held) < 10
    assert len(made) >= 20
