"""Snapshots and aborted indexes that a broker wrote of a sound log, one batch of which has been broken since."""

from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import Edit, segments
from model_tests.unit.audit.written import data, encoded, marker, placed
from model_tests.unit.audit.written_world import write_log
from reference.log.batch import TRANSACTIONAL, RecordBatch, marker_batch
from spec.versions import NEWEST
from spec.vocabulary import ControlType, Epoch, ProducerId, Sequence, Timestamp

BEGUN_MS: Final = 1_700_000_000_000


def timed(*batches: RecordBatch) -> list[RecordBatch]:
    """A batch each second, of one record each; a segment has ten of them."""
    times = (Timestamp(BEGUN_MS + 1000 * number) for number in range(len(batches)))
    return [batch._replace(base_timestamp=time, max_timestamp=time) for batch, time in zip(batches, times, strict=True)]


def broken_since(sound: list[RecordBatch], number: int, **fields: Any) -> Edit:
    """The files of the sound log beside segments in which one batch has other fields."""
    batches = placed([*sound[:number], sound[number]._replace(**fields), *sound[number + 1 :]])

    def edit(directory: Path) -> None:
        write_log(directory / "a-0", NEWEST, tuple(placed(sound)), 0)
        paths = segments(directory / "a-0")
        bases = [*(int(path.stem) for path in paths), len(batches)]
        for path, (base, end) in zip(paths, pairwise(bases), strict=True):
            path.write_bytes(encoded(batches[base:end]))

    return edit


def broken(name: str, edit: Edit, finding: str, *caused: str, says: tuple[str, ...] = (), **more: Any) -> AuditCase:
    """One finding, which has caused the others."""
    return AuditCase(name, findings=(finding,), says=says, explains={"": caused}, edit=edit, **more)


def open_data(*sequences: int) -> tuple[RecordBatch, ...]:
    """Transactional batches."""
    return tuple(data(sequence, transactional=True) for sequence in sequences)


SNAPSHOT: Final = "seq.state_recoverable"
INDEX: Final = "lso.aborted_index"
FIRST_SNAPSHOT: Final = f"{10:020}.snapshot: "

ONE: Final = timed(*map(data, range(21)))
TWO: Final = timed(
    *(data(number // 2)._replace(producer_id=ProducerId(7 if number % 2 else 9)) for number in range(21))
)
COMMITTED: Final = timed(*open_data(0, 1, 2, 3), marker(), *open_data(*range(4, 20)), marker(), *open_data(20, 21))
ABORTED: Final = timed(
    *(batch._replace(producer_id=ProducerId(9)) for batch in open_data(0, 1)),
    *(*open_data(0, 1), marker(kind=ControlType.ABORT)),
    *(*open_data(*range(2, 20)), marker_batch(9, 0, ControlType.ABORT, 0)),
)

DATA: Final = (
    broken(
        "the last batch before a snapshot has another sequence",
        broken_since(ONE, 9, base_sequence=Sequence(12)),
        "violation seq.successor a-0@9, producer 7",
        SNAPSHOT,
        says=(f"{FIRST_SNAPSHOT}says last sequence 9, the log 12",),
    ),
    broken(
        "the last batch before a snapshot has the next epoch",
        broken_since(ONE, 9, producer_epoch=Epoch(1)),
        "violation seq.epoch_reset a-0@9, producer 7",
        SNAPSHOT,
        says=(f"{FIRST_SNAPSHOT}says epoch 0, the log 1",),
    ),
    broken(
        "the last batch before a snapshot, in an open transaction, has another sequence",
        broken_since(COMMITTED, 9, base_sequence=Sequence(11)),
        "violation seq.successor a-0@9, producer 7",
        SNAPSHOT,
    ),
    AuditCase(
        "the last batch before a snapshot has a producer id that no snapshot knows",
        findings=(f"undecided {SNAPSHOT} a-0@9", "violation seq.successor a-0@9, producer 8"),
        says=("does not know producer 8", f"{FIRST_SNAPSHOT}says last sequence 9, the log 8"),
        explains={"violation": ("seq.successor", "seq.first", SNAPSHOT)},
        edit=broken_since(ONE, 9, producer_id=ProducerId(8)),
    ),
    *(
        broken(
            f"the last batch of producer {own} before a snapshot has the id of producer {other}",
            broken_since(TWO, 8 if own == 9 else 9, producer_id=ProducerId(other)),
            f"violation seq.successor a-0@8, producer {other}",
            *("seq.successor", "seq.exactly_once", SNAPSHOT),
            says=(f"{FIRST_SNAPSHOT}{says}",),
        )
        for own, other, says in (
            (7, 9, "2 producers are not as in the log"),
            (9, 7, "says last sequence 4, the log 3"),
        )
    ),
)

UNMARKED: Final = "violation seq.well_formed a-0@4, producer 7"

MARKERS: Final = (
    broken(
        "a marker is no control batch: by the log its transaction is open at the snapshots",
        broken_since(COMMITTED, 4, attributes=TRANSACTIONAL),
        UNMARKED,
        SNAPSHOT,
        says=(f"{FIRST_SNAPSHOT}says coordinator epoch 0, the log -1; open transaction from 5, the log 0",),
    ),
    broken(
        "an abort marker is no control batch: the aborted index lists what the log has not aborted",
        broken_since(ABORTED, 4, attributes=TRANSACTIONAL),
        UNMARKED,
        *(INDEX, SNAPSHOT),
        says=("lists an aborted transaction at offsets 2..4, but the log has no such ABORT marker",),
    ),
    broken(
        "an abort marker has the id of another producer: one entry of the aborted index shows it",
        broken_since(ABORTED, 4, producer_id=ProducerId(9)),
        f"violation {INDEX} a-0@0, producer 9",
        *(INDEX, SNAPSHOT),
        says=("says producer 7, the log gives 9", f"{FIRST_SNAPSHOT}2 producers are not as in the log"),
    ),
)

CASES: Final = (*DATA, *MARKERS)
