import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from time import monotonic, sleep

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from model_tests.check.part import JUDGED
from model_tests.common.reports import BadInput
from model_tests.corruption.bad.catalogue import BAD
from model_tests.corruption.catalogue import CORRUPTIONS
from model_tests.simulate import simulate
from model_tests.simulate.simulation_job import progress_line, shown
from model_tests.traces.schema_types import arrow_schema
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


PATIENCE = 120
"""Seconds that a run of another process may take on a shared machine."""


def files_of(directory: Path) -> dict[str, bytes]:
    """Every file of a directory of traces, but those that no reader needs."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.glob("*/*.parquet")}


def killed_half_way(out: Path, *arguments: str) -> None:
    """Simulate in a process of its own, and kill that and its JVM when the first traces are there."""
    command = [sys.executable, "-m", "model_tests", "simulate", "--out", str(out), *arguments]
    process = subprocess.Popen(command, start_new_session=True)
    patience = monotonic() + PATIENCE
    while not any(out.glob("*/[0-9]*.parquet")) and process.poll() is None and monotonic() < patience:
        sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert -signal.SIGKILL == process.wait(), "the run was over before it was killed"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_run_that_was_killed_is_resumed_with_the_missing_seeds(tmp_path: Path) -> None:
    """What it wrote is kept, nothing comes twice, and the result is that of a run without a break."""
    killed_half_way(tmp_path / "out", "--traces", "80", "--seed", "12", "--steps", "300", "--master", "local[1]")
    before = files_of(tmp_path / "out")

    resumed = simulate.run(traces=80, seed=12, out=tmp_path / "out", steps=300)
    whole = simulate.run(traces=80, seed=12, out=tmp_path / "whole", steps=300)

    after = files_of(tmp_path / "out")
    assert 0 < len(before) < len(after)
    assert before.items() <= after.items()
    assert files_of(tmp_path / "whole") == after
    assert 0 < resumed.made < whole.made == resumed.traces == 80
    steps = pq.read_table(tmp_path / "out", columns=["trace", "step"]).to_pylist()
    assert 80 * 300 == resumed.steps == len(steps) == len({(row["trace"], row["step"]) for row in steps})
    shown = StringIO()
    resumed.print(Console(file=shown))
    assert f"80 traces, {80 - resumed.made} of them from before, 24000 steps" in shown.getvalue()


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_progress_is_shown_on_a_terminal(terminal: bool) -> None:
    """Traces, steps, how fast, how much longer; and nothing in a file."""
    shown_there = StringIO()
    console = Console(file=shown_there, force_terminal=terminal, width=140)

    with shown(100, lambda: (40, 8000), console, after=0.0):
        sleep(0.3)

    assert terminal == ("40 of 100 traces, 8,000 steps" in shown_there.getvalue())
    assert terminal == ("40%" in shown_there.getvalue())
    assert "1,500 of 3,000 traces, 700,000 steps, 350,000 steps/s" == progress_line(1500, 3000, 700_000, 2.0)


def test_a_short_run_shows_nothing() -> None:
    """Two seconds are not worth a bar."""
    shown_there = StringIO()

    with shown(100, lambda: (40, 8000), Console(file=shown_there, force_terminal=True)):
        sleep(0.05)

    assert "" == shown_there.getvalue()


def test_the_seeds_of_two_turns_reach_every_profile_with_every_workload() -> None:
    """None that takes turns is left out, whatever the first seed; 4.4 shares the turns of 4.3."""
    turns = range(100, 100 + len(simulate.WORKLOADS) * len(simulate.TURNS))

    reached = {(simulate.profile_of(seed), simulate.workload_of(seed)) for seed in turns}

    assert len(simulate.WORKLOADS) * (len(PROFILES) - len(simulate.LATER)) == len(reached)


def test_the_transaction_versions_of_a_release_take_turns() -> None:
    """The newest release is simulated under each version, an old one under none but its own."""
    turns = range(3 * len(simulate.WORKLOADS) * len(simulate.TURNS))
    transactions = [seed for seed in turns if simulate.workload_of(seed) == "transactions"]

    versions = {(simulate.profile_of(seed), simulate.version_of(seed)) for seed in transactions}

    assert {0, 1, 2} == {version for profile, version in versions if profile == "4.3"}
    assert {0, 1, 2} == {version for profile, version in versions if profile == "4.4"}
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
    marked = {rule for rule, layer in checks() if layer is Layer.TRACE}

    assert {rule.id for rule in JUDGED} <= false | {bad.rule.id for bad in BAD}
    assert false <= marked <= {bad.rule.id for bad in BAD}
