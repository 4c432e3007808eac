import pytest

from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.on_spark import BROKEN, on_traces
from spec import rules

QUICK = ("resends are not recognised",)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(m, id=m.name, marks=[] if m.name in QUICK else [pytest.mark.slow]) for m in BROKEN],
)
def test_the_trace_check_sees_a_broken_guard(mutant: Planted) -> None:
    """A guard broken in the specification is broken in Spark's columns, and the rule is named."""
    assert mutant.rule.id in on_traces(mutant)


@pytest.mark.xdist_group("spark")
def test_the_trace_check_is_not_red_by_itself() -> None:
    """With nothing broken no rule is named, so that red means the broken guard."""
    assert on_traces(Planted("nothing", rules.SEQ_SUCCESSOR, ())) == frozenset()
