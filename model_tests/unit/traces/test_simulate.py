from pathlib import Path

import pyarrow.parquet as pq
import pytest

from model_tests.traces import simulate
from model_tests.traces.corrupt import CORRUPTIONS
from model_tests.traces.part import JUDGED
from model_tests.traces.schema import arrow_schema
from spec.evidence import Layer, checks
from spec.versions import PROFILES


@pytest.mark.xdist_group("spark")
def test_a_trace_is_rebuilt_locally_from_its_seed(tmp_path: Path) -> None:
    """What a worker made of a seed is what the same seed gives here."""
    report = simulate.run(traces=6, seed=40, out=tmp_path / "out", steps=30)

    made = pq.read_table(tmp_path / "out").select(arrow_schema().names).to_pylist()
    here = [row for row in made if row["trace"] == 43]

    assert 6 * 30 == report.steps
    assert sorted(here, key=lambda row: row["step"]) == simulate.trace_of(43, steps=30)


def test_the_seeds_of_one_turn_reach_every_profile_with_every_workload() -> None:
    """No release is left out, whatever the first seed."""
    turn = range(100, 100 + len(simulate.WORKLOADS) * len(PROFILES))

    assert len(turn) == len({(simulate.profile_of(seed), simulate.workload_of(seed)) for seed in turn})


def test_every_rule_of_the_part_has_a_false_trace() -> None:
    """A rule without a trace that breaks it could pass unseen; so could one that is judged before its time."""
    false = {corruption.rule.id for corruption in CORRUPTIONS}

    assert {rule.id for rule in JUDGED} <= false
    assert false == {rule for rule, layer in checks() if layer is Layer.TRACE}
