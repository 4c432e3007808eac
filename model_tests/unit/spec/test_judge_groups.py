"""Recorded steps of a group's coordinator: what holds, and which rule names what does not."""

import pytest

from spec import rules
from spec.judging.judge_groups import (
    OffsetCommitStep,
    OffsetFetchStep,
    judge_marker,
    judge_offset_commit,
    judge_offset_fetch,
    judge_place,
)
from spec.judging.judge_replication import Judged
from spec.protocol.offsets import NO_OFFSET, OffsetEntry
from spec.rules import Rule
from spec.versions import NEWEST, PROFILES
from spec.vocabulary import ErrorCode

UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT.value
FENCES_NOBODY = next(profile for profile in PROFILES.values() if not profile.commits_fenced_by_generation)


def broken(judged: Judged) -> set[Rule]:
    return {check.rule for check in judged[1] if check.at_stake and not check.holds}


@pytest.mark.parametrize(
    ("step", "holds"),
    [
        (OffsetFetchStep(committed=7, pending=False, stable=1, error=0, offset=7), True),
        (OffsetFetchStep(committed=7, pending=True, stable=1, error=UNSTABLE, offset=-1), True),
        (OffsetFetchStep(committed=7, pending=True, stable=0, error=0, offset=7), True),
        (OffsetFetchStep(committed=-1, pending=False, stable=1, error=0, offset=-1), True),
        (OffsetFetchStep(committed=7, pending=True, stable=1, error=0, offset=7), False),
        (OffsetFetchStep(committed=7, pending=False, stable=1, error=0, offset=9), False),
        (OffsetFetchStep(committed=7, pending=False, stable=1, error=UNSTABLE, offset=-1), False),
    ],
    ids=["stable", "undecided", "dirty", "none", "given although undecided", "another", "refused although decided"],
)
def test_a_stable_offset_is_reported_only_once_it_is_decided(step: OffsetFetchStep, holds: bool) -> None:
    """And it is the one that the group has committed."""
    assert (set() if holds else {rules.OFFSETS_STABLE_FETCH}) == broken(judge_offset_fetch(step, NEWEST))


def test_a_member_of_a_past_generation_commits_nothing() -> None:
    """Where a release checks commits against the generation; a commit without one is not checked."""
    past = OffsetCommitStep(claimed=2, generation=3, error=0, committed=5, committed_after=5)
    refused = OffsetCommitStep(2, 3, ErrorCode.ILLEGAL_GENERATION.value, 5, 5)
    no_member = OffsetCommitStep(-1, 3, 0, 5, 5)

    assert {rules.OFFSETS_GENERATION_FENCE} == broken(judge_offset_commit(past, NEWEST))
    assert set() == broken(judge_offset_commit(refused, NEWEST))
    assert set() == broken(judge_offset_commit(no_member, NEWEST))
    assert set() == broken(judge_offset_commit(past, FENCES_NOBODY))


def test_an_offset_of_a_transaction_waits_for_its_marker() -> None:
    """A commit in a transaction changes no offset that a fetch returns."""
    at_once = OffsetCommitStep(claimed=-1, generation=1, error=0, committed=5, committed_after=9)

    assert {rules.OFFSETS_ATOMIC} == broken(judge_offset_commit(at_once, NEWEST))


def test_what_a_committed_transaction_said_is_pending_up_to_its_marker() -> None:
    """An abort, and a transaction without offsets, ask for nothing."""
    entry = OffsetEntry(6, 1)

    assert judge_marker(entry, entry, commits=True).holds
    lost = judge_marker(entry, NO_OFFSET, commits=True)
    assert (lost.rule, lost.at_stake, lost.holds) == (rules.OFFSETS_ATOMIC, True, False)
    assert not judge_marker(entry, NO_OFFSET, commits=False).at_stake
    assert not judge_marker(NO_OFFSET, NO_OFFSET, commits=True).at_stake


def test_an_offset_of_a_group_is_at_most_the_end_of_its_partition() -> None:
    """The end itself is what it commits after it has read everything."""
    assert judge_place(9, 9).holds
    assert not judge_place(10, 9).holds
    assert not judge_place(-1, 9).at_stake
