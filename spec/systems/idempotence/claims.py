"""Claims about the idempotent producer in every reachable state: the theorems, and their lemmas."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol import seq
from spec.protocol.records import WINDOW, CachedBatch
from spec.rules import Rule
from spec.systems.idempotence.stream import BATCH, POSITION, REQUEST, STREAM, StreamKnobs, StreamView
from spec.systems.language import Claim, Sort, State, given
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT

Sentence: TypeAlias = Callable[..., Term]


def _before(low: Term, *numbers: Term) -> Term:
    """Each number is below the next, and the first one not below `low`."""
    return all_of(numbers[0] >= low, *(left < right for left, right in pairwise(numbers)))


# --- theorems -------------------------------------------------------------------------------------------------


def logged_at_most_once(stream: StreamView, i: Term, j: Term) -> Term:
    """No two positions of the log hold the same batch."""
    return given(
        _before(0, i, j, stream.length()),
        lambda: negate(stream.batch(stream.written(i)) == stream.batch(stream.written(j))),
    )


def acknowledged_is_logged(stream: StreamView, batch: Term) -> Term:
    """An acknowledged batch is in the log."""
    place = stream.place(batch)
    there = all_of(_before(0, place, stream.length()), stream.batch(stream.written(place)) == batch)
    return implies(stream.acked(batch), there)


def log_order_is_send_order(stream: StreamView, i: Term, j: Term) -> Term:
    """Of two batches in the log the earlier one was sent first."""
    return given(
        _before(0, i, j, stream.length()),
        lambda: stream.batch(stream.written(i)) <= stream.batch(stream.written(j)),
    )


def epochs_never_fall(stream: StreamView, i: Term, j: Term) -> Term:
    """No batch of a lower epoch is in the log after one of a higher epoch."""
    return given(
        _before(0, i, j, stream.length()),
        lambda: stream.epoch(stream.written(i)) <= stream.epoch(stream.written(j)),
    )


def resend_is_recognised(stream: StreamView, batch: Term) -> Term:
    """A resend of a batch in flight that is in the log is a duplicate to the leader."""
    current, place = stream.current(batch), stream.place(batch)
    logged = all_of(stream.in_flight(batch), place >= 0, stream.written(place) == current)
    return given(logged, lambda: stream.decided(current).reply.duplicate)


def lower_epoch_is_refused(stream: StreamView, request: Term) -> Term:
    """A request of a lower epoch than the one the leader knows is neither appended nor taken for a duplicate."""
    known = stream.entry(stream.length()).epoch
    stale = all_of(_before(0, request, stream.requests()), stream.epoch(request) < known)

    def refused() -> Term:
        reply = stream.decided(request).reply
        return all_of(negate(reply.appended), negate(reply.duplicate))

    return given(stale, refused)


def next_in_order_is_appended(stream: StreamView, batch: Term) -> Term:
    """A batch in flight that is the first of its epoch, or follows the log's last, is appended when it arrives."""
    current = stream.current(batch)
    due = all_of(stream.in_flight(batch), stream.place(batch) == ABSENT, _is_next(stream, current))
    return given(due, lambda: stream.decided(current).reply.appended)


def _is_next(stream: StreamView, request: Term) -> Term:
    length = stream.length()
    follows = all_of(length > 0, stream.written(length - 1) == request - 1)
    return any_of(request == 0, stream.epoch(request - 1) < stream.epoch(request), follows)


def lowest_is_next(stream: StreamView, batch: Term) -> Term:
    """While nothing is in doubt, the lowest batch in flight is in the log or next in order."""
    lowest = all_of(stream.in_flight(batch), any_of(batch == 0, stream.settled(batch - 1)))
    absent = all_of(negate(stream.unresolved()), stream.place(batch) == ABSENT)
    return implies(all_of(lowest, absent), _is_next(stream, batch))


# --- lemmas ---------------------------------------------------------------------------------------------------


def counts(stream: StreamView) -> Term:
    """The high watermark is within the log, and every batch was sent in exactly one request."""
    return all_of(
        stream.replicated() >= 0,
        stream.replicated() <= stream.length(),
        stream.requests() >= 0,
        stream.requests() == stream.batches(),
        stream.client_epoch() >= 0,
    )


def request_is_batch(stream: StreamView, request: Term) -> Term:
    """Requests carry the batches in the order of sending."""
    return implies(_before(0, request, stream.requests()), stream.batch(request) == request)


def request_shape(stream: StreamView, request: Term) -> Term:
    """A request has at least one record, a sequence, and no epoch above the client's."""
    shape = all_of(
        stream.delta(request) >= 0,
        stream.base(request) >= 0,
        stream.epoch(request) >= 0,
        stream.epoch(request) <= stream.client_epoch(),
        implies(request == 0, stream.base(request) == 0),
    )
    return implies(_before(0, request, stream.requests()), shape)


def sequences_follow(stream: StreamView, r: Term, q: Term) -> Term:
    """Epochs rise from request to request; within an epoch sequences are consecutive, and each epoch starts at 0."""
    later = stream.base(r) + stream.delta(r) + (q - r)
    consecutive = all_of(stream.base(q) >= later, implies(q == r + 1, stream.base(q) == later))
    restarted = implies(q == r + 1, stream.base(q) == 0)
    return implies(
        _before(0, r, q, stream.requests()),
        all_of(
            stream.epoch(r) <= stream.epoch(q),
            choose(stream.epoch(r) == stream.epoch(q), consecutive, restarted),
        ),
    )


def client_starts_at_zero(stream: StreamView) -> Term:
    """The client's next sequence is never negative, and 0 before the first request."""
    return all_of(stream.next_sequence() >= 0, implies(stream.requests() == 0, stream.next_sequence() == 0))


def client_continues(stream: StreamView, request: Term) -> Term:
    """The client's next sequence follows its requests of this epoch, and is 0 where there is none."""
    count = stream.requests()
    later = stream.base(request) + stream.delta(request) + (count - request)
    follows = all_of(stream.next_sequence() >= later, implies(request == count - 1, stream.next_sequence() == later))
    restarted = implies(request == count - 1, stream.next_sequence() == 0)
    of_this_epoch = stream.epoch(request) == stream.client_epoch()
    return implies(_before(0, request, count), choose(of_this_epoch, follows, restarted))


def log_holds_requests(stream: StreamView, i: Term) -> Term:
    """Every position of the log holds a request that was sent, knows its place, and has an offset."""
    written = stream.written(i)
    held = all_of(_before(0, written, stream.requests()), stream.place(written) == i, stream.offset(i) >= 0)
    return implies(_before(0, i, stream.length()), held)


def place_is_position(stream: StreamView, batch: Term) -> Term:
    """A batch has the place in the log where it is written, and none where it is not."""
    place = stream.place(batch)
    there = all_of(_before(0, place, stream.length()), stream.written(place) == batch)
    return any_of(place == ABSENT, all_of(there, _before(0, batch, stream.requests())))


def log_rises(stream: StreamView, i: Term, j: Term) -> Term:
    """Along the log requests rise at least as fast as positions, and offsets follow the records."""
    return implies(
        _before(0, i, j, stream.length()),
        all_of(
            stream.written(j) - stream.written(i) >= j - i,
            stream.offset(j) > stream.offset(i) + stream.delta(stream.written(i)),
        ),
    )


def log_has_no_gap(stream: StreamView, r: Term, q: Term) -> Term:
    """With a batch, the log has all batches of its epoch that were sent before it, directly before it."""
    within = all_of(_before(0, r, q, stream.requests()), stream.epoch(r) == stream.epoch(q))
    there = all_of(stream.place(r) >= 0, stream.place(r) == stream.place(q) - (q - r))
    return implies(all_of(within, stream.place(q) >= 0), there)


def entry_is_of_log(stream: StreamView, i: Term) -> Term:
    """What a replica knows of the producer is the epoch of its last batch, and no transaction."""
    entry = stream.entry(i)
    known = choose(i == 0, ABSENT, stream.epoch(stream.written(i - 1)))
    inside = all_of(i >= 0, i <= stream.length())
    return implies(inside, all_of(entry.epoch == known, entry.txn_first_offset == ABSENT))


def window_is_of_log(stream: StreamView, i: Term, *, slot: int) -> Term:
    """A slot of the window is the batch so many positions back, if it has the epoch of the last one."""
    cached, position = stream.entry(i).cached[slot], i - 1 - slot
    written = stream.written(position)
    delta = stream.delta(written)
    there = all_of(position >= 0, stream.epoch(written) == stream.epoch(stream.written(i - 1)))
    shown = CachedBatch(stream.base(written) + delta, stream.offset(position) + delta, delta)
    expected = seq.choose_cached(there, shown, CachedBatch())
    agrees = all_of(
        cached.last_sequence == expected.last_sequence,
        cached.last_offset == expected.last_offset,
        cached.offset_delta == expected.offset_delta,
    )
    return implies(all_of(i >= 0, i <= stream.length()), agrees)


def few_in_flight(stream: StreamView, batch: Term) -> Term:
    """Every batch that is so many behind the newest one as may be in flight is settled, and only sent ones are."""
    old = all_of(batch >= 0, batch + stream.knobs.in_flight < stream.batches())
    return all_of(
        implies(old, stream.settled(batch)),
        implies(stream.settled(batch), _before(0, batch, stream.batches())),
    )


def in_flight_is_of_this_epoch(stream: StreamView, batch: Term) -> Term:
    """A batch in flight has the client's epoch."""
    return implies(stream.in_flight(batch), stream.epoch(batch) == stream.client_epoch())


def acknowledged_is_replicated(stream: StreamView, batch: Term) -> Term:
    """An acknowledged batch is below the high watermark."""
    return implies(stream.acked(batch), _before(0, stream.place(batch), stream.replicated()))


def resolved_is_replicated(stream: StreamView, batch: Term) -> Term:
    """While nothing is in doubt, every settled batch of the client's epoch is below the high watermark."""
    sure = all_of(negate(stream.unresolved()), stream.given_up(batch), stream.epoch(batch) == stream.client_epoch())
    return implies(sure, _before(0, stream.place(batch), stream.replicated()))


class StreamClaims:
    """The claims about a system with these knobs."""

    def __init__(self, knobs: StreamKnobs, decide: Decide) -> None:
        self._of = partial(StreamView, knobs, decide)

    def theorems(self) -> tuple[Claim, ...]:
        """What the rules claim."""
        return (
            self._claim(logged_at_most_once, rules.SEQ_EXACTLY_ONCE, POSITION, POSITION),
            self._claim(acknowledged_is_logged, rules.SEQ_EXACTLY_ONCE, BATCH),
            self._claim(log_order_is_send_order, rules.SEQ_ORDER, POSITION, POSITION),
            self._claim(next_in_order_is_appended, rules.SEQ_SUCCESSOR, BATCH),
            self._claim(resend_is_recognised, rules.SEQ_WINDOW_SUFFICES, BATCH),
            self._claim(lowest_is_next, rules.SEQ_ORDER, BATCH),
            self._claim(epochs_never_fall, rules.FENCE_STALE_EPOCH, POSITION, POSITION),
            self._claim(lower_epoch_is_refused, rules.FENCE_STALE_EPOCH, REQUEST),
        )

    def lemmas(self) -> tuple[Claim, ...]:
        """What makes the theorems inductive."""
        return (
            self._claim(counts, rules.SEQ_EXACTLY_ONCE),
            self._claim(request_is_batch, rules.SEQ_EXACTLY_ONCE, REQUEST),
            self._claim(request_shape, rules.SEQ_ORDER, REQUEST),
            self._claim(sequences_follow, rules.SEQ_ORDER, REQUEST, REQUEST),
            self._claim(client_starts_at_zero, rules.SEQ_ORDER),
            self._claim(client_continues, rules.SEQ_ORDER, REQUEST),
            self._claim(log_holds_requests, rules.SEQ_EXACTLY_ONCE, POSITION),
            self._claim(place_is_position, rules.SEQ_EXACTLY_ONCE, BATCH),
            self._claim(log_rises, rules.SEQ_ORDER, POSITION, POSITION),
            self._claim(log_has_no_gap, rules.SEQ_ORDER, REQUEST, REQUEST),
            self._claim(entry_is_of_log, rules.FENCE_STALE_EPOCH, POSITION),
            *(self._slot(slot) for slot in range(WINDOW)),
            self._claim(few_in_flight, rules.SEQ_WINDOW_SUFFICES, BATCH),
            self._claim(in_flight_is_of_this_epoch, rules.SEQ_WINDOW_SUFFICES, BATCH),
            self._claim(acknowledged_is_replicated, rules.SEQ_EXACTLY_ONCE, BATCH),
            self._claim(resolved_is_replicated, rules.SEQ_ORDER, BATCH),
        )

    def _slot(self, slot: int) -> Claim:
        claim = self._claim(partial(window_is_of_log, slot=slot), rules.SEQ_WINDOW_SUFFICES, POSITION)
        return replace(claim, name=f"window_is_of_log_{slot}")

    def _claim(self, sentence: Sentence, rule: Rule, *over: Sort) -> Claim:
        function = sentence.func if isinstance(sentence, partial) else sentence

        def holds(state: State, stream: Term, *at: Term) -> Term:
            return sentence(self._of(state, stream), *at)

        return Claim(function.__name__, rule, str(function.__doc__), (STREAM, *over), holds)
