"""Defects that show in few states: a field taken for its neighbour, a wrong value carried on, a condition left out.

They are of the reference and of the specification alike. Each is hunted where every small input is enumerated.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from model_tests.machines.part import COMPARED
from model_tests.machines.rule_counts import Ledger
from model_tests.mutants.defects.planted import Planted, defect
from model_tests.verify.results import PlantedDefect
from reference.broker import marker_channel, transaction_coordinator, transaction_metadata, transaction_timeouts
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.marker_channel import MEANING, MarkerVerdict
from reference.broker.transaction_metadata import TransactionEntry as Remembered
from reference.broker.transaction_metadata import TransactionMetadata
from reference.log.producer_entry import ProducerEntry, VerificationEntry
from reference.log.producer_state import ProducerState
from reference.replication import elections
from reference.replication.controller import Controller
from reference.replication.elections import ElectionCandidate
from reference.replication.following import Following
from reference.replication.messages import EpochEnd
from spec import rules
from spec.algebra import Term
from spec.judging import proposals
from spec.protocol import completing, ids, repl, verification
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.ids import InitRequest
from spec.protocol.records import AppendRequest
from spec.protocol.repl import ReturningReplica
from spec.versions import NEWEST, Profile
from spec.vocabulary import Epoch, Offset, ProducerId, Timestamp, TransactionState
from spec.vocabulary import Sequence as SequenceNumber

_complete = GroupOffsets.complete
_fence_epoch = transaction_metadata.fence_epoch
_incremented = transaction_metadata._incremented
_rotate = transaction_metadata.rotate_producer_id
_asked = verification.started
_is_other = ids.is_other
_is_timed_out = completing.is_timed_out
_truncated_to = repl.truncated_to
_may_be_member = proposals.may_be_member


# --- of the reference -----------------------------------------------------------------------------------------


def keep_the_lowest(entry: VerificationEntry, base_sequence: SequenceNumber, epoch: Epoch) -> VerificationEntry:
    """A request of a higher epoch leaves the lower of the two sequences."""
    if epoch < entry.epoch:
        return entry
    return replace(entry, lowest_sequence=min(entry.lowest_sequence, base_sequence), epoch=epoch)


def fence_and_remember(metadata: TransactionMetadata, bump: bool, profile: Profile) -> TransactionMetadata:
    """The fenced epoch may be expected by who repeats a request."""
    return _fence_epoch(metadata, bump, profile)._replace(last_epoch=metadata.epoch)


def repeat_the_last(metadata: TransactionMetadata, expected: Epoch | None) -> tuple[Epoch, Epoch]:
    """Who repeats a request gets the epoch before the present one again."""
    epoch, last = _incremented(metadata, expected)
    return (last, last) if epoch == metadata.epoch else (epoch, last)


def rotate_and_keep(
    metadata: TransactionMetadata, producer_id: ProducerId, timeout_ms: int, recall: bool, now: Timestamp
) -> TransactionMetadata:
    """With a new producer id, the epoch before the last one is the one that may be expected."""
    rotated = _rotate(metadata, producer_id, timeout_ms, recall, now)
    return rotated._replace(last_epoch=metadata.last_epoch) if recall else rotated


def first_pending(offsets: GroupOffsets, key: OffsetKey) -> bool:
    """An offset is unstable if the first producer that has any pending has it so."""
    return any(key in waiting for waiting in tuple(offsets.pending.values())[:1])


def one_pending_alone(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """Of a transaction's offsets the first is taken over, and the others are dropped."""
    waiting = offsets.pending.get(producer_id, {})
    for key in tuple(waiting)[1:]:
        del waiting[key]
    _complete(offsets, producer_id, committed)


def never_overtaken(offsets: GroupOffsets, key: OffsetKey, recorded: RecordedOffset) -> bool:
    """A transaction's offset wins over a later one."""
    return False


STOPPED_IS_WRITTEN: Final = {
    error: MarkerVerdict.DONE if verdict is MarkerVerdict.STOP else verdict for error, verdict in MEANING.items()
}
"""A marker that a newer epoch refuses counts as written."""


def timed_out_since_change(entry: Remembered, now: Timestamp) -> bool:
    """The timeout counts from the last change of the transaction, and not from its beginning."""
    metadata = entry.metadata
    open_now = metadata.state == TransactionState.ONGOING and entry.pending is None
    return open_now and metadata.updated_ms + metadata.timeout_ms < now


def cut_by_the_answer(following: Following, answer: EpochEnd, now: Timestamp) -> None:
    """A follower does not look where the epoch of the answer ends in its own log."""
    following._truncate(answer, min(answer.end, following._replica.log.log_end), now)


def any_incarnation(controller: Controller, broker: int, counted: int) -> bool:
    """Who has been registered again since it was counted may join."""
    return controller.is_active(broker)


def eligible_beside_members(candidates: Sequence[ElectionCandidate]) -> list[int]:
    """Who is eligible may lead although the in-sync set has members."""
    return [each.broker for each in candidates if each.alive and (each.insync or each.eligible)]


def silent_for_long(state: ProducerState, entry: ProducerEntry, now: Timestamp) -> bool:
    """A silent producer expires with its open transaction."""
    return now - entry.last_timestamp >= state.expiration_ms


def replicated_at_the_watermark(state: ProducerState, high_watermark: Offset) -> None:
    """A marker at the high watermark counts as below it."""
    waiting = state.unreplicated.items()
    state.unreplicated = {first: txn for first, txn in waiting if txn.marker_offset > high_watermark}


# --- of the specification -------------------------------------------------------------------------------------


def latest_client_bumps(
    entry: verification.VerificationEntry, request: AppendRequest, version: Term
) -> verification.VerificationEntry:
    """Whether the client bumps its epoch is taken from the latest request, and not from the first."""
    return replace(_asked(entry, request, version), bumps=version >= verification.ADDS_SINCE)


def next_for_current(entry: TransactionEntry, request: InitRequest, profile: Profile) -> Term:
    """The expected identity is compared with the next producer id instead of the present one."""
    return _is_other(replace(entry, producer_id=entry.next_producer_id), request, profile)


def update_for_start(entry: TransactionEntry, now: Term) -> Term:
    """The time of the last change stands for the time of the beginning."""
    return _is_timed_out(replace(entry, start_time=entry.update_time), now)


def watermark_for_end(
    replica: ReturningReplica, leader: repl.EpochEnd, own: repl.EpochEnd, profile: Profile = NEWEST
) -> Term:
    """A returning replica takes its high watermark for its log end."""
    return _truncated_to(replace(replica, log_end=replica.high_watermark), leader, own, profile)


def counted_for_registered(active: Term, counted: Term, registered: Term, profile: Profile = NEWEST) -> Term:
    """The incarnation that was counted is compared with itself."""
    return _may_be_member(active, counted, counted, profile)


_JOINS, _SURVIVES = rules.TXN_REGISTERED_BEFORE_DATA, rules.REPL_COMMITTED_SURVIVES

OF_SMALL_INPUTS: Final[tuple[Planted, ...]] = (
    defect("a higher epoch keeps the lower sequence", _JOINS, VerificationEntry, "joined_by", keep_the_lowest),
    defect("one pending offset is taken over", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", one_pending_alone),
    defect("no offset is overtaken", rules.OFFSETS_ATOMIC, GroupOffsets, "is_overtaken", never_overtaken),
    defect(
        "a marker that is refused for good counts as written",
        rules.TXN_MARKER_ONCE,
        marker_channel,
        "MEANING",
        STOPPED_IS_WRITTEN,
    ),
    defect(
        "the timeout counts from the last change",
        rules.TXN_TIMEOUT,
        transaction_timeouts,
        "is_timed_out",
        timed_out_since_change,
    ),
    defect(
        "a follower ignores its own end of the epoch",
        rules.REPL_PREFIX_AGREEMENT,
        Following,
        "_truncate_to",
        cut_by_the_answer,
    ),
    defect("incarnations are not compared", _SURVIVES, Controller, "may_join", any_incarnation),
    defect("the eligible lead beside members", _SURVIVES, elections, "valid_leaders", eligible_beside_members),
    defect(
        "open transactions expire with their producers",
        rules.LSO_DECIDED_BELOW,
        ProducerState,
        "is_expired",
        silent_for_long,
    ),
    defect(
        "a marker at the high watermark is passed",
        rules.LSO_DECIDED_BELOW,
        ProducerState,
        "on_high_watermark",
        replicated_at_the_watermark,
    ),
    defect(
        "a fence leaves the epoch before it to be expected",
        rules.FENCE_ZOMBIE_CANNOT_COMMIT,
        transaction_metadata,
        "fence_epoch",
        fence_and_remember,
    ),
    defect(
        "a repeated request gets the epoch before",
        rules.IDS_IDENTITY_NEVER_REPEATS,
        transaction_metadata,
        "_incremented",
        repeat_the_last,
    ),
    defect(
        "a new producer id keeps the epoch before the last",
        rules.IDS_IDENTITY_NEVER_REPEATS,
        transaction_coordinator,
        "rotate_producer_id",
        rotate_and_keep,
    ),
    defect(
        "a stable fetch looks at one producer", rules.OFFSETS_STABLE_FETCH, GroupOffsets, "is_unstable", first_pending
    ),
    defect("specification: the latest client bumps", _JOINS, verification, "started", latest_client_bumps),
    defect(
        "specification: the next producer id is expected", rules.FENCE_STALE_EPOCH, ids, "is_other", next_for_current
    ),
    defect(
        "specification: a change for the beginning", rules.TXN_TIMEOUT, completing, "is_timed_out", update_for_start
    ),
    defect(
        "specification: the high watermark for the log end",
        rules.REPL_PREFIX_AGREEMENT,
        repl,
        "truncated_to",
        watermark_for_end,
    ),
    defect(
        "specification: an incarnation compared with itself",
        _SURVIVES,
        proposals,
        "may_be_member",
        counted_for_registered,
    ),
)
"""Mutants that all small inputs show."""


def hunt_side_by_side(planted: Planted) -> PlantedDefect:
    """Put every small input to decision and reference with the defect."""
    started, ledger = time.monotonic(), Ledger()
    with planted.in_place():
        for each in COMPARED:
            each.compare(ledger)
    killers = {f"{seen.seen_by} {seen.rule.id} of every small input": None for seen in ledger.broken}
    return PlantedDefect(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))
