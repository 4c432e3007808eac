"""Facts about replicated logs for all inputs: acknowledgements, the high watermark, truncation.

The proofs of systems do not use them: each states what a rule requires of one decision.
"""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.protocol import repl
from spec.protocol.repl import ACKS_ALL, ACKS_LEADER, ACKS_NONE, EpochEnd, FollowerFetch, Leading, Produce, Watermark
from spec.systems.decision_lemmas import Fact, stated
from spec.versions import KAFKA_2_0, NEWEST, Profile
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class ProduceInput:
    """A Produce with the in-sync set as it is, how far the log is replicated, and the end of the records."""

    acks: Term = 0
    in_sync: Term = 0
    min_in_sync: Term = 0
    high_watermark: Term = 0
    required: Term = 0


def acknowledged_is_committed(of: ProduceInput) -> Term:
    """With acks=all the producer gets a success exactly once the records are committed, by enough replicas."""
    request = Produce(of.acks, of.in_sync, of.min_in_sync)
    admitted, reported = repl.admitted(request), repl.acknowledged(request, of.high_watermark, of.required)
    waits, enough = of.acks == ACKS_ALL, of.in_sync >= of.min_in_sync
    known = any_of(waits, of.acks == ACKS_LEADER, of.acks == ACKS_NONE)
    committed = all_of(enough, of.high_watermark >= of.required)
    return all_of(
        same(admitted.granted, all_of(known, implies(waits, enough))),
        same(reported.granted, implies(waits, committed)),
        same(admitted.granted, admitted.error == 0),
        same(reported.granted, reported.error == 0),
    )


@dataclass(frozen=True, slots=True)
class CountedReplica:
    """One replica as its leader counts it, the least log end of the others that count, and the leader's state."""

    in_sync: Term = False
    proposed: Term = False
    caught_up: Term = False
    end: Term = 0
    others: Term = 0
    high_watermark: Term = 0
    members: Term = 0
    min_in_sync: Term = 0


def high_watermark_waits_for_all(of: CountedReplica) -> Term:
    """The high watermark never falls, and passes no replica in sync, nor one that may be so before the leader knows."""
    holds = repl.holds_back(in_sync=of.in_sync, proposed=of.proposed, caught_up=of.caught_up)
    least = choose(all_of(holds, of.end < of.others), of.end, of.others)
    raised = repl.leader_high_watermark(Watermark(of.high_watermark, least, of.members, of.min_in_sync), NEWEST)
    rises, counts = raised > of.high_watermark, any_of(of.in_sync, of.proposed, of.caught_up)
    reached = all_of(of.others > of.high_watermark, any_of(negate(counts), of.end > of.high_watermark))
    return all_of(
        raised >= of.high_watermark,
        implies(rises, all_of(raised <= of.others, implies(counts, raised <= of.end))),
        same(rises, all_of(reached, of.members >= of.min_in_sync)),
    )


@dataclass(frozen=True, slots=True)
class WatermarkMessage:
    """A high watermark in the leader's answer, and the follower's log."""

    high_watermark: Term = 0
    log_start: Term = 0
    log_end: Term = 0


def reported_high_watermark_is_in_the_log(reported: WatermarkMessage) -> Term:
    """A follower adopts the leader's high watermark, up to the end of its own log."""
    taken = repl.follower_high_watermark(reported.high_watermark, reported.log_end, reported.log_start)
    inside = all_of(reported.log_start <= reported.high_watermark, reported.high_watermark <= reported.log_end)
    within = all_of(
        reported.log_start <= taken, taken <= reported.log_end, implies(inside, taken == reported.high_watermark)
    )
    return implies(reported.log_start <= reported.log_end, within)


@dataclass(frozen=True, slots=True)
class EpochEndInput:
    """A returning replica, the leader's answer about its last epoch, and its own about the epoch in that answer."""

    log_end: Term = 0
    high_watermark: Term = 0
    leader_epoch: Term = ABSENT
    leader_end: Term = ABSENT
    own_epoch: Term = ABSENT
    own_end: Term = ABSENT


def follower_keeps_only_leaders_records(profile: Profile, of: EpochEndInput) -> Term:
    """A returning replica keeps what it and its leader have of the epoch that both know, and nothing after it.

    Of an epoch that the leader does not have nothing is kept; where the leader has no answer, the committed part is.
    """
    returning = repl.ReturningReplica(of.log_end, of.high_watermark)
    leader, own = EpochEnd(of.leader_epoch, of.leader_end), EpochEnd(of.own_epoch, of.own_end)
    kept = repl.truncated_to(returning, leader, own, profile)
    reports = all_of(profile.truncates_by_leader_epoch, of.leader_end >= 0)
    names = all_of(reports, profile.truncation_names_epoch, of.leader_epoch >= 0, of.own_epoch >= 0)
    shared, apart = all_of(names, of.own_epoch == of.leader_epoch), all_of(names, of.own_epoch < of.leader_epoch)
    ends = (of.log_end, of.leader_end, of.own_end)
    return implies(
        _are_ends(of),
        all_of(
            kept <= of.log_end,
            implies(all_of(reports, negate(apart)), kept <= of.leader_end),
            implies(shared, all_of(kept <= of.own_end, any_of(*(kept == end for end in ends)))),
            implies(apart, kept == of.own_end),
            implies(negate(reports), kept == of.high_watermark),
        ),
    )


def _are_ends(of: EpochEndInput) -> Term:
    """Ends as logs have them: the replica's own epoch is not above the leader's, and ends within its log."""
    return all_of(
        of.high_watermark >= 0,
        of.high_watermark <= of.log_end,
        of.leader_end >= ABSENT,
        of.leader_epoch >= ABSENT,
        of.own_epoch >= ABSENT,
        of.own_epoch <= of.leader_epoch,
        of.own_end >= 0,
        of.own_end <= of.log_end,
    )


@dataclass(frozen=True, slots=True)
class FollowerFetchInput:
    """A Fetch of a follower, its leader's log, and where the follower's last epoch ends there."""

    leads: Term = True
    epoch: Term = 0
    log_start: Term = 0
    log_end: Term = 0
    registered: Term = ABSENT
    sent_epoch: Term = 0
    offset: Term = 0
    last_epoch: Term = ABSENT
    sent_incarnation: Term = ABSENT
    end_epoch: Term = ABSENT
    end: Term = ABSENT


def records_continue_the_followers_log(of: FollowerFetchInput) -> Term:
    """A leader gives records only to a follower of its own epoch whose log is a part of the leader's."""
    leading = Leading(of.leads, of.epoch, of.log_start, of.log_end, of.registered)
    request = FollowerFetch(of.sent_epoch, of.offset, of.last_epoch, of.sent_incarnation)
    reply = repl.fetched(leading, request, EpochEnd(of.end_epoch, of.end), profile=NEWEST)
    names = negate(of.last_epoch == ABSENT)
    known = all_of(of.end_epoch >= 0, of.end >= 0)
    part = implies(names, all_of(known, of.end_epoch >= of.last_epoch, of.end >= of.offset))
    inside = all_of(of.log_start <= of.offset, of.offset <= of.log_end)
    current = all_of(of.leads, any_of(of.sent_epoch == ABSENT, of.sent_epoch == of.epoch))
    counts = any_of(of.sent_incarnation == ABSENT, of.sent_incarnation >= of.registered)
    parts = all_of(current, names, known, negate(part), of.log_start <= of.offset)
    return implies(
        all_of(of.end_epoch >= ABSENT, of.end >= ABSENT),
        all_of(same(reply.gives_records, all_of(current, inside, part, counts)), implies(parts, reply.diverges)),
    )


def replica_facts() -> tuple[Fact, ...]:
    """For the newest release, and truncation by high watermark alone."""
    agreement, bounds = rules.REPL_PREFIX_AGREEMENT, rules.REPL_HW_BOUNDS
    return (
        stated(acknowledged_is_committed, rules.REPL_COMMITTED_SURVIVES, (("of", ProduceInput),)),
        stated(high_watermark_waits_for_all, bounds, (("of", CountedReplica),)),
        stated(reported_high_watermark_is_in_the_log, bounds, (("reported", WatermarkMessage),)),
        stated(records_continue_the_followers_log, agreement, (("of", FollowerFetchInput),)),
        *(
            stated(follower_keeps_only_leaders_records, agreement, (("of", EpochEndInput),), profile)
            for profile in (NEWEST, KAFKA_2_0)
        ),
    )
