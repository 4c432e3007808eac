"""Epochs that are bumped many times in one step: as if each request had been a step of its own."""

from dataclasses import replace

import pytest

from model_tests.conform.answers import Answer, ObservableState, Side
from model_tests.conform.on_reference import OnReference
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.requests import AddPartitionsToTxn, BumpEpochs, RecordedInitProducerId
from model_tests.conform.side_by_side import MakeSide
from spec.versions import KAFKA_2_4, KAFKA_4_2, KAFKA_4_3, Profile

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
