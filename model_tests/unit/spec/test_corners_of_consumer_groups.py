"""Who commits offsets to a consumer group (ConsumerGroup.validateOffsetCommit of 4.3), one condition at a time."""

from dataclasses import replace

import pytest

from spec.protocol.coordinator import names_of
from spec.protocol.groups import EpochClaim, epoch_guards
from spec.protocol.guards import branch, error_of
from spec.versions import KAFKA_4_2, NEWEST, Profile
from spec.vocabulary import ErrorCode

MEMBER = EpochClaim(epoch=5, named=True, member_known=True, member_epoch=5, assigned_since=4)
OLDER, NEWER = replace(MEMBER, epoch=4), replace(MEMBER, epoch=6)
STRANGER = replace(MEMBER, member_known=False)
NO_MEMBER = EpochClaim()
NEWEST_COMMIT, OLD_COMMIT = 10, 8
NEWEST_IN_TRANSACTION = 6

UNKNOWN, STALE = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH
GENERATION, TOO_OLD = ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNSUPPORTED_VERSION
PASSED = ("passed", ErrorCode.NONE)


def decided(
    claim: EpochClaim, version: int, profile: Profile = NEWEST, *, transactional: bool = False
) -> tuple[str, ErrorCode]:
    """The guard that decides, and its answer."""
    checks = epoch_guards(claim, version, profile, transactional=transactional)
    number = branch(checks)
    return names_of(checks)[number], ErrorCode(error_of(checks, number))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (MEMBER, PASSED),
        (STRANGER, ("member_unknown", UNKNOWN)),
        (NEWER, ("epoch_newer", STALE)),
        (replace(NEWER, classic=True), ("epoch_newer", GENERATION)),
        (OLDER, PASSED),
        (replace(OLDER, assigned_since=5), ("epoch_older", STALE)),
        (replace(OLDER, assigned_since=-1), ("epoch_older", STALE)),
        (replace(OLDER, assigned_since=5, classic=True), ("epoch_older", GENERATION)),
        (replace(MEMBER, epoch=0, member_epoch=1, assigned_since=0), PASSED),
    ],
)
def test_a_member_that_names_an_epoch(claim: EpochClaim, expected: tuple[str, ErrorCode]) -> None:
    """The present epoch passes, an older one since the partition was assigned, and no newer one."""
    assert expected == decided(claim, NEWEST_COMMIT)


def test_before_4_3_every_older_epoch_is_stale() -> None:
    """The next lower one too."""
    assert ("epoch_older", STALE) == decided(OLDER, NEWEST_COMMIT, KAFKA_4_2)


@pytest.mark.parametrize(
    ("claim", "transactional", "expected"),
    [
        (replace(NO_MEMBER, group_empty=True), False, PASSED),
        (replace(NO_MEMBER, group_empty=True), True, PASSED),
        (NO_MEMBER, False, ("member_unknown", UNKNOWN)),
        (NO_MEMBER, True, PASSED),
        (replace(NO_MEMBER, named=True, group_empty=True), False, PASSED),
        (replace(NO_MEMBER, named=True), True, ("member_unknown", UNKNOWN)),
        (replace(NO_MEMBER, epoch=0), True, ("member_unknown", UNKNOWN)),
        (replace(NO_MEMBER, epoch=0, group_empty=True), False, ("member_unknown", UNKNOWN)),
        (replace(NO_MEMBER, epoch=5, group_empty=True), False, ("member_unknown", UNKNOWN)),
    ],
)
def test_a_commit_without_an_epoch_or_a_member(
    claim: EpochClaim, transactional: bool, expected: tuple[str, ErrorCode]
) -> None:
    """An empty group takes a member without an epoch; a transaction may leave out member and epoch, not one of them."""
    version = NEWEST_IN_TRANSACTION if transactional else NEWEST_COMMIT

    assert expected == decided(claim, version, transactional=transactional)


@pytest.mark.parametrize(
    ("claim", "version", "transactional", "expected"),
    [
        (MEMBER, OLD_COMMIT, False, ("request_too_old", TOO_OLD)),
        (MEMBER, OLD_COMMIT + 1, False, PASSED),
        (replace(MEMBER, classic=True), OLD_COMMIT, False, PASSED),
        (MEMBER, 3, True, PASSED),
        (STRANGER, OLD_COMMIT, False, ("member_unknown", UNKNOWN)),
        (NEWER, OLD_COMMIT, False, ("request_too_old", TOO_OLD)),
        (replace(OLDER, assigned_since=5), OLD_COMMIT, False, ("request_too_old", TOO_OLD)),
        (replace(NO_MEMBER, group_empty=True), OLD_COMMIT, False, PASSED),
    ],
)
def test_members_of_the_new_protocol_need_version_9(
    claim: EpochClaim, version: int, transactional: bool, expected: tuple[str, ErrorCode]
) -> None:
    """An unknown member is said first, then the version, then the epoch; transactions have no such limit."""
    assert expected == decided(claim, version, transactional=transactional)


@pytest.mark.parametrize(("version", "error"), [(5, GENERATION), (6, STALE)])
def test_the_word_for_a_stale_epoch_in_a_transaction(version: int, error: ErrorCode) -> None:
    """TxnOffsetCommit knows STALE_MEMBER_EPOCH since version 6; OffsetCommit always did for these members."""
    assert ("epoch_newer", error) == decided(NEWER, version, transactional=True)
    assert ("epoch_newer", STALE) == decided(NEWER, 9)
