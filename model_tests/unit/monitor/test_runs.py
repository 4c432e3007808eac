"""What a seed chooses and what is given instead, and what there is not."""

from typing import Any

import pytest

from model_tests.common.reports import BadInput
from model_tests.monitor.runs import run_of
from model_tests.simulate.simulate import trace_of


@pytest.mark.parametrize("seed", [0, 1, 2], ids=["raw", "producers", "transactions"])
def test_a_run_is_the_trace_of_its_seed(seed: int) -> None:
    """Watching a run does not change it, and the tape that it leaves makes it again."""
    played = run_of(seed).play()

    assert trace_of(seed) == list(played.rows)
    assert trace_of(seed) == list(run_of(seed).play(monitored=False).rows)
    assert played.ends[-1] <= len(played.choices)


def test_what_is_given_takes_the_place_of_what_the_seed_chooses() -> None:
    """Workload, profile and transaction version, in the rows and in the command that shows the run again."""
    run = run_of(0, 20, "transactions", "4.3", 1)

    rows = run.play().rows

    assert {("4.3", 1)} == {(row["profile"], row["transaction_version"]) for row in rows}
    assert "eos replay --seed 0 --workload transactions --profile 4.3 --transaction-version 1 --steps 20" == run.command


def test_what_the_seed_chooses_anyway_is_not_said() -> None:
    """The seed is enough."""
    assert "eos replay --seed 7" == run_of(7).command


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"seed": -1}, "no seed -1"),
        ({"seed": 2**63}, "no seed 9223372036854775808"),
        ({"seed": 1, "workload": "consumers"}, "no workload 'consumers'; there are raw"),
        ({"seed": 1, "profile": "5.0"}, "no profile '5.0'; there are 0.11"),
        ({"seed": 1, "profile": "3.9.0", "transaction_version": 2}, "3.9.0 has transaction versions 0 to 0, not 2"),
    ],
    ids=["negative seed", "seed too large", "workload", "profile", "transaction version"],
)
def test_what_there_is_not_is_one_clear_line(given: dict[str, Any], reported: str) -> None:
    """The error has the requested name, and those that exist."""
    with pytest.raises(BadInput, match=reported):
        run_of(**given)
