"""Journals of real brokers' clients, with what a reader of their logs was given: no class but those that are legal."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from model_tests.audit.log import read_log
from model_tests.audit.partition_context import transactions
from model_tests.audit.recorded import KAFKA_4_0, journal, observed
from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.as_journal import as_journal
from model_tests.histories.from_journal import from_journal
from model_tests.histories.operations import Integers, OperationRecords, Operations, Partition
from model_tests.histories.report import report_on
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.support.audited_histories import found
from spec.vocabulary import ControlType

LEGAL = {AnomalyKind.INT_SEND_SKIP, AnomalyKind.WRITE_CYCLE, AnomalyKind.UNSEEN}


def visible(recordings: Path, recording: str) -> dict[Partition, Integers]:
    """The records that are visible in the logs of topics that are not compacted."""
    given: dict[Partition, Integers] = {}
    for log in list_logs([str(recordings / recording)]).logs:
        batches, _ = read_log(log)
        seen = observed(recording).get(log.name)
        if seen is None or batches.cleaned.any():
            continue
        ended = transactions(batches)
        aborted = (ended.marker >= 0) & (batches.control_type[ended.marker] == ControlType.ABORT)
        shown = ~batches.control & ~(ended.joins & aborted) & (batches.base_offset < seen.lso)
        ranges = zip(batches.base_offset[shown], batches.last_offset[shown], strict=True)
        given[log.topic, log.partition] = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(first, last + 1) for first, last in ranges)]
        )
    return given


def history_of(recording: str, given: Mapping[Partition, Integers]) -> Operations:
    """What clients were answered of these partitions, and a reader that was given these records."""
    whole = from_journal(journal(recording), given)
    chosen = np.isin(whole.sent.key, [number for number, key in enumerate(whole.keys) if key in given])
    sent = (whole.sent.operation, whole.sent.key, whole.sent.offset, whole.sent.value)
    return replace(whole, sent=OperationRecords(*(column[chosen] for column in sent)))


def test_a_real_history_has_no_anomaly(recordings: Path) -> None:
    """Committed, aborted, fenced and of unknown outcome: what was answered is what is visible."""
    report = report_on(history_of(KAFKA_4_0, visible(recordings, KAFKA_4_0)), KAFKA_4_0)

    assert set(found(report)) <= LEGAL
    assert not report.is_violated
    assert report.sent > 30_000


def test_a_record_that_is_kept_from_the_reader_is_lost_and_its_transaction_torn(recordings: Path) -> None:
    """The acknowledged record of a real transaction, taken out of what was read."""
    given = visible(recordings, KAFKA_4_0)
    answered = as_journal(history_of(KAFKA_4_0, given))
    key, own = next((key, own) for key, own in answered.acknowledged.items() if key[0] == "orders")
    committed = [answered.attempts[number].reported.value == "commit" for number in own.attempts.tolist()]
    offset = own.offsets[committed.index(True) + 1]
    given[key] = given[key][given[key] != offset]

    counts = found(report_on(history_of(KAFKA_4_0, given), KAFKA_4_0))

    assert {AnomalyKind.LOST_WRITE, AnomalyKind.TORN, AnomalyKind.INT_POLL_SKIP} <= set(counts)
