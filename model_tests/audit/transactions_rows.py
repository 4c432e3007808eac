"""The join's evidence as flat records, one by one or in columns, which the decisions of `spec.judging` take."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.transactions_summary import AuditedMarker
from spec.judging.judge import RuleCheck
from spec.judging.judge_join import CoordinatorOutcome, PartitionMarker
from spec.protocol.records import build, flatten
from spec.readings.reading_numpy import folding

Record = TypeVar("Record")


def outcome_of(known: CoordinatorTransaction) -> CoordinatorOutcome:
    """A transaction as the decisions take it."""
    return CoordinatorOutcome(
        known.producer_epoch,
        known.marker_epoch,
        known.outcome,
        known.coordinator_epoch,
        known.completed,
        known.prepared_ms,
        known.completed_ms,
    )


def marker_of(marker: AuditedMarker) -> PartitionMarker:
    """A marker as the decisions take it, without what its log has around it."""
    return PartitionMarker(marker.producer_epoch, marker.outcome, marker.coordinator_epoch, marker.timestamp)


def columns_of(rows: Sequence[Record], shape: tuple[int, ...] = ()) -> Record:
    """Records of one kind, one at least, as one record of columns.

    Args:
        rows: the records.
        shape: of the columns, where they are to be crossed with others; else a column that is everywhere the same is
            a constant.
    """
    names = [name for name, _ in flatten(rows[0])]
    columns = {name: np.array([getattr(row, name) for row in rows]) for name in names}
    return build(type(rows[0]), lambda name: columns[name].reshape(shape) if shape else folding(columns[name]))


def broken(checks: Iterable[RuleCheck]) -> list[RuleCheck]:
    """The checks of one record that do not hold."""
    return [check for check in checks if check.at_stake and not check.holds]


def broken_rows(checks: Iterable[RuleCheck], count: int) -> npt.NDArray[np.bool_]:
    """In which of so many rows some check of the columns does not hold."""
    found = np.zeros(count, np.bool_)
    for check in checks:
        found |= np.asarray(check.at_stake, np.bool_) & ~np.asarray(check.holds, np.bool_)
    return found
