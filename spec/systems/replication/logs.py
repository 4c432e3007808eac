"""The actions on the logs of a partition's replicas: of producers, the leader and its followers."""

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import repl
from spec.protocol.repl import ACKS_ALL
from spec.systems.language import Action, State, pick, rewrite, update
from spec.systems.replication.action_base import Guard, ReplicationActionBase, cut
from spec.systems.replication.world import NO_REPLY, REPLICA, FetchReplyView, LogEntry, Position
from spec.vocabulary import ABSENT


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
