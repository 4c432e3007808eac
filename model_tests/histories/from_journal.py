"""A journal (`--history`), and what a reader received (`--received`), as one history.

A journal has no values: a record is known by its offset. Attempts of the same producer follow each other by
their lines; the reader is another process, of whose time nothing is known.
"""

from collections.abc import Mapping
from typing import Final

from model_tests.histories.building import NOT_REPORTED, Building
from model_tests.histories.journal import ClientJournal, ReportedEnd
from model_tests.histories.operations import OperationResult, Operations
from model_tests.logs.kafka_log_batches import Integers
from spec.judging.judge_clients import ReaderAssignment

READER: Final = "reader"

_OUTCOMES: Final = {
    ReportedEnd.COMMITTED: OperationResult.OK,
    ReportedEnd.NO_TRANSACTION: OperationResult.OK,
    ReportedEnd.ABORTED: OperationResult.FAIL,
    ReportedEnd.UNKNOWN: OperationResult.INFO,
}


def from_journal(journal: ClientJournal, received: Mapping[tuple[str, int], Integers]) -> Operations:
    """The history of a journal's producers and of one reader."""
    building = Building()
    operations: list[int] = []
    for attempt in journal.attempts:
        building.tick()
        process, outcome = building.process(attempt.producer), _OUTCOMES[attempt.reported]
        is_transaction = attempt.reported is not ReportedEnd.NO_TRANSACTION
        name = "transaction" if is_transaction else "sends"
        operations.append(building.operation(process, attempt.line, outcome, name, building.now, atomic=is_transaction))
    for key, acknowledged in journal.acknowledged.items():
        for offset, attempt_number in zip(acknowledged.offsets.tolist(), acknowledged.attempts.tolist(), strict=True):
            building.sends(operations[attempt_number], key, offset, NOT_REPORTED)
    reader = building.process(READER)
    building.begins_anew(reader, ReaderAssignment.ASSIGN, received, at_start=True)
    for number, (key, offsets) in enumerate(received.items(), start=1):
        building.tick()
        operation = building.operation(reader, number, OperationResult.OK, "reads", 0)
        for offset in offsets.tolist():
            building.gives(operation, key, offset, NOT_REPORTED)
    return building.built()
