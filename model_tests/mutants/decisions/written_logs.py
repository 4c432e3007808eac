"""Small logs for the audit, for cases that no recording has: written with the reference's bytes."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from model_tests.logs.kafka_log_folders import list_logs
from model_tests.logs.kafka_log_read import read_checked
from reference.broker.group_record import OffsetKey, OffsetValue, encode_key
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec.vocabulary import ControlType, LeaderEpoch, Offset

UNUSED_PRODUCER: Final = 900_000
"""A producer id that no coordinator has handed out."""

PRODUCER: Final = 9  # any producer id
DELETED: Final = TopicPartition("orders", 0)
COMMITTED: Final = TopicPartition("orders", 1)


def of_no_client(case: Path, into: Path) -> Path:
    """The logs of a case, at the end of one the open transaction of a producer that no coordinator knows."""
    shutil.copytree(case, into)
    log = next(one for one in list_logs([str(into)]).logs if not one.by_coordinator)
    batches, _ = read_checked(log.segments[-1])
    end, epoch = Offset(int(batches.last_offset[-1]) + 1), LeaderEpoch(int(batches.leader_epoch[-1]))
    batch = data_batch(
        [Record(0, 0, None, b"v")], producer_id=UNUSED_PRODUCER, epoch=0, base_sequence=0, transactional=True
    )
    with Path(log.segments[-1].path).open("ab") as segment:
        segment.write(batch.at(end, epoch).encode())
    return into


def of_deleted_offsets(into: Path) -> Path:
    """Offsets of a group while a transaction has others pending: one is deleted, the other committed once more."""
    folder = into / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    committed = ControlType.COMMIT
    batches = (
        *(data_batch([_offset(of, offset)]) for of in (DELETED, COMMITTED) for offset in (5, 6)),
        *(
            data_batch([_offset(of, 8)], producer_id=PRODUCER, epoch=0, base_sequence=number, transactional=True)
            for number, of in enumerate((DELETED, COMMITTED))
        ),
        data_batch([_offset(DELETED, None)]),
        data_batch([_offset(COMMITTED, 7)]),
        marker_batch(PRODUCER, 0, committed, 0),
    )
    (folder / f"{0:020}.log").write_bytes(_encoded(batches))
    return into


def _offset(of: TopicPartition, offset: int | None) -> Record:
    value = None if offset is None else OffsetValue(Offset(offset)).encode()
    return Record(0, 0, encode_key(OffsetKey("readers", of)), value)


def _encoded(batches: Sequence[RecordBatch]) -> bytes:
    return b"".join(batch.at(Offset(offset), LeaderEpoch(0)).encode() for offset, batch in enumerate(batches))
