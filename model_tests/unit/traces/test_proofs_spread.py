"""Proofs on Spark: the same obligations with the same verdicts, in the same order, and answers that are kept."""

import pytest

from model_tests.spark.proofs_spread import on_spark
from model_tests.spark.session import LOCAL
from model_tests.verify.proving import here, tasks
from spec.engines.solving import SolverSettings

pytestmark = pytest.mark.xdist_group("spark")


def test_executors_give_the_answers_of_this_process() -> None:
    """Rules are the registered ones, and what was kept is used where the tasks are done."""
    due = tasks(("ids",))
    reported = here(due, SolverSettings(), {})
    entries = {key: entry for done in reported for key, entry in done.answers.items()}

    apart = on_spark(LOCAL)(due, SolverSettings(), entries)

    assert [[(o.rule, str(o), o.verdict, o.needs) for o in done.obligations] for done in reported] == [
        [(o.rule, str(o), o.verdict, o.needs) for o in done.obligations] for done in apart
    ]
    assert entries
    assert any(o.kept for done in apart for o in done.obligations)
    assert not any(o.solved for done in apart for o in done.obligations)
