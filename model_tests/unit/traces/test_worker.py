import gc
from collections.abc import Iterator
from itertools import count

import pytest
from pyspark import TaskContext

from model_tests.spark import worker


@pytest.fixture(autouse=True)
def _nothing_left_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker that has begun no task, and no object left out of collections after the test."""
    monkeypatch.setattr(worker, "_begun", count())
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_outside_a_task_collections_look_at_everything() -> None:
    """The process that makes the report is left as it is."""
    worker.begin_task()

    assert gc.get_freeze_count() == 0


def test_what_a_worker_has_loaded_is_left_out_before_its_first_two_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the third task on nothing more is left out: what a task leaves as garbage is collected for as long."""
    monkeypatch.setattr(TaskContext, "get", object)
    loaded: list[list[int]] = []
    counts = []
    for _ in range(4):
        loaded += [[] for _ in range(10)]
        worker.begin_task()
        counts.append(gc.get_freeze_count())

    first, second, *later = counts
    assert first > 0
    assert second >= first + 10
    assert max(later) <= second
