"""The actions on a stream: of the client, the network, the leader and its followers.

Arguments:
    request: its number, from 0, in the order of sending.
    stream: what one producer sends to one partition.
    others: how many records of others are appended before it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import seq
from spec.protocol.records import WINDOW, CachedBatch, ProducerEntry
from spec.systems.idempotence.stream import (
    BATCH,
    DELTA,
    EPOCH,
    OTHERS,
    POSITION,
    REQUEST,
    STREAM,
    StreamKnobs,
    StreamView,
)
from spec.systems.language import Action, Function, Sort, State, rewrite, update
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT, ErrorCode


class StreamActions:
    """The actions of the system, as guards (a fact a line) and effects."""

    def __init__(self, knobs: StreamKnobs, decide: Decide) -> None:
        self.knobs = knobs
        self.of = partial(StreamView, knobs, decide)

    def all(self) -> tuple[Action, ...]:
        """Every action that the knobs leave in the system."""
        always = (
            self._action("client_sends", STREAM, DELTA),
            self._action("leader_appends", STREAM, REQUEST, OTHERS),
            self._action("leader_answers", STREAM, REQUEST),
            self._action("followers_copy", STREAM, POSITION),
            self._action("client_receives_acknowledgement", STREAM, BATCH),
            self._action("client_receives_duplicate_answer", STREAM, BATCH),
            self._action("client_starts_over", STREAM, BATCH, EPOCH, dormant=True),
        )
        timeouts = (
            self._action("client_expires_batch", STREAM, BATCH),
            self._action("client_resolves", STREAM),
            self._action("client_raises_epoch", STREAM, EPOCH),
        )
        failover = (self._action("leader_fails_over", STREAM, POSITION),)
        expiry = (self._action("leader_forgets", STREAM),)
        return (
            always
            + timeouts * self.knobs.gives_up
            + failover * self.knobs.fails_over
            + expiry * self.knobs.state_expires
        )

    def _action(self, name: str, *over: Sort, dormant: bool = False) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name), dormant)

    def client_sends_if(self, state: State, stream: Term, delta: Term) -> Iterator[Term]:
        """A new batch is drained while there is room in flight and no delivery is in doubt."""
        client = self.of(state, stream)
        yield delta >= 0
        yield negate(client.unresolved())
        yield from self._room_for(client.requests() + 1)
        yield client.may_send()

    def client_sends(self, state: State, stream: Term, delta: Term) -> State:
        """It gets the next sequence, once and for all."""
        client = self.of(state, stream)
        request, sequence = client.requests(), client.next_sequence()
        after = seq.next_sequence(sequence, delta + 1, self.knobs.largest_sequence)
        return state.but(
            batches=update(state.batches, stream, to=client.batches() + 1),
            next_sequence=update(state.next_sequence, stream, to=after),
            requests=update(state.requests, stream, to=request + 1),
            batch=update(state.batch, stream, request, to=client.batches()),
            epoch=update(state.epoch, stream, request, to=client.client_epoch()),
            base=update(state.base, stream, request, to=sequence),
            delta=update(state.delta, stream, request, to=delta),
        )

    def leader_appends_if(self, state: State, stream: Term, request: Term, others: Term) -> Iterator[Term]:
        """A request arrives and passes every check."""
        leader = self.of(state, stream)
        yield others >= 0
        yield from leader.arrives(request)
        if self.knobs.appends is not None:
            yield leader.length() < self.knobs.appends
        yield leader.decided(request, others).reply.appended

    def leader_appends(self, state: State, stream: Term, request: Term, others: Term) -> State:
        """Its batch is the last one of the log, and the entry is what the decision makes of it."""
        leader = self.of(state, stream)
        decided, length = leader.decided(request, others), leader.length()
        return state.but(
            length=update(state.length, stream, to=length + 1),
            written=update(state.written, stream, length, to=request),
            offset=update(state.offset, stream, length, to=decided.reply.first_offset),
            entry=update(state.entry, stream, length + 1, to=decided.entry),
            place=update(state.place, stream, leader.batch(request), to=length),
        )

    def leader_answers_if(self, state: State, stream: Term, request: Term) -> Iterator[Term]:
        """A request arrives and is a duplicate, or refused."""
        leader = self.of(state, stream)
        yield from leader.arrives(request)
        yield negate(leader.decided(request).reply.appended)

    def leader_answers(self, state: State, stream: Term, request: Term) -> State:
        """Nothing is written; the entry is what the decision makes of it."""
        leader = self.of(state, stream)
        decided = leader.decided(request)
        after = state.but(entry=update(state.entry, stream, leader.length(), to=decided.entry))
        if self.knobs.heard_at_once:
            return after
        out_of_order = decided.reply.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.value
        refused = any_of(out_of_order, leader.refused(request))
        return after.but(refused=update(state.refused, stream, request, to=refused))

    def followers_copy_if(self, state: State, stream: Term, to: Term) -> Iterator[Term]:
        """The followers are behind."""
        leader = self.of(state, stream)
        yield leader.replicated() < to
        yield to <= leader.length()

    def followers_copy(self, state: State, stream: Term, to: Term) -> State:
        """The high watermark rises."""
        return state.but(replicated=update(state.replicated, stream, to=to))

    def client_receives_acknowledgement_if(self, state: State, stream: Term, batch: Term) -> Iterator[Term]:
        """A batch in flight is in the log below the high watermark."""
        client = self.of(state, stream)
        yield client.in_flight(batch)
        yield client.place(batch) >= 0
        yield client.place(batch) < client.replicated()

    def client_receives_acknowledgement(self, state: State, stream: Term, batch: Term) -> State:
        """It is acknowledged."""
        return state.but(acked=update(state.acked, stream, batch, to=True))

    def client_receives_duplicate_answer_if(self, state: State, stream: Term, batch: Term) -> Iterator[Term]:
        """A batch in flight is recognised as one whose records are below the high watermark."""
        client = self.of(state, stream)
        yield client.in_flight(batch)
        yield from client.arrives(client.current(batch))
        reply = client.decided(client.current(batch)).reply
        yield reply.duplicate
        yield reply.last_offset < client.end(client.replicated())

    def client_receives_duplicate_answer(self, state: State, stream: Term, batch: Term) -> State:
        """It is acknowledged."""
        return self.client_receives_acknowledgement(state, stream, batch)

    def client_starts_over_if(self, state: State, stream: Term, batch: Term, epoch: Term) -> Iterator[Term]:
        """The lowest batch in flight is out of order although no delivery is in doubt (KIP-360)."""
        client = self.of(state, stream)
        current = client.current(batch)
        yield client.in_flight(batch)
        yield epoch > client.client_epoch()
        yield negate(client.unresolved())
        yield client.is_lowest(batch)
        yield from self._room_for(client.requests() + client.batches() - batch)
        yield from client.arrives(current)
        error = client.decided(current).reply.error
        yield any_of(
            error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.value,
            error == ErrorCode.UNKNOWN_PRODUCER_ID.value,
            False if self.knobs.heard_at_once else client.refused(current),
        )

    def client_starts_over(self, state: State, stream: Term, batch: Term, epoch: Term) -> State:
        """Everything in flight is sent again under a higher epoch, from sequence 0 on."""
        client = self.of(state, stream)
        first, old = client.requests(), client.current(batch)
        count = client.batches() - batch
        back = partial(seq.previous_sequence, records=client.base(old), largest=self.knobs.largest_sequence)

        def again(function: Function, to: Function) -> Function:
            return rewrite(function, lambda s, r: all_of(s == stream, r >= first, r < first + count), to)

        return state.but(
            client_epoch=update(state.client_epoch, stream, to=epoch),
            next_sequence=update(state.next_sequence, stream, to=back(client.next_sequence())),
            requests=update(state.requests, stream, to=first + count),
            batch=again(state.batch, lambda _, request: batch + (request - first)),
            epoch=again(state.epoch, lambda *_: epoch),
            base=again(state.base, lambda _, request: back(client.base(old + (request - first)))),
            delta=again(state.delta, lambda _, request: client.delta(old + (request - first))),
        )

    def client_expires_batch_if(self, state: State, stream: Term, batch: Term) -> Iterator[Term]:
        """A batch in flight reaches its delivery timeout."""
        yield self.of(state, stream).in_flight(batch)

    def client_expires_batch(self, state: State, stream: Term, batch: Term) -> State:
        """The application gets a failure; whether the batch is in the log is in doubt."""
        return state.but(
            given_up=update(state.given_up, stream, batch, to=True),
            unresolved=update(state.unresolved, stream, to=True),
        )

    def client_resolves_if(self, state: State, stream: Term) -> Iterator[Term]:
        """Nothing is in flight, and the last batch of all was acknowledged."""
        client = self.of(state, stream)
        yield client.unresolved()
        yield client.nothing_in_flight()
        yield client.acked(client.batches() - 1)

    def client_resolves(self, state: State, stream: Term) -> State:
        """Nothing is in doubt any more."""
        return state.but(unresolved=update(state.unresolved, stream, to=False))

    def client_raises_epoch_if(self, state: State, stream: Term, epoch: Term) -> Iterator[Term]:
        """Nothing is in flight; a delivery is in doubt, or the producer has raised its epoch for another partition."""
        client = self.of(state, stream)
        yield epoch > client.client_epoch()
        yield client.nothing_in_flight()

    def client_raises_epoch(self, state: State, stream: Term, epoch: Term) -> State:
        """The next batch is the first one of a higher epoch, and nothing is in doubt any more."""
        return state.but(
            client_epoch=update(state.client_epoch, stream, to=epoch),
            next_sequence=update(state.next_sequence, stream, to=0),
            unresolved=update(state.unresolved, stream, to=False),
        )

    def leader_fails_over_if(self, state: State, stream: Term, to: Term) -> Iterator[Term]:
        """A follower with a shorter log takes over; in a clean election it has all that is replicated."""
        leader = self.of(state, stream)
        yield to >= (leader.replicated() if self.knobs.clean_elections else 0)
        yield to < leader.length()

    def leader_fails_over(self, state: State, stream: Term, to: Term) -> State:
        """The log is the follower's, and so is what it knows: what replay of that log gives."""
        leader = self.of(state, stream)
        replicated = leader.replicated()
        lost = ProducerEntry()
        known = self._from_snapshot(state, stream, to)
        return state.but(
            length=update(state.length, stream, to=to),
            written=rewrite(state.written, lambda s, i: all_of(s == stream, i >= to), lambda *_: ABSENT),
            offset=rewrite(state.offset, lambda s, i: all_of(s == stream, i >= to), lambda *_: ABSENT),
            entry=rewrite(known.entry, lambda s, i: all_of(s == stream, i > to), lambda *_: lost),
            place=rewrite(state.place, lambda s, n: all_of(s == stream, leader.place(n) >= to), lambda *_: ABSENT),
            replicated=update(state.replicated, stream, to=choose(replicated < to, replicated, to)),
        )

    def _from_snapshot(self, state: State, stream: Term, length: Term) -> State:
        """What a replica with so many batches knows, where it does not have the whole window from replay."""
        if self.knobs.window_survives:
            return state
        entry = self.of(state, stream).entry(length)
        last = replace(entry, cached=(entry.cached[0], *(CachedBatch(),) * (WINDOW - 1)))
        return state.but(entry=update(state.entry, stream, length, to=last))

    def leader_forgets_if(self, state: State, stream: Term) -> Iterator[Term]:
        """The leader knows the producer."""
        leader = self.of(state, stream)
        yield negate(seq.is_unknown(leader.entry(leader.length())))

    def leader_forgets(self, state: State, stream: Term) -> State:
        """The producer's state has expired."""
        length = self.of(state, stream).length()
        return state.but(entry=update(state.entry, stream, length, to=ProducerEntry()))

    def _room_for(self, requests: Term) -> Iterator[Term]:
        if self.knobs.requests is not None:
            yield requests <= self.knobs.requests
