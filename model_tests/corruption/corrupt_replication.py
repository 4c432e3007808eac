"""Steps of replication made false, for each rule one way."""

from collections.abc import Callable
from typing import Any, Final

from model_tests.corruption.corruption import StepCorruption
from model_tests.traces.schema import Row
from spec import rules


def _of(api: str) -> Callable[[Row, str], bool]:
    return lambda row, branch: row["api"] == api and row["error"] <= 0


def _raised(column: str) -> Callable[[Row], dict[str, Any]]:
    return lambda row: {column: row[column] + 1}


OF_REPLICATION: Final = (
    StepCorruption(
        "a leader's watermark is too high",
        rules.REPL_HW_BOUNDS,
        _of("LeaderHighWatermark"),
        _raised("after_high_watermark"),
    ),
    StepCorruption(
        "a leader is elected that may not lead",
        rules.REPL_COMMITTED_SURVIVES,
        _of("LeaderElection"),
        _raised("elected"),
    ),
    StepCorruption(
        "a follower cuts too little", rules.REPL_PREFIX_AGREEMENT, _of("ReplicaTruncate"), _raised("truncated_to")
    ),
)
