from dataclasses import replace

import pytest

from spec.protocol.append import NONE_DROPPED, append
from spec.protocol.append import names as append_names
from spec.protocol.committing import (
    CommitRequest,
    as_produce,
    commit,
    commit_in_transaction,
    of_partition,
    plain_guards,
    reported,
    to_append,
    to_append_plain,
    transactional_guards,
)
from spec.protocol.coordinator import names_of
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.records import ProducerEntry
from spec.protocol.verification import NO_VERIFICATION, met, needs_verification, started
from spec.versions import KAFKA_3_6, KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, GroupState, Origin

GROUP = GroupEntry(known=True, state=GroupState.STABLE.value, generation=3)
CURRENT = KnownClaim(generation=3, member_given=True, member_known=True)
PAST = replace(CURRENT, generation=2)
ABSENT_FROM_IT = ErrorCode.TRANSACTION_ABORTABLE.value
PASSED = ("passed", ErrorCode.NONE)


def held(
    request: CommitRequest, profile: Profile = NEWEST, without: frozenset[str] = NONE_DROPPED
) -> tuple[str, ErrorCode]:
    decided = commit_in_transaction(GROUP, request, profile, without)
    return names_of(transactional_guards(GROUP, request, profile))[decided.branch], ErrorCode(decided.error)


def taken(group: GroupEntry, request: CommitRequest) -> tuple[str, ErrorCode]:
    decided = commit(group, request, NEWEST)
    return names_of(plain_guards(group, request, NEWEST))[decided.branch], ErrorCode(decided.error)


@pytest.mark.parametrize(
    ("profile", "guard", "error"),
    [
        (KAFKA_3_6, "generation_other", ErrorCode.ILLEGAL_GENERATION),
        (KAFKA_3_9, "unverified", ErrorCode.TRANSACTION_ABORTABLE),
        (SNAPSHOT_4_0, "unverified", ErrorCode.TRANSACTION_ABORTABLE),
        (NEWEST, "unverified", ErrorCode.TRANSACTION_ABORTABLE),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_since_3_7_the_coordinator_is_asked_first(profile: Profile, guard: str, error: ErrorCode) -> None:
    """Of two reasons to refuse, the verification's is returned (KAFKA-15784)."""
    assert (guard, error) == held(CommitRequest(4, ABSENT_FROM_IT, PAST), profile)


@pytest.mark.parametrize("profile", [KAFKA_3_6, KAFKA_3_9, SNAPSHOT_4_0, NEWEST], ids=lambda profile: profile.name)
def test_each_check_refuses_alone(profile: Profile) -> None:
    """Whatever the order, each of them is there, of those that the release has."""
    assert PASSED == held(CommitRequest(4, claim=CURRENT), profile)
    assert held(CommitRequest(4, claim=PAST), profile)[0] == "generation_other"
    verified = "unverified" if profile.commits_verified else "passed"
    assert held(CommitRequest(4, ABSENT_FROM_IT, CURRENT), profile)[0] == verified
    assert held(CommitRequest(4, ABSENT_FROM_IT, PAST, group_unnamed=True), profile) == (
        "group_unnamed",
        ErrorCode.INVALID_GROUP_ID,
    )


@pytest.mark.parametrize("guard", ["unverified", "generation_other"])
def test_without_its_guard_a_commit_passes(guard: str) -> None:
    """Nothing else refuses it."""
    request = CommitRequest(4, ABSENT_FROM_IT, CURRENT) if guard == "unverified" else CommitRequest(4, claim=PAST)

    assert held(request)[0] == guard
    assert held(request, without=frozenset({guard})) == PASSED


@pytest.mark.parametrize(
    ("error", "version", "expected"),
    [
        (ErrorCode.NONE, 3, ErrorCode.NONE),
        (ErrorCode.TRANSACTION_ABORTABLE, 3, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 4, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.PRODUCER_FENCED, 4, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 4, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 0, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NETWORK_EXCEPTION, 4, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.NOT_COORDINATOR, 4, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, 4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 4, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        (ErrorCode.REQUEST_TIMED_OUT, 4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.INVALID_FETCH_SIZE, 4, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 4, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, 4, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, 4, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, 4, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_TXN_STATE, 4, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.INVALID_PRODUCER_EPOCH, 4, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_how_an_error_is_reported(error: ErrorCode, version: int, expected: ErrorCode) -> None:
    """A group's client knows errors of coordinators; a transition under way is returned as it is, unlike to Produce."""
    assert expected == reported(error.value, version, NEWEST)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.INVALID_FETCH_SIZE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_how_the_coordinator_before_4_0_reports_it(error: ErrorCode, expected: ErrorCode) -> None:
    """GroupMetadataManager has words of its own, which the coordinator of 4.0 and later does not use."""
    assert expected == reported(error.value, 4, KAFKA_3_9)
    assert expected != reported(error.value, 4, NEWEST)


@pytest.mark.parametrize(
    ("version", "error"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_plain_commit_to_no_group(version: int, error: ErrorCode) -> None:
    """With a generation it is refused, in the words of the version; without one it makes the group."""
    assert taken(GroupEntry(), CommitRequest(version, claim=PAST)) == ("group_unknown", error)
    assert taken(GroupEntry(), CommitRequest(version)) == PASSED


def test_a_transactional_commit_to_no_group_is_reported_so_since_version_6() -> None:
    """Before, it is one of a past generation."""
    reported_so = [
        commit_in_transaction(GroupEntry(), CommitRequest(version, claim=PAST), NEWEST).error for version in (5, 6)
    ]

    assert reported_so == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_plain_commit_may_be_of_a_group_without_name() -> None:
    """As it always could."""
    assert taken(GroupEntry(), CommitRequest(7, group_unnamed=True)) == PASSED


def test_a_partition_that_is_not_there_is_refused_alone() -> None:
    """The others are answered by what became of them."""
    answers = [of_partition(ErrorCode.NONE.value, exists) for exists in (True, False)]

    assert answers == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_offsets_are_appended_as_a_batch_of_the_coordinator() -> None:
    """One record each, transactional, from sequence 0, which no check reads."""
    batch = to_append(7, 2, offsets=3, log_end=40)
    plain = to_append_plain(offsets=2, log_end=43)

    assert (batch.origin, batch.transactional, batch.base_sequence) == (Origin.COORDINATOR, True, 0)
    assert (batch.base_offset, batch.last_offset_delta, batch.record_count) == (40, 2, 3)
    assert (plain.producer_id, plain.transactional, plain.last_offset_delta) == (-1, False, 1)


@pytest.mark.parametrize(
    ("profile", "version", "requested"),
    [(KAFKA_3_9, 3, True), (KAFKA_3_9_UNVERIFIED, 4, False), (KAFKA_3_9_UNVERIFIED, 5, True), (NEWEST, 5, True)],
)
def test_the_coordinator_of_the_transaction_is_asked_as_by_produce(
    profile: Profile, version: int, requested: bool
) -> None:
    """Where verification is on, and always in a version that adds the partition."""
    question = to_append(7, 2, offsets=1, log_end=0)

    assert requested == needs_verification(ProducerEntry(), question, as_produce(version), profile)
    assert not needs_verification(ProducerEntry(epoch=2, txn_first_offset=0), question, as_produce(version), profile)


@pytest.mark.parametrize(
    ("entry", "guarded", "guard"),
    [
        (ProducerEntry(), True, "appended"),
        (ProducerEntry(), False, "unverified"),
        (ProducerEntry(epoch=2, txn_first_offset=5), False, "appended"),
        (ProducerEntry(epoch=1, txn_first_offset=5), True, "appended"),
        (ProducerEntry(epoch=3), True, "stale_epoch_of_transaction"),
    ],
)
def test_the_append_decides_as_for_any_coordinator(entry: ProducerEntry, guarded: bool, guard: str) -> None:
    """Epoch and verification are looked at, sequences are not: a repeated commit is appended again."""
    batch = to_append(7, 2, offsets=2, log_end=20)
    pending = started(NO_VERIFICATION, batch, as_produce(4))
    outcome = append(entry, batch, NEWEST, met(pending, guarded))

    assert guard == append_names(NEWEST)[outcome.branch]
    assert (guard == "appended") == (outcome.entry.epoch == 2 and outcome.entry.cached[0].last_sequence == 1)
