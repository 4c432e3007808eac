import pytest

from model_tests.reports import BadInput
from model_tests.traces.replay import run
from model_tests.traces.simulate import trace_of


def test_a_replayed_trace_is_the_simulated_one_and_holds() -> None:
    """The seed says everything: the same rows come again, and the decision agrees with each."""
    report = run(seed=7, step=3)

    assert trace_of(7) == list(report.rows)
    assert (0, ()) == (report.exit_code, report.violations)
    assert 3 in [row["step"] for row in report.shown]
    assert {count.rule: count.judged for count in report.rules}["seq.successor"] > 0


def test_a_step_past_the_end_is_named() -> None:
    """Asking for a step that the trace has not is one clear line."""
    with pytest.raises(BadInput, match="none numbered 100000"):
        run(seed=7, step=100_000)
