"""Journals of real brokers' clients, with what a reader of their logs was given: no class but those that are legal."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from model_tests.audit.log import read_log
from model_tests.audit.partition_context import transactions
from model_tests.audit.recorded import KAFKA_4_0, journal, observed
from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.from_journal import from_journal
from model_tests.histories.journal import Acknowledged, ClientJournal, read_history
from model_tests.histories.report import report_on
from model_tests.logs.kafka_log_batches import Integers
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.support.audited_histories import found
from spec.vocabulary import ControlType

Reported = tuple[ClientJournal, dict[tuple[str, int], Integers]]

LEGAL = {AnomalyKind.INT_SEND_SKIP, AnomalyKind.WRITE_CYCLE, AnomalyKind.UNSEEN}


def reported(recordings: Path, recording: str) -> Reported:
    """The clients' journal for the topics that are not compacted, and the records visible in their logs."""
    given: dict[tuple[str, int], Integers] = {}
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
    whole = read_history(journal(recording))
    return ClientJournal(whole.attempts, _only(whole.acknowledged, given)), given


def _only(
    acknowledged: Mapping[tuple[str, int], Acknowledged], given: Mapping[tuple[str, int], Integers]
) -> dict[tuple[str, int], Acknowledged]:
    return {key: each for key, each in acknowledged.items() if key in given}


def test_a_real_history_has_no_anomaly(recordings: Path) -> None:
    """Committed, aborted, fenced and of unknown outcome: what was answered is what is visible."""
    report = report_on(from_journal(*reported(recordings, KAFKA_4_0)), KAFKA_4_0)

    assert set(found(report)) <= LEGAL
    assert not report.is_violated
    assert report.sent > 30_000


def test_a_record_that_is_kept_from_the_reader_is_lost_and_its_transaction_torn(recordings: Path) -> None:
    """The acknowledged record of a real transaction, taken out of what was read."""
    history, given = reported(recordings, KAFKA_4_0)
    key, own = next((key, own) for key, own in history.acknowledged.items() if key[0] == "orders")
    committed = [history.attempts[number].reported.value == "commit" for number in own.attempts.tolist()]
    offset = own.offsets[committed.index(True) + 1]
    given[key] = given[key][given[key] != offset]

    counts = found(report_on(from_journal(history, given), KAFKA_4_0))

    assert {AnomalyKind.LOST_WRITE, AnomalyKind.TORN, AnomalyKind.INT_POLL_SKIP} <= set(counts)
