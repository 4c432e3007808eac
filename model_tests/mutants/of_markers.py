"""Defects between coordinator and partitions: markers, verification, the last stable offset, offsets of groups."""

from typing import Final

from model_tests.mutants.planted import defect
from reference.broker import group_checks, group_coordinator, marker_channel
from reference.broker.group_coordinator import GroupCoordinator, TransactionalCommit
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import Claim
from reference.broker.group_shards import Shard
from reference.broker.marker_channel import MEANING, MarkerChannel, Owed, Sent, WriteMarker
from reference.broker.markers import TxnMarker
from reference.broker.partition import Partition
from reference.broker.producer_append import CompletedTxn, ProducerAppend
from reference.broker.producer_state import ProducerState
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.txn_index import AbortedTxn, TransactionIndex
from reference.errors import Refusal
from reference.log.batch import RecordBatch
from reference.log.record import EndTransactionMarker
from reference.world import handling
from reference.world.handling import Handling
from reference.world.messages import Request, Verify
from spec import rules
from spec.vocabulary import NO_OFFSET, ErrorCode, Offset, ProducerId

_add = MarkerChannel.add
_send_markers = marker_channel.send_markers
_adopt_marker = ProducerAppend.adopt_marker
_between = TransactionIndex.between
_resume = Handling._resume
_complete = GroupOffsets.complete
_pend = GroupOffsets.pend
_check_commit = group_checks.check_commit


# --- which markers are sent -------------------------------------------------------------------------------------


def owe_nothing(channel: MarkerChannel, entry: object, epoch: object, completed: object) -> None:
    """A decided transaction is complete at once."""
    _add(channel, entry, epoch, completed)  # type: ignore[arg-type]
    channel.owed[-1].partitions.clear()


def owe_the_first(channel: MarkerChannel, entry: object, epoch: object, completed: object) -> None:
    """Only one partition gets its marker."""
    _add(channel, entry, epoch, completed)  # type: ignore[arg-type]
    channel.owed[-1].partitions = set(sorted(channel.owed[-1].partitions)[:1])


def tear(owed: Owed, write: WriteMarker) -> bool:
    """The last partition is told the contrary."""
    last = max(owed.partitions, default=None)

    def torn(partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        if partition == last and partition.topic == "t" and len(owed.entry.metadata.partitions) > 1:
            contrary = TxnMarker(
                marker.producer_id,
                marker.epoch,
                not marker.committed,
                marker.coordinator_epoch,
                marker.transaction_version,
            )
            return write(partition, contrary)
        return write(partition, marker)

    return _send_markers(owed, torn)


def flip(owed: Owed, write: WriteMarker) -> bool:
    """Commits are told as aborts."""

    def flipped(partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        told = TxnMarker(marker.producer_id, marker.epoch, False, marker.coordinator_epoch, marker.transaction_version)
        return write(partition, told)

    return _send_markers(owed, flipped)


def done_if(*errors: ErrorCode) -> dict[ErrorCode | None, Sent]:
    """These errors count as written."""
    return MEANING | dict.fromkeys(errors, Sent.DONE)


STOPPED_BY_NETWORK: Final = MEANING | {ErrorCode.NOT_LEADER_OR_FOLLOWER: Sent.STOP}


# --- what a marker does -----------------------------------------------------------------------------------------


def any_coordinator(part: ProducerAppend, marker: EndTransactionMarker) -> None:
    """A marker of a replaced coordinator is taken."""


def adopt_without_coordinator(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """A partition does not remember which coordinator was the last."""
    before = part.entry.coordinator_epoch
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(coordinator_epoch=before)


def adopt_and_stay_open(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """After the marker the producer still counts as in its transaction."""
    first = part.entry.txn_first_offset
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(txn_first_offset=first)


def lenient(part: ProducerAppend) -> int:
    """A marker may come late (KAFKA-19446)."""
    return 0


def never_again(part: ProducerAppend, batch: RecordBatch) -> bool:
    """A marker that is sent again is refused (KAFKA-19999)."""
    return False


def complete_as_committed(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """An abort is noted as a commit."""
    if part.entry.in_transaction:
        part.completed.append(CompletedTxn(part.producer_id, part.entry.txn_first_offset, batch.base_offset, False))


def complete_without_waiting(state: ProducerState, txn: CompletedTxn) -> None:
    """A marker counts before it is replicated."""
    state.ongoing.pop(txn.first_offset, None)


def stable_by_newest(state: ProducerState) -> Offset:
    """The newest open transaction holds the last stable offset."""
    if not state.ongoing and not state.unreplicated:
        return NO_OFFSET
    return max((*state.ongoing, *state.unreplicated))


def stable_at_the_high_watermark(partition: Partition) -> Offset:
    """Open transactions do not hold the last stable offset."""
    return partition.high_watermark


def between_from_the_offset(index: TransactionIndex, fetch_offset: int, upper_bound: int) -> tuple[AbortedTxn, ...]:
    """A transaction that began before the fetch is not told."""
    return tuple(each for each in _between(index, fetch_offset, upper_bound) if each.first_offset >= fetch_offset)


def note_nothing(index: TransactionIndex, entry: AbortedTxn) -> None:
    """Aborted transactions are not noted."""


# --- verification -----------------------------------------------------------------------------------------------


def needs_no_guard(partition: Partition, batch: RecordBatch) -> bool:
    """The append does not ask whether it was verified."""
    return False


def any_guard(state: ProducerState, producer_id: ProducerId, guard: int) -> bool:
    """Whatever guard is shown counts (KAFKA-14884)."""
    return True


def keep_verification(state: ProducerState, batch: RecordBatch) -> None:
    """A marker leaves the verification of its own transaction alone (KAFKA-14884)."""
    if not batch.is_control:
        state.verifications.pop(batch.producer_id, None)


def ongoing_in_any_epoch(state: ProducerState, producer_id: ProducerId, epoch: object) -> bool:
    """The transaction before counts as the present one (KAFKA-18575)."""
    return bool(state.entry(producer_id).in_transaction)


def verify_everything(
    coordinator: TransactionCoordinator, transactional_id: str, producer: object, partitions: tuple[TopicPartition, ...]
) -> dict[TopicPartition, ErrorCode]:
    """Every partition is said to be in the transaction."""
    return dict.fromkeys(partitions, ErrorCode.NONE)


def agree_to_everything(coordinator: TransactionCoordinator, asked: Verify) -> None:
    """Nobody is asked, and nothing is added."""


def resume_whatever_was_said(handler: Handling, question: Request, refusal: Refusal | None) -> None:
    """A refused verification lets the append go on."""
    _resume(handler, question, None)


# --- offsets ----------------------------------------------------------------------------------------------------


def complete_the_first(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """Offsets of an aborted transaction count."""
    _complete(offsets, producer_id, True)


def complete_nothing(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """A commit does not reach the offsets."""
    _complete(offsets, producer_id, False)


def pend_at_once(offsets: GroupOffsets, producer_id: ProducerId, key: OffsetKey, recorded: RecordedOffset) -> None:
    """Offsets count before their transaction is decided."""
    _pend(offsets, producer_id, key, recorded)
    offsets.commit(key, recorded)


def never_unstable(offsets: GroupOffsets, key: OffsetKey) -> bool:
    """No open transaction is waited for."""
    return False


def never_overtaken(offsets: GroupOffsets, key: OffsetKey, recorded: RecordedOffset) -> bool:
    """A transaction's offset wins over a later one."""
    return False


def anybody_commits(group: ClassicGroup, claim: Claim, transactional: bool) -> None:
    """Past members commit in transactions."""
    if not transactional:
        _check_commit(group, claim, transactional)


def check_before_asking(coordinator: GroupCoordinator, shard: Shard, asked: TransactionalCommit) -> None:
    """Nobody looks at the group once the verification is answered (KAFKA-15784)."""
    shard.create(asked.group)


OF_MARKERS: Final = (
    defect("a decided transaction is complete at once", rules.TXN_MARKER_ONCE, MarkerChannel, "add", owe_nothing),
    defect("one partition gets its marker", rules.TXN_MARKER_ONCE, MarkerChannel, "add", owe_the_first),
    defect("one partition is told the contrary", rules.TXN_ATOMIC, marker_channel, "send_markers", tear),
    defect("commits are told as aborts", rules.TXN_ONE_OUTCOME, marker_channel, "send_markers", flip),
    defect(
        "a lost marker counts as written",
        rules.TXN_MARKER_ONCE,
        marker_channel,
        "MEANING",
        done_if(ErrorCode.NETWORK_EXCEPTION),
    ),
    defect(
        "a marker for an unavailable partition counts as written",
        rules.TXN_MARKER_ONCE,
        marker_channel,
        "MEANING",
        done_if(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ),
    defect(
        "an unavailable partition ends all sending",
        rules.TXN_COMPLETES,
        marker_channel,
        "MEANING",
        STOPPED_BY_NETWORK,
    ),
    defect(
        "a replaced coordinator writes markers",
        rules.FENCE_COORDINATOR_EPOCH,
        ProducerAppend,
        "check_coordinator_epoch",
        any_coordinator,
    ),
    defect(
        "a marker leaves no coordinator epoch",
        rules.FENCE_COORDINATOR_EPOCH,
        ProducerAppend,
        "adopt_marker",
        adopt_without_coordinator,
    ),
    defect(
        "a marker ends nothing for its producer",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerAppend,
        "adopt_marker",
        adopt_and_stay_open,
    ),
    defect(
        "late markers are taken (KAFKA-19446)",
        rules.TXN_NO_CROSSTALK,
        ProducerAppend,
        "effective_marker_version",
        lenient,
    ),
    defect(
        "repeated markers are refused (KAFKA-19999)",
        rules.TXN_COMPLETES,
        ProducerAppend,
        "is_marker_retry",
        never_again,
    ),
    defect(
        "aborts are noted as commits",
        rules.LSO_READ_COMMITTED,
        ProducerAppend,
        "complete_transaction",
        complete_as_committed,
    ),
    defect("aborts are not noted", rules.LSO_READ_COMMITTED, TransactionIndex, "append", note_nothing),
    defect(
        "a marker counts before it is replicated",
        rules.LSO_READ_COMMITTED,
        ProducerState,
        "complete",
        complete_without_waiting,
    ),
    defect(
        "the newest open transaction bounds readers",
        rules.LSO_READ_COMMITTED,
        ProducerState,
        "first_unstable",
        stable_by_newest,
    ),
    defect(
        "open transactions do not bound readers",
        rules.LSO_READ_COMMITTED,
        Partition,
        "last_stable",
        property(stable_at_the_high_watermark),
    ),
    defect("the append asks for no guard", rules.TXN_REGISTERED_BEFORE_DATA, Partition, "needs_guard", needs_no_guard),
    defect(
        "any guard will do (KAFKA-14884)", rules.TXN_REGISTERED_BEFORE_DATA, ProducerState, "is_verified", any_guard
    ),
    defect(
        "a marker leaves the guard in place (KAFKA-14884)",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerState,
        "clear_verification",
        keep_verification,
    ),
    defect(
        "the transaction before counts as the present one (KAFKA-18575)",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerState,
        "is_ongoing",
        ongoing_in_any_epoch,
    ),
    defect(
        "every partition is verified",
        rules.TXN_REGISTERED_BEFORE_DATA,
        TransactionCoordinator,
        "verify_partitions",
        verify_everything,
    ),
    defect("nobody is asked", rules.TXN_REGISTERED_BEFORE_DATA, handling, "agree", agree_to_everything),
    defect(
        "a refused verification lets the append go on",
        rules.TXN_REGISTERED_BEFORE_DATA,
        Handling,
        "_resume",
        resume_whatever_was_said,
    ),
    defect("aborted offsets are committed", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", complete_the_first),
    defect("committed offsets are dropped", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", complete_nothing),
    defect("pending offsets count", rules.OFFSETS_ATOMIC, GroupOffsets, "pend", pend_at_once),
    defect(
        "a late transaction wins over a later offset",
        rules.OFFSETS_ATOMIC,
        GroupOffsets,
        "is_overtaken",
        never_overtaken,
    ),
    defect("pending offsets are told", rules.OFFSETS_STABLE_FETCH, GroupOffsets, "is_unstable", never_unstable),
    defect(
        "past members commit in transactions",
        rules.OFFSETS_GENERATION_FENCE,
        group_coordinator,
        "check_commit",
        anybody_commits,
    ),
    defect(
        "the group is not looked at after the verification (KAFKA-15784)",
        rules.OFFSETS_GENERATION_FENCE,
        GroupCoordinator,
        "_check_transactional",
        check_before_asking,
    ),
)
"""Mutants of markers, verification, the last stable offset and offsets."""
