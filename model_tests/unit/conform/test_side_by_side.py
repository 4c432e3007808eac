"""Epochs that are bumped many times in one step: as if each request had been a step of its own."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any, Final

import pytest

from model_tests.conform.answers import Answer, ObservableState, Side
from model_tests.conform.files import sample, sessions_in
from model_tests.conform.on_reference import OnReference
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.requests import AddPartitionsToTxn, BumpEpochs, RecordedInitProducerId
from model_tests.conform.sessions import Session, session_of
from model_tests.conform.side_by_side import (
    REFERENCE,
    SIDES,
    SPECIFICATION,
    MakeSide,
    disagreements,
    outcomes,
)
from model_tests.unit.by_default import by_default
from model_tests.unit.conform.written import (
    Written,
    accepted,
    batch,
    fetch,
    init,
    out_of_order,
    produce,
    refused,
    resent,
    restart,
    session,
)
from spec.protocol import fence, seq
from spec.protocol import produce as producing
from spec.versions import KAFKA_2_4, KAFKA_4_2, KAFKA_4_3, Profile


def found_in(*steps: Written, **fields: Any) -> list[tuple[int, str]]:
    return [(found.step, found.by) for found in disagreements([session_of(session(*steps, **fields))])]


@cache
def recordings() -> tuple[Session, ...]:
    return tuple(sessions_in(sample(200).lines))


def on_specification() -> Iterator[SessionDisagreement]:
    return disagreements(recordings(), {SPECIFICATION: OnSpecification})


@pytest.mark.slow
def test_bundled_sessions_agree_on_both_sides() -> None:
    """Every step of a sample agrees; undecided is only what the recording marks."""
    played = [outcome for recorded in recordings() for outcome in outcomes(recorded)]

    assert len(played) > 1000
    assert [outcome for outcome in played if outcome.disagreed] == []
    marks = [outcome.step.marks for outcome in played if outcome.undecided]
    assert all(each.accept_errors for each in marks)


def test_after_a_restart_only_the_newest_batch_is_recognised() -> None:
    """The window is one: the second newest batch is out of order, the newest is acknowledged again."""
    steps = (
        init(),
        produce(accepted(0)),
        produce(accepted(1), base_sequence=1),
        produce(resent(0)),
        restart(),
        produce(out_of_order()),
        produce(resent(1), base_sequence=1),
        produce(accepted(2), base_sequence=2),
    )

    assert found_in(*steps) == []


def test_what_is_refused_before_the_log_has_no_log_start() -> None:
    """Transactional records without an id, two batches, an unknown partition."""
    steps = (
        produce(refused("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 53, log_start=-1), transactional=True),
        produce(refused("INVALID_RECORD", 87, log_start=-1), batch_count=2),
        produce(refused("UNKNOWN_TOPIC_OR_PARTITION", 3, log_start=-1), partition="nope-0"),
        produce(refused("INVALID_RECORD", 87), base_sequence=-1),
        produce(refused("INVALID_RECORD", 87, log_start=-1), base_sequence=-1, version=3),
        produce(refused("INVALID_REQUIRED_ACKS", 21, log_start=-1), acks=2),
    )

    assert found_in(*steps) == []


NOT_IN_TRANSACTION = {
    ("3.6", 9): ("INVALID_REQUIRED_ACKS", 21),
    ("3.9.0", 9): ("INVALID_TXN_STATE", 48),
    ("3.9.0", 11): ("TRANSACTION_ABORTABLE", 120),
    ("4.3", 11): ("TRANSACTION_ABORTABLE", 120),
    ("4.3", 12): ("INVALID_REQUIRED_ACKS", 21),
}


@pytest.mark.parametrize(("release", "version"), NOT_IN_TRANSACTION)
def test_a_transaction_is_verified_before_its_acks_are_looked_at(release: str, version: int) -> None:
    """Since 3.8: by the acks alone nobody is refused who is in no transaction; version 12 enters it all the same."""
    started = {**init(), "request": {"transactional_id": "t0", "timeout": 60_000}}
    error = NOT_IN_TRANSACTION[release, version]
    wrong = produce(refused(*error, log_start=-1), version, acks=2, named="t0", transactional=True)
    ended = {"error": "NONE", "error_code": 0} if version >= 12 else {"error": "INVALID_TXN_STATE", "error_code": 48}
    identity = {"transactional_id": "t0", "producer_id": "pid0", "producer_epoch": 0}
    end = {"api": "EndTxn", "version": 1, "request": {**identity, "committed": True}, "response": ended}
    of = {"kafka": release, "txn_version": 2 if release == "4.3" else 0, "observed": "none"}

    assert found_in(started, wrong, end, **of) == []
    for other in {*NOT_IN_TRANSACTION.values()} - {error}:
        changed = {**wrong, "response": refused(*other, log_start=-1)}
        assert found_in(started, changed, end, **of) == [(1, SPECIFICATION), (1, REFERENCE)]


def test_a_fetch_is_bounded_by_the_log() -> None:
    """At the end there is nothing, beyond it is no offset."""
    nothing = {"error": "NONE", "error_code": 0, "hw": 1, "lso": 1, "log_start_offset": 0, "aborted": None}
    beyond = {"error": "OFFSET_OUT_OF_RANGE", "error_code": 1, "hw": -1, "lso": -1, "log_start_offset": -1}
    steps = (
        produce(accepted(0)),
        fetch(1, {**nothing, "batches": [], "delivered": []}),
        fetch(2, {**beyond, "aborted": None, "batches": [], "delivered": []}),
        fetch(-1, {**beyond, "aborted": None, "batches": [], "delivered": []}),
    )

    assert found_in(*steps) == []


def test_each_partition_of_one_request_has_its_own_answer() -> None:
    """The error over all is any of theirs."""
    parts = {"t-0": accepted(0), "t-1": refused("INVALID_RECORD", 87)}
    request = {
        "transactional_id": None,
        "acks": 1,
        "batches": [batch(), batch(partition="t-1", record_count=2, last_offset_delta=5)],
    }
    multi = {"api": "ProduceMulti", "version": 9, "request": request}

    assert found_in({**multi, "response": {"error": "INVALID_RECORD", "error_code": 87, "partitions": parts}}) == []
    assert found_in({**multi, "response": {"error": "NONE", "error_code": 0, "partitions": parts}}) == [
        (0, SPECIFICATION),
        (0, REFERENCE),
    ]


def test_an_id_that_was_handed_out_before_is_disagreed_with() -> None:
    """Two InitProducerId never return the same id."""
    assert found_in(init("pid0"), init("pid1"), init("pid0")) == [(2, SPECIFICATION), (2, REFERENCE)]


def test_an_id_out_of_order_is_disagreed_with_where_it_was_handed_out() -> None:
    """A falsified id is one wrong step; what the session does with the true one still agrees."""
    assert found_in(init("pid4"), produce(accepted(0)), produce(resent(0))) == [(0, SPECIFICATION), (0, REFERENCE)]


def test_a_side_that_breaks_down_disagrees() -> None:
    """An exception is a wrong answer, named, and the replay continues."""

    class BrokenReference(OnReference):
        def fetch(self, request: object) -> Any:
            raise KeyError("lost")

    nothing = {"error": "NONE", "error_code": 0, "hw": 0, "lso": 0, "log_start_offset": 0, "aborted": None}
    recorded = session_of(session(fetch(0, {**nothing, "batches": [], "delivered": []}), restart()))

    found = list(disagreements([recorded], {REFERENCE: BrokenReference}))

    assert [(each.step, each.got) for each in found] == [(0, {"response": "KeyError: 'lost'"})]


BROKEN: Final[dict[str, tuple[ModuleType, str, Callable[..., Any], str]]] = {
    "duplicate": (seq, "is_resend_of", lambda *_: False, "seq.duplicate_window"),
    "successor": (seq, "skips", lambda *_: False, "seq.successor"),
    "epoch_reset": (seq, "resets_wrongly", lambda *_: False, "seq.epoch_reset"),
    "first": (seq, "starts_wrongly", lambda entry, *_: seq.is_unknown(entry), "seq.first"),
    "stale_epoch": (fence, "is_refused_as_stale", lambda *_: False, "fence.stale_epoch"),
    "malformed": (
        seq,
        "is_malformed",
        lambda *_: dict.fromkeys(("one_batch", "sequence_missing"), False),
        "seq.well_formed",
    ),
    "admit": (producing, "guards", lambda *_: (), "seq.well_formed"),
}
"""Decisions with a guard patched away, and the rule that the first step to disagree is about."""


@pytest.mark.xdist_group("recorded sessions")
@pytest.mark.parametrize("broken", by_default(BROKEN, ["successor", "epoch_reset", "stale_epoch"]))
def test_a_broken_decision_is_seen_at_once_and_by_its_rule(
    monkeypatch: pytest.MonkeyPatch, broken: tuple[ModuleType, str, Callable[..., Any], str]
) -> None:
    """A guard patched away in the specification makes recorded steps disagree, the first naming its rule."""
    module, decision, instead, rule = broken

    monkeypatch.setattr(module, decision, instead)
    first = next(on_specification())

    assert rule in [at_stake.id for at_stake in first.rules]
    assert first.by == SPECIFICATION


@pytest.mark.xdist_group("recorded sessions")
def test_the_specification_agrees_with_what_was_recorded() -> None:
    """The disagreements above are those of the broken decisions."""
    assert list(on_specification()) == []


def test_the_sides_are_the_specification_and_the_reference() -> None:
    """Two independent brokers under one comparison."""
    assert set(SIDES) == {SPECIFICATION, REFERENCE}


FEW_EPOCHS = 9
BEGINS = RecordedInitProducerId(0, "t0")


def after_bumps(side: Side, times: int, *, at_once: bool) -> tuple[Answer | ObservableState, ...]:
    """The last answer, and that to a transaction that comes then, with what is seen of it."""
    side.answer(BEGINS)
    answer = side.answer(BumpEpochs("t0", times)) if at_once else [side.answer(BEGINS) for _ in range(times)][-1]
    producer_id, epoch = answer.producer_id, answer.producer_epoch  # type: ignore[union-attr]
    added = side.answer(AddPartitionsToTxn(0, "t0", producer_id, epoch, ("t-0",), verify_only=False))
    fenced = side.answer(BEGINS)
    return answer, added, fenced, side.answer(BEGINS), side.seen()


@pytest.mark.parametrize("profile", [KAFKA_4_3, KAFKA_4_2, KAFKA_2_4], ids=lambda profile: profile.name)
@pytest.mark.parametrize("times", [1, 2, 3, 4, 6, 7, 8, 9, 12])
@pytest.mark.parametrize("make", [OnSpecification, OnReference])
def test_many_bumps_are_as_many_requests(make: MakeSide, times: int, profile: Profile) -> None:
    """Before the last epoch, at it, and past it, where the producer id changes."""
    few = replace(profile, max_epoch=FEW_EPOCHS)

    at_once = after_bumps(make(few, ["t-0"], 2**30), times, at_once=True)
    one_by_one = after_bumps(make(few, ["t-0"], 2**30), times, at_once=False)

    assert one_by_one == at_once
