"""The append decision: the partition's answer to one batch, and its state afterwards.

The guards stand in Kafka's order (ProducerAppendInfo, UnifiedLog.analyzeAndValidateProducerState,
LogValidator). This module only composes the decisions of the other modules.
"""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import fence, seq, txn
from spec.protocol.guards import PASSED, Guard, branch, dropped, error_of, number
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Origin


@dataclass(frozen=True, slots=True)
class Append:
    """The decision on one batch.

    Attributes:
        branch: number of the guard that decided, 0 where the batch was appended.
        reply: the answer.
        entry: the partition's producer state afterwards.
    """

    branch: Term
    reply: AppendReply
    entry: ProducerEntry


NOTHING_PENDING = MetVerification()
NONE_DROPPED: frozenset[str] = frozenset()


def append(
    entry: ProducerEntry,
    request: AppendRequest,
    profile: Profile,
    verification: MetVerification = NOTHING_PENDING,
    without: frozenset[str] = NONE_DROPPED,
) -> Append:
    """Append, recognise as a resend, or refuse one batch; the entry changes only where the batch is appended.

    Args:
        entry: the partition's state of the batch's producer.
        request: the batch.
        profile: the release.
        verification: the partition's state of the verification.
        without: names of guards that never apply (for controls); none in any release.
    """
    checks = dropped(guards(entry, request, profile, verification), without)
    decided = branch(checks)
    resent = decided == number(checks, "duplicate")
    reply = _reply(entry, request, profile, appended=decided == PASSED, resent=resent, error=error_of(checks, decided))
    return Append(decided, reply, _entry_after(entry, request, profile, decided))


def guards(
    entry: ProducerEntry, request: AppendRequest, profile: Profile, verification: MetVerification = NOTHING_PENDING
) -> tuple[Guard, ...]:
    """Every check in Kafka's order; their names and rules do not depend on the arguments.

    Args:
        entry: the partition's state of the producer.
        request: the batch, and the offset that it would get.
        profile: the release.
        verification: how far the verification of the transaction has got (KIP-890).
    """
    identified = request.producer_id >= 0
    client = request.origin == Origin.CLIENT.value
    data = all_of(identified, negate(request.control))
    sent = all_of(client, data)
    marker = all_of(identified, request.control, request.record_count > 0)
    deciding = all_of(identified, fence.asks_as_leader(request), request.transactional)
    verified = all_of(deciding, any_of(client, profile.commits_verified))
    joining = all_of(deciding, negate(txn.is_ongoing(entry, request, profile)))
    stale = fence.STALE_EPOCH.value
    out_of_order = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.value
    unknown = seq.unknown_error(profile).value
    refused_as_stale = fence.is_refused_as_stale(entry, request, profile)
    malformed = [
        Guard(name, rules.SEQ_WELL_FORMED, all_of(client, fact), seq.malformed_error(profile).value)
        for name, fact in seq.is_malformed(request, profile).items()
    ]
    return (
        *malformed,
        Guard(
            "duplicate",
            rules.SEQ_DUPLICATE_WINDOW,
            all_of(sent, any_of(*seq.resends(entry, request, profile))),
            ErrorCode.NONE.value,
        ),
        Guard(
            "stale_epoch_of_transaction",
            rules.FENCE_STALE_EPOCH,
            all_of(profile.stale_epoch_before_verification, joining, fence.is_stale(entry, request)),
            stale,
        ),
        Guard(
            "unverified",
            rules.TXN_REGISTERED_BEFORE_DATA,
            all_of(verified, txn.joins_unverified(entry, request, verification, profile)),
            ErrorCode.INVALID_TXN_STATE.value,
        ),
        Guard("stale_epoch", rules.FENCE_STALE_EPOCH, all_of(data, refused_as_stale), stale),
        Guard(
            "first_after_bump",
            rules.SEQ_FIRST,
            all_of(sent, seq.starts_unverified(entry, request, verification, profile)),
            out_of_order,
        ),
        Guard(
            "verification_overtaken",
            rules.SEQ_ORDER,
            all_of(sent, seq.overtakes_verification(request, verification, profile)),
            out_of_order,
        ),
        Guard("epoch_reset", rules.SEQ_EPOCH_RESET, all_of(sent, seq.resets_wrongly(entry, request)), out_of_order),
        Guard("first_sequence", rules.SEQ_FIRST, all_of(sent, seq.starts_wrongly(entry, request, profile)), unknown),
        Guard(
            "sequence_forgotten",
            rules.SEQ_FIRST,
            all_of(sent, seq.continues_forgotten(entry, request, profile)),
            unknown,
        ),
        Guard(
            "behind",
            rules.SEQ_SUCCESSOR,
            all_of(sent, seq.falls_behind(entry, request, profile)),
            ErrorCode.DUPLICATE_SEQUENCE_NUMBER.value,
        ),
        Guard(
            "successor",
            rules.SEQ_SUCCESSOR,
            all_of(sent, seq.skips(entry, request, profile.max_sequence)),
            out_of_order,
        ),
        Guard(
            "outside_transaction",
            rules.TXN_ATOMIC,
            all_of(data, txn.is_outside(entry, request)),
            ErrorCode.INVALID_TXN_STATE.value,
        ),
        Guard("stale_marker", rules.FENCE_STALE_EPOCH, all_of(marker, refused_as_stale), stale),
        Guard(
            "marker_not_bumped",
            rules.TXN_MARKER_ONCE,
            all_of(marker, fence.is_marker_not_bumped(entry, request, profile)),
            stale,
        ),
        Guard(
            "stale_coordinator",
            rules.FENCE_COORDINATOR_EPOCH,
            all_of(marker, fence.is_stale_coordinator(entry, request, profile)),
            ErrorCode.TRANSACTION_COORDINATOR_FENCED.value,
        ),
    )


def names(profile: Profile) -> tuple[str, ...]:
    """Name of every branch by its number; 0 is "appended"."""
    return ("appended", *(guard.name for guard in _listing(profile)))


def rules_of(profile: Profile) -> tuple[rules.Rule, ...]:
    """Rule of every guard, in order."""
    return tuple(guard.rule for guard in _listing(profile))


def _listing(profile: Profile) -> tuple[Guard, ...]:
    return guards(ProducerEntry(), AppendRequest(base_offset=0), profile)


def _reply(
    entry: ProducerEntry, request: AppendRequest, profile: Profile, *, appended: Term, resent: Term, error: Term
) -> AppendReply:
    first: Term = choose(appended, request.base_offset, ABSENT)
    last: Term = choose(appended, seq.last_offset(request, profile), ABSENT)
    matches = seq.resends(entry, request, profile)
    for cached, matched in zip(entry.cached, matches, strict=False):  # of several matches the oldest answers
        here = all_of(resent, matched)
        first = choose(here, cached.last_offset - cached.offset_delta, first)
        last = choose(here, cached.last_offset, last)
    return AppendReply(error, first, last, resent, appended)


def _entry_after(entry: ProducerEntry, request: AppendRequest, profile: Profile, decided: Term) -> ProducerEntry:
    grows = all_of(decided == PASSED, request.producer_id >= 0)
    data = all_of(grows, negate(request.control))
    marker = all_of(grows, request.control, request.record_count > 0)
    after_data = seq.remember(entry, request, profile)
    after_marker = seq.after_marker(entry, request, profile)
    return ProducerEntry(
        epoch=choose(any_of(data, marker), request.producer_epoch, entry.epoch),
        coordinator_epoch=choose(marker, request.coordinator_epoch, entry.coordinator_epoch),
        txn_first_offset=choose(
            marker, ABSENT, choose(data, txn.first_offset_after(entry, request, profile), entry.txn_first_offset)
        ),
        cached=tuple(
            seq.choose_cached(data, kept, seq.choose_cached(marker, left, cached))
            for kept, left, cached in zip(after_data, after_marker, entry.cached, strict=True)
        ),
    )
