"""The state of one partition's replicas: their logs, what each knows of its leader, and what the controller decided.

A log is a sequence of batches, position by position, each with its leader epoch. A replica acts on its last message
of the controller: one that takes itself for the leader may be a zombie. A ghost is a variable that no decision reads.
"""

from dataclasses import dataclass, replace
from typing import Final

from spec.algebra import Term, all_of, choose
from spec.protocol import electing, repl
from spec.protocol.electing import Candidate
from spec.protocol.repl import (
    ACKS_ALL,
    EpochEnd,
    FetchReply,
    FollowerFetch,
    Leading,
    Produce,
    ReturningReplica,
    Watermark,
)
from spec.systems.language import Sort, State, Variable
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

REPLICA: Final = Sort("replica")
POSITION: Final = Sort("position")
LENGTH: Final = Sort("length")
EPOCH: Final = Sort("leader_epoch")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A batch in a log, by its number (a ghost), and the epoch of the leader that appended it; -1 where none is."""

    batch: Term = ABSENT
    epoch: Term = ABSENT


NOTHING: Final = LogEntry()


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica's last message of the controller.

    Attributes:
        epoch: the leader epoch; after a restart that of the time, of which it has no message yet.
        leader: the leader; -1 where it has had no message since it restarted.
        start: its log end when it became the leader.
        in_sync: how many members the in-sync set has that it knows as the leader.
        proposed: the follower that it has asked the controller to let in; -1 none.
        outdated: the controller has decided something since, so that it refuses what this leader asks.
    """

    epoch: Term
    leader: Term
    start: Term
    in_sync: Term
    proposed: Term
    outdated: Term


@dataclass(frozen=True, slots=True)
class ElectionView:
    """What an election decided: the leader, and how many members the in-sync set had."""

    leader: Term
    in_sync: Term


@dataclass(frozen=True, slots=True)
class Position:
    """A follower's log end at its last Fetch, and whether it has fetched in this epoch and incarnation."""

    end: Term = 0
    heard: Term = False


@dataclass(frozen=True, slots=True)
class FetchReplyView:
    """The leader's answer to a Fetch, on its way: its high watermark, -1 where there is none, and a batch or none."""

    high_watermark: Term = ABSENT
    batch: Term = ABSENT
    epoch: Term = ABSENT


NO_REPLY: Final = FetchReplyView()


@dataclass(frozen=True, slots=True)
class ReplicationKnobs:
    """What is in the system; the defaults are the true system, in its smallest instance.

    Attributes:
        profile: the release whose decisions are taken.
        without: guards of a Fetch or of a proposal that never apply.
        replicas: of the partition.
        appends: most batches.
        elections: most elections.
        losses: how often a broker may lose the end of its log when it restarts.
        restarts: brokers may restart without losing records.
        hears_late: a replica may learn of an election when it is past; otherwise it learns of the last one.
        hears_in_order: a restarted broker learns of no election from before; otherwise of any (before KIP-380).
        replies_outlive: an answer to a Fetch is taken in a later epoch than it was asked in.
        acks: what producers wait for; with less than all, what the leader has appended counts as committed.
        min_in_sync: min.insync.replicas.
        unclean: unclean.leader.election.enable.
        epoch_rises: an election begins a leader epoch.
        of_majority: the high watermark is what two of three replicas have, in sync or not.
        falls: the high watermark is the least log end, even where that is lower than it was.
        waits_for_proposed: who is about to come in holds the high watermark back.
        returns_caught_up: a follower returns only when it has caught up.
    """

    profile: Profile = NEWEST
    without: frozenset[str] = frozenset()
    replicas: int = 2
    appends: int = 2
    elections: int = 2
    losses: int = 0
    restarts: bool = False
    hears_late: bool = False
    hears_in_order: bool = True
    replies_outlive: bool = False
    acks: int = ACKS_ALL
    min_in_sync: int = 1
    unclean: bool = False
    epoch_rises: bool = True
    of_majority: bool = False
    falls: bool = False
    waits_for_proposed: bool = True
    returns_caught_up: bool = True

    def sizes(self) -> dict[str, int]:
        """How many values each sort of the instance has."""
        return {
            REPLICA.name: self.replicas,
            POSITION.name: self.appends,
            LENGTH.name: self.appends + 1,
            EPOCH.name: self.elections + 1,
        }


def following(knobs: ReplicationKnobs, epoch: Term, leader: Term) -> ReplicaView:
    """The view of a replica that does not lead."""
    return ReplicaView(epoch, leader, 0, knobs.replicas, ABSENT, outdated=False)


def variables(knobs: ReplicationKnobs) -> tuple[Variable, ...]:
    """The functions of the state: at the start replica 0 leads, all are in sync, and all know it."""
    return (
        # each replica's log, and its high watermark
        Variable("log", (REPLICA, POSITION), NOTHING),
        Variable("length", (REPLICA,), 0),
        Variable("high_watermark", (REPLICA,), 0),
        # what it knows of the controller's decisions, and as a leader of its followers
        Variable("view", (REPLICA,), following(knobs, 0, 0)),
        Variable("in_sync_seen", (REPLICA, REPLICA), initial=True),
        Variable("known", (REPLICA, REPLICA), Position()),
        # the answer on its way to a follower
        Variable("reply", (REPLICA,), NO_REPLY),
        # the controller
        Variable("leader", (), 0),
        Variable("epoch", (), 0),
        Variable("in_sync", (REPLICA,), initial=True),
        Variable("eligible", (REPLICA,), initial=False),
        Variable("members", (), knobs.replicas),
        Variable("last_known", (), ABSENT),  # the leader that left an in-sync set of which it was the last one
        # elections that replicas may learn of late
        Variable("elected", (EPOCH,), ElectionView(0, knobs.replicas)),
        Variable("in_sync_then", (EPOCH, REPLICA), initial=True),
        # how much has happened
        Variable("sent", (), 0),
        Variable("lost", (), 0),
        # ghosts: the batch that was committed at a position; the highest watermark that a leader returned in its epoch
        Variable("committed", (POSITION,), ABSENT),
        Variable("reported", (REPLICA,), 0),
    )


class ReplicationView:
    """The words of the protocol about one state."""

    def __init__(self, knobs: ReplicationKnobs, state: State) -> None:
        self.knobs = knobs
        self.state = state

    def leads(self, replica: Term) -> Term:
        """It takes itself for the leader."""
        return self.state.view(replica).leader == replica

    def follows(self, follower: Term, leader: Term) -> Term:
        """It takes this replica for the leader, which does so itself, in the same epoch."""
        theirs, its = self.state.view(leader), self.state.view(follower)
        return all_of(its.leader == leader, theirs.leader == leader, its.epoch == theirs.epoch)

    def epoch_end(self, replica: Term, epoch: Term) -> EpochEnd:
        """Where a replica's log has the end of the largest epoch that is not above this one."""
        later = self.state.first_later(replica, epoch)
        end = choose(later < 0, self.state.length(replica), later)
        return EpochEnd(self.state.log(replica, end - 1).epoch, end)

    def last_epoch(self, replica: Term) -> Term:
        """Leader epoch of a replica's last batch; -1 where it has none."""
        return self.state.log(replica, self.state.length(replica) - 1).epoch

    def end_for(self, leader: Term, follower: Term) -> EpochEnd:
        """What a leader says of the epoch of a follower's last batch."""
        request = self.last_epoch(follower)
        answer = self.epoch_end(leader, request)
        return answer if self.knobs.profile.truncation_names_epoch else replace(answer, epoch=request)

    def fetched(self, leader: Term, follower: Term) -> FetchReply:
        """The leader's decision on a Fetch of the follower."""
        state, profile = self.state, self.knobs.profile
        epoch = state.view(follower).epoch if profile.fetch_names_leader_epoch else ABSENT
        last = self.last_epoch(follower) if profile.truncates_by_leader_epoch else ABSENT
        request = FollowerFetch(epoch, state.length(follower), last)
        leading = Leading(self.leads(leader), state.view(leader).epoch, 0, state.length(leader))
        return repl.fetched(leading, request, self.end_for(leader, follower), self.knobs.without, profile)

    def truncated(self, leader: Term, follower: Term) -> Term:
        """The follower's log end after a round of truncation."""
        reported = self.end_for(leader, follower)
        own = self.epoch_end(follower, reported.epoch)
        if not self.knobs.profile.truncates_by_leader_epoch:
            return self.state.length(leader)  # its end was cut when it became a follower; what is out of range goes too
        return repl.truncated_to(self.returning(follower), reported, own, self.knobs.profile)

    def returning(self, replica: Term) -> ReturningReplica:
        """What a replica has that becomes a follower."""
        return ReturningReplica(self.state.length(replica), self.state.high_watermark(replica))

    def produce(self, leader: Term) -> Produce:
        """A Produce at a leader."""
        return Produce(self.knobs.acks, self.state.view(leader).in_sync, self.knobs.min_in_sync)

    def raised(self, leader: Term) -> Term:
        """The high watermark that a leader's knowledge allows."""
        state = self.state
        least = state.least_end(leader)
        if self.knobs.falls:
            return least
        view = state.view(leader)
        known = Watermark(state.high_watermark(leader), least, view.in_sync, self.knobs.min_in_sync)
        return repl.leader_high_watermark(known, self.knobs.profile)

    def counted_end(self, leader: Term, replica: Term) -> Term:
        """A replica's log end, as a leader knows it, where it holds the high watermark back; -1 where it does not."""
        return choose(self.counts(leader, replica), self.known_end(leader, replica), ABSENT)

    def counts(self, leader: Term, replica: Term) -> Term:
        """A leader's high watermark waits for this replica."""
        proposed = all_of(self.knobs.waits_for_proposed, self.state.view(leader).proposed == replica)
        return repl.holds_back(in_sync=self.state.in_sync_seen(leader, replica), proposed=proposed, caught_up=False)

    def known_end(self, leader: Term, replica: Term) -> Term:
        """A replica's log end, as a leader knows it."""
        return choose(leader == replica, self.state.length(leader), self.state.known(leader, replica).end)

    def may_return(self, leader: Term, follower: Term) -> Term:
        """A follower has caught up, as far as a leader knows."""
        known = self.state.known(leader, follower)
        if not self.knobs.returns_caught_up:
            return known.heard
        high_watermark, start = self.state.high_watermark(leader), self.state.view(leader).start
        return all_of(known.heard, electing.may_return(known.end, high_watermark, start, self.knobs.profile))

    def is_electable(self, replica: Term) -> Term:
        """It may lead; which of those who may does lead is left open, since assignments may be reordered.

        Those in sync may be away: the controller takes them out of the set, and may then elect who is eligible.
        """
        state = self.state
        nobody_eligible = all_of(state.first_in_sync() < 0, state.first_eligible() < 0)
        last = state.last_known() == replica
        candidate = Candidate(replica, True, state.in_sync(replica), state.eligible(replica), last)
        return electing.is_electable(candidate, True, nobody_eligible, self.knobs.unclean, self.knobs.profile)
