"""The actions on the replicas of a partition: of producers, leader, followers, brokers and the controller."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import electing, repl
from spec.protocol.electing import Proposal
from spec.protocol.repl import ACKS_ALL
from spec.systems.language import Action, Function, Sort, State, pick, rewrite, update
from spec.systems.replication.world import (
    EPOCH,
    LENGTH,
    NO_REPLY,
    NOTHING,
    REPLICA,
    ElectionView,
    FetchReplyView,
    LogEntry,
    Position,
    ReplicationKnobs,
    ReplicationView,
    ReplicaView,
    following,
)
from spec.vocabulary import ABSENT

Guard: TypeAlias = Iterator[Term]


class ReplicationActionBase:
    """Actions as guards (a fact a line, the cheapest first) and effects, each pair by the name of the action."""

    def __init__(self, knobs: ReplicationKnobs) -> None:
        self.knobs = knobs
        self.of = partial(ReplicationView, knobs)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))


def decided(state: State) -> State:
    """The controller has decided something that the leader does not know yet."""
    return state.but(
        view=rewrite(
            state.view,
            lambda replica: state.view(replica).leader == replica,
            lambda replica: replace(state.view(replica), outdated=True),
        )
    )


def cut(state: State, replica: Term, end: Term) -> State:
    """A replica's log ends here, and its high watermark is not beyond; an answer to what it asked before is void."""
    beyond = state.high_watermark(replica) > end
    return state.but(
        log=rewrite(state.log, lambda r, position: all_of(r == replica, position >= end), lambda *_: NOTHING),
        length=update(state.length, replica, to=end),
        high_watermark=update(state.high_watermark, replica, to=choose(beyond, end, state.high_watermark(replica))),
        reply=update(state.reply, replica, to=NO_REPLY),
    )


def row(function: Function, replica: Term, to: Function) -> Function:
    """The function with other values wherever this replica comes first."""
    return rewrite(function, lambda first, _: first == replica, lambda _, second: to(second))


class Logs(ReplicationActionBase):
    """The actions of producers, leaders and followers."""

    def all(self) -> tuple[Action, ...]:
        """Every one."""
        return (
            self._action("producer_appends", REPLICA),
            self._action("leader_answers_fetch", REPLICA, REPLICA),
            self._action("follower_takes_reply", REPLICA),
            self._action("follower_truncates", REPLICA, REPLICA),
            self._action("leader_raises_high_watermark", REPLICA),
        )

    def producer_appends_if(self, state: State, leader: Term) -> Guard:
        """A replica that takes itself for the leader appends, if enough replicas are in sync for the producer."""
        world = self.of(state)
        yield state.sent() < self.knobs.appends
        yield world.leads(leader)
        yield repl.admitted(world.produce(leader)).granted

    def producer_appends(self, state: State, leader: Term) -> State:
        """The batch has the leader's epoch."""
        end, number = state.length(leader), state.sent()
        entry = LogEntry(number, state.view(leader).epoch)
        after = state.but(
            log=update(state.log, leader, end, to=entry),
            length=update(state.length, leader, to=end + 1),
            sent=lambda: number + 1,
        )
        if self.knobs.acks == ACKS_ALL:
            return after
        unknown = state.committed(end) == ABSENT
        return after.but(committed=update(state.committed, end, to=choose(unknown, number, state.committed(end))))

    def leader_answers_fetch_if(self, state: State, leader: Term, follower: Term) -> Guard:
        """A follower asks whom it takes for the leader, and neither epoch nor history stands against it."""
        yield negate(leader == follower)
        yield state.view(follower).leader == leader
        yield self.of(state).fetched(leader, follower).gives_records

    def leader_answers_fetch(self, state: State, leader: Term, follower: Term) -> State:
        """The leader knows how far the follower is, and gives it the next batch, or none, and its high watermark."""
        end = state.length(follower)
        entry = state.log(leader, end)
        reply = FetchReplyView(state.high_watermark(leader), entry.batch, entry.epoch)
        return state.but(
            known=update(state.known, leader, follower, to=Position(end, heard=True)),
            reply=update(state.reply, follower, to=reply),
        )

    def follower_takes_reply_if(self, state: State, follower: Term) -> Guard:
        """One is on its way; what was asked in an earlier epoch or incarnation is not taken."""
        yield state.reply(follower).high_watermark >= 0

    def follower_takes_reply(self, state: State, follower: Term) -> State:
        """It appends the batch, and takes over the high watermark."""
        reply, end = state.reply(follower), state.length(follower)
        there = reply.batch >= 0
        after = choose(there, end + 1, end)
        entry = pick(there, LogEntry(reply.batch, reply.epoch), state.log(follower, end))
        return state.but(
            log=update(state.log, follower, end, to=entry) if self._fits(end) else state.log,
            length=update(state.length, follower, to=after),
            high_watermark=update(
                state.high_watermark, follower, to=repl.follower_high_watermark(reply.high_watermark, after)
            ),
            reply=update(state.reply, follower, to=NO_REPLY),
        )

    def _fits(self, end: Term) -> bool:
        """A batch after the last one of a finite instance is none."""
        return not isinstance(end, int) or end < self.knobs.appends

    def follower_truncates_if(self, state: State, leader: Term, follower: Term) -> Guard:
        """The leader answers that the follower's log differs from its own, or is longer."""
        yield negate(leader == follower)
        yield state.view(follower).leader == leader
        answer = self.of(state).fetched(leader, follower)
        yield any_of(answer.diverges, answer.error == repl.OUT_OF_RANGE)

    def follower_truncates(self, state: State, leader: Term, follower: Term) -> State:
        """It cuts off what the decision says."""
        return cut(state, follower, self.of(state).truncated(leader, follower))

    def leader_raises_high_watermark_if(self, state: State, leader: Term) -> Guard:
        """What a leader knows allows another one."""
        world = self.of(state)
        yield world.leads(leader)
        yield negate(world.raised(leader) == state.high_watermark(leader))

    def leader_raises_high_watermark(self, state: State, leader: Term) -> State:
        """Records below it are committed: readers see them, and producers with acks=all get their acknowledgement."""
        raised, reported = self.of(state).raised(leader), state.reported(leader)

        def newly(position: Term) -> Term:
            return all_of(position < raised, state.committed(position) == ABSENT)

        return state.but(
            high_watermark=update(state.high_watermark, leader, to=raised),
            reported=update(state.reported, leader, to=choose(raised > reported, raised, reported)),
            committed=rewrite(state.committed, newly, lambda position: state.log(leader, position).batch),
        )


class BrokerActions(ReplicationActionBase):
    """The actions of brokers."""

    def all(self) -> tuple[Action, ...]:
        """Every one that the knobs leave in the system."""
        fails = self.knobs.restarts or self.knobs.losses > 0
        return (self._action("broker_restarts", REPLICA, LENGTH),) if fails else ()

    def broker_restarts_if(self, state: State, replica: Term, kept: Term) -> Guard:
        """All of the log is kept, or a loss is still allowed."""
        whole = kept == state.length(replica)
        yield kept >= 0
        yield any_of(whole, all_of(kept < state.length(replica), state.lost() < self.knobs.losses))
        yield any_of(negate(whole), all_of(self.knobs.restarts, state.view(replica).leader >= 0))

    def broker_restarts(self, state: State, replica: Term, kept: Term) -> State:
        """It knows only its log; who lost records is in sync no more, but where it is the last and must not leave."""
        loses = kept < state.length(replica)
        before = self._forgotten(cut(state, replica, kept), replica)
        leaves = all_of(loses, state.in_sync(replica), electing.may_leave(state.members(), self.knobs.profile))
        gone = decided(before).but(
            in_sync=update(before.in_sync, replica, to=False),
            members=lambda: state.members() - 1,
            leader=lambda: choose(state.leader() == replica, ABSENT, state.leader()),
            last_known=lambda: choose(state.members() == 1, replica, ABSENT),
        )
        after = gone.or_else(leaves, before)
        return after.but(
            lost=lambda: choose(loses, state.lost() + 1, state.lost()),
            eligible=update(state.eligible, replica, to=all_of(state.eligible(replica), negate(loses))),
        )

    def _forgotten(self, state: State, replica: Term) -> State:
        """What was in memory is gone, and what leaders know of the incarnation before counts no more.

        Elections before the broker's registration are not sent to it again (KIP-380, and KRaft's catching up).
        A proposal of the incarnation before is refused as such only where it is of the present leader and set: where
        the controller has decided something since, and perhaps let it in, its leader keeps waiting for both.
        """
        epoch = state.epoch() if self.knobs.hears_in_order else ABSENT
        after = state.but(
            view=update(state.view, replica, to=following(self.knobs, epoch, ABSENT)),
            in_sync_seen=row(state.in_sync_seen, replica, lambda _: True),
            known=row(state.known, replica, lambda _: Position()),
            reported=update(state.reported, replica, to=0),
        )
        if not self.knobs.profile.incarnations_compared:
            return after

        def refused(other: Term) -> Term:
            view = after.view(other)
            return all_of(view.proposed == replica, negate(view.outdated))

        return after.but(
            known=rewrite(
                after.known,
                lambda _, follower: follower == replica,
                lambda leader, follower: replace(after.known(leader, follower), heard=False),
            ),
            view=rewrite(after.view, refused, lambda other: replace(after.view(other), proposed=ABSENT)),
        )


class ControllerActions(ReplicationActionBase):
    """The actions of leaders that propose, of the controller, and of replicas that learn of it."""

    def all(self) -> tuple[Action, ...]:
        """Every one."""
        return (
            self._action("leader_proposes_return", REPLICA, REPLICA),
            self._action("controller_lets_return", REPLICA),
            self._action("replica_leaves_in_sync_set", REPLICA),
            self._action("controller_elects", REPLICA),
            self._action("replica_learns_newest_election", REPLICA),
            *self._late(),
        )

    def _late(self) -> tuple[Action, ...]:
        return (self._action("replica_learns_past_election", REPLICA, EPOCH),) if self.knobs.hears_late else ()

    def leader_proposes_return_if(self, state: State, leader: Term, follower: Term) -> Guard:
        """A follower outside the set has caught up, and the leader has proposed no other."""
        world, view = self.of(state), state.view(leader)
        yield negate(leader == follower)
        yield world.leads(leader)
        yield all_of(negate(view.outdated), view.proposed == ABSENT)
        yield negate(state.in_sync_seen(leader, follower))
        yield world.may_return(leader, follower)

    def leader_proposes_return(self, state: State, leader: Term, follower: Term) -> State:
        """The follower counts for the high watermark from now on."""
        return state.but(view=update(state.view, leader, to=replace(state.view(leader), proposed=follower)))

    def controller_lets_return_if(self, state: State, leader: Term) -> Guard:
        """The proposal is of the present leader, and of the present set."""
        view = state.view(leader)
        yield self.of(state).leads(leader)
        yield view.proposed >= 0
        known = choose(view.outdated, 0, 1)
        request = Proposal(state.leader() == leader, view.epoch, known, ineligible=False)
        yield electing.altered(request, state.epoch(), 1, self.knobs.without).granted

    def controller_lets_return(self, state: State, leader: Term) -> State:
        """The follower is in sync; the leader does not know it yet."""
        follower = state.view(leader).proposed
        members = state.members() + 1
        enough = members >= self.knobs.min_in_sync

        def eligible(replica: Term) -> Term:
            return all_of(state.eligible(replica), negate(enough), negate(replica == follower))

        return decided(state).but(
            in_sync=update(state.in_sync, follower, to=True), eligible=eligible, members=lambda: members
        )

    def replica_leaves_in_sync_set_if(self, state: State, replica: Term) -> Guard:
        """It is not the leader: it lags, and its leader asks for it, or the controller has fenced its broker."""
        yield state.in_sync(replica)
        yield negate(state.leader() == replica)
        yield state.other_in_sync(replica) >= 0

    def replica_leaves_in_sync_set(self, state: State, replica: Term) -> State:
        """It is out, and electable no more, but where too few are left."""
        members = state.members() - 1
        stays = electing.stays_electable(members, self.knobs.min_in_sync, self.knobs.profile)
        return decided(state).but(
            in_sync=update(state.in_sync, replica, to=False),
            eligible=update(state.eligible, replica, to=stays),
            members=lambda: members,
        )

    def controller_elects_if(self, state: State, replica: Term) -> Guard:
        """Another than the present leader may lead."""
        yield state.epoch() < self.knobs.elections
        yield negate(state.leader() == replica)
        yield self.of(state).is_electable(replica)

    def controller_elects(self, state: State, replica: Term) -> State:
        """A leader epoch begins; a leader out of sync leads alone. After an unclean election none is eligible."""
        stays = state.in_sync(replica)
        clean = any_of(not self.knobs.unclean, stays, state.eligible(replica))
        epoch = electing.leader_epoch_after(
            state.epoch(), elects=self.knobs.epoch_rises, shrinks=False, profile=self.knobs.profile
        )
        keeps = electing.stays_electable(1, self.knobs.min_in_sync, self.knobs.profile)

        def eligible(other: Term) -> Term:
            left = all_of(keeps, clean, any_of(state.in_sync(other), state.eligible(other)), negate(other == replica))
            return choose(stays, state.eligible(other), left)

        def in_sync(other: Term) -> Term:
            return choose(stays, state.in_sync(other), other == replica)

        members = choose(stays, state.members(), 1)
        return self._kept(decided(state), epoch, ElectionView(replica, members), in_sync).but(
            leader=lambda: replica, epoch=lambda: epoch, in_sync=in_sync, eligible=eligible, members=lambda: members
        )

    def _kept(self, state: State, epoch: Term, election: ElectionView, in_sync: Function) -> State:
        """An election that some replicas may yet learn of when it is past."""
        if not self.knobs.hears_late:
            return state
        return state.but(
            elected=update(state.elected, epoch, to=election), in_sync_then=row(state.in_sync_then, epoch, in_sync)
        )

    def replica_learns_newest_election_if(self, state: State, replica: Term) -> Guard:
        """There is something new for it."""
        view = state.view(replica)
        yield state.leader() >= 0
        yield any_of(negate(view.epoch == state.epoch()), negate(view.leader == state.leader()), view.outdated)

    def replica_learns_newest_election(self, state: State, replica: Term) -> State:
        """It leads or follows; a leader that stays one only learns the in-sync set."""
        now = ElectionView(state.leader(), state.members())
        return self._heard(state, replica, state.epoch(), now, state.in_sync, outdated=False)

    def replica_learns_past_election_if(self, state: State, replica: Term, epoch: Term) -> Guard:
        """It is later than what the replica knows, and not the last one."""
        yield state.view(replica).epoch < epoch
        yield epoch < state.epoch()

    def replica_learns_past_election(self, state: State, replica: Term, epoch: Term) -> State:
        """It leads or follows in an epoch that is over."""

        def in_sync(other: Term) -> Term:
            return state.in_sync_then(epoch, other)

        return self._heard(state, replica, epoch, state.elected(epoch), in_sync, outdated=True)

    def _heard(
        self, state: State, replica: Term, epoch: Term, now: ElectionView, in_sync: Function, outdated: bool
    ) -> State:
        view, leads = state.view(replica), now.leader == replica
        goes_on = all_of(leads, view.leader == replica, view.epoch == epoch)
        start = choose(goes_on, view.start, state.length(replica))
        leading = ReplicaView(epoch, replica, start, now.in_sync, ABSENT, outdated)
        reported = choose(goes_on, state.reported(replica), choose(leads, state.high_watermark(replica), 0))
        return self._as_follower_before_kip_101(state, replica, leads).but(
            view=update(state.view, replica, to=pick(leads, leading, following(self.knobs, epoch, now.leader))),
            in_sync_seen=row(state.in_sync_seen, replica, lambda other: any_of(negate(leads), in_sync(other))),
            known=row(state.known, replica, lambda other: pick(goes_on, state.known(replica, other), Position())),
            reply=update(state.reply, replica, to=state.reply(replica) if self.knobs.replies_outlive else NO_REPLY),
            reported=update(state.reported, replica, to=reported),
        )

    def _as_follower_before_kip_101(self, state: State, replica: Term, leads: Term) -> State:
        """A replica that becomes a follower cuts its log at its own high watermark, without a request."""
        if self.knobs.profile.truncates_by_leader_epoch:
            return state
        return cut(state, replica, choose(leads, state.length(replica), state.high_watermark(replica)))
