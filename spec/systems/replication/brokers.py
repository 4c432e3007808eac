"""The actions of brokers: they restart, with the whole log or without its end."""

from dataclasses import replace

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import electing
from spec.systems.language import Action, State, rewrite, update
from spec.systems.replication.action_base import Guard, ReplicationActionBase, cut, decided, row
from spec.systems.replication.world import LENGTH, REPLICA, Position, following
from spec.vocabulary import ABSENT


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
