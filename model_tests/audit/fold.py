"""The fold: from a doubtful link on, one batch after the other, with a state that recovers from what is broken.

One defect is one break. After a break the state follows the history that continues: a batch that was appended
again, came late or is stale leaves it alone; one that leaves out its predecessors begins it anew.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from model_tests.audit.decision import CONFIRMED, LinkDecisions, scalar_entry, scalar_request
from model_tests.audit.holes import Holes, Surroundings
from model_tests.audit.links import Links
from model_tests.audit.resynchronization import (
    LOOKED_AHEAD,
    Ahead,
    Gap,
    begun_anew,
    fills,
    gap_before,
    is_broken,
    is_in_place,
    left_of,
    own_sequences,
    precedes_next_sequence,
)
from spec import rules
from spec.protocol import fence
from spec.protocol.append import Append, append, names, rules_of
from spec.protocol.guards import PASSED
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ABSENT

_EXPLAINED_BY_MISSING = frozenset(
    {"successor", "epoch_reset", "first_sequence", "sequence_forgotten", "first_after_bump", "outside_transaction"}
)
"""Guards that may refuse a batch only because its predecessors are not in the log any more."""

_LEFT_OUT = frozenset({"successor", "epoch_reset", "first_sequence"})
"""Guards that refuse a batch for the sequences before it."""

UNREADABLE, CLEANED, EXPIRED = "unreadable", "cleaned", "expired"


@dataclass(slots=True)
class Break:
    """A batch that the decision refuses.

    Attributes:
        number: of the link.
        rule: that is broken.
        guard: the check that refuses the batch; none where the epoch falls unrefused.
        before: the state it met.
        request: the batch.
        doubt: why this may be no violation: what is missing. Empty where nothing excuses it.
        original: first offset of the same sequences earlier in the log, -1 where there is none.
        late: offsets at which batches left out here do come.
        kept: the state after is the state before.
        more: batches directly after it that are broken in the same way, from offset `more_at` on.
        returned: offset at which the producer continues in the epoch that this one left, -1 where it does not.
        belongs: offset of the producer's batch that lacks this one before it, -1 where none does.
        elsewhere: offsets of other producers' batches that have just what is left out here.
    """

    number: int
    rule: Rule
    guard: str
    before: ProducerEntry
    request: AppendRequest
    doubt: str = ""
    original: int = ABSENT
    late: tuple[int, ...] = ()
    kept: bool = False
    more: int = 0
    more_at: int = ABSENT
    returned: int = ABSENT
    belongs: int = ABSENT
    elsewhere: tuple[int, ...] = ()


@dataclass(slots=True)
class _Producer:
    """What the fold remembers of one producer, each with the break that said so.

    Attributes:
        missing: sequences that were left out.
        early: sequences of batches that did not count where they are.
        raised: the batch that raised the epoch.
    """

    missing: dict[Gap, Break] = field(default_factory=dict)
    early: dict[Gap | None, Break] = field(default_factory=dict)
    raised: Break | None = None
    latest: Break | None = None


class LinkFold:
    """Decides the doubtful links of a log."""

    def __init__(
        self, links: Links, holes: Holes, around: Surroundings, profile: Profile, without: frozenset[str]
    ) -> None:
        self._links, self._holes, self._around = links, holes, around
        self._profile, self._without = profile, without
        self._names, self._rules = names(profile), rules_of(profile)
        self._producers: dict[int, _Producer] = {}
        ends = np.flatnonzero(np.append(links.first[1:], True)) + 1 if len(links) else np.empty(0, np.int64)
        self._ends = ends

    def breaks(self, decisions: LinkDecisions) -> list[Break]:
        """Every break, in the order of the producers; excused ones included."""
        found: list[Break] = []
        done = ABSENT
        for start in np.flatnonzero(decisions.doubtful).tolist():
            if start > done:
                done = self._run(start, decisions, found)
        return found

    def _run(self, start: int, decisions: LinkDecisions, found: list[Break]) -> int:
        """Fold until the state is the gathered one again; the last link that was judged."""
        end = int(self._ends[np.searchsorted(self._ends, start, side="right")])
        state = self._state_at_start(start)
        for number in range(start, end):
            gathered = scalar_entry(self._links, number)
            if number > start and state == gathered and not decisions.doubtful[number]:
                return number - 1
            if self._links.unseen[number]:
                state = replace(state, epoch=ABSENT)
            state = self._judge(number, state, end, found)
        return end - 1

    def _state_at_start(self, start: int) -> ProducerEntry:
        """The state before the first doubtful link: what the decision leaves of the one before, if that is sound."""
        if self._links.first[start] or self._links.unseen[start]:
            return scalar_entry(self._links, start)
        return self._decide(scalar_entry(self._links, start - 1), scalar_request(self._links, start - 1)).entry

    def _decide(self, state: ProducerEntry, request: AppendRequest) -> Append:
        return append(state, request, self._profile, CONFIRMED, self._without)

    def _judge(self, number: int, state: ProducerEntry, end: int, found: list[Break]) -> ProducerEntry:
        request = scalar_request(self._links, number)
        decided = self._decide(state, request)
        if not is_broken(decided, state):
            return decided.entry
        broken = self._broken(number, state, request, int(decided.branch))
        known = self._producers.setdefault(int(request.producer_id), _Producer())
        return self._after(broken, known, end, found)

    def _broken(self, number: int, state: ProducerEntry, request: AppendRequest, branch: int) -> Break:
        original = self._original(number)
        guard = self._names[branch] if branch != PASSED else ""
        rule = self._rules[branch - 1] if branch != PASSED else rules.FENCE_EPOCH_MONOTONE
        if rule is rules.SEQ_DUPLICATE_WINDOW or (original != ABSENT and not fence.is_stale(state, request)):
            rule = rules.SEQ_EXACTLY_ONCE
        broken = Break(number, rule, guard, state, request, original=original)
        broken.doubt = self._doubt(broken)
        return broken

    def _original(self, number: int) -> int:
        """First offset of an earlier batch with the same producer, epoch and sequences."""
        own = self._links.batches
        start = self._start(number)
        if own.control[number] or own.base_sequence[number] < 0:
            return ABSENT
        same = ~own.control[start:number]
        for column in (own.producer_epoch, own.base_sequence, own.last_offset_delta):
            same &= column[start:number] == column[number]
        return int(own.base_offset[start + int(np.argmax(same))]) if same.any() else ABSENT

    def _doubt(self, broken: Break) -> str:
        """What is missing that could make the batch right; nothing excuses a second copy, and only expiry a fall."""
        if broken.original != ABSENT:
            return ""
        if self._has_expired(broken.number):
            return EXPIRED
        if broken.guard not in _EXPLAINED_BY_MISSING:
            return ""
        if precedes_next_sequence(broken.before, broken.request):
            return ""
        row, before = int(self._links.row[broken.number]), self._data_before(broken.number)
        if self._holes.unreadable_between(before, row):
            return UNREADABLE
        return CLEANED if self._holes.cleaned_between(before, row) else ""

    def _data_before(self, number: int) -> int:
        """Place in the log of the producer's last data before this batch, -1 for the log's begin if there is none.

        What follows a marker may be missed as well before the marker: the cleaner keeps it longer than its data.
        """
        data = np.flatnonzero(~self._links.batches.control[self._start(number) : number])
        return int(self._links.row[self._start(number) + int(data[-1])]) if data.size else ABSENT

    def _start(self, number: int) -> int:
        """The first link of the same producer."""
        return number - int(np.argmax(self._links.first[number::-1]))

    def _has_expired(self, number: int) -> bool:
        if self._links.first[number]:
            return False
        at = self._links.batches.max_timestamp
        idle = int(at[number]) - int(at[number - 1])
        return int(at[number - 1]) >= 0 and idle >= self._around.producer_expiry_ms

    def _after(self, broken: Break, known: _Producer, end: int, found: list[Break]) -> ProducerEntry:
        """Record the break, and choose the state that the history continues with."""
        state, request = broken.before, broken.request
        filled = fills(tuple(known.missing), request) if broken.original == ABSENT else None
        if filled is not None:
            late = known.missing.pop(filled)
            known.missing |= dict.fromkeys(left_of(filled, request), late)
            late.late += (int(request.base_offset),)
            return state
        early = known.early.pop(gap_before(state, request), None)
        if early is not None:
            early.belongs = ABSENT if is_in_place(early.before, early.request) else int(request.base_offset)
            return begun_anew(state, request, self._decide)
        if broken.doubt:
            broken.kept = bool(fence.is_stale(state, request))
            self._record(broken, known, found)
            return state if broken.kept else begun_anew(state, request, self._decide)
        aside = bool(fence.is_stale(state, request)) or broken.rule is rules.SEQ_EXACTLY_ONCE
        following = [scalar_request(self._links, n) for n in range(broken.number + 1, end)[:LOOKED_AHEAD]]
        ahead = Ahead(self._decide, following, tuple(known.missing))
        raised = known.raised
        if raised is not None and _is_return(raised, broken):
            next_one = bool(self._links.batches.control[raised.number + 1 : broken.number].all())
            if ahead.restarts_at(state, request, next_one=next_one):
                raised.returned, known.raised = int(request.base_offset), None
                return begun_anew(state, request, self._decide)
        best = ahead.best(state, request, aside=aside)
        broken.kept = best.kept
        self._record(broken, known, found)
        if best.state.epoch == request.producer_epoch > state.epoch:
            known.raised = broken
        if best.kept and own_sequences(request) is not None:
            known.early[own_sequences(request)] = broken
        if best.gap is not None and broken.guard in _LEFT_OUT:
            known.missing[best.gap] = broken
        return best.state

    def _record(self, broken: Break, known: _Producer, found: list[Break]) -> None:
        before = known.latest
        known.latest = broken
        if before is not None and _continues(before, broken):
            before.more_at = before.more_at if before.more else int(broken.request.base_offset)
            before.more += 1
            known.latest = before
        else:
            found.append(broken)


def _is_return(raised: Break, broken: Break) -> bool:
    """A batch of the epoch that the producer had before a broken one raised it."""
    still = broken.before.epoch == raised.request.producer_epoch
    return bool(still and broken.request.producer_epoch == raised.before.epoch)


def _continues(before: Break, broken: Break) -> bool:
    same = before.rule is broken.rule and before.guard == broken.guard and not before.doubt and not broken.doubt
    return same and before.kept and broken.kept and broken.number == before.number + before.more + 1
