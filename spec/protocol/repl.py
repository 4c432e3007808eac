"""Replication of a log: who may append, what followers fetch and truncate, and how far the high watermark goes.

Sources: Partition, ReplicaManager, AbstractFetcherThread.getOffsetTruncationState, LeaderEpochFileCache, UnifiedLog;
KIP-101, KIP-279 (truncation by leader epoch), KIP-320, KIP-595 (epochs in Fetch), KAFKA-15583 (min.insync.replicas
and the high watermark). The in-sync set and elections are in `electing`.
"""

from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.guards import PASSED, Guard, branch, dropped, error_of
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode

OUT_OF_RANGE: Final = ErrorCode.OFFSET_OUT_OF_RANGE.value
ACKS_ALL: Final = -1
ACKS_LEADER: Final = 1
ACKS_NONE: Final = 0
"""The values of acks: all in-sync replicas, the leader, none."""


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The largest leader epoch that is not above the requested one, and the offset after its last record.

    Both are -1 where a replica knows of none.
    """

    epoch: Term = ABSENT
    end: Term = ABSENT


@dataclass(frozen=True, slots=True)
class Leading:
    """A broker's state of a partition when it gets a request as its leader.

    Attributes:
        leads: it takes itself for the leader.
        epoch: the leader epoch that it knows.
        incarnation: broker epoch under which it knows the follower to be registered; -1 where it knows of none.
    """

    leads: Term
    epoch: Term
    log_start: Term
    log_end: Term
    incarnation: Term = ABSENT


@dataclass(frozen=True, slots=True)
class FollowerFetch:
    """A follower's Fetch.

    Attributes:
        epoch: the leader epoch that the follower knows; -1 where the request has none.
        offset: its log end.
        last_epoch: leader epoch of its last record; -1 where it has none, or names none.
        incarnation: broker epoch of the follower; -1 where it names none.
    """

    epoch: Term
    offset: Term
    last_epoch: Term = ABSENT
    incarnation: Term = ABSENT


@dataclass(frozen=True, slots=True)
class FetchReply:
    """The decision on a follower's Fetch: an error, what to cut off first, or records from its offset on."""

    branch: Term
    error: Term
    diverges: Term

    @property
    def gives_records(self) -> Term:
        """The follower's log matches the leader's up to its end, and the leader notes that log end."""
        return all_of(self.branch == PASSED, negate(self.diverges))


def fetch_guards(leading: Leading, request: FollowerFetch) -> tuple[Guard, ...]:
    """The errors of a Fetch before the log is read: another leader epoch, or no leader at all."""
    names_epoch = negate(request.epoch == ABSENT)
    agreement = rules.REPL_PREFIX_AGREEMENT
    return (
        Guard(
            "fenced_leader_epoch",
            agreement,
            all_of(names_epoch, request.epoch < leading.epoch),
            ErrorCode.FENCED_LEADER_EPOCH.value,
        ),
        Guard(
            "unknown_leader_epoch",
            agreement,
            all_of(names_epoch, request.epoch > leading.epoch),
            ErrorCode.UNKNOWN_LEADER_EPOCH.value,
        ),
        Guard("not_leader", agreement, negate(leading.leads), ErrorCode.NOT_LEADER_OR_FOLLOWER.value),
    )


def range_guards(leading: Leading, request: FollowerFetch, end: EpochEnd) -> tuple[Guard, ...]:
    """A follower fetches within the leader's log, and names an epoch whose end the leader knows."""
    names = negate(request.last_epoch == ABSENT)
    unknown = all_of(names, any_of(end.epoch == ABSENT, end.end == ABSENT))
    beyond = all_of(negate(diverges(request, end)), request.offset > leading.log_end)
    agreement = rules.REPL_PREFIX_AGREEMENT
    return (
        Guard("last_epoch_unknown", agreement, unknown, OUT_OF_RANGE),
        Guard("below_log_start", agreement, request.offset < leading.log_start, OUT_OF_RANGE),
        Guard("beyond_log_end", agreement, beyond, OUT_OF_RANGE),
    )


def incarnation_guards(
    leading: Leading, request: FollowerFetch, end: EpochEnd, profile: Profile = NEWEST
) -> tuple[Guard, ...]:
    """A Fetch of a follower's past registration is refused (KIP-903, since 3.7).

    One that names no incarnation counts.

    Args:
        leading: what the leader knows of the follower's registration.
        request: the Fetch.
        end: where the leader's log has the end of the Fetch's last leader epoch.
        profile: the release.
    """
    names = negate(request.incarnation == ABSENT)
    stale = all_of(profile.stale_fetch_refused, names, request.incarnation < leading.incarnation)
    counts = all_of(stale, negate(diverges(request, end)))
    not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER.value
    return (Guard("stale_incarnation", rules.REPL_COMMITTED_SURVIVES, counts, not_leader),)


def fetched(
    leading: Leading,
    request: FollowerFetch,
    end: EpochEnd,
    without: frozenset[str] = frozenset(),
    profile: Profile = NEWEST,
) -> FetchReply:
    """The leader's decision on a follower's Fetch.

    Args:
        leading: the broker that gets the request.
        request: the request.
        end: where the leader's log has the end of the follower's last epoch.
        without: names of guards that never apply.
        profile: the release.
    """
    checks = (
        *fetch_guards(leading, request),
        *range_guards(leading, request, end),
        *incarnation_guards(leading, request, end, profile),
    )
    kept = dropped(checks, without)
    decided = branch(kept)
    return FetchReply(decided, error_of(kept, decided), all_of(decided == PASSED, diverges(request, end)))


def diverges(request: FollowerFetch, end: EpochEnd) -> Term:
    """The follower has records of its last epoch that the leader does not have (KIP-595)."""
    names = negate(request.last_epoch == ABSENT)
    return all_of(names, any_of(end.epoch < request.last_epoch, end.end < request.offset))


@dataclass(frozen=True, slots=True)
class ReturningReplica:
    """The log of a replica that becomes a follower."""

    log_end: Term
    high_watermark: Term


def truncated_to(replica: ReturningReplica, leader: EpochEnd, own: EpochEnd, profile: Profile = NEWEST) -> Term:
    """The log end of a returning replica after one round of truncation; rounds end when it no longer changes.

    Args:
        replica: the replica.
        leader: the leader's answer for the epoch of the replica's last record.
        own: the replica's own answer for the epoch that the leader named.
        profile: the release.
    """
    if not profile.truncates_by_leader_epoch:
        return replica.high_watermark
    reported = _smaller(leader.end, replica.log_end)
    if profile.truncation_names_epoch:
        named = negate(any_of(leader.epoch == ABSENT, own.epoch == ABSENT))
        further_back = choose(
            own.epoch == leader.epoch, _smaller(own.end, reported), _smaller(own.end, replica.log_end)
        )
        reported = choose(named, further_back, reported)
    return choose(leader.end == ABSENT, _smaller(replica.high_watermark, replica.log_end), reported)


@dataclass(frozen=True, slots=True)
class Watermark:
    """What bounds the leader's high watermark.

    Attributes:
        current: the high watermark as it is.
        least_end: the least log end, as far as the leader knows, of the replicas that hold it back.
        in_sync: members of the in-sync set that the controller has confirmed.
        min_in_sync: min.insync.replicas, at most the number of replicas.
    """

    current: Term
    least_end: Term
    in_sync: Term
    min_in_sync: Term


def leader_high_watermark(watermark: Watermark, profile: Profile = NEWEST) -> Term:
    """The high watermark rises to the least log end, and never falls on a leader."""
    enough = any_of(negate(profile.high_watermark_needs_min_isr), watermark.in_sync >= watermark.min_in_sync)
    rises = all_of(enough, watermark.least_end > watermark.current)
    return choose(rises, watermark.least_end, watermark.current)


def holds_back(*, in_sync: Term, proposed: Term, caught_up: Term) -> Term:
    """A replica whose log end bounds the high watermark.

    Args:
        in_sync: it is in the in-sync set that the leader knows.
        proposed: the leader has proposed to add it, and has no answer yet (the maximal set of KIP-497).
        caught_up: it is eligible and not behind, so that the high watermark waits for it to join.
    """
    return any_of(in_sync, proposed, caught_up)


def follower_high_watermark(reported: Term, log_end: Term, log_start: Term = 0) -> Term:
    """A follower adopts the leader's high watermark, as far as its own log goes; so it may fall on a follower."""
    return choose(reported < log_start, log_start, _smaller(reported, log_end))


@dataclass(frozen=True, slots=True)
class Produce:
    """A Produce at the leader's partition.

    Attributes:
        acks: what the producer waits for: -1, 1 or 0.
        in_sync: members of the in-sync set, the leader among them.
        min_in_sync: min.insync.replicas, at most the number of replicas.
    """

    acks: Term
    in_sync: Term
    min_in_sync: Term


@dataclass(frozen=True, slots=True)
class ReplicatedAdmission:
    """Whether records are appended, or acknowledged, and the producer's error."""

    branch: Term
    error: Term

    @property
    def granted(self) -> Term:
        """No guard applies."""
        return self.branch == PASSED


def append_guards(request: Produce) -> tuple[Guard, ...]:
    """The errors of a Produce before it is appended."""
    known = any_of(*(request.acks == acks for acks in (ACKS_ALL, ACKS_LEADER, ACKS_NONE)))
    survives = rules.REPL_COMMITTED_SURVIVES
    return (
        Guard("invalid_acks", survives, negate(known), ErrorCode.INVALID_REQUIRED_ACKS.value),
        Guard("not_enough_replicas", survives, _too_few(request), ErrorCode.NOT_ENOUGH_REPLICAS.value),
    )


def admitted(request: Produce) -> ReplicatedAdmission:
    """Records are appended, except with acks=all while too few replicas are in sync."""
    return _admission(append_guards(request))


def acknowledge_guards(request: Produce, high_watermark: Term, required: Term) -> tuple[Guard, ...]:
    """What delays or refuses the acknowledgement of appended records: replication, then a set that has shrunk.

    Args:
        request: the request, with the in-sync set as it is now.
        high_watermark: of the leader.
        required: the offset after the last record.
    """
    waits = all_of(request.acks == ACKS_ALL, high_watermark < required)
    survives = rules.REPL_COMMITTED_SURVIVES
    return (
        Guard("not_yet_replicated", survives, waits, ErrorCode.REQUEST_TIMED_OUT.value),
        Guard(
            "not_enough_replicas_after_append",
            survives,
            _too_few(request),
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND.value,
        ),
    )


def acknowledged(request: Produce, high_watermark: Term, required: Term) -> ReplicatedAdmission:
    """With acks=all records are acknowledged below the high watermark; its error where the request times out."""
    return _admission(acknowledge_guards(request, high_watermark, required))


def _admission(checks: tuple[Guard, ...]) -> ReplicatedAdmission:
    decided = branch(checks)
    return ReplicatedAdmission(decided, error_of(checks, decided))


def _too_few(request: Produce) -> Term:
    return all_of(request.acks == ACKS_ALL, request.in_sync < request.min_in_sync)


def _smaller(left: Term, right: Term) -> Term:
    return choose(left < right, left, right)
