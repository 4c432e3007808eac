"""Sequence numbers: arithmetic modulo 2^31, the duplicate window, and what may come next."""

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.records import WINDOW, AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ABSENT, MAX_SEQUENCE, ErrorCode, Origin

NO_BATCH = CachedBatch()
"""An empty place of the window."""


def next_sequence(sequence: Term, records: Term, largest: int | None = MAX_SEQUENCE) -> Term:
    """The sequence number `records` after this one; after the largest, 2^31-1, comes 0."""
    if largest is None:
        return sequence + records
    return choose(sequence <= largest - records, sequence + records, sequence - (largest - records) - 1)


def previous_sequence(sequence: Term, records: Term, largest: int | None = MAX_SEQUENCE) -> Term:
    """The sequence number `records` before this one; before 0 comes the largest, 2^31-1."""
    if largest is None:
        return sequence - records
    return choose(sequence >= records, sequence - records, largest - (records - sequence) + 1)


def is_successor(last: Term, sequence: Term, largest: int | None = MAX_SEQUENCE) -> Term:
    """A base sequence directly follows the last sequence, wrapping after the largest, 2^31-1, to 0."""
    if largest is None:
        return sequence == last + 1
    return any_of(sequence == last + 1, all_of(sequence == 0, last == largest))


def last_sequence(request: AppendRequest, largest: int | None = MAX_SEQUENCE) -> Term:
    """Sequence of the batch's last record; -1 where the batch has none."""
    last = next_sequence(request.base_sequence, request.last_offset_delta, largest)
    return choose(request.base_sequence == ABSENT, ABSENT, last)


def last_offset(request: AppendRequest, profile: Profile) -> Term:
    """Offset of the batch's last record: in 0.11 and 1.0, of a client's batch by the number of its records."""
    by_delta = request.base_offset + request.last_offset_delta
    if profile.records_compared_with_offsets:
        return by_delta
    return choose(request.origin == Origin.CLIENT.value, request.base_offset + request.record_count - 1, by_delta)


def offset_delta(request: AppendRequest, profile: Profile) -> Term:
    """What is remembered of the batch's length: last less first offset; in 0.11 and 1.0, of the sequences instead."""
    if profile.first_offset_by_sequences:
        return last_sequence(request, profile.max_sequence) - request.base_sequence
    return request.last_offset_delta


def is_resend_of(cached: CachedBatch, request: AppendRequest, profile: Profile) -> Term:
    """The batch has exactly the sequences of a cached one.

    Where the delta of offsets is a difference of sequences it is negative across the wrap, and is subtracted as it is.
    """
    largest = None if profile.first_offset_by_sequences else profile.max_sequence
    first = previous_sequence(cached.last_sequence, cached.offset_delta, largest)
    last = last_sequence(request, profile.max_sequence)
    return all_of(cached.present, first == request.base_sequence, cached.last_sequence == last)


def resends(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> tuple[Term, ...]:
    """For each cached batch, the newest first: whether this batch is an exact resend of it."""
    return tuple(
        all_of(entry.epoch == request.producer_epoch, is_resend_of(cached, request, profile))
        for cached in entry.cached[: profile.cached_batches]
    )


def is_malformed(request: AppendRequest, profile: Profile) -> dict[str, Term]:
    """The ways in which a client's batch is malformed, by the name of the guard.

    Before 2.4 the log does not count the batches of a request: one with several is not parsed. Before 2.0 a
    batch must have records, and their number is not compared with its offsets.

    Args:
        request: the batch.
        profile: the release.
    """
    agrees = any_of(
        negate(profile.records_compared_with_offsets), request.last_offset_delta + 1 == request.record_count
    )
    counted = all_of(request.record_count > 0, agrees)
    return {
        "one_batch": all_of(profile.invalid_record_has_code, negate(request.batch_count == 1)),
        "base_offset_given": negate(request.sent_base_offset == 0),
        "control_by_client": request.control,
        "records_counted": negate(counted),
        "sequence_missing": all_of(request.producer_id >= 0, request.base_sequence < 0),
    }


def starts_unverified(
    entry: ProducerEntry, request: AppendRequest, verification: MetVerification, profile: Profile
) -> Term:
    """Under version 2, the first batch of a producer that waits for verification has not sequence 0.

    Args:
        entry: what the partition knows of the producer.
        request: the batch.
        verification: the partition's state of the verification.
        profile: the release.
    """
    return all_of(
        profile.first_after_bump_is_zero,
        verification.verification_pending,
        verification.verification_bumps,
        negate(request.base_sequence == 0),
        negate(entry.cached[0].present),
    )


def overtakes_verification(request: AppendRequest, verification: MetVerification, profile: Profile) -> Term:
    """A lower sequence of this producer still waits for its verification."""
    return all_of(
        profile.partition_verification,
        verification.verification_pending,
        request.base_sequence > verification.verification_lowest,
    )


def is_unknown(entry: ProducerEntry) -> Term:
    """The partition knows nothing of the producer."""
    return entry.epoch == ABSENT


def changes_epoch(entry: ProducerEntry, request: AppendRequest) -> Term:
    """The batch's epoch differs from the known one of its producer."""
    return all_of(negate(is_unknown(entry)), negate(entry.epoch == request.producer_epoch))


def resets_wrongly(entry: ProducerEntry, request: AppendRequest) -> Term:
    """A new epoch of a known producer does not start at sequence 0."""
    return all_of(changes_epoch(entry, request), negate(request.base_sequence == 0))


def starts_wrongly(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """An unknown producer does not start at sequence 0, where the version requires it."""
    return all_of(negate(profile.any_first_sequence), is_unknown(entry), negate(request.base_sequence == 0))


def continues_forgotten(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """A known producer of which only markers are left does not start at sequence 0 (2.0 to 2.4)."""
    return all_of(
        profile.unknown_after_marker,
        entry.epoch == request.producer_epoch,
        entry.cached[0].last_sequence == ABSENT,
        negate(request.base_sequence == 0),
    )


def skips(entry: ProducerEntry, request: AppendRequest, largest: int | None = MAX_SEQUENCE) -> Term:
    """The batch does not directly follow the last one of its producer and epoch."""
    return all_of(
        negate(is_unknown(entry)),
        entry.epoch == request.producer_epoch,
        negate(is_successor(entry.cached[0].last_sequence, request.base_sequence, largest)),
    )


def falls_behind(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> Term:
    """In the proposed variant: the sequence is one of the half turn before the expected one."""
    if not profile.split_out_of_order:
        return False
    expected = next_sequence(entry.cached[0].last_sequence, 1, profile.max_sequence)
    behind = expected - request.base_sequence
    if profile.max_sequence is None:
        return all_of(skips(entry, request, None), behind > 0)
    turn = profile.max_sequence + 1
    distance = choose(behind < 0, behind + turn, behind)
    return all_of(skips(entry, request, profile.max_sequence), distance <= turn // 2)


def malformed_error(profile: Profile) -> ErrorCode:
    """The error for a client's batch that is ill formed."""
    return ErrorCode.INVALID_RECORD if profile.invalid_record_has_code else ErrorCode.CORRUPT_MESSAGE


def unknown_error(profile: Profile) -> ErrorCode:
    """The error for a producer without a known sequence that does not start at 0."""
    if profile.unknown_producer_error:
        return ErrorCode.UNKNOWN_PRODUCER_ID
    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def remember(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> tuple[CachedBatch, ...]:
    """The window after an accepted batch: the batch first, then older ones of the same epoch, up to its size."""
    newest = CachedBatch(
        last_sequence(request, profile.max_sequence),
        last_offset(request, profile),
        offset_delta(request, profile),
    )
    return (newest, *_of_epoch(entry, request, profile.cached_batches - 1)[: WINDOW - 1])


def after_marker(entry: ProducerEntry, request: AppendRequest, profile: Profile) -> tuple[CachedBatch, ...]:
    """The window after a marker: unchanged in the same epoch, else empty.

    In 0.11 the marker is the last batch, of one record, with the last sequence of its epoch where there is one.
    """
    kept = _of_epoch(entry, request, WINDOW)
    if not profile.marker_replaces_batch:
        return kept
    return (CachedBatch(kept[0].last_sequence, request.base_offset, 0), *(NO_BATCH,) * (WINDOW - 1))


def _of_epoch(entry: ProducerEntry, request: AppendRequest, room: int) -> tuple[CachedBatch, ...]:
    same_epoch = entry.epoch == request.producer_epoch
    return tuple(
        choose_cached(all_of(position < room, same_epoch), cached, NO_BATCH)
        for position, cached in enumerate(entry.cached)
    )


def choose_cached(fact: Term, then: CachedBatch, otherwise: CachedBatch) -> CachedBatch:
    """One of two cached batches."""
    if isinstance(fact, bool):
        return then if fact else otherwise
    return CachedBatch(
        choose(fact, then.last_sequence, otherwise.last_sequence),
        choose(fact, then.last_offset, otherwise.last_offset),
        choose(fact, then.offset_delta, otherwise.offset_delta),
    )
