"""Facts about the append decision for all inputs, reachable or not: what the proofs of systems assume of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import entries_agree
from spec.protocol import append as decision
from spec.protocol import seq
from spec.protocol.records import WINDOW, AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.rules import Rule
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import ABSENT, MAX_SEQUENCE, Origin

TURN: Final = MAX_SEQUENCE + 1
"""Sequence numbers until they start again."""

RECORDS: Final = 2**20
"""More records than a batch has."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A quantifier-free sentence about records of which nothing is known.

    Attributes:
        about: name and kind of each record.
        holds: from the records to whether the sentence holds.
        effort: how much a solver may work on it.
    """

    name: str
    rule: Rule
    sentence: str
    about: tuple[tuple[str, type], ...]
    holds: Callable[..., Term]
    effort: int = 50_000_000


About = tuple[tuple[str, type], ...]


def stated(sentence: Callable[..., Term], rule: Rule, about: About, *first: Profile) -> Fact:
    """The fact that a function states, called as it is: of a release, if its first argument is one."""
    name = "".join((sentence.__name__, *(f"[{profile.name}]" for profile in first)))
    return Fact(name, rule, str(sentence.__doc__), about, partial(sentence, *first))


@dataclass(frozen=True, slots=True)
class Turns:
    """How often sequences have wrapped: that of the request, and how many turns the cached batches are from it."""

    request: Term = 0
    cached_0: Term = 0
    cached_1: Term = 0
    cached_2: Term = 0
    cached_3: Term = 0
    cached_4: Term = 0

    @property
    def apart(self) -> tuple[Term, ...]:
        """Those of the cached batches, the newest first: -1, 0 or 1, or sequences would be a whole turn apart."""
        return (self.cached_0, self.cached_1, self.cached_2, self.cached_3, self.cached_4)


def epoch_counts(profile: Profile, request: AppendRequest) -> Term:
    """An epoch is looked at by the leader; but before 2.2 not that of a coordinator's data, and a marker's by all."""
    asked_by_client = request.origin == Origin.CLIENT.value
    asked_by_coordinator = request.origin == Origin.COORDINATOR.value
    of_data = any_of(asked_by_client, all_of(asked_by_coordinator, profile.coordinator_data_checked))
    of_marker = any_of(asked_by_client, asked_by_coordinator, negate(profile.replica_tolerates_stale_marker))
    return any_of(all_of(request.control, of_marker), all_of(negate(request.control), of_data))


def stale_is_refused(profile: Profile, entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
    """A batch or marker of a lower epoch is refused where the epoch is checked, and changes no state.

    Args:
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        request: the request that arrives.
        seen: the partition's state of the verification.
    """
    decided = decision.append(entry, request, profile, seen)
    stale = all_of(
        request.producer_id >= 0,
        epoch_counts(profile, request),
        request.producer_epoch < entry.epoch,
        any_of(negate(request.control), request.record_count > 0),
    )
    refused = all_of(negate(decided.reply.appended), negate(decided.reply.duplicate), negate(decided.reply.error == 0))
    return implies(stale, all_of(refused, entries_agree(entry, decided.entry)))


def replay_agrees(profile: Profile, entry: ProducerEntry, request: AppendRequest) -> Term:
    """A replica that replays what its leader appended has the same producer state."""
    sent = replace(request, origin=Origin.CLIENT.value)
    copied = replace(request, origin=Origin.REPLICATION.value)
    leader, replica = decision.append(entry, sent, profile), decision.append(entry, copied, profile)
    same_entry = all_of(replica.reply.appended, entries_agree(leader.entry, replica.entry))
    return implies(all_of(leader.reply.appended, request.producer_id >= 0), same_entry)


def wrapping_decides_alike(entry: ProducerEntry, request: AppendRequest, turns: Turns) -> Term:
    """Modulo 2^31 the decision is the one on endless sequences, while those compared are less than 2^31 apart."""
    endless = replace(NEWEST, max_sequence=None)
    wrapped = decision.append(entry, request, NEWEST)
    unwrapped = decision.append(_unwound(entry, turns), _forward(request, turns.request), endless)
    decides_alike = all_of(
        wrapped.branch == unwrapped.branch,
        same(wrapped.reply.appended, unwrapped.reply.appended),
        wrapped.reply.first_offset == unwrapped.reply.first_offset,
        wrapped.reply.last_offset == unwrapped.reply.last_offset,
        *(
            _congruent(left, right, turns)
            for left, right in zip(wrapped.entry.cached, unwrapped.entry.cached, strict=True)
        ),
    )
    return implies(_near(entry, request, turns), decides_alike)


def decisions_do_not_depend_on_offsets(entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
    """Wherever a batch comes in the log, a leader decides alike: a system may count from 0 for each batch."""
    there = decision.append(entry, request, NEWEST, seen)
    here = decision.append(_without_offsets(entry), replace(request, base_offset=0), NEWEST, seen)
    alike = all_of(
        there.branch == here.branch,
        there.reply.error == here.reply.error,
        same(there.reply.appended, here.reply.appended),
        same(there.reply.duplicate, here.reply.duplicate),
        entries_agree(_without_offsets(there.entry), here.entry),
    )
    led = negate(request.origin == Origin.REPLICATION.value)
    deltas = (implies(batch.present, batch.offset_delta >= 0) for batch in entry.cached)
    return implies(all_of(led, request.base_offset >= 0, request.last_offset_delta >= 0, *deltas), alike)


def _without_offsets(entry: ProducerEntry) -> ProducerEntry:
    """The entry where every batch begins at 0, and so does the open transaction."""
    cached = tuple(
        replace(batch, last_offset=choose(batch.present, batch.offset_delta, batch.last_offset))
        for batch in entry.cached
    )
    return replace(entry, txn_first_offset=choose(entry.in_transaction, 0, entry.txn_first_offset), cached=cached)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Two sequence numbers and a count of records."""

    left: Term = 0
    right: Term = 0
    records: Term = 0


def arithmetic_is_modular(sequences: Sequences) -> Term:
    """In 32 bits, as on the wire, sequences are counted modulo 2^31 forwards and backwards, without overflow."""
    left, right, records = sequences.left, sequences.right, sequences.records
    after, before = seq.next_sequence(left, records), seq.previous_sequence(left, records)
    half = MAX_SEQUENCE + left - left + 1  # 2^31, which in 32 bits is its own negative
    counted = all_of(
        after >= 0,
        any_of(after == left + records, after == left + records + half),
        before >= 0,
        any_of(before == left - records, before == left - records + half),
        seq.previous_sequence(after, records) == left,
        same(seq.is_successor(left, right), right == seq.next_sequence(left, 1)),
        same(seq.is_successor(ABSENT, right), right == 0),
    )
    return implies(all_of(left >= 0, right >= 0, records >= 0), counted)


def _forward(request: AppendRequest, turns: Term) -> AppendRequest:
    return replace(request, base_sequence=request.base_sequence + turns * TURN)


def _unwound(entry: ProducerEntry, turns: Turns) -> ProducerEntry:
    cached = tuple(
        replace(batch, last_sequence=choose(batch.present, _turned(batch, turns.request, apart), batch.last_sequence))
        for batch, apart in zip(entry.cached, turns.apart, strict=True)
    )
    return replace(entry, cached=cached)


def _turned(batch: CachedBatch, turns: Term, apart: Term) -> Term:
    further = choose(apart == 0, 0, choose(apart > 0, TURN, -TURN))
    return batch.last_sequence + turns * TURN + further


def _congruent(wrapped: CachedBatch, endless: CachedBatch, turns: Turns) -> Term:
    """The same batch, its last sequence some turns further on."""
    ahead = endless.last_sequence - wrapped.last_sequence
    return all_of(
        wrapped.last_offset == endless.last_offset,
        wrapped.offset_delta == endless.offset_delta,
        any_of(*(ahead == turn * TURN for turn in (0, *(turns.request + more for more in (-1, 0, 1))))),
    )


def _near(entry: ProducerEntry, request: AppendRequest, turns: Turns) -> Term:
    """A batch of a client and an entry as they occur, no two compared sequences a whole turn apart."""
    endless = _unwound(entry, turns)
    base = _forward(request, turns.request).base_sequence
    return all_of(
        request.origin == Origin.CLIENT.value,
        negate(request.transactional),
        _within(request.base_sequence, 0, MAX_SEQUENCE),
        _within(request.last_offset_delta, 0, RECORDS),
        turns.request >= 0,
        *(_within(apart, -1, 1) for apart in turns.apart),
        *(_is_cached(entry.cached[slot], endless.cached[slot], base) for slot in range(WINDOW)),
        implies(negate(entry.epoch == request.producer_epoch), base <= MAX_SEQUENCE),
        implies(negate(entry.cached[0].present), base <= MAX_SEQUENCE),
    )


def _is_cached(wrapped: CachedBatch, endless: CachedBatch, base: Term) -> Term:
    absent = all_of(wrapped.last_sequence == ABSENT, wrapped.last_offset == ABSENT, wrapped.offset_delta == ABSENT)
    occurs = all_of(
        wrapped.last_offset >= 0,
        _within(wrapped.offset_delta, 0, RECORDS),
        _within(wrapped.last_sequence, 0, MAX_SEQUENCE),
        endless.last_sequence >= endless.offset_delta,
        _within(endless.last_sequence - base, RECORDS - MAX_SEQUENCE, MAX_SEQUENCE - RECORDS),
    )
    return any_of(absent, occurs)


def _within(number: Term, low: int, high: int) -> Term:
    return all_of(number >= low, number <= high)


_ENTRY_AND_REQUEST: Final = (("entry", ProducerEntry), ("request", AppendRequest))


def stale_epoch_facts() -> tuple[Fact, ...]:
    """That a lower epoch is refused, for every release."""
    return tuple(
        Fact(
            f"stale_is_refused[{profile.name}]",
            rules.FENCE_STALE_EPOCH,
            str(stale_is_refused.__doc__),
            (*_ENTRY_AND_REQUEST, ("verification", MetVerification)),
            lambda *records, profile=profile: stale_is_refused(profile, *records),
        )
        for profile in PROFILES.values()
    )


def replay_fact(profile: Profile = NEWEST) -> Fact:
    """Replay gives the leader's state."""
    return Fact(
        "replay_agrees",
        rules.SEQ_STATE_RECOVERABLE,
        str(replay_agrees.__doc__),
        _ENTRY_AND_REQUEST,
        lambda *records: replay_agrees(profile, *records),
    )


def wrapping_fact() -> Fact:
    """That wrapping changes no decision."""
    return Fact(
        "wrapping_decides_alike",
        rules.SEQ_SUCCESSOR,
        str(wrapping_decides_alike.__doc__),
        (*_ENTRY_AND_REQUEST, ("turns", Turns)),
        wrapping_decides_alike,
    )


def offsets_fact() -> Fact:
    """That offsets decide nothing."""
    about = (*_ENTRY_AND_REQUEST, ("seen", MetVerification))
    return stated(decisions_do_not_depend_on_offsets, rules.SEQ_SUCCESSOR, about)


def arithmetic_fact() -> Fact:
    """That sequence arithmetic is modular; to be proved in 32 bits."""
    return Fact(
        "arithmetic_is_modular",
        rules.SEQ_SUCCESSOR,
        str(arithmetic_is_modular.__doc__),
        (("of", Sequences),),
        arithmetic_is_modular,
    )
