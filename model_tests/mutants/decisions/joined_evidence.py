"""The evidence of a producer's transactions as the audit gathers it from logs, made without them, to be changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from model_tests.audit.coordinator_log_history import CoordinatorHistory, CoordinatorTransaction, HeldProducerId
from model_tests.audit.findings import LogBounds
from model_tests.audit.partition_verdict import AuditedTransactionLog, PartitionVerdict
from model_tests.audit.transactions_summary import (
    AuditedMarker,
    DataRun,
    PartitionTransactions,
    TransactionEvidence,
)
from model_tests.logs.coordinator_log import TOPIC
from spec.vocabulary import ABSENT, ControlType, TransactionState

NAME: Final = "payments"
PRODUCER: Final = 7  # any producer id
A: Final = ("a", 0)
B: Final = ("b", 0)
OFFSETS: Final = ("__consumer_offsets", 0)

END: Final = 1_000
SECOND: Final = 1_000
"""The log end, beyond all that is written; and milliseconds of a second."""

ABORT: Final = ControlType.ABORT.value
COMMIT: Final = ControlType.COMMIT.value

Name: TypeAlias = tuple[str, int]
Changes: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class JoinEvidence:
    """What the logs of three partitions and of their coordinator have of a producer's transactions.

    Attributes:
        version: transaction version, 0 or 2: whether each end raises the epoch.
        summary: further fields of each partition's summary.
        history: further fields of the coordinator's log.
        identity: further fields of the producer id there.
        coordinator: further fields of the summary of the coordinator's log.
    """

    version: int = 2
    runs: dict[Name, list[DataRun]] = field(default_factory=dict)
    markers: dict[Name, list[AuditedMarker]] = field(default_factory=dict)
    transactions: list[CoordinatorTransaction] = field(default_factory=list)
    summary: dict[Name, dict[str, Any]] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    coordinator: dict[str, Any] = field(default_factory=dict)

    def add(self, outcome: int, *partitions: Name) -> None:
        """A whole transaction, a minute after the one before."""
        number = len(self.transactions)
        at, epoch = (number + 1) * 60 * SECOND, number if self.version == 2 else 0
        marked = epoch + 1 if self.version == 2 else epoch
        complete = TransactionState.COMPLETE_COMMIT if outcome == COMMIT else TransactionState.COMPLETE_ABORT
        self.transactions.append(
            CoordinatorTransaction(
                NAME,
                PRODUCER,
                epoch,
                marked,
                complete.value,
                outcome,
                frozenset(partitions),
                listed=True,
                first_offset=10 * number,
                started_ms=at,
                timeout_ms=60 * SECOND,
                prepared_offset=10 * number + 1,
                prepared_ms=at + 10 * SECOND,
                completed_offset=10 * number + 2,
                completed_ms=at + 20 * SECOND,
                coordinator_epoch=3,
                client_version=self.version,
            )
        )
        for name in partitions:
            first, count = 100 * number, len(self.markers.setdefault(name, []))
            run = DataRun(PRODUCER, epoch, first, first + 9, 10, at + SECOND, at + 2 * SECOND, count, at + SECOND)
            self.runs.setdefault(name, []).append(run)
            self.markers[name].append(AuditedMarker(PRODUCER, marked, first + 10, outcome, 3, 0, at + 15 * SECOND))

    def without_marker(self, name: Name, number: int) -> None:
        """A marker is gone: what it ended is ended by the producer's next one, if there is one."""
        del self.markers[name][number]
        left = len(self.markers[name])
        self.runs[name] = [
            replace(run, marker=run.marker - (run.marker > number) if left > number or run.marker < number else ABSENT)
            for run in self.runs[name]
        ]

    def logs(self) -> list[AuditedTransactionLog]:
        """The logs, the coordinator's last."""
        known = {
            "closed": True,
            "end": END,
            "latest_ms": max((one.completed_ms for one in self.transactions), default=ABSENT),
        }
        partitions = [
            TransactionEvidence(
                PartitionTransactions(
                    tuple(self.runs[name]),
                    tuple(sorted(self.markers[name], key=lambda one: one.offset)),
                    **{**known, **self.summary.get(name, {})},
                )
            )
            for name in self.runs
        ]
        held = replace(HeldProducerId(PRODUCER, NAME, later_unread=False, whole=True), **self.identity)
        history = CoordinatorHistory(0, True, (NAME,), (held,), tuple(self.transactions))
        coordinator = TransactionEvidence(
            PartitionTransactions(end=END, **self.coordinator), replace(history, **self.history)
        )
        named = zip((*self.runs, (TOPIC, 0)), (*partitions, coordinator), strict=True)
        return [
            AuditedTransactionLog(f"{topic}-{number}", topic, number, _verdict(evidence))
            for (topic, number), evidence in named
        ]


def _verdict(evidence: TransactionEvidence) -> PartitionVerdict:
    return PartitionVerdict(LogBounds(0, END, END, END), 0, 0, 0, 0, reported=evidence)


def sound(version: int) -> JoinEvidence:
    """Six transactions; the first, the third and the last have consumed offsets."""
    evidence = JoinEvidence(version)
    for outcome, partitions in (
        (COMMIT, (A, B, OFFSETS)),
        (ABORT, (A, B)),
        (COMMIT, (A, B, OFFSETS)),
        (ABORT, (A,)),
        (COMMIT, (B,)),
        (COMMIT, (A, B, OFFSETS)),
    ):
        evidence.add(outcome, *partitions)
    return evidence


Step: TypeAlias = tuple[str, Any, Changes]
"""What is changed, which one of it, and the fields that it gets instead."""


def change(step: Step, evidence: JoinEvidence) -> None:
    """Change one record of the evidence."""
    what, which, fields = step
    match what:
        case "marker" | "later marker" | "run" | "later run":
            name, number = which
            records: list[Any] = (evidence.markers if what.endswith("marker") else evidence.runs)[name]
            changed = replace(records[number], **fields)
            if what.startswith("later"):
                records.append(changed)
            else:
                records[number] = changed
        case "no marker":
            evidence.without_marker(*which)
        case "transaction":
            evidence.transactions[which] = replace(evidence.transactions[which], **fields)
        case "no transaction":
            del evidence.transactions[which]
        case "summary":
            evidence.summary.setdefault(which, {}).update(fields)
        case _:
            getattr(evidence, what).update(fields)
