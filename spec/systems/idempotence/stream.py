"""The state of the idempotent producer: client, network, log, for any number of producers without a transactional id.

A stream is one producer id on one partition. Streams share nothing: offsets that other producers take, epochs
that the producer takes for other partitions, and the moment of a failover are free choices of each stream, so
that what holds for all of these choices holds for the real, coupled ones.

The network is the set of all requests ever sent, by their number in the stream: any may arrive at any time, any
number of times, or never. A resend is byte-identical and therefore the same request. The leader's answer is the
append decision; nothing of it is stated again here. Batch ordinals are ghosts: no decision reads them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import append as decision
from spec.protocol import seq
from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.language import Function, Sort, State, Variable
from spec.systems.system_append import UNWRAPPED, Decide
from spec.versions import Profile
from spec.vocabulary import ABSENT

STREAM: Final = Sort("stream", opaque=True)
BATCH: Final = Sort("batch")
REQUEST: Final = Sort("request")
POSITION: Final = Sort("position")
DELTA: Final = Sort("last_offset_delta")
OTHERS: Final = Sort("records_of_others")
EPOCH: Final = Sort("epoch")


@dataclass(frozen=True, slots=True)
class StreamKnobs:
    """What the system is made of; the defaults are the true system, without bounds.

    Attributes:
        profile: the release whose decision the leader takes.
        without: guards of the decision that never apply.
        in_flight: batches from the lowest unsettled one on that the client may have sent.
        acknowledged_hold_place: a batch acknowledged ahead of a lower one still counts as in flight.
        first_in_order: no request overtakes the first one of a producer that the partition does not know.
        state_expires: the leader may forget a producer.
        clean_elections: a new leader has all that is below the high watermark.
        window_survives: a new leader knows the whole window, as from replay of its log; otherwise the last batch alone,
            as from a snapshot.
        heard_at_once: a client gets OUT_OF_ORDER_SEQUENCE_NUMBER for its lowest batch at once or not at all;
            otherwise it may get it later, after another copy of the batch was appended.
        fails_over: leaders may fail.
        gives_up: deliveries may time out.
        largest_sequence: the sequence after which the client's next one is 0.
        lifetime: requests sent after one that may still arrive.
        requests: most requests of a stream in a finite instance.
        appends: most batches in the log of a stream in a finite instance.
    """

    profile: Profile = UNWRAPPED
    without: frozenset[str] = frozenset()
    in_flight: int = 5
    acknowledged_hold_place: bool = True
    first_in_order: bool = True
    state_expires: bool = False
    clean_elections: bool = True
    window_survives: bool = True
    heard_at_once: bool = True
    fails_over: bool = True
    gives_up: bool = True
    largest_sequence: int | None = None
    lifetime: int | None = None
    requests: int | None = None
    appends: int | None = None

    def decide(self, entry: ProducerEntry, request: AppendRequest) -> Append:
        """The one append decision, with these knobs."""
        return decision.append(entry, request, self.profile, without=self.without)


_LATE_ANSWERS: Final = (Variable("refused", (STREAM, REQUEST), initial=False),)
"""Requests that were answered out of order, whose answers the client may not have got yet."""


def variables(knobs: StreamKnobs) -> tuple[Variable, ...]:
    """The functions of the state."""
    return (*VARIABLES, *(_LATE_ANSWERS * (not knobs.heard_at_once)))


VARIABLES: Final = (
    # the client
    Variable("batches", (STREAM,), 0),
    Variable("client_epoch", (STREAM,), 0),
    Variable("next_sequence", (STREAM,), 0),
    Variable("acked", (STREAM, BATCH), initial=False),
    Variable("given_up", (STREAM, BATCH), initial=False),
    Variable("unresolved", (STREAM,), initial=False),
    # the network
    Variable("requests", (STREAM,), 0),
    Variable("batch", (STREAM, REQUEST), ABSENT),
    Variable("epoch", (STREAM, REQUEST), ABSENT),
    Variable("base", (STREAM, REQUEST), ABSENT),
    Variable("delta", (STREAM, REQUEST), ABSENT),
    # the log, and what a replica knows of the producer when its log is so long
    Variable("length", (STREAM,), 0),
    Variable("written", (STREAM, POSITION), ABSENT),
    Variable("offset", (STREAM, POSITION), ABSENT),
    Variable("entry", (STREAM, POSITION), ProducerEntry()),
    Variable("replicated", (STREAM,), 0),
    # a ghost: where in the log a batch is
    Variable("place", (STREAM, BATCH), ABSENT),
)


class StreamView:
    """One producer id on one partition in one state: its functions, and the words of the protocol about them."""

    def __init__(self, knobs: StreamKnobs, decide: Decide, state: State, stream: Term) -> None:
        self.knobs = knobs
        self.decide = decide
        self._state = state
        self._stream = stream

    def __getattr__(self, name: str) -> Function:
        return partial(getattr(self._state, name), self._stream)

    def settled(self, batch: Term) -> Term:
        """The client has an answer for the batch, or has given it up."""
        return any_of(self.acked(batch), self.given_up(batch))

    def in_flight(self, batch: Term) -> Term:
        """The batch was sent and is not settled."""
        return all_of(batch >= 0, batch < self.batches(), negate(self.settled(batch)))

    def last_batches(self) -> Iterator[Term]:
        """Every batch that may be in flight; the numbers below 0 are none."""
        looked_at = self.knobs.in_flight if self.knobs.acknowledged_hold_place else self.knobs.requests or 0
        return (self.batches() - back for back in range(1, looked_at + 1))

    def nothing_in_flight(self) -> Term:
        """Every batch is settled."""
        return all_of(*(any_of(batch < 0, self.settled(batch)) for batch in self.last_batches()))

    def may_send(self) -> Term:
        """The limit of batches in flight leaves room for one more."""
        if self.knobs.acknowledged_hold_place:
            oldest = self.batches() - self.knobs.in_flight
            return any_of(oldest < 0, self.settled(oldest))
        count: Term = sum(choose(self.in_flight(batch), 1, 0) for batch in self.last_batches())
        return count < self.knobs.in_flight

    def is_lowest(self, batch: Term) -> Term:
        """All batches before this one are settled, and none after it is acknowledged."""
        return all_of(
            *(
                all_of(
                    any_of(other < 0, other >= batch, self.settled(other)),
                    any_of(other <= batch, negate(self.acked(other))),
                )
                for other in self.last_batches()
            )
        )

    def current(self, batch: Term) -> Term:
        """The request that carries a batch in flight: rewritten batches are the last requests, in order."""
        return self.requests() - (self.batches() - batch)

    def request(self, request: Term, others: Term = 0) -> AppendRequest:
        """What the leader sees of a request, and the offset that the batch would get."""
        return AppendRequest(
            base_offset=self.end(self.length()) + others,
            producer_id=0,  # that of the stream; any other that is not negative would do
            producer_epoch=self.epoch(request),
            base_sequence=self.base(request),
            last_offset_delta=self.delta(request),
            record_count=self.delta(request) + 1,
        )

    def end(self, length: Term) -> Term:
        """The offset after the stream's first so many batches."""
        last = self.offset(length - 1) + self.delta(self.written(length - 1)) + 1
        return choose(length == 0, 0, last)

    def decided(self, request: Term, others: Term = 0) -> Append:
        """The leader's decision on a request."""
        return self.decide(self.entry(self.length()), self.request(request, others))

    def arrives(self, request: Term) -> Iterator[Term]:
        """The facts under which the network may bring a request to the leader."""
        yield request >= 0
        yield request < self.requests()
        if self.knobs.lifetime is not None:
            yield self.requests() - request <= self.knobs.lifetime
        if self.knobs.first_in_order:
            yield any_of(negate(seq.is_unknown(self.entry(self.length()))), self.base(request) == 0)
