"""A corruption that no rule can detect is explained by the missing evidence; others are not explained."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from model_tests.corruption import undetected_reasons
from model_tests.corruption.corruption_report import judged
from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace
from model_tests.corruption.undetected_reasons import (
    MissingEvidence,
    Reason,
    RuleInputDifference,
    difference,
    shown_by,
    why_unseen,
)
from model_tests.judging.chains import of_kind
from model_tests.judging.verdicts import LINK
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.traces.schema import Row
from spec.versions import PROFILES

SEEDS = range(12_000, 12_000 + 2 * len(WORKLOADS) * len(PROFILES))


@pytest.fixture(scope="module")
def traces() -> list[list[Row]]:
    return [list(trace_of(seed)) for seed in SEEDS]


def numbered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The steps with the numbers of their places."""
    return tuple({**row, "step": step} for step, row in enumerate(rows))


def without(rows: Sequence[Row], place: int) -> RandomlyCorruptedTrace:
    """The trace with a step left out."""
    return RandomlyCorruptedTrace(CorruptionKind.DROP, place, place, "", numbered([*rows[:place], *rows[place + 1 :]]))


def changed(rows: Sequence[Row], place: int, column: str, value: Any) -> RandomlyCorruptedTrace:
    """The trace with another value in a column of a step."""
    kind = CorruptionKind.RETIME if column == "time_ms" else CorruptionKind.RELABEL
    false = [{**row, column: value} if row["step"] == place else row for row in rows]
    return RandomlyCorruptedTrace(kind, place, place, column, numbered(false))


def first_unseen(
    traces: Sequence[Sequence[Row]], fits: Callable[[Row], bool], wanted: Reason | MissingEvidence | None
) -> RandomlyCorruptedTrace | None:
    """The first such step that can be left out unseen, for this reason."""
    for rows in traces:
        for row in rows:
            found = without(rows, row["step"]) if fits(row) else None
            if found is not None and not judged(found.rows)[0] and why_unseen(rows, found) is wanted:
                return found
    return None


def test_a_link_that_only_bounds_shows_nothing(traces: Sequence[Sequence[Row]]) -> None:
    """A last stable offset may rise between two steps, and a load may be ahead: neither shows what a step has left."""
    moved = next(row for rows in traces for row in rows if 0 <= row["before_last_stable"] < row["after_last_stable"])
    opened = next(row for rows in traces for row in rows if row["before_txn_state"] != row["after_txn_state"])

    assert not shown_by(frozenset({"stable_between"}), moved)
    assert shown_by(frozenset({"stable_between", "watermarks"}), moved)
    assert not shown_by(frozenset({"loaded_record"}), opened)
    assert shown_by(frozenset({"loaded_record", "previous_id_state"}), opened)


@pytest.mark.parametrize(
    ("fits", "wanted"),
    [
        (lambda row: row["api"] == "ClientAcknowledged", MissingEvidence.CLIENT_EVENT),
        (lambda row: row["api"] == "ReplicaFetch" and row["before_log_end"] == 0, MissingEvidence.BEGINNING),
        (lambda row: row["api"] == "LeaderFailover", MissingEvidence.UNSHOWN),
        (lambda row: row["api"] == "ClientFetched", MissingEvidence.CLIENT_EVENT),
        (lambda row: row["api"] == "ClientSend", MissingEvidence.CLIENT_EVENT),
        (lambda row: row["api"] == "OffsetsForLeaderEpoch", Reason.SAME),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_step_that_can_be_left_out_undetected_is_explained(
    traces: Sequence[Sequence[Row]], fits: Callable[[Row], bool], wanted: Reason | MissingEvidence
) -> None:
    """Each reason is that of some step of the reference's own traces."""
    assert first_unseen(traces, fits, wanted) is not None


def test_what_a_leader_learns_and_no_later_step_shows_is_not_reported(traces: Sequence[Sequence[Row]]) -> None:
    """It leads on in its epoch, and no rule asks for the partition epoch: without the step the trace may be true."""

    def leads_on(row: Row) -> bool:
        return bool(row["api"] == "BecomeLeader" and row["leader_epoch_after"] == row["leader_epoch"] >= 0)

    assert first_unseen(traces, leads_on, MissingEvidence.UNSHOWN) is not None
    assert first_unseen(traces, leads_on, None) is None


def test_what_a_chain_continues_from_is_missed(traces: Sequence[Sequence[Row]]) -> None:
    """A batch that is left out is reported; were no rule broken by it, no reason would be found either."""
    rows, place = next(
        (rows, row["step"])
        for rows in traces
        for row in rows[20:100]
        if row["api"] == "Produce" and row["appended"] and row["before_log_end"] > 0 and goes_on(rows, row)
    )
    found = without(rows, place)

    assert judged(found.rows)[0]
    assert "previous_log" in difference(rows, found).gained
    assert why_unseen(rows, found) is None


def goes_on(rows: Sequence[Row], row: Row) -> bool:
    """Whether a later step and an earlier one are at the same log."""
    here = [
        o["step"]
        for o in rows
        if o["after_log_end"] >= 0 and all(o[n] == row[n] for n in ("node", "topic", "partition"))
    ]
    return bool(here[0] < row["step"] < here[-1])


def test_another_time_that_decides_the_same_is_shown_by_deciding_again(traces: Sequence[Sequence[Row]]) -> None:
    """No other step's inputs change; a time by which a later step goes is not harmless."""
    ended = next((rows, row) for rows in traces for row in rows if row["api"] == "EndTxn" and row["error"] > 0)
    fetched = next(
        (rows, row)
        for rows in traces
        for row in rows
        if row["api"] == "FetchFollower" and row["caught_up_ms"] >= 0 and fetches_again(rows, row)
    )
    harmless, harmful = (changed(rows, row["step"], "time_ms", row["time_ms"] + 7) for rows, row in (ended, fetched))

    assert why_unseen(ended[0], harmless) is Reason.SAME
    assert difference(ended[0], harmless) == (True, frozenset(), frozenset(), frozenset())
    assert judged(harmful.rows)[0]
    assert "previous_progress" in difference(fetched[0], harmful).gained


def fetches_again(rows: Sequence[Row], row: Row) -> bool:
    """Whether the same follower fetches later from the leader of the same epoch, which takes note of it."""
    names = ("node", "topic", "partition", "broker", "leader_epoch", "api")
    return any(
        all(later[name] == row[name] for name in names) and later["follower_fetch_ms"] == row["time_ms"]
        for later in rows[row["step"] + 1 :]
    )


def test_a_trace_of_which_less_is_asked_is_no_neighbour(
    traces: Sequence[Sequence[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another neighbour a rule may hold; one that checks fewer steps than before is no longer evidence."""
    rows, place = next(
        (rows, row["step"])
        for rows in traces
        for row in rows
        if row["api"] == "OffsetsForLeaderEpoch" and row["topic"] and goes_on(rows, row)
    )
    found = changed(rows, place, "node", "elsewhere")
    seen = RuleInputDifference(own=True, gained=frozenset({"previous_log"}), lost=frozenset(), fewer=frozenset())

    monkeypatch.setattr(undetected_reasons, "difference", lambda *_: seen)
    assert why_unseen(rows, found) is MissingEvidence.NEIGHBOUR

    monkeypatch.setattr(undetected_reasons, "difference", lambda *_: seen._replace(fewer=frozenset({"watermarks"})))
    assert why_unseen(rows, found) is None


def test_a_step_that_becomes_the_first_on_its_key_leaves_no_check_unasked(traces: list[list[Row]]) -> None:
    """A batch attributed to another producer has none before it: that its links check nothing now hides nothing."""
    names = {link.name for link in of_kind(LINK)}
    seen = 0
    for rows in traces[:: len(WORKLOADS)]:
        appended = [row for row in rows if row["origin"] >= 0 and row["appended"] and row["producer_id"] >= 0]
        for row in appended[-1:]:
            found = difference(rows, changed(rows, row["step"], "producer_id", 999_999))
            seen += 1
            assert not found.fewer & names, row["step"]

    assert seen > len(PROFILES) // 2
