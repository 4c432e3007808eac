"""Histories in the trace schema: the history rules do not know the classes, and find what each class means."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.as_trace import as_trace
from model_tests.histories.from_edn import from_edn
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import read_ndjson, write_ndjson
from model_tests.unit.histories.from_trace import as_edn
from model_tests.unit.support.audited_histories import HISTORIES, PRODUCED, broken, consumed, history, moved

SHOWS: Final[Mapping[AnomalyKind, str]] = {
    AnomalyKind.DUPLICATE: "one_place",
    AnomalyKind.INCONSISTENT_OFFSETS: "read_place",
    AnomalyKind.ABORTED_READ: "as_reported_to_client",
    AnomalyKind.NONMONOTONIC_SEND: "in_order_sent",
    AnomalyKind.INT_NONMONOTONIC_SEND: "in_order_sent",
    AnomalyKind.NONMONOTONIC_POLL: "reads_on",
    AnomalyKind.INT_NONMONOTONIC_POLL: "reads_on",
    AnomalyKind.POLL_SKIP: "as_reported_to_client",
    AnomalyKind.INT_POLL_SKIP: "as_reported_to_client",
    AnomalyKind.READ_CYCLE_REALTIME: "reported_once",
}
"""Classes that a history rule sees, and the check that does; the others are about several readers, or legal."""


def rows_of(name: str) -> list[dict[str, Any]]:
    """A committed history as a trace."""
    return list(as_trace(from_edn((HISTORIES / f"{name}.edn").read_text().splitlines())))


@pytest.mark.parametrize("kind", SHOWS)
def test_a_group_rule_sees_what_the_class_is(kind: AnomalyKind) -> None:
    """By a check that was written without the class."""
    assert SHOWS[kind] in broken(rows_of(kind.value))[0]


@pytest.mark.parametrize("kind", AnomalyKind)
def test_a_clean_history_breaks_no_group_rule(kind: AnomalyKind) -> None:
    """And they are at stake in it."""
    names, at_stake = broken(rows_of(f"{kind.value}.clean"))

    assert names == set()
    assert at_stake > 0


def test_histories_of_true_traces_stay_true() -> None:
    """Through EDN and back into the schema."""
    judged = 0
    for seed in (6, 14, 30, 34):
        names, at_stake = broken(as_trace(from_edn(as_edn(trace_of(seed)).splitlines())))
        assert names == set()
        judged += at_stake

    assert judged > 100


def test_the_lines_of_system_tests_are_a_trace_too(tmp_path: Path) -> None:
    """Whole in every column, so that they can be written and read again."""
    reported = history(producer=PRODUCED, consumer=[moved("assigned"), consumed(2, 0, 1), consumed(2, 2, 3)])

    rows = list(as_trace(reported))
    write_ndjson(rows, tmp_path / "trace.ndjson")

    assert list(read_ndjson(tmp_path / "trace.ndjson")) == rows
    assert broken(rows)[0] == set()
    assert {row["api"] for row in rows} == {"ClientSend", "ClientAcknowledged", "ClientFetchOffsets", "ClientFetched"}
