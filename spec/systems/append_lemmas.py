"""Facts about one append for all inputs: the meaning of sequences, resends and epochs, without the guards' own words.

Premises bound sequences and record counts by the width that they have on the wire, and nothing else; so the facts
hold over integers as over bit-vectors of 32 and of 64 bits.

Arguments:
    without: names of guards to leave out, to see that the fact needs them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import entries_agree
from spec.protocol import append as decision
from spec.protocol import fence, lso, seq, verification
from spec.protocol.append import NONE_DROPPED, Append
from spec.protocol.lso import LogOffsets
from spec.protocol.records import AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.rules import Rule
from spec.systems.decision_lemmas import TURN, Fact, epoch_counts
from spec.versions import KAFKA_0_11, KAFKA_2_4, NEWEST, PROFILES, Profile
from spec.vocabulary import ABSENT, MAX_SEQUENCE, Origin

ANY_VERSION: Final = 0
"""Version of Produce where the release verifies whatever the version."""


@dataclass(frozen=True, slots=True)
class AppendBounds:
    """The bounds of a log, and its first undecided offsets."""

    log_start: Term = 0
    first_ongoing: Term = ABSENT
    first_unreplicated: Term = ABSENT
    high_watermark: Term = 0
    log_end: Term = 0


def successor_alone_continues(
    profile: Profile,
    entry: ProducerEntry,
    request: AppendRequest,
    seen: MetVerification,
    without: frozenset[str] = NONE_DROPPED,
) -> Term:
    """Within an epoch a batch is appended only where it follows the last one, and then it is, if no resend."""
    decided = decision.append(entry, request, profile, seen, without)
    last = entry.cached[0].last_sequence
    follows = choose(last == MAX_SEQUENCE, request.base_sequence == 0, request.base_sequence == last + 1)
    continues = all_of(_is_sent(request, profile), entry.epoch >= 0, request.producer_epoch == entry.epoch)
    due = all_of(follows, _is_free(entry, request, seen), negate(decided.reply.duplicate))
    newest = decided.entry.cached[0]
    kept = all_of(_is_at(newest.last_sequence, request), _has_length(newest, request, profile))
    return implies(
        continues,
        all_of(
            implies(decided.reply.appended, all_of(follows, kept)),
            implies(due, decided.reply.appended),
        ),
    )


def new_epoch_starts_at_zero(
    profile: Profile,
    entry: ProducerEntry,
    request: AppendRequest,
    seen: MetVerification,
    without: frozenset[str] = NONE_DROPPED,
) -> Term:
    """A new epoch of a known producer is let in only where it is higher and starts at 0, and then it is."""
    decided = decision.append(entry, request, profile, seen, without)
    changes = all_of(_is_sent(request, profile), entry.epoch >= 0, negate(request.producer_epoch == entry.epoch))
    starts = all_of(request.base_sequence == 0, request.producer_epoch > entry.epoch)
    forgets = negate(decided.entry.cached[1].present)
    return implies(
        changes,
        all_of(
            implies(decided.reply.appended, all_of(starts, forgets)),
            implies(all_of(starts, _is_free(entry, request, seen)), decided.reply.appended),
        ),
    )


def resend_in_window_is_recognised(
    profile: Profile,
    entry: ProducerEntry,
    request: AppendRequest,
    seen: MetVerification,
    without: frozenset[str] = NONE_DROPPED,
) -> Term:
    """A batch is a duplicate exactly where it has the sequences of a batch in the window; nothing is appended then."""
    decided = decision.append(entry, request, profile, seen, without)
    window = entry.cached[: profile.cached_batches]
    matches = [_has_sequences_of(batch, request, profile) for batch in window]
    resent = all_of(_is_sent(request, profile), request.producer_epoch == entry.epoch, any_of(*matches))
    known = all_of(*(_is_cached(batch, profile) for batch in window), _is_sent(request, profile))
    return implies(
        known,
        all_of(
            same(decided.reply.duplicate, resent),
            implies(resent, all_of(_answers_one_of(decided, window, matches), entries_agree(entry, decided.entry))),
        ),
    )


def resend_after_end_is_verified(
    profile: Profile, entry: ProducerEntry, request: AppendRequest, _seen: MetVerification
) -> Term:
    """A transactional batch whose transaction has ended goes to the coordinator before the window is checked.

    One of offsets does where commits are verified.

    Args:
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        request: the batch that arrives.
        _seen: not read; every fact of an append is asked with it.
    """
    ended = all_of(request.transactional, request.producer_id >= 0, negate(entry.in_transaction))
    verified = any_of(profile.commits_verified, negate(request.origin == Origin.COORDINATOR.value))
    return implies(all_of(ended, verified), verification.needs_verification(entry, request, ANY_VERSION, profile))


def epochs_never_fall_here(
    profile: Profile,
    entry: ProducerEntry,
    request: AppendRequest,
    seen: MetVerification,
    without: frozenset[str] = NONE_DROPPED,
) -> Term:
    """No append whose epoch is checked lowers the epoch of a producer."""
    after = decision.append(entry, request, profile, seen, without).entry
    return implies(epoch_counts(profile, request), after.epoch >= entry.epoch)


def stale_coordinator_is_refused(
    profile: Profile,
    entry: ProducerEntry,
    request: AppendRequest,
    seen: MetVerification,
    without: frozenset[str] = NONE_DROPPED,
) -> Term:
    """A leader, before 2.2 a replica too, refuses the marker of a lower coordinator epoch; none lowers that epoch."""
    decided = decision.append(entry, request, profile, seen, without)
    marker = all_of(request.producer_id >= 0, request.control, request.record_count > 0)
    stale = all_of(marker, request.coordinator_epoch < entry.coordinator_epoch)
    refused = all_of(
        negate(decided.reply.appended), negate(decided.reply.error == 0), entries_agree(entry, decided.entry)
    )
    rises = decided.entry.coordinator_epoch >= entry.coordinator_epoch
    refuses = any_of(fence.asks_as_leader(request), negate(profile.replica_tolerates_stale_marker))
    return implies(refuses, all_of(rises, implies(stale, refused)))


def one_resend_is_exact(profile: Profile, cached: CachedBatch, request: AppendRequest) -> Term:
    """A batch is taken for a cached one exactly where it has as many records and the same last sequence."""
    exact = same(seq.is_resend_of(cached, request, profile), _has_sequences_of(cached, request, profile))
    return implies(all_of(_is_sent(request, profile), _is_cached(cached, profile)), exact)


def stable_is_between(among: AppendBounds) -> Term:
    """Whatever is open or not yet replicated, the last stable offset is between log start and high watermark."""
    offsets = LogOffsets(
        among.log_start, among.first_ongoing, among.first_unreplicated, among.high_watermark, among.log_end
    )
    ordered = all_of(
        offsets.log_start >= 0,
        offsets.log_start <= offsets.high_watermark,
        offsets.high_watermark <= offsets.log_end,
    )
    return implies(ordered, lso.bounds(offsets, lso.last_stable(offsets)))


def _is_sent(request: AppendRequest, profile: Profile) -> Term:
    """A well-formed batch of a client that has a producer id."""
    return all_of(
        request.origin == Origin.CLIENT.value,
        request.producer_id >= 0,
        *(negate(fact) for fact in seq.is_malformed(request, profile).values()),
        _is_sequence(request.base_sequence),
        _is_sequence(request.last_offset_delta),
    )


def _is_free(entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
    """Neither verification nor an open transaction stands against the batch."""
    return all_of(
        negate(seen.verification_pending),
        any_of(seen.verification_guarded, negate(request.transactional)),
        any_of(request.transactional, negate(entry.in_transaction)),
    )


def _is_sequence(number: Term) -> Term:
    return all_of(number >= 0, number <= MAX_SEQUENCE)


def _is_cached(batch: CachedBatch, profile: Profile) -> Term:
    """A slot of the window is empty, or holds a batch as it can be sent."""
    length = batch.offset_delta
    if profile.first_offset_by_sequences:
        length = batch.last_sequence - batch.offset_delta
    return any_of(batch.last_offset < 0, all_of(_is_sequence(batch.last_sequence), _is_sequence(length)))


def _is_at(last: Term, request: AppendRequest) -> Term:
    """The last sequence of the batch: its base and records onwards, less a turn where it wraps."""
    onwards = request.base_sequence + request.last_offset_delta
    turned = MAX_SEQUENCE - request.base_sequence < request.last_offset_delta
    return all_of(_is_sequence(last), last == choose(turned, onwards - TURN, onwards))


def _has_sequences_of(batch: CachedBatch, request: AppendRequest, profile: Profile) -> Term:
    """As many records, and the same last sequence."""
    return all_of(batch.present, _has_length(batch, request, profile), _is_at(batch.last_sequence, request))


def _has_length(batch: CachedBatch, request: AppendRequest, profile: Profile) -> Term:
    """As many records; where releases remember a difference of sequences, the same first one."""
    if profile.first_offset_by_sequences:
        return batch.last_sequence - batch.offset_delta == request.base_sequence
    return batch.offset_delta == request.last_offset_delta


def _answers_one_of(decided: Append, window: Iterable[CachedBatch], matches: Iterable[Term]) -> Term:
    """The answer is success with the offsets of a batch that matches."""
    reply = decided.reply
    offsets = (
        all_of(
            matched,
            reply.last_offset == batch.last_offset,
            reply.first_offset == batch.last_offset - batch.offset_delta,
        )
        for batch, matched in zip(window, matches, strict=True)
    )
    return all_of(reply.error == 0, negate(reply.appended), any_of(*offsets))


_ABOUT: Final = (("entry", ProducerEntry), ("request", AppendRequest), ("verification", MetVerification))

_OF_SEQUENCES: Final = (
    (successor_alone_continues, rules.SEQ_SUCCESSOR),
    (new_epoch_starts_at_zero, rules.SEQ_EPOCH_RESET),
    (resend_in_window_is_recognised, rules.SEQ_DUPLICATE_WINDOW),
)
_OF_EPOCHS: Final = (
    (epochs_never_fall_here, rules.FENCE_EPOCH_MONOTONE),
    (stale_coordinator_is_refused, rules.FENCE_COORDINATOR_EPOCH),
)


def append_facts() -> tuple[Fact, ...]:
    """The meaning of sequences, resends and epochs, for every release; to be proved over integers."""
    of_all = [fact for profile in PROFILES.values() for fact in _of_release(profile)]
    of_verifying = [fact for profile in PROFILES.values() for fact in _of_verifying(profile)]
    return (*of_all, *of_verifying)


def append_facts_of(profile: Profile) -> tuple[Fact, ...]:
    """The same facts of one release, known or proposed."""
    return (*_of_release(profile), *_of_verifying(profile))


def _of_release(profile: Profile) -> tuple[Fact, ...]:
    return tuple(_fact(sentence, rule, profile) for sentence, rule in _OF_SEQUENCES + _OF_EPOCHS)


def _of_verifying(profile: Profile) -> tuple[Fact, ...]:
    facts = (_fact(resend_after_end_is_verified, rules.SEQ_DUPLICATE_WINDOW, profile),)
    return facts * profile.partition_verification


def wire_facts() -> tuple[Fact, ...]:
    """The facts of sequences for the releases that count differently; to be proved over bit-vectors."""
    counting = (NEWEST, KAFKA_2_4, KAFKA_0_11)
    sentences = ((successor_alone_continues, rules.SEQ_SUCCESSOR), (new_epoch_starts_at_zero, rules.SEQ_EPOCH_RESET))
    return (
        *(_fact(sentence, rule, profile) for profile in counting for sentence, rule in sentences),
        *(_resend_fact(profile) for profile in counting),
    )


def broken_facts() -> tuple[Fact, ...]:
    """Facts of the newest release with a guard off, each of which some input must refute."""
    return tuple(
        replace(
            _fact(sentence, rule, NEWEST),
            name=f"{guard} off, for all inputs",
            holds=partial(sentence, NEWEST, without=frozenset({guard})),
        )
        for guard, sentence, rule in (
            ("successor", successor_alone_continues, rules.SEQ_SUCCESSOR),
            ("epoch_reset", new_epoch_starts_at_zero, rules.SEQ_EPOCH_RESET),
            ("duplicate", resend_in_window_is_recognised, rules.SEQ_DUPLICATE_WINDOW),
            ("stale_epoch", epochs_never_fall_here, rules.FENCE_EPOCH_MONOTONE),
            ("stale_coordinator", stale_coordinator_is_refused, rules.FENCE_COORDINATOR_EPOCH),
        )
    )


def stable_fact() -> Fact:
    """That the last stable offset is within its bounds."""
    return Fact(
        stable_is_between.__name__,
        rules.LSO_BOUNDS,
        str(stable_is_between.__doc__),
        (("offsets", AppendBounds),),
        stable_is_between,
    )


def _resend_fact(profile: Profile) -> Fact:
    return Fact(
        f"{one_resend_is_exact.__name__}[{profile.name}]",
        rules.SEQ_DUPLICATE_WINDOW,
        str(one_resend_is_exact.__doc__),
        (("cached", CachedBatch), ("request", AppendRequest)),
        partial(one_resend_is_exact, profile),
    )


def _fact(sentence: Callable[..., Term], rule: Rule, profile: Profile) -> Fact:
    name = f"{sentence.__name__}[{profile.name}]"
    return Fact(name, rule, str(sentence.__doc__), _ABOUT, partial(sentence, profile))
