"""Blame: which rule a wrong step is held to break."""

from dataclasses import replace

import pytest

from model_tests.unit.support.append_decisions import FULL, ONE_BATCH, OPEN, data, marker
from spec.judging.judge import AppendStep, judge
from spec.protocol.append import append
from spec.protocol.records import AppendReply, AppendRequest, ProducerEntry
from spec.versions import NEWEST
from spec.vocabulary import ErrorCode

ACCEPTED = AppendReply(0, 200, 200, duplicate=False, appended=True)


def refused(error: ErrorCode) -> AppendReply:
    return AppendReply(error.value, -1, -1, duplicate=False, appended=False)


def broken(step: AppendStep) -> set[str]:
    _, checks = judge(step, NEWEST)
    return {check.rule.id for check in checks if check.at_stake and not check.holds}


WRONG = [
    ("a gap accepted", ONE_BATCH, data(11), ACCEPTED, "seq.successor"),
    ("a successor refused", ONE_BATCH, data(10), refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), "seq.successor"),
    ("a new epoch accepted in the middle", ONE_BATCH, data(5, epoch=4), ACCEPTED, "seq.epoch_reset"),
    ("a stale epoch accepted", ONE_BATCH, data(10, epoch=2), ACCEPTED, "fence.stale_epoch"),
    ("a good epoch fenced", ONE_BATCH, data(10), refused(ErrorCode.INVALID_PRODUCER_EPOCH), "fence.stale_epoch"),
    ("a resend appended", FULL, data(7), ACCEPTED, "seq.duplicate_window"),
    ("a resend refused", FULL, data(7), refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), "seq.duplicate_window"),
    ("a first batch refused", ProducerEntry(), data(3), refused(ErrorCode.UNKNOWN_PRODUCER_ID), "seq.first"),
    ("two batches accepted", ONE_BATCH, data(10, batch_count=2), ACCEPTED, "seq.well_formed"),
    ("an unregistered batch accepted", ONE_BATCH, data(10, transactional=True), ACCEPTED, "txn.registered_before_data"),
    ("a repeated marker let in", OPEN, marker(3), ACCEPTED, "txn.marker_once"),
]


@pytest.mark.parametrize(("entry", "request_", "reply", "rule"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_answer_breaks_the_rule_of_the_earliest_check(
    entry: ProducerEntry, request_: AppendRequest, reply: AppendReply, rule: str
) -> None:
    """Whatever else is wrong with the step, the rule of the check that comes first is named."""
    assert rule in broken(AppendStep(entry, request_, reply, entry))


@pytest.mark.parametrize("entry", [ProducerEntry(), ONE_BATCH, FULL, OPEN], ids=["unknown", "one", "full", "open"])
@pytest.mark.parametrize("request_", [data(10), data(0, epoch=4), data(7), data(99), marker(4)])
def test_the_decisions_own_answer_breaks_nothing(entry: ProducerEntry, request_: AppendRequest) -> None:
    """A step that shows the decision holds, and at least one rule is at stake in it."""
    decided = append(entry, request_, NEWEST)
    step = AppendStep(entry, request_, decided.reply, decided.entry)

    assert broken(step) == set()
    assert any(check.at_stake for check in judge(step, NEWEST)[1])


def test_a_refusal_that_changes_the_entry_is_not_pure() -> None:
    """The entry after a refused append is the entry before it."""
    reply = refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    assert "seq.refusal_is_pure" in broken(AppendStep(ONE_BATCH, data(11), reply, replace(ONE_BATCH, epoch=4)))


def test_a_falling_epoch_is_not_monotone() -> None:
    """An accepted append never lowers the epoch."""
    assert "fence.epoch_monotone" in broken(
        AppendStep(ONE_BATCH, data(10, epoch=2), ACCEPTED, replace(ONE_BATCH, epoch=2))
    )
