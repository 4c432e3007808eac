from pathlib import Path

import pyarrow.parquet as pq
import pytest

from model_tests.reports import BadInput
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


def test_the_transaction_versions_of_a_release_take_turns() -> None:
    """The newest release is simulated under each version, an old one under none but its own."""
    turns = range(3 * len(simulate.WORKLOADS) * len(PROFILES))
    transactions = [seed for seed in turns if simulate.workload_of(seed) == "transactions"]

    versions = {(simulate.profile_of(seed), simulate.version_of(seed)) for seed in transactions}

    assert {0, 1, 2} == {version for profile, version in versions if profile == "4.3"}
    assert {0} == {version for profile, version in versions if profile == "3.9.0"}


def test_seeds_of_one_workload() -> None:
    """From the first seed on, those that choose it; a workload that there is not is one clear line."""
    seeds = simulate.seeds_of(4, 100, "transactions")

    assert [102, 106, 110, 114] == list(seeds)
    assert {"transactions"} == {simulate.workload_of(seed) for seed in seeds}
    with pytest.raises(BadInput, match="raw, producers, transactions, replicas"):
        simulate.seeds_of(1, 0, "consumers")


def test_every_rule_of_the_part_has_a_false_trace() -> None:
    """A rule without a trace that breaks it could pass unseen; so could one that is judged before its time."""
    false = {corruption.rule.id for corruption in CORRUPTIONS}

    assert {rule.id for rule in JUDGED} <= false
    assert false == {rule for rule, layer in checks() if layer is Layer.TRACE}
