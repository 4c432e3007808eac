"""Offsets that groups committed, by themselves and in transactions, and the partitions that they are of."""

from typing import Any, Final

from model_tests.audit.recorded import KAFKA_3_9
from model_tests.unit.audit.audit_case import AuditCase
from reference.broker import group_record as writer
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec.versions import PROFILES
from spec.vocabulary import ABSENT, ControlType, Offset, Timestamp


def of(offset: int | None, partition: int = 0) -> Record:
    """An offset of the group g in a partition of orders, or its end."""
    value = writer.OffsetValue(Offset(offset)).encode() if offset is not None else None
    return Record(0, 0, writer.encode_key(writer.OffsetKey("g", TopicPartition("orders", partition))), value)


def unreadable(value: bytes) -> Record:
    """A record of the group's offset with these bytes."""
    return Record(0, 0, of(1).key, value)


def _listed(records: tuple[Record, ...]) -> list[Record]:
    return [one._replace(offset_delta=number) for number, one in enumerate(records)]


def plain(*records: Record, at_ms: int = 0) -> RecordBatch:
    """Committed by the group itself."""
    time = Timestamp(at_ms)
    return data_batch(_listed(records))._replace(base_timestamp=time, max_timestamp=time)


def inside(*records: Record, transactional: bool = True) -> RecordBatch:
    """Committed in a transaction of producer 9; the coordinator, who appends them, numbers none."""
    return data_batch(_listed(records), producer_id=9, epoch=3, base_sequence=0, transactional=transactional)


COMMITTED: Final = marker_batch(9, 3, ControlType.COMMIT, 0)
ABORTED: Final = marker_batch(9, 3, ControlType.ABORT, 0)


def groups(name: str, batches: tuple[RecordBatch, ...], *findings: str, **more: Any) -> AuditCase:
    """A log of offsets."""
    return AuditCase(name, findings=findings, logs={"__consumer_offsets-0": batches}, **more)


def offset(number: int = 0, **values: object) -> dict[str, object]:
    """What the report has of the group's offset in a partition."""
    return {f"groups.offsets.{number}.{name}": value for name, value in values.items()}


PLACE: Final = "offsets.atomic __consumer_offsets-0@"
TAKEN: Final = (
    f"suspicious {PLACE}1, producer 9, a tombstone of the offset, as its expiration or deletion writes it, during the "
    "transaction"
)

DECIDED: Final = (
    groups(
        "a marker decides what becomes of offsets",
        (
            plain(of(5), of(7, 1)),
            *(inside(of(6)), COMMITTED),
            *(inside(of(8), of(8, 1)), ABORTED),
            inside(of(10)),
        ),
        reported={
            **offset(group="g", topic="orders", partition=0, offset=6, recorded_at=2, committed=1, aborted=1),
            "groups.offsets.0.pending": [{"producer_id": 9, "producer_epoch": 3, "offset": 10, "recorded_at": 7}],
            **offset(1, offset=7, committed=0, aborted=1, pending=[]),
        },
    ),
    groups(
        "a commit does not take back an offset that was committed in between",
        (inside(of(6)), plain(of(8)), COMMITTED),
        reported=offset(offset=8),
    ),
    groups(
        "a tombstone ends an offset, and what is pending for it",
        (plain(of(5)), inside(of(6)), plain(of(None)), COMMITTED),
        TAKEN,
        reported=offset(offset=ABSENT, recorded_at=ABSENT),
    ),
    groups(
        "a pending offset is shown with the transaction that it waits for",
        (plain(of(5)), inside(of(6))),
        printed=("g ... orders-0 ... 5 ... 6, producer 9",),
    ),
    groups(
        "offsets of a producer outside its transaction are visible before its outcome",
        (plain(of(5)), inside(of(6), transactional=False), ABORTED),
        f"violation {PLACE}1, producer 9, TxnOffsetCommit",
        says=("group g: orders-0 = 6",),
    ),
    groups(
        "a value of a later version is skipped, a damaged one is damage",
        (plain(unreadable(b"\0\x09whatever")), plain(unreadable(b"\0\3damaged")), plain(of(4))),
        f"undecided {PLACE}0, TxnOffsetCommit",
        damage=("the record at offset 1",),
        reported=offset(offset=4),
    ),
)

TOMBSTONES: Final = (
    *(plain(of(5)), inside(of(6)), plain(of(None)), COMMITTED),
    *(inside(of(7)), plain(of(None)), ABORTED),
    *(inside(of(8)), plain(of(None)), inside(of(9)), COMMITTED),
)

LOST: Final = (
    groups(
        "a tombstone takes a pending offset that is committed, under a release that lets it",
        TOMBSTONES,
        TAKEN,
        says=("group g: offset 6 of orders-0", "a tombstone at offset 2"),
        remedy=("--topic orders:0 --reset-offsets --to-offset 6",),
        options={"profile": PROFILES["4.4"]},
        reported=offset(offset=9),
    ),
    groups(
        "a tombstone takes no pending offset, under a release that does not let it",
        TOMBSTONES,
        options={"profile": PROFILES["3.9.0"]},
        reported=offset(offset=9),
    ),
)


def beyond(where: str, committed: int, at_ms: int, *severities: str) -> AuditCase:
    """An offset beside the end of its partition, which was copied as it was at time 0."""
    orders = data_batch([Record(number, 0, None, b"v") for number in range(3)])
    orders = orders._replace(base_timestamp=Timestamp(0), max_timestamp=Timestamp(0))
    return AuditCase(
        f"an offset {where} of its partition",
        findings=tuple(f"{severity} repl.committed_survives __consumer_offsets-0@0" for severity in severities),
        says=(f"group g committed offset {committed} of orders-0", "ends at offset 3") if severities else (),
        logs={"orders-0": (orders,), "__consumer_offsets-0": (plain(of(committed), at_ms=at_ms),)},
    )


BEYOND: Final = (
    beyond("at the end", 3, 0),
    beyond("behind the end", 4, 0, "suspicious"),
    beyond("behind the end, committed after the copy", 4, 600_000, "undecided"),
)

RECORDED: Final = AuditCase(
    "three recorded groups committed in transactions, and each commit became true or was aborted",
    recording=KAFKA_3_9,
    parts=tuple(f"__consumer_offsets-{number}" for number in range(4)),
    printed=(
        *(" ctp ", " rd-g ", " aio-g "),
        "Offsets of 3 groups for 5 partitions; in transactions 99 committed, 31 aborted, 0 pending.",
    ),
)

CASES: Final = (*DECIDED, *LOST, *BEYOND, RECORDED)
