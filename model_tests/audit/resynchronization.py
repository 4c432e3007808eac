"""Resynchronizes after an invalid batch: the interpretation with the fewest follow-up violations.

A batch may not belong there at all; or the producer begins anew with it; or it is where it should be and one of its
fields is wrong. The batches after it decide between these.

The readings of one broken batch are repairs of it, and the one that leaves the fewest findings is taken; but they are
no `model_tests.audit.diagnosis.Repair`. That search judges all of its evidence again for each repair, and it begins
where the findings are known. The fold does not know them yet: it needs the state behind the batch to judge the next
one, once, in the order of the log, which may be a part of a log in a task of its own. So the choice is made where the
batches are read, by as many of the next ones as are at hand. What it takes for a batch's consequences, the finding has.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spec.protocol import fence, seq
from spec.protocol.append import Append
from spec.protocol.guards import PASSED
from spec.protocol.records import AppendRequest, CachedBatch, ProducerEntry
from spec.vocabulary import ABSENT, MAX_SEQUENCE, Origin

LOOKED_AHEAD: Final = 16
"""Batches of the producer that are looked at."""

Decide = Callable[[ProducerEntry, AppendRequest], Append]
Gap = tuple[int, int, int]
"""Epoch, first and last of sequences that were left out."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One way to understand a broken batch.

    Attributes:
        state: what the history continues with.
        kept: the batch does not count, and the state is the one before it.
        gap: sequences that it leaves out; None where it does not.
    """

    state: ProducerEntry
    kept: bool = False
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Ahead:
    """Looks ahead from a broken batch.

    Attributes:
        decide: the append decision.
        following: the producer's next batches.
        gaps: sequences that earlier batches left out.
    """

    decide: Decide
    following: Sequence[AppendRequest]
    gaps: tuple[Gap, ...] = ()

    def best(self, state: ProducerEntry, request: AppendRequest, *, aside: bool) -> Interpretation:
        """The reading that leaves the least broken; among equals, that the batch does not count only if `aside`."""
        readings = [reading for reading in self._readings(state, request) if aside or not reading.kept]
        readings += [reading for reading in self._readings(state, request) if not aside and reading.kept]
        return min(readings, key=lambda reading: self.broken(reading, request))

    def restarts_at(self, state: ProducerEntry, request: AppendRequest, *, next_one: bool) -> bool:
        """Whether the producer begins anew with the batch: that leaves fewer violations than ignoring the batch.

        Where no later batch decides, only if it has the next sequence, or is the `next_one` with data.
        """
        anew = self.broken(Interpretation(begun_anew(state, request, self.decide)), request)
        aside = self.broken(Interpretation(state, kept=True), request)
        follows = next_one or request.control or request.base_sequence == next_sequence(state)
        return bool(anew <= aside and (self.following or follows))

    def broken(self, reading: Interpretation, request: AppendRequest) -> int:
        """The number of findings that the next batches would be; those of one kind in a row are one."""
        gaps = (*self.gaps, reading.gap) if reading.gap else self.gaps
        early = own_sequences(request) if reading.kept else None
        state, count = reading.state, 0
        row = _kind(state, request) if reading.kept else ""
        for number, following in enumerate(self.following):
            decided = self.decide(state, following)
            if not is_broken(decided, state):
                state, row = decided.entry, ""
                continue
            filled = fills(gaps, following)
            if filled is not None:
                gaps = tuple(gap for gap in gaps if gap != filled) + left_of(filled, following)
                continue
            if early is not None and gap_before(state, following) == early:
                state, early, row = begun_anew(state, following, self.decide), None, ""
                continue
            kind = _kind(state, following)
            if kind and (row == kind or kind == _STALE or self._passes(state, number + 1)):
                count, row = count + (row != kind), kind
            else:
                state, count, row = self._anew_or_meant(state, number), count + 1, ""
        return count

    def _anew_or_meant(self, state: ProducerEntry, number: int) -> ProducerEntry:
        """The state after a broken batch that counts: as it should be if the next batch continues so, else as it is."""
        following = self.following[number]
        for meant in _meant(state, following):
            decided = self.decide(state, meant)
            if not is_broken(decided, state) and self._passes(decided.entry, number + 1):
                return decided.entry
        return begun_anew(state, following, self.decide)

    def _passes(self, state: ProducerEntry, number: int) -> bool:
        return number < len(self.following) and not is_broken(self.decide(state, self.following[number]), state)

    def _readings(self, state: ProducerEntry, request: AppendRequest) -> Iterator[Interpretation]:
        """All of them; that it does not count comes first."""
        yield Interpretation(state, kept=True)
        anew = begun_anew(state, request, self.decide)
        yield Interpretation(anew, gap=gap_before(state, request))
        for meant in (*_meant(state, request), *self._of_next_epoch(state, request)):
            decided = self.decide(state, meant)
            if not is_broken(decided, state):
                yield Interpretation(decided.entry)
        if request.control:
            yield Interpretation(replace(anew, coordinator_epoch=request.coordinator_epoch))

    def _of_next_epoch(self, state: ProducerEntry, request: AppendRequest) -> Iterator[AppendRequest]:
        """The batch as the first of the epoch that the producer's next data has."""
        following = next((each.producer_epoch for each in self.following if not each.control), state.epoch)
        if not request.control and following > max(state.epoch, request.producer_epoch):
            yield replace(request, producer_epoch=following)


def is_broken(decided: Append, state: ProducerEntry) -> bool:
    """The batch is refused, or the epoch falls."""
    return bool(decided.branch != PASSED or decided.entry.epoch < state.epoch)


def begun_anew(state: ProducerEntry, request: AppendRequest, decide: Decide) -> ProducerEntry:
    """The state as if the producer began with this batch, besides its transaction and its coordinator."""
    alone = decide(ProducerEntry(), request).entry
    coordinator = max(state.coordinator_epoch, alone.coordinator_epoch)
    if request.control:
        kept = state.cached if state.epoch == request.producer_epoch else alone.cached
        return replace(alone, epoch=request.producer_epoch, coordinator_epoch=coordinator, cached=kept)
    alone = replace(alone, coordinator_epoch=coordinator)
    return replace(alone, txn_first_offset=state.txn_first_offset) if state.in_transaction else alone


def precedes_next_sequence(state: ProducerEntry, request: AppendRequest) -> bool:
    """The batch has the epoch of its producer, and sequences before the next one."""
    if request.control or state.epoch != request.producer_epoch or not state.cached[0].present:
        return False
    return bool((request.base_sequence - next_sequence(state)) & MAX_SEQUENCE > MAX_SEQUENCE // 2)


def gap_before(state: ProducerEntry, request: AppendRequest) -> Gap | None:
    """The sequences that a batch leaves out, of the epoch that its producer is in or of the one that it begins."""
    if request.control or state.epoch > request.producer_epoch or precedes_next_sequence(state, request):
        return None
    known = state.epoch == request.producer_epoch and state.cached[0].present
    if not known and request.base_sequence <= 0:
        return None
    first = next_sequence(state) if known else 0
    return int(request.producer_epoch), first, int(seq.previous_sequence(request.base_sequence, 1))


def own_sequences(request: AppendRequest) -> Gap | None:
    """What a batch would leave out by being elsewhere."""
    if request.control or request.base_sequence < 0:
        return None
    return int(request.producer_epoch), int(request.base_sequence), int(seq.last_sequence(request))


def is_in_place(state: ProducerEntry, request: AppendRequest) -> bool:
    """The batch has the epoch and the sequence that its producer's next one has."""
    return bool(state.epoch == request.producer_epoch and request.base_sequence == next_sequence(state))


def fills(gaps: Sequence[Gap], request: AppendRequest) -> Gap | None:
    """The gap that the batch belongs into: what was left out comes in order, forwards or backwards."""
    if request.control:
        return None
    first, last = int(request.base_sequence), int(seq.last_sequence(request))
    inside = (gap for gap in gaps if gap[0] == request.producer_epoch and gap[1] <= first <= last <= gap[2])
    return next((gap for gap in inside if first == gap[1] or last == gap[2]), None)


def left_of(gap: Gap, request: AppendRequest) -> tuple[Gap, ...]:
    """What the batch leaves of a gap that it fills."""
    epoch, first, last = gap
    if request.base_sequence == first:
        first = int(seq.last_sequence(request)) + 1
    else:
        last = int(request.base_sequence) - 1
    return ((epoch, first, last),) if first <= last else ()


_STALE: Final = "stale"


def _kind(state: ProducerEntry, request: AppendRequest) -> str:
    """Why a broken batch need not count; empty where there is no such reason."""
    if fence.is_stale(state, request):
        return _STALE
    return "back" if precedes_next_sequence(state, request) else ""


def _meant(state: ProducerEntry, request: AppendRequest) -> Iterator[AppendRequest]:
    """The batch as it should be where it stands: in its producer's epoch, or as the first of its own."""
    if request.control:
        yield replace(request, producer_epoch=state.epoch, coordinator_epoch=state.coordinator_epoch)
        return
    numbered = request.base_sequence >= 0 or request.origin == Origin.CLIENT.value
    yield replace(request, producer_epoch=state.epoch, base_sequence=next_sequence(state) if numbered else ABSENT)
    if numbered and request.producer_epoch > state.epoch:
        yield replace(request, base_sequence=0)


def next_sequence(state: ProducerEntry) -> int:
    """The sequence that the producer's next batch of the same epoch has."""
    newest: CachedBatch = state.cached[0]
    return int(seq.next_sequence(newest.last_sequence, 1)) if newest.present else 0
