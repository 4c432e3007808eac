import pytest

from spec import rules
from spec.protocol.coordinator import names_of
from spec.protocol.offsets import (
    NO_OFFSET,
    OffsetEntry,
    application_guards,
    apply,
    asks_stable,
    committed_after,
    fetch,
    fetch_guards,
    is_applied,
    pending_after,
)
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode

EARLY, LATE = OffsetEntry(10, 4), OffsetEntry(7, 9)


@pytest.mark.parametrize(
    ("committed", "pending", "commits", "guard", "after"),
    [
        (NO_OFFSET, LATE, True, "passed", LATE),
        (EARLY, LATE, True, "passed", LATE),
        (LATE, EARLY, True, "committed_later", LATE),
        (EARLY, LATE, False, "aborted", EARLY),
        (NO_OFFSET, LATE, False, "aborted", NO_OFFSET),
        (EARLY, NO_OFFSET, True, "nothing_pending", EARLY),
        (EARLY, NO_OFFSET, False, "nothing_pending", EARLY),
    ],
)
def test_what_a_marker_makes_true(
    committed: OffsetEntry, pending: OffsetEntry, commits: bool, guard: str, after: OffsetEntry
) -> None:
    """A committed offset holds from where its record is in the log; the offset itself may be lower."""
    applied = apply(committed, pending, commits=commits)

    assert guard == names_of(application_guards(committed, pending, commits))[applied.branch]
    assert after == applied.committed


@pytest.mark.parametrize(
    ("guard", "committed", "commits", "broken"),
    [("aborted", EARLY, False, LATE), ("committed_later", OffsetEntry(1, 11), True, LATE)],
)
def test_without_its_guard_a_marker_makes_true_what_it_must_not(
    guard: str, committed: OffsetEntry, commits: bool, broken: OffsetEntry
) -> None:
    """An aborted offset, and one that was overtaken by a later commit."""
    assert apply(committed, LATE, commits=commits).committed == committed
    assert broken == apply(committed, LATE, commits=commits, without=frozenset({guard})).committed


@pytest.mark.parametrize(
    ("committed", "pending", "stable", "guard", "error", "offset"),
    [
        (EARLY, False, True, "passed", ErrorCode.NONE, 10),
        (EARLY, False, False, "passed", ErrorCode.NONE, 10),
        (EARLY, True, False, "passed", ErrorCode.NONE, 10),
        (NO_OFFSET, False, True, "passed", ErrorCode.NONE, -1),
        (EARLY, True, True, "undecided", ErrorCode.UNSTABLE_OFFSET_COMMIT, -1),
        (NO_OFFSET, True, True, "undecided", ErrorCode.UNSTABLE_OFFSET_COMMIT, -1),
    ],
)
def test_what_a_fetch_reports(
    committed: OffsetEntry, pending: bool, stable: bool, guard: str, error: ErrorCode, offset: int
) -> None:
    """A stable fetch waits for whatever is pending; another gets the last committed offset."""
    reply = fetch(committed, pending, stable=stable)

    assert guard == names_of(fetch_guards(pending, stable))[reply.branch]
    assert (error, offset) == (reply.error, reply.offset)


def test_without_its_guard_a_stable_fetch_reports_what_may_still_change() -> None:
    """The guard is of the rule of stable fetches."""
    assert fetch(EARLY, True, stable=True, without=frozenset({"undecided"})).offset == EARLY.offset
    assert [check.rule for check in fetch_guards(True, True)] == [rules.OFFSETS_STABLE_FETCH]


def test_stable_offsets_are_asked_for_since_version_7() -> None:
    """Older requests have no such field."""
    assert [asks_stable(version, True) for version in (6, 7)] == [False, True]
    assert not asks_stable(7, False)


def test_of_two_commits_the_later_record_holds() -> None:
    """Whatever the offsets are."""
    assert committed_after(EARLY, LATE) == LATE
    assert committed_after(LATE, EARLY) == LATE
    assert committed_after(NO_OFFSET, EARLY) == EARLY


@pytest.mark.parametrize(
    ("profile", "left"),
    [(KAFKA_3_9, NO_OFFSET), (SNAPSHOT_4_0, EARLY), (NEWEST, EARLY)],
    ids=["3.9", "snapshot", "now"],
)
def test_before_4_0_a_refused_commit_takes_what_was_pending_with_it(profile: Profile, left: OffsetEntry) -> None:
    """In memory; one that was appended replaces it in every release."""
    assert left == pending_after(EARLY, LATE, profile, appended=False)
    assert pending_after(EARLY, LATE, profile, appended=True) == LATE


@pytest.mark.parametrize(
    ("profile", "appended", "caught_up", "applied"),
    [
        (NEWEST, True, False, True),
        (NEWEST, False, True, False),
        (KAFKA_3_9, True, False, False),
        (KAFKA_3_9, True, True, True),
        (KAFKA_3_9, False, True, False),
    ],
)
def test_a_marker_works_with_being_appended_or_later(
    profile: Profile, appended: bool, caught_up: bool, applied: bool
) -> None:
    """Later where the release lags (KAFKA-17507); a refused marker never works."""
    assert applied == is_applied(profile, appended=appended, caught_up=caught_up)


def test_where_the_marker_lags_it_ends_the_next_transaction_too() -> None:
    """What the producer has pending when the coordinator comes to the marker is committed, whichever it is of."""
    held = pending_after(EARLY, LATE, KAFKA_3_9, appended=True)

    assert apply(NO_OFFSET, held, commits=True).committed == LATE
