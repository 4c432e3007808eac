"""Offsets of a group: pending in a transaction, committed by its marker, fetched.

The offsets of a transactional commit are pending, by producer id alone, until a marker of that producer reaches the
group's partition of `__consumer_offsets`. Sources: GroupMetadata up to 3.9; OffsetMetadataManager since.
"""

from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.append import NONE_DROPPED
from spec.protocol.guards import PASSED, Guard, branch, dropped, error_of
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

STABLE_SINCE: Final = 7
"""First version of OffsetFetch that can ask for stable offsets."""


@dataclass(frozen=True, slots=True)
class OffsetEntry:
    """An offset of a group for one partition, and where its record is in the offsets partition; -1 for none."""

    offset: Term = ABSENT
    recorded_at: Term = ABSENT

    @property
    def present(self) -> Term:
        """Whether there is one."""
        return self.recorded_at >= 0


NO_OFFSET: Final = OffsetEntry()


@dataclass(frozen=True, slots=True)
class OffsetReply:
    """The decision on one partition of an OffsetFetch; the offset is -1 where the answer has none."""

    branch: Term
    error: Term
    offset: Term


@dataclass(frozen=True, slots=True)
class Application:
    """The effect of a marker on one offset: number of the guard by which it stays as it is, 0 where it is committed."""

    branch: Term
    committed: OffsetEntry


def committed_after(committed: OffsetEntry, commit: OffsetEntry) -> OffsetEntry:
    """A group's offset after a commit outside transactions: the later record wins."""
    return _choose(commit.recorded_at > committed.recorded_at, commit, committed)


def pending_after(pending: OffsetEntry, commit: OffsetEntry, profile: Profile, *, appended: Term) -> OffsetEntry:
    """A producer's pending offset of one partition after the log took or refused a transactional commit.

    Args:
        pending: the pending offset before.
        commit: the offset of this commit.
        profile: the release; whether a refusal drops what was pending.
        appended: the log took it.
    """
    refused = _choose(profile.refused_commit_drops_pending, NO_OFFSET, pending)
    return _choose(appended, commit, refused)


def pending_after_tombstone(pending: OffsetEntry, profile: Profile, *, deleted: Term) -> OffsetEntry:
    """A producer's pending offset of one partition once the group's committed one has a tombstone.

    Args:
        pending: the pending offset before.
        profile: the release; whether the tombstone itself drops it.
        deleted: the coordinator itself deletes the offset, on request or as the topic is gone, and in every release the
            pending one with it; otherwise it reads the tombstone in the log, or the offset has expired.
    """
    return _choose(any_of(deleted, profile.tombstone_drops_pending), NO_OFFSET, pending)


def is_applied(profile: Profile, *, appended: Term, caught_up: Term) -> Term:
    """The marker is applied: with its append, or only once the group's coordinator has processed it.

    Where the coordinator lags, it also ends what the producer's next transaction has pending by then (KAFKA-17507).
    """
    return all_of(appended, any_of(negate(profile.offsets_lag_marker), caught_up))


def apply(
    committed: OffsetEntry, pending: OffsetEntry, *, commits: Term, without: frozenset[str] = NONE_DROPPED
) -> Application:
    """End a producer's pending offset of one partition: it becomes the group's offset, or is dropped.

    Args:
        committed: the group's offset.
        pending: the producer's pending offset, whatever its epoch; afterwards none.
        commits: the marker is a COMMIT.
        without: names of guards that never apply.
    """
    decided = branch(dropped(application_guards(committed, pending, commits), without))
    return Application(decided, _choose(decided == PASSED, pending, committed))


def application_guards(committed: OffsetEntry, pending: OffsetEntry, commits: Term) -> tuple[Guard, ...]:
    """Why a pending offset does not become the group's."""
    none = ErrorCode.NONE.value
    later = all_of(committed.present, committed.recorded_at >= pending.recorded_at)
    return (
        Guard("nothing_pending", rules.OFFSETS_ATOMIC, negate(pending.present), none),
        Guard("aborted", rules.OFFSETS_ATOMIC, negate(commits), none),
        Guard("committed_later", rules.OFFSETS_ATOMIC, later, none),
    )


def fetch(
    committed: OffsetEntry, any_pending: Term, *, stable: Term, without: frozenset[str] = NONE_DROPPED
) -> OffsetReply:
    """Return a group's offset of one partition; a stable one only while no transaction has one pending (KIP-447).

    Args:
        committed: the group's offset.
        any_pending: some producer has one pending for the partition.
        stable: the request asks for stable offsets.
        without: names of guards that never apply.
    """
    checks = dropped(fetch_guards(any_pending, stable), without)
    decided = branch(checks)
    return OffsetReply(decided, error_of(checks, decided), choose(decided == PASSED, committed.offset, ABSENT))


def fetch_guards(any_pending: Term, stable: Term) -> tuple[Guard, ...]:
    """Why a fetch returns an error instead of the offset."""
    return (
        Guard(
            "undecided",
            rules.OFFSETS_STABLE_FETCH,
            all_of(stable, any_pending),
            ErrorCode.UNSTABLE_OFFSET_COMMIT.value,
        ),
    )


def asks_stable(version: Term, required: Term) -> Term:
    """The request requires stable offsets, in a version that can."""
    return all_of(version >= STABLE_SINCE, required)


def _choose(fact: Term, then: OffsetEntry, otherwise: OffsetEntry) -> OffsetEntry:
    return OffsetEntry(
        choose(fact, then.offset, otherwise.offset),
        choose(fact, then.recorded_at, otherwise.recorded_at),
    )
