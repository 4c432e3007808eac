"""What coordinators of older releases do otherwise, release by release: transactions, groups, producer ids."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, PRODUCER, ending, entry
from model_tests.unit.support.coordinator_judging import ASKED, broken, decided, step
from model_tests.unit.support.release_names import named
from spec.protocol import blocks, committing, groups, verification
from spec.protocol.blocks import BlockRecord
from spec.protocol.committing import CommitRequest, commit, commit_in_transaction
from spec.protocol.completing import fence, fencing_abort
from spec.protocol.coordinator import TransactionEntry, append_failed, names_of
from spec.protocol.coordinator_steps import DECISIONS
from spec.protocol.ending import IdAndEpoch, end, guards
from spec.protocol.groups import NO_MEMBER, GroupEntry, KnownClaim, commit_guards, join_guards, sync_guards
from spec.protocol.guards import branch, error_of
from spec.protocol.ids import fencing_epoch
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, pending_after_tombstone
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.registering import AddRequest, register, verified
from spec.sources.decisions import RELEASED
from spec.versions import (
    KAFKA_2_0,
    KAFKA_2_4,
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_3_9_UNVERIFIED,
    NEWEST,
    SNAPSHOT_4_0,
    Profile,
)
from spec.vocabulary import ErrorCode, GroupState, TransactionState

ONGOING, PREPARE_COMMIT = TransactionState.ONGOING, TransactionState.PREPARE_COMMIT
NONE, UNKNOWN_MEMBER = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
STALE, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED

CURRENT = KnownClaim(generation=3, member_given=True, member_known=True)
STATIC = replace(CURRENT, instance_given=True, instance_known=True, instance_matches=True)
INSTANCE_UNKNOWN = replace(STATIC, instance_known=False, instance_matches=False)
PAST = replace(CURRENT, generation=2)


def group(state: GroupState = GroupState.STABLE, generation: int = 3) -> GroupEntry:
    return GroupEntry(known=True, state=state.value, generation=generation)


EACH = pytest.mark.parametrize("profile", RELEASED, ids=named)


def since(first: Profile) -> dict[str, bool]:
    """Whether each release is this one or a later one."""
    return {profile.name: RELEASED.index(profile) >= RELEASED.index(first) for profile in RELEASED}


def of_commit(entry: GroupEntry, claim: KnownClaim, profile: Profile, *, transactional: bool) -> tuple[str, ErrorCode]:
    checks = commit_guards(entry, claim, profile, transactional=transactional)
    return names_of(checks)[branch(checks)], ErrorCode(error_of(checks, branch(checks)))


# --- the end of a transaction ---------------------------------------------------------------------------------


@EACH
def test_an_end_with_a_higher_epoch_is_looked_through_before_2_6(profile: Profile) -> None:
    """Then its outcome is written with the epoch that the coordinator knows, and only after that it is refused."""
    before = entry(ONGOING, client_version=0)
    request = ending(commits=True, epoch=EPOCH + 1, bumps=False)

    transition = end(before, request, profile)

    name = names_of(guards(before, request, profile))[transition.branch]
    if since(KAFKA_2_7)[profile.name]:
        assert (name, transition.error, transition.appends) == ("epoch_other", FENCED, False)
    else:
        assert (name, transition.error, transition.appends) == ("epoch_ahead", STALE, True)
        assert (transition.target.state, transition.target.producer_epoch) == (PREPARE_COMMIT, EPOCH)


@EACH
def test_an_end_with_a_lower_epoch_is_refused_in_every_release(profile: Profile) -> None:
    """Whether or not the comparison is exact."""
    transition = end(entry(ONGOING, client_version=0), ending(commits=True, epoch=EPOCH - 1, bumps=False), profile)

    assert transition.error == (FENCED if profile.fenced_has_code else STALE)
    assert not transition.appends


def test_of_a_repetition_no_higher_epoch_is_reported_before_2_6() -> None:
    """Nothing is written for it."""
    before = entry(TransactionState.COMPLETE_COMMIT, client_version=0)
    request = ending(commits=True, epoch=EPOCH + 1, bumps=False)

    assert [end(before, request, profile).error for profile in (KAFKA_2_5, KAFKA_2_7)] == [NONE, FENCED]


def test_what_was_ended_with_a_higher_epoch_waits_for_the_next_coordinator() -> None:
    """No markers are sent, and Complete is not pending, until the record is read again."""
    request = replace(ASKED, version=1, producer=IdAndEpoch(PRODUCER, EPOCH + 1))
    found = decided("EndTxn", step(entry(ONGOING, client_version=0), request), KAFKA_2_5)

    assert (found.error, found.after.state, found.after.pending) == (STALE, PREPARE_COMMIT, -1)
    assert not broken("EndTxn", found, KAFKA_2_5)

    read = DECISIONS["CoordinatorLoad"](step(TransactionEntry(), ASKED, after=found.after), KAFKA_2_5).entry
    assert read.pending == TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize("commits", [False, True], ids=["abort", "commit"])
def test_the_coordinators_own_abort_is_not_ahead(commits: bool) -> None:
    """It raises the epoch first; while it does, a commit is an error of the broker."""
    fencing = fence(entry(ONGOING, client_version=0))
    request = replace(fencing_abort(fencing, FRESH, 500, KAFKA_2_5), commits=commits)

    transition = end(fencing, request, KAFKA_2_5)

    assert transition.error == (ErrorCode.UNKNOWN_SERVER_ERROR if commits else NONE)
    assert commits or transition.target.producer_epoch == EPOCH + 1


@pytest.mark.parametrize("profile", RELEASED[:-1], ids=named)
def test_each_failed_fence_raises_the_epoch_before_2_6(profile: Profile) -> None:
    """Since then it is remembered that one has failed (KAFKA-9666)."""
    before, epochs = entry(ONGOING, client_version=0), []
    plain = profile.under(0)

    for _ in range(2):
        fencing = fence(before)
        epochs.append(fencing_epoch(before, plain))
        before = append_failed(fencing, end(fencing, fencing_abort(fencing, FRESH, 500, plain), plain), plain)

    assert before.pending == -1
    remembers = since(KAFKA_2_7)[profile.name]
    assert epochs == [EPOCH + 1, EPOCH + 1 if remembers else EPOCH + 2]
    assert before.fence_failed is remembers


# --- partitions, offsets of transactions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "answered"),
    [
        (KAFKA_3_6, ErrorCode.INVALID_TXN_STATE),
        (KAFKA_3_9, ErrorCode.TRANSACTION_ABORTABLE),
        (NEWEST, ErrorCode.TRANSACTION_ABORTABLE),
    ],
    ids=named,
)
def test_that_a_partition_is_in_no_transaction_has_a_code_since_3_7(profile: Profile, answered: ErrorCode) -> None:
    """Before, the state of the transaction is invalid."""
    request = AddRequest(PRODUCER, EPOCH, all_registered=False, verify_only=True)
    seen = register(entry(ONGOING, client_version=0), request, profile)

    assert (answered, NONE) == (verified(seen, False, profile), verified(seen, True, profile))


@pytest.mark.parametrize(
    ("profile", "offsets", "data"),
    [
        (KAFKA_2_7, False, False),
        (KAFKA_3_6, False, True),
        (KAFKA_3_9, True, True),
        (KAFKA_3_9_UNVERIFIED, False, False),
        (NEWEST, True, True),
    ],
    ids=named,
)
def test_offsets_are_asked_about_since_3_7(profile: Profile, offsets: bool, data: bool) -> None:
    """Data of clients since 3.6."""
    batch = AppendRequest(base_offset=0, producer_id=PRODUCER, producer_epoch=EPOCH, transactional=True)
    of_offsets = committing.to_append(PRODUCER, EPOCH, offsets=1, log_end=0)

    requested = [verification.needs_verification(ProducerEntry(), each, 0, profile) for each in (of_offsets, batch)]

    assert requested == [offsets, data]


@EACH
def test_no_answer_about_offsets_counts_without_verification(profile: Profile) -> None:
    """Before 3.7."""
    request = CommitRequest(3, ErrorCode.INVALID_TXN_STATE.value, CURRENT)

    refused = commit_in_transaction(group(), request, profile).error == ErrorCode.INVALID_TXN_STATE

    assert refused is since(KAFKA_3_9)[profile.name]


@EACH
def test_who_deletes_an_offset_drops_what_is_pending_in_every_release(profile: Profile) -> None:
    """Who reads the tombstone in the log does so since 4.0."""
    pending = OffsetEntry(5, 10)

    left = pending_after_tombstone(pending, profile, deleted=False)

    assert NO_OFFSET == pending_after_tombstone(pending, profile, deleted=True)
    assert left == (NO_OFFSET if since(SNAPSHOT_4_0)[profile.name] else pending)


# --- groups ---------------------------------------------------------------------------------------------------


@EACH
def test_an_empty_group_id_is_refused_since_2_0(profile: Profile) -> None:
    """Of a transactional commit; a plain one may have it."""
    request = CommitRequest(0, group_unnamed=True)
    refused = ErrorCode.INVALID_GROUP_ID if since(KAFKA_2_0)[profile.name] else NONE

    assert (refused, NONE) == (
        commit_in_transaction(GroupEntry(), request, profile).error,
        commit(GroupEntry(), request, profile).error,
    )


@EACH
def test_a_group_that_is_not_there_has_a_code_since_4_0(profile: Profile) -> None:
    """For version 9 of OffsetCommit, which 3.6 and 3.9 know too."""
    answered = ErrorCode.GROUP_ID_NOT_FOUND if since(SNAPSHOT_4_0)[profile.name] else ErrorCode.ILLEGAL_GENERATION

    assert [commit(GroupEntry(), CommitRequest(version, claim=CURRENT), profile).error for version in (8, 9)] == [
        ErrorCode.ILLEGAL_GENERATION,
        answered,
    ]


@EACH
def test_a_dead_group_is_unavailable_since_2_4(profile: Profile) -> None:
    """Before, a commit, a join and an assignment are answered that the member is unknown."""
    dead, answered = group(GroupState.DEAD), UNKNOWN_MEMBER
    if since(KAFKA_2_4)[profile.name]:
        answered = ErrorCode.COORDINATOR_NOT_AVAILABLE

    found = (
        *(commit_guards(dead, CURRENT, profile, transactional=each) for each in (False, True)),
        join_guards(dead, CURRENT, 3, profile),
        join_guards(dead, NO_MEMBER, 3, profile),
        sync_guards(dead, CURRENT, profile),
    )

    assert [(names_of(checks)[branch(checks)], error_of(checks, branch(checks))) for checks in found] == [
        ("group_dead", answered)
    ] * len(found)


@pytest.mark.parametrize(
    ("profile", "guard"),
    [(KAFKA_2_0, "generation_other"), (KAFKA_2_4, "group_dead"), (NEWEST, "group_dead")],
    ids=named,
)
def test_before_2_4_an_assignment_is_held_against_a_dead_group(profile: Profile, guard: str) -> None:
    """Member and generation are looked at first."""
    checks = sync_guards(group(GroupState.DEAD), PAST, profile)

    assert guard == names_of(checks)[branch(checks)]


@EACH
def test_a_rebalance_is_reported_to_members_alone_since_2_4(profile: Profile) -> None:
    """Before, to every member that commits outside transactions, of a past generation too."""
    awaiting = group(GroupState.COMPLETING_REBALANCE)
    last = since(KAFKA_2_4)[profile.name]

    answered = [of_commit(awaiting, claim, profile, transactional=False)[0] for claim in (PAST, NO_MEMBER, CURRENT)]

    if last:
        assert answered == ["generation_other", "members_only", "assignment_awaited"]
    else:
        assert answered == ["assignment_awaited"] * 3
    assert NONE == of_commit(awaiting, CURRENT, profile, transactional=True)[1]


STATIC_SINCE_2_4 = RELEASED[RELEASED.index(KAFKA_2_4) :]


@pytest.mark.parametrize("profile", STATIC_SINCE_2_4, ids=named)
def test_an_unknown_instance_is_refused_as_such_since_3_0(profile: Profile) -> None:
    """Before, its member id decides; but not who joins with one."""
    answered = UNKNOWN_MEMBER if since(KAFKA_3_6)[profile.name] else NONE
    claims = (
        *(commit_guards(group(), INSTANCE_UNKNOWN, profile, transactional=each) for each in (False, True)),
        sync_guards(group(), INSTANCE_UNKNOWN, profile),
    )

    assert [error_of(checks, branch(checks)) for checks in claims] == [answered] * 3
    assert groups.join(group(), INSTANCE_UNKNOWN, 5, profile).error == UNKNOWN_MEMBER


@pytest.mark.parametrize("profile", STATIC_SINCE_2_4, ids=named)
def test_another_member_of_an_instance_is_fenced_in_every_release(profile: Profile) -> None:
    """Since KIP-345; in transactions since KIP-447."""
    other = replace(STATIC, instance_matches=False)
    fenced = ErrorCode.FENCED_INSTANCE_ID

    assert (fenced, fenced) == (
        of_commit(group(), other, profile, transactional=False)[1],
        groups.join(group(), other, 5, profile).error,
    )
    assert of_commit(group(), other, profile, transactional=True)[1] == (NONE if profile is KAFKA_2_4 else fenced)


BY_PART = [
    ("a member, in an empty group", group(GroupState.EMPTY), KnownClaim(member_given=True), UNKNOWN_MEMBER, NONE),
    ("a generation, in an empty group", group(GroupState.EMPTY), KnownClaim(3), NONE, UNKNOWN_MEMBER),
    ("a past one there", group(GroupState.EMPTY), KnownClaim(2), ErrorCode.ILLEGAL_GENERATION, UNKNOWN_MEMBER),
    ("a generation", group(), KnownClaim(3), NONE, UNKNOWN_MEMBER),
    ("a past generation", group(), KnownClaim(2), ErrorCode.ILLEGAL_GENERATION, UNKNOWN_MEMBER),
    ("a member", group(), replace(CURRENT, generation=-1), NONE, ErrorCode.ILLEGAL_GENERATION),
    ("an unknown member", group(), KnownClaim(member_given=True), UNKNOWN_MEMBER, UNKNOWN_MEMBER),
    ("an instance", group(), KnownClaim(instance_given=True), NONE, UNKNOWN_MEMBER),
    ("both", group(), CURRENT, NONE, NONE),
    ("nobody", group(), NO_MEMBER, NONE, NONE),
]


@pytest.mark.parametrize(
    ("entry", "claim", "by_part", "whole"), [row[1:] for row in BY_PART], ids=[row[0] for row in BY_PART]
)
def test_before_3_0_a_transactional_commit_is_held_against_what_it_names(
    entry: GroupEntry, claim: KnownClaim, by_part: ErrorCode, whole: ErrorCode
) -> None:
    """Since then it names a member of a generation, or no member."""
    errors = [of_commit(entry, claim, profile, transactional=True)[1] for profile in (KAFKA_2_5, KAFKA_2_7, KAFKA_3_6)]

    assert errors == [by_part, by_part, whole]
    assert of_commit(entry, claim, KAFKA_2_4, transactional=True)[1] == NONE


def test_before_3_0_a_plain_commit_is_held_against_all_of_it() -> None:
    """As later ones are, the unknown instance apart."""
    releases = (KAFKA_2_0, KAFKA_2_7, NEWEST)
    errors = [of_commit(group(), KnownClaim(3), profile, transactional=False)[1] for profile in releases]

    assert errors == [UNKNOWN_MEMBER] * 3


# --- blocks of producer ids -----------------------------------------------------------------------------------

WAITS = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@EACH
def test_who_needs_an_id_waits_for_the_controller_since_3_0(profile: Profile) -> None:
    """Before, the broker tries until it has a block, and fails where there is none any more."""
    by_controller = since(KAFKA_3_6)[profile.name]
    raced = blocks.claim(BlockRecord(2000, 2), BlockRecord(1000, 1), 1000, profile)
    last = BlockRecord(blocks.LARGEST - 999, 7)
    exhausted = blocks.claim(last, last, 1000, profile)

    assert not raced.granted
    assert not exhausted.granted
    assert (raced.error, exhausted.error) == (
        (WAITS, WAITS) if by_controller else (NONE, ErrorCode.UNKNOWN_SERVER_ERROR)
    )
