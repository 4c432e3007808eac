"""Changes of the in-sync set and the leader: leaders propose, the controller decides, replicas learn of it."""

from dataclasses import replace

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import electing
from spec.protocol.electing import Proposal
from spec.systems.language import Action, Function, State, pick, update
from spec.systems.replication.action_base import Guard, ReplicationActionBase, cut, decided, row
from spec.systems.replication.world import EPOCH, NO_REPLY, REPLICA, ElectionView, Position, ReplicaView, following
from spec.vocabulary import ABSENT


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
