"""The actions on a partition: of producers, coordinators, the leader, its followers and readers.

Arguments:
    sequence: of the first record.
    delta: of the last offset from the first.
    coordinator_epoch: that the marker carries.
    to: how many batches the new leader has.
    known: its high watermark, in batches.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import seq
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.language import Action, Function, Sort, State, pick, rewrite, update
from spec.systems.partition.log import (
    COORDINATOR_EPOCH,
    DELTA,
    EPOCH,
    PARTITION,
    POSITION,
    PRODUCER,
    SEQUENCE,
    PartitionKnobs,
    PartitionView,
)
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT, NO_SEQUENCE, Origin

Guard: TypeAlias = Iterator[Term]


class PartitionActions:
    """The actions of the system, as guards (a fact a line) and effects."""

    def __init__(self, knobs: PartitionKnobs, decide: Decide) -> None:
        self.knobs = knobs
        self.of = partial(PartitionView, knobs, decide)

    def all(self) -> tuple[Action, ...]:
        """Every action that the knobs leave in the system."""
        batch = (EPOCH, SEQUENCE, DELTA)
        actions = {
            "producer_appends": (True, (PRODUCER, *batch)),
            "producer_appends_plain": (self.knobs.plain_data, (PRODUCER, *batch)),
            "group_coordinator_commits": (self.knobs.offset_commits, (PRODUCER, EPOCH, DELTA)),
            "coordinator_writes_marker": (True, (PRODUCER, EPOCH, COORDINATOR_EPOCH)),
            "followers_copy": (True, (POSITION,)),
            "records_are_deleted": (self.knobs.log_start_rises, (DELTA,)),
            "readers_fetch": (True, ()),
            "leader_fails_over": (self.knobs.fails_over, (POSITION, POSITION)),
            "append_fails": (not self.knobs.failed_append_undone, (PRODUCER, *batch)),
            "leader_forgets": (self.knobs.state_expires, (PRODUCER,)),
        }
        return tuple(self._action(name, PARTITION, *over) for name, (there, over) in actions.items() if there)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))

    def data(self, log: PartitionView, epoch: Term, sequence: Term, delta: Term) -> AppendRequest:
        """A batch of a producer's transaction."""
        return AppendRequest(
            base_offset=log.end(log.length()),
            producer_id=0,  # that of the producer; any other that is not negative would do
            producer_epoch=epoch,
            base_sequence=sequence,
            last_offset_delta=delta,
            record_count=delta + 1,
            transactional=True,
        )

    def plain(self, log: PartitionView, epoch: Term, sequence: Term, delta: Term) -> AppendRequest:
        """A batch outside transactions."""
        return replace(self.data(log, epoch, sequence, delta), transactional=False)

    def offsets(self, log: PartitionView, epoch: Term, delta: Term) -> AppendRequest:
        """A batch of offsets, which carries no sequence."""
        data = self.data(log, epoch, NO_SEQUENCE, delta)
        return replace(data, origin=Origin.COORDINATOR.value)

    def marker(self, log: PartitionView, epoch: Term, coordinator_epoch: Term) -> AppendRequest:
        """A marker of version 0, which lets through whatever a later version does."""
        return replace(
            self.data(log, epoch, NO_SEQUENCE, 0),
            origin=Origin.COORDINATOR.value,
            control=True,
            coordinator_epoch=coordinator_epoch,
            marker_version=0,
        )

    def producer_appends_if(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> Guard:
        """Transactional data of any epoch and sequence passes every check."""
        log = self.of(state, partition)
        yield from self._sendable(epoch, delta)
        yield from self._passes(log, producer, self.data(log, epoch, sequence, delta))

    def producer_appends(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> State:
        """It is the last batch of the log, and of its producer's open transaction."""
        log = self.of(state, partition)
        after = self._appended(state, partition, producer, self.data(log, epoch, sequence, delta))
        return after.but(data=update(state.data, partition, producer, log.length(), to=True))

    def producer_appends_plain_if(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> Guard:
        """Data that is not transactional passes every check."""
        log = self.of(state, partition)
        yield from self._sendable(epoch, delta)
        yield from self._passes(log, producer, self.plain(log, epoch, sequence, delta))

    def producer_appends_plain(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> State:
        """It is the last batch of the log."""
        log = self.of(state, partition)
        return self._appended(state, partition, producer, self.plain(log, epoch, sequence, delta))

    def group_coordinator_commits_if(
        self, state: State, partition: Term, producer: Term, epoch: Term, delta: Term
    ) -> Guard:
        """Consumed offsets, which carry no sequence, pass every check."""
        log = self.of(state, partition)
        yield from self._sendable(epoch, delta)
        yield from self._passes(log, producer, self.offsets(log, epoch, delta))

    def group_coordinator_commits(
        self, state: State, partition: Term, producer: Term, epoch: Term, delta: Term
    ) -> State:
        """They are the last batch of the log, and of their producer's open transaction."""
        log = self.of(state, partition)
        after = self._appended(state, partition, producer, self.offsets(log, epoch, delta))
        return after.but(data=update(state.data, partition, producer, log.length(), to=True))

    def coordinator_writes_marker_if(
        self, state: State, partition: Term, producer: Term, epoch: Term, coordinator_epoch: Term
    ) -> Guard:
        """A marker of any epoch and coordinator, late or repeated as it may be, passes every check."""
        log = self.of(state, partition)
        yield from self._sendable(epoch, coordinator_epoch)
        yield from self._passes(log, producer, self.marker(log, epoch, coordinator_epoch))

    def coordinator_writes_marker(
        self, state: State, partition: Term, producer: Term, epoch: Term, coordinator_epoch: Term
    ) -> State:
        """It decides every batch of its producer that no marker has decided."""
        log, length = self.of(state, partition), self.of(state, partition).length()
        after = self._appended(state, partition, producer, self.marker(log, epoch, coordinator_epoch))

        def undecided(p: Term, q: Term, i: Term) -> Term:
            mine = all_of(p == partition, q == producer)
            return all_of(mine, state.data(p, q, i), state.decided_by(p, q, i) == ABSENT)

        return after.but(
            marker=update(state.marker, partition, producer, length, to=True),
            decided_by=rewrite(state.decided_by, undecided, lambda *_: length),
        )

    def _sendable(self, *numbers: Term) -> Guard:
        yield from (number >= 0 for number in numbers)

    def _passes(self, log: PartitionView, producer: Term, request: AppendRequest) -> Guard:
        if self.knobs.appends is not None:
            yield log.length() < self.knobs.appends
        yield log.decided(producer, request).reply.appended

    def _appended(self, state: State, partition: Term, producer: Term, request: AppendRequest) -> State:
        log = self.of(state, partition)
        known, length = log.decided(producer, request).entry, log.length()
        if request.control is True and not self.knobs.marker_ends:
            known = replace(known, txn_first_offset=log.known(producer).txn_first_offset)
        opened = choose(known.txn_first_offset == request.base_offset, length, log.opened(producer, length))

        def next_of(function: Function, of_producer: Term) -> Function:
            return rewrite(
                function,
                lambda p, _, i: all_of(p == partition, i == length + 1),
                lambda p, q, _: pick(q == producer, of_producer, function(p, q, length)),
            )

        return state.but(
            length=update(state.length, partition, to=length + 1),
            end=update(state.end, partition, length + 1, to=request.base_offset + request.last_offset_delta + 1),
            entry=next_of(state.entry, known),
            opened=next_of(state.opened, choose(known.in_transaction, opened, ABSENT)),
        )

    def followers_copy_if(self, state: State, partition: Term, to: Term) -> Guard:
        """The followers are behind, or the leader does not know how far they are."""
        log = self.of(state, partition)
        yield log.visible() < to
        yield to <= log.length()

    def followers_copy(self, state: State, partition: Term, to: Term) -> State:
        """The high watermark rises, and what is below it is safe."""
        copied = state.copied(partition)

        def safe(function: Function, of: Function) -> Function:
            newly = all_of(copied < to)
            return rewrite(function, lambda p, _: all_of(p == partition, newly), lambda p, q: of(p, q, to))

        return state.but(
            visible=update(state.visible, partition, to=to),
            copied=update(state.copied, partition, to=choose(copied < to, to, copied)),
            safe_epoch=safe(state.safe_epoch, lambda *at: state.entry(*at).epoch),
            safe_coordinator_epoch=safe(state.safe_coordinator_epoch, lambda *at: state.entry(*at).coordinator_epoch),
        )

    def records_are_deleted_if(self, state: State, partition: Term, delta: Term) -> Guard:
        """There are records below the high watermark."""
        log = self.of(state, partition)
        yield delta >= 0
        yield log.log_start() + delta + 1 <= log.high_watermark()

    def records_are_deleted(self, state: State, partition: Term, delta: Term) -> State:
        """The log starts later, maybe in the midst of a batch or of an open transaction."""
        return state.but(log_start=update(state.log_start, partition, to=state.log_start(partition) + delta + 1))

    def readers_fetch_if(self, state: State, partition: Term) -> Guard:
        """There is more to read, or less, than there was."""
        log = self.of(state, partition)
        yield log.log_start() < log.stable()

    def readers_fetch(self, state: State, partition: Term) -> State:
        """A read_committed reader may be given all that is below the last stable offset."""
        log = self.of(state, partition)
        start, stable = log.log_start(), log.stable()
        return state.but(
            reported=update(state.reported, partition, to=stable),
            given=rewrite(state.given, lambda p, o: all_of(p == partition, start <= o, o < stable), lambda *_: True),
        )

    def leader_fails_over_if(self, state: State, partition: Term, to: Term, known: Term) -> Guard:
        """A follower takes over, with what is safe and maybe more; its high watermark may lag."""
        log = self.of(state, partition)
        yield to >= (log.copied() if self.knobs.clean_elections else 0)
        yield to <= log.length()
        yield known >= 0
        yield known <= choose(log.visible() < to, log.visible(), to)
        if self.knobs.watermark_after_start:
            yield log.log_start() <= log.end(known)

    def leader_fails_over(self, state: State, partition: Term, to: Term, known: Term) -> State:
        """The log is the follower's, and so is its state; it has not answered any reader yet."""

        def beyond(function: Function, initial: Term, first: Term) -> Function:
            return rewrite(function, lambda p, *at: all_of(p == partition, at[-1] >= first), lambda *_: initial)

        def undone(p: Term, q: Term, i: Term) -> Term:
            return all_of(p == partition, any_of(i >= to, state.decided_by(p, q, i) >= to))

        copied = state.copied(partition)
        return state.but(
            length=update(state.length, partition, to=to),
            end=beyond(state.end, 0, to + 1),
            data=beyond(state.data, False, to),
            marker=beyond(state.marker, False, to),
            entry=beyond(state.entry, ProducerEntry(), to + 1 if self.knobs.replays else 0),
            opened=beyond(state.opened, ABSENT, to + 1),
            decided_by=rewrite(state.decided_by, undone, lambda *_: ABSENT),
            visible=update(state.visible, partition, to=known),
            copied=update(state.copied, partition, to=choose(copied < to, copied, to)),
            reported=update(state.reported, partition, to=0),
        )

    def append_fails_if(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> Guard:
        """Transactional data passes every check, and is not written."""
        yield from self.producer_appends_if(state, partition, producer, epoch, sequence, delta)

    def append_fails(
        self, state: State, partition: Term, producer: Term, epoch: Term, sequence: Term, delta: Term
    ) -> State:
        """The leader knows of its producer what it would know after the append."""
        log = self.of(state, partition)
        known = log.decided(producer, self.data(log, epoch, sequence, delta)).entry
        return state.but(entry=update(state.entry, partition, producer, log.length(), to=known))

    def leader_forgets_if(self, state: State, partition: Term, producer: Term) -> Guard:
        """The leader knows a producer that has no open transaction."""
        known = self.of(state, partition).known(producer)
        yield negate(seq.is_unknown(known))
        yield negate(known.in_transaction)

    def leader_forgets(self, state: State, partition: Term, producer: Term) -> State:
        """The producer's state has expired."""
        length = state.length(partition)
        return state.but(entry=update(state.entry, partition, producer, length, to=ProducerEntry()))
