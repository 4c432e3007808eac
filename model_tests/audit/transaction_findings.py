"""Findings about transactions at their places, and the words that they share."""

from collections.abc import Iterable
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.transactions_join import LogIndex
from model_tests.audit.transactions_summary import DataRun
from model_tests.histories.severity import Severity
from spec.rules import Rule
from spec.vocabulary import ControlType

OFFSETS_TOPIC: Final = "__consumer_offsets"

BY_HAND: Final = "; an operator may have aborted it by hand"

Located = tuple[LogIndex, Finding]
"""A finding, and the log it is in."""


def outcome_word(outcome: int) -> str:
    """COMMIT or ABORT."""
    return "COMMIT" if outcome == ControlType.COMMIT.value else "ABORT"


def hidden(place: LogIndex, first: int, end: int) -> bool:
    """Between the two offsets the log may have lost a marker."""
    summary = place.summary
    return first < summary.cleaned_to or any(first <= offset <= end for offset in summary.unreadable)


def abort_command(place: LogIndex, run: DataRun) -> str:
    """What an operator runs to end a hanging transaction; printed, never run."""
    return (
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort "
        f"--topic {place.topic} --partition {place.partition} --start-offset {run.first_offset}"
    )


def located(
    place: LogIndex,
    rule: Rule,
    offset: int,
    known: CoordinatorTransaction,
    message: str,
    step: str,
    remedy: str,
    epoch: int | None = None,
    severity: Severity = Severity.VIOLATION,
) -> Located:
    """A finding about a known transaction, at its place.

    Args:
        place: of the log.
        rule: that is broken.
        offset: of the batch.
        known: the transaction, as its coordinator has it.
        message: what is wrong.
        step: that failed.
        remedy: what ends it.
        epoch: of the producer, None for the transaction's.
        severity: violation, suspicious, known or undecided.
    """
    identity = known.marker_epoch if epoch is None else epoch
    return place, Finding(
        rule, severity, offset, known.producer_id, identity, message, "", known.transactional_id, step, remedy
    )


def placed_once(found: Iterable[Located]) -> list[Located]:
    """Of what several replicas of a partition have, each once."""
    seen: dict[tuple[str, int, str, int, int], Located] = {}
    for place, finding in found:
        key = (place.topic, place.partition, finding.rule.id, finding.offset, finding.producer_id)
        seen.setdefault(key, (place, finding))
    return list(seen.values())
