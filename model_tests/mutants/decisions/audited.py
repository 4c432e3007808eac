"""The audit of logs as a place for mutants: logs with known defects, bundled recordings, and cases that these lack.

The cases that no recording has are small logs, written with the reference's bytes.
"""

import atexit
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from model_tests.audit.recorded import CLUSTER, DEFECTS, KAFKA_3_9, KAFKA_4_0, defects, journal, unpacked
from model_tests.audit.run import run
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.logs.kafka_log_read import read_checked
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.client_cases import client_places
from model_tests.mutants.decisions.joined_cases import joined_places
from reference.broker.group_record import OffsetKey, OffsetValue, encode_key
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec import rules
from spec.vocabulary import ControlType, LeaderEpoch, Offset

# --- cases that no recording has --------------------------------------------------------------------------------------


UNUSED_PRODUCER: Final = 900_000
"""A producer id that no coordinator has handed out."""

PRODUCER: Final = 9  # any producer id
GONE: Final = TopicPartition("orders", 0)
COMMITTED: Final = TopicPartition("orders", 1)


def of_no_client(case: Path, into: Path) -> Path:
    """The logs of a case; at the end of one log is an open transaction of a producer that no coordinator knows."""
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
    """Offsets of a group while a transaction has pending ones: one offset is deleted, the other is committed again."""
    folder = into / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    committed = ControlType.COMMIT
    batches = (
        *(data_batch([_offset(of, offset)]) for of in (GONE, COMMITTED) for offset in (5, 6)),
        *(
            data_batch([_offset(of, 8)], producer_id=PRODUCER, epoch=0, base_sequence=number, transactional=True)
            for number, of in enumerate((GONE, COMMITTED))
        ),
        data_batch([_offset(GONE, None)]),
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


# --- the logs ---------------------------------------------------------------------------------------------------------


AUDITED: Final = (KAFKA_4_0, CLUSTER, KAFKA_3_9)
"""The quick ones first."""

DELETED: Final = "deleted offsets"
OF_NO_CLIENT: Final = "a producer of nobody"
COORDINATED: Final = "v-torn"
"""A case with every partition of its coordinators' log."""

Reported: TypeAlias = frozenset[tuple[object, ...]]
"""Findings on logs, each with the first rule that it violates."""


def audited() -> Iterator[JudgedCall]:
    """Client histories and joined evidence, then logs, the small ones first; recordings with their histories."""
    cases = (f"{DEFECTS}/{case.case}" for case in defects(_logs()))
    logs = (JudgedCall(f"audit of {name}", AuditedLog(name)) for name in chain((DELETED, OF_NO_CLIENT), cases, AUDITED))
    return chain(client_places(), joined_places(), logs)


class AuditedLog:
    """A log directory, and the audit's findings on it without a mutant."""

    def __init__(self, name: str) -> None:
        """The directory is found when it is first audited."""
        self._name = name
        self._true: Reported | None = None

    def __call__(self) -> tuple[str, ...]:
        """The rules that the audit names although they hold, or no longer names although they are violated."""
        reported = self._reported()
        if self._true is None:
            self._true = reported
        return tuple(sorted({str(rule) for rule, *_ in reported ^ self._true}))

    def _reported(self) -> Reported:
        """Findings; and what a broker can be asked: how far a reader may read, and what it is given."""
        history = journal(self._name) if self._name in AUDITED else ""
        report = run([_logs() / self._name], history=history)
        findings = (
            (one.rule.id, str(one.severity), log.path, one.offset, one.producer_id) for log, one in report.findings
        )
        logs = [(log.path, log.verdict) for log in report.audited]
        stable = ((rules.LSO_BOUNDS.id, path, verdict.offsets.last_stable) for path, verdict in logs)
        visible = ((rules.LSO_READ_COMMITTED.id, path, verdict.visible_records) for path, verdict in logs)
        groups = ((rules.OFFSETS_ATOMIC.id, one) for one in report.groups.offsets)
        return frozenset(chain(findings, stable, visible, groups))


@cache
def _logs() -> Path:
    """Where the recordings are unpacked, until the process ends."""
    kept = ExitStack()
    atexit.register(kept.close)
    directory = kept.enter_context(unpacked())
    of_deleted_offsets(directory / DELETED)
    of_no_client(directory / DEFECTS / COORDINATED, directory / OF_NO_CLIENT)
    return directory
