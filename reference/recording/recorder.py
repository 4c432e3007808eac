"""Steps as rows of the trace schema: the request, the answer, and the touched state before and after."""

from collections.abc import Callable, Mapping
from enum import StrEnum, unique
from typing import Final, NamedTuple

from reference.clock import Clock
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_entry import UNKNOWN_PRODUCER, ProducerEntry, VerificationEntry
from reference.recording.trace import CACHED, COLUMNS, SCHEMA_VERSION
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, ProducerId, Timestamp

Value = int | bool | str
Row = dict[str, Value]
Observer = Callable[[Row], None]
"""Called with each step as it is added; it may stop the run by raising."""

Rename = Callable[[Row], None]
"""Changes names in a step before it is added."""

NO_ACKS: Final = -2
"""Acks of a step that is no Produce."""

BLANK: Final[Mapping[str, Value]] = {column.name: column.absent for column in COLUMNS} | {"acks": NO_ACKS}
"""A step to which no column applies."""


@unique
class Fate(StrEnum):
    """What an annotation says: what became of a message, or what somebody remarks."""

    SENT = "sent"  # by its client; it arrives in a later step, if at all
    ARRIVED = "arrived"  # its node handles it in a later step
    LOST = "lost"  # the request never arrives
    GIVEN_UP = "given up"  # its sender does not wait for the answer any more
    ANSWERED = "answered"  # the answer arrives
    ANSWER_LOST = "answer lost"
    REFUSED = "refused"  # by a draft of the protocol, for which no release has an error
    REMARK = "remark"  # what no message is about


FATE: Final = "fate"
GROUP_LEADER: Final = "group_leader"  # the member that leads the group, as JoinGroup is answered
ASSIGNMENTS: Final = "assignments"  # how many members a SyncGroup assigns partitions to
RECORD_VERSION: Final = "record_version"  # of the record of the producer ids that are handed out
FIRST_FREE_ID: Final = "first_free_id"  # what it says
"""The columns that annotations alone have; they are not of the schema, as no check judges them."""


class ObservedState(NamedTuple):
    """What a step may change, as it is at one moment."""

    entry: ProducerEntry
    verification: VerificationEntry | None
    log_start: int
    last_stable: int
    high_watermark: int
    log_end: int


NOWHERE: Final = ObservedState(UNKNOWN_PRODUCER, None, ABSENT, ABSENT, ABSENT, ABSENT)
"""The state that a step without a partition touches."""


def observe(partition: Partition, producer_id: int = ABSENT) -> ObservedState:
    """The state of a partition and of one producer on it."""
    key, state, log = ProducerId(producer_id), partition.state, partition.log
    return ObservedState(
        state.producers.get(key, UNKNOWN_PRODUCER),
        state.verifications.get(key),
        log.log_start,
        partition.last_stable,
        partition.high_watermark,
        log.log_end,
    )


class Recorder:
    """Collects the rows of one trace, in the order of the steps.

    Attributes:
        rows: the steps so far.
        clock: of the world, where nodes have clocks of their own.
        observer: gets each step from now on, no annotations.
        keeps: whether the steps from now on are kept, or the observer alone has them.
        rename: changes the names in each step, where a name may come to mean something else.
        annotates: whether annotations are added too, as a run needs that is drawn.
    """

    __slots__ = ("_common", "_steps", "annotates", "clock", "keeps", "observer", "rename", "rows")

    def __init__(self, trace: int, profile: Profile) -> None:
        """A recorder of the trace named `trace`, whose nodes behave as `profile` says."""
        self.clock: Clock | None = None
        self.rows: list[Row] = []
        self.observer: Observer | None = None
        self.keeps = True
        self.rename: Rename | None = None
        self.annotates = False
        self._steps = 0
        self._common: Row = dict(BLANK) | {
            "schema": SCHEMA_VERSION,
            "trace": trace,
            "profile": profile.name,
            "transaction_version": profile.transaction_version,
        }

    def record(
        self,
        api: str,
        now: Timestamp,
        before: ObservedState = NOWHERE,
        after: ObservedState = NOWHERE,
        /,
        **columns: Value,
    ) -> Row:
        """Add a step with its columns of WHERE, REQUEST and REPLY.

        Args:
            api: what the step is of, as Kafka calls it.
            now: the clock of the node, in milliseconds.
            before: what the step touches, as it was.
            after: the same, as it is then.
            **columns: those that apply.
        """
        return self.add(api, now, columns, before, after)

    def add(
        self, api: str, now: Timestamp, columns: Row, before: ObservedState = NOWHERE, after: ObservedState = NOWHERE
    ) -> Row:
        """As `record`, of columns that are in a dictionary already.

        Args:
            api: what the step is of, as Kafka calls it.
            now: the clock of the node, in milliseconds.
            columns: those that apply.
            before: what the step touches, as it was.
            after: the same, as it is then.
        """
        row = dict(self._common)
        row["api"] = str(api)  # plain text, as every reader of a row expects
        row["step"] = self._steps
        row["time_ms"] = now
        row["world_ms"] = now if self.clock is None else self.clock.now
        row.update(columns)
        if before is not NOWHERE:
            _fill(row, BEFORE, before)
        if after is not NOWHERE:
            _fill(row, AFTER, after)
        if self.rename is not None:
            self.rename(row)
        self._steps += 1
        if self.keeps:
            self.rows.append(row)
        if self.observer is not None and FATE not in row:
            self.observer(row)
        return row

    def annotate(self, fate: Fate, api: str, columns: Row) -> None:
        """Add what no node handles, where it is to be drawn.

        Args:
            fate: what the annotation says.
            api: of the message that it is about, or a remark in words.
            columns: those that apply.
        """
        if self.annotates:
            now = Timestamp(0) if self.clock is None else self.clock.now
            self.add(api, now, {**columns, FATE: fate.value})

    def forget(self) -> None:
        """Let go of rows and observer: the parts of a world hold one another, and so outlive it for a while."""
        self.rows = []
        self.observer = None


def batch_columns(batch: RecordBatch) -> Row:
    """The columns of REQUEST that a batch fills."""
    marker = batch.marker() if batch.is_control else None
    return {
        "sent_base_offset": batch.base_offset,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_offset_delta": batch.last_offset_delta,
        "record_count": batch.record_count,
        "timestamp_ms": batch.max_timestamp,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "control_type": ABSENT if marker is None else int(marker.control_type),
        "coordinator_epoch": ABSENT if marker is None else marker.coordinator_epoch,
    }


def verification_columns(verification: VerificationEntry | None, guard: int) -> Row:
    """The columns of REQUEST about the verification that the append meets."""
    if verification is None:
        return {}
    return {
        "verification_pending": True,
        "verification_guarded": guard == verification.guard,
        "verification_bumps": verification.bumps,
        "verification_lowest": verification.lowest_sequence,
    }


def reply_columns(error: ErrorCode, first: int = ABSENT, last: int = ABSENT, duplicate: bool = False) -> Row:
    """The columns of REPLY of an append.

    Args:
        error: the answer.
        first: offset in the answer, -1 none.
        last: offset of the last record, -1 none.
        duplicate: whether the batch was there already.
    """
    return {
        "error": int(error),
        "first_offset": first,
        "last_offset": last,
        "duplicate": duplicate,
        "appended": error == ErrorCode.NONE and not duplicate,
    }


class _ColumnNames(NamedTuple):
    """The names of the state columns under one prefix; of cached batches, newest first."""

    epoch: str
    coordinator_epoch: str
    txn_first_offset: str
    log_start: str
    last_stable: str
    high_watermark: str
    log_end: str
    cached: tuple[tuple[str, str, str], ...]

    @classmethod
    def under(cls, prefix: str) -> "_ColumnNames":
        """The names that begin with `prefix`."""
        single = (f"{prefix}{name}" for name in cls._fields[:-1])
        cached = tuple(
            (
                f"{prefix}cached_{place}_last_sequence",
                f"{prefix}cached_{place}_last_offset",
                f"{prefix}cached_{place}_offset_delta",
            )
            for place in range(CACHED)
        )
        return cls._make((*single, cached))


BEFORE: Final = _ColumnNames.under("before_")
AFTER: Final = _ColumnNames.under("after_")


def _fill(row: Row, names: _ColumnNames, observed: ObservedState) -> None:
    entry, _, row[names.log_start], row[names.last_stable], row[names.high_watermark], row[names.log_end] = observed
    row[names.epoch], row[names.coordinator_epoch], _, row[names.txn_first_offset], batches = entry
    if batches:
        for (last_sequence, last_offset, offset_delta), cached in zip(names.cached, reversed(batches), strict=False):
            row[last_sequence], row[last_offset], row[offset_delta], _ = cached
