"""Defects of the disk log's state: recovery, snapshots, last stable offset, fencing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from model_tests.mutants.defects.of_disk_reading import OF_READING
from model_tests.mutants.defects.planted import Patch, Planted, defect
from reference.log import cleaner, snapshot_file
from reference.log.batch import RecordBatch
from reference.log.cleaner import LastRecord
from reference.log.disk_log import DiskLog
from reference.log.partition import Partition
from reference.log.producer_append import CompletedTxn, ProducerAppend
from reference.log.producer_entry import ProducerEntry
from reference.log.producer_state import ProducerState
from reference.log.reader import Placed
from reference.log.record import EndTransactionMarker
from reference.log.recovery import _Recovery
from reference.log.segment import Segment
from reference.log.snapshot_file import Snapshots
from reference.log.state_loading import StateLoader
from spec import rules
from spec.vocabulary import NO_OFFSET, CoordinatorEpoch, Offset, ProducerId, Timestamp

_restore, _decode_entry, _replay = ProducerState.restore, snapshot_file._decode_entry, ProducerState.replay
_start, _adopt = StateLoader.start, ProducerAppend.adopt_marker
_load, _keep_between = StateLoader.load, Snapshots.keep_between
_check_coordinator_epoch = ProducerAppend.check_coordinator_epoch
_last_stable = vars(Partition)["last_stable"].fget

BEYOND: Final = 2**62
"""An offset beyond every log."""

# --- state ----------------------------------------------------------------------------------------------------


def forget_open(part: ProducerState, snapshot: dict[ProducerId, ProducerEntry], now: Timestamp) -> None:
    """The open transactions of a snapshot do not hold the last stable offset."""
    _restore(part, snapshot, now)
    part.ongoing = {}


def restore_without(field: str, value: object) -> object:
    """A field of the entries is not in the snapshot."""

    def decoded(*fields: int) -> tuple[ProducerId, ProducerEntry]:
        producer_id, entry = _decode_entry(*fields)
        return producer_id, ProducerEntry._make({**entry._asdict(), field: value}.values())

    return decoded


def no_snapshot(loader: StateLoader, offset: Offset) -> bool:
    """No snapshot is read."""
    return False


def oldest_snapshot(loader: StateLoader, log_start: Offset, offset: int) -> None:
    """The oldest snapshot is taken for the newest, and nothing replayed behind it."""
    _start(loader, log_start, offset)
    loader.reached = Offset(max(loader.reached, min(offset, loader.reached + 3)))


def write_empty_snapshot(snapshots: Snapshots, offset: int, producers: object) -> None:
    """A snapshot without producers."""
    snapshots.path(offset).write_bytes(snapshot_file.encode({}))


def replay_data_only(state: ProducerState, batch: RecordBatch) -> tuple[CompletedTxn, ...]:
    """Markers are not replayed."""
    return () if batch.is_control else _replay(state, batch)


def replay_whole_batches_only(loader: StateLoader, placed: Iterable[Placed], below: int) -> None:
    """A batch with the log start inside is not replayed."""
    for found in placed:
        if loader.reached <= found.batch.base_offset < below:
            loader.state.replay(found.batch)
            loader.reached = Offset(found.batch.last_offset + 1)


def newest_snapshot(loader: StateLoader, segments: Sequence[Segment], log_start: Offset, offset: int) -> None:
    """A snapshot beyond the log's end is taken."""
    _load(loader, segments, log_start, max(offset, *loader.snapshots.offsets(), 0))


def keep_above(snapshots: Snapshots, log_start: int, log_end: int) -> None:
    """Only the snapshots below the log start go."""
    _keep_between(snapshots, log_start, BEYOND)


def no_warning(recovery: _Recovery, log: DiskLog, lost: bool, why: str) -> None:
    """That nothing is known is not said."""


def cut_nothing(segment: Segment, position: int) -> int:
    """What is damaged stays in the file."""
    return 0


def forgets_window(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """Every marker empties the window."""
    _adopt(part, batch, marker)
    part.entry = part.entry._replace(batches=())


# --- the last stable offset -----------------------------------------------------------------------------------


def unstable_ongoing_only(state: ProducerState) -> Offset:
    """A transaction is stable as soon as its marker is written."""
    return min(state.ongoing, default=NO_OFFSET)


def unstable_newest(state: ProducerState) -> Offset:
    """The newest open transaction holds the last stable offset, not the oldest."""
    return max((*state.ongoing, *state.unreplicated), default=NO_OFFSET)


def unstable_never(state: ProducerState) -> Offset:
    """No transaction holds the last stable offset."""
    return NO_OFFSET


def stable_beyond_watermark(partition: Partition) -> Offset:
    """The high watermark does not bound the last stable offset."""
    unstable = partition.state.first_unstable()
    return partition.log_end if unstable == NO_OFFSET else max(unstable, partition.log_start)


def stable_below_start(partition: Partition) -> Offset:
    """The log start does not bound the last stable offset."""
    unstable = partition.state.first_unstable()
    return partition.high_watermark if unstable == NO_OFFSET else min(unstable, partition.high_watermark)


def stable_falls(partition: Partition) -> Offset:
    """As soon as no transaction is open the last stable offset goes back."""
    stable: Offset = _last_stable(partition)
    return stable if partition.state.ongoing else Offset(max(partition.log_start, stable - 1))


def replicated_too_early(state: ProducerState, high_watermark: Offset) -> None:
    """A marker at the high watermark counts as replicated."""
    state.unreplicated = {f: txn for f, txn in state.unreplicated.items() if txn.marker_offset > high_watermark}


def complete_all(state: ProducerState, txn: CompletedTxn) -> None:
    """One marker ends the transactions of all producers."""
    state.ongoing = {}


def never_complete(state: ProducerState, txn: CompletedTxn) -> None:
    """A marker ends no transaction."""


# --- coordinators ---------------------------------------------------------------------------------------------


def no_check(part: ProducerAppend, marker: EndTransactionMarker) -> None:
    """Any coordinator may write."""


def fences_itself(part: ProducerAppend, marker: EndTransactionMarker) -> None:
    """A coordinator may write one marker of a producer only."""
    _check_coordinator_epoch(part, marker._replace(coordinator_epoch=CoordinatorEpoch(marker.coordinator_epoch - 1)))


STATE, BOUNDS, MONOTONE = rules.SEQ_STATE_RECOVERABLE, rules.LSO_BOUNDS, rules.LSO_MONOTONE
DECIDED, COMMITTED, FENCED = rules.LSO_DECIDED_BELOW, rules.LSO_READ_COMMITTED, rules.FENCE_COORDINATOR_EPOCH


def nobodys_last(_: Mapping[ProducerId, ProducerEntry]) -> dict[ProducerId, LastRecord]:
    """Cleaning keeps no producer's last batch."""
    return {}


OF_DISK: Final = (
    defect("open transactions of a snapshot forgotten", DECIDED, ProducerState, "restore", forget_open),
    defect("snapshot without sequences", STATE, snapshot_file, "_decode_entry", restore_without("batches", ())),
    defect(
        "snapshot without coordinator epochs",
        STATE,
        snapshot_file,
        "_decode_entry",
        restore_without("coordinator_epoch", -1),
    ),
    defect(
        "snapshot without open transactions",
        STATE,
        snapshot_file,
        "_decode_entry",
        restore_without("txn_first_offset", -1),
    ),
    defect("snapshot without epochs", STATE, snapshot_file, "_decode_entry", restore_without("epoch", 0)),
    defect("snapshots not read", STATE, StateLoader, "_restore", no_snapshot),
    defect("batches behind a snapshot skipped", STATE, StateLoader, "start", oldest_snapshot),
    defect("snapshot of nothing", STATE, Snapshots, "take", write_empty_snapshot),
    defect("markers not replayed", STATE, ProducerState, "replay", replay_data_only),
    defect("batch around the log start not replayed", STATE, StateLoader, "replay", replay_whole_batches_only),
    defect("what is damaged stays", STATE, Segment, "cut", cut_nothing),
    defect("lost state not reported", STATE, _Recovery, "warn", no_warning),
    defect("marker empties the window", STATE, ProducerAppend, "adopt_marker", forgets_window),
    defect("unreplicated markers decide", DECIDED, ProducerState, "first_unstable", unstable_ongoing_only),
    defect("newest transaction bounds", DECIDED, ProducerState, "first_unstable", unstable_newest),
    defect("no transaction bounds", DECIDED, ProducerState, "first_unstable", unstable_never),
    defect("high watermark does not bound", BOUNDS, Partition, "last_stable", property(stable_beyond_watermark)),
    defect("log start does not bound", BOUNDS, Partition, "last_stable", property(stable_below_start)),
    defect("stable offset falls", MONOTONE, Partition, "last_stable", property(stable_falls)),
    defect("marker at the watermark is replicated", DECIDED, ProducerState, "on_high_watermark", replicated_too_early),
    defect("marker ends all transactions", DECIDED, ProducerState, "complete", complete_all),
    defect("marker ends nothing", COMMITTED, ProducerState, "complete", never_complete),
    Planted(
        "snapshot beyond the end taken",
        STATE,
        (Patch(StateLoader, "load", newest_snapshot), Patch(Snapshots, "keep_between", keep_above)),
    ),
    defect("snapshots beyond the end kept", STATE, Snapshots, "keep_between", keep_above),
    defect("coordinator fences itself", FENCED, ProducerAppend, "check_coordinator_epoch", fences_itself),
    defect("any coordinator writes", FENCED, ProducerAppend, "check_coordinator_epoch", no_check),
    defect("a producer's last batch is cleaned away", STATE, cleaner, "last_records", nobodys_last),
    *OF_READING,
)
"""Every mutant of the log on disk."""
