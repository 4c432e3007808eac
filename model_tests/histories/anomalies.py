"""What can be wrong with a client history, by the names of Jepsen's checker, and kinds that it does not look for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final

import numpy as np

from model_tests.histories.log_order import LogOrder
from model_tests.histories.operations import NEVER, Integers
from model_tests.histories.severity import Severity
from spec import rules
from spec.algebra import Term
from spec.judging.judge_clients import ClientVerdict
from spec.rules import Rule


@unique
class AnomalyKind(StrEnum):
    """A class of anomalies."""

    DUPLICATE = "duplicate"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    LOST_WRITE = "lost-write"
    UNSEEN = "unseen"
    ABORTED_READ = "G1a"
    PRECOMMITTED_READ = "precommitted-read"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    INT_SEND_SKIP = "int-send-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    POLL_SKIP = "poll-skip"
    INT_POLL_SKIP = "int-poll-skip"
    WRITE_CYCLE = "G0"
    READ_CYCLE = "G1c"
    READ_CYCLE_PROCESS = "G1c-process"
    READ_CYCLE_REALTIME = "G1c-realtime"
    TORN = "torn-transaction"
    OFFSETS_WITHOUT_OUTPUTS = "offsets-without-outputs"
    OFFSETS_OF_ABORTED = "offsets-of-aborted"
    CONSUMED_TWICE = "consumed-twice"


@dataclass(frozen=True, slots=True)
class AnomalyMeaning:
    """What a class means, and what Kafka promises of it.

    Attributes:
        rule: that is broken.
        allowed: why Kafka does not promise its absence, or not always; empty where it does.
    """

    rule: Rule
    statement: str
    allowed: str = ""


_INTERLEAVE: Final = "records of open transactions lie between each other"
_REBALANCED: Final = "a group may give a partition to another member between two polls, and take it back"

MEANINGS: Final[Mapping[AnomalyKind, AnomalyMeaning]] = MappingProxyType(
    {
        AnomalyKind.DUPLICATE: AnomalyMeaning(
            rules.SEQ_EXACTLY_ONCE, "one value lies at several offsets of a partition"
        ),
        AnomalyKind.INCONSISTENT_OFFSETS: AnomalyMeaning(
            rules.REPL_COMMITTED_SURVIVES, "clients got different values of one offset"
        ),
        AnomalyKind.LOST_WRITE: AnomalyMeaning(
            rules.REPL_COMMITTED_SURVIVES, "readers read past an acknowledged record, and none was given it"
        ),
        AnomalyKind.UNSEEN: AnomalyMeaning(
            rules.TXN_CLIENT_VERDICT,
            "an acknowledged record lies after everything that was read",
            "readers may not have come so far",
        ),
        AnomalyKind.ABORTED_READ: AnomalyMeaning(
            rules.TXN_CLIENT_VERDICT, "a reader was given a record of a transaction that its client knows to be aborted"
        ),
        AnomalyKind.PRECOMMITTED_READ: AnomalyMeaning(
            rules.LSO_READ_COMMITTED, "a transaction was given a record of its own"
        ),
        AnomalyKind.NONMONOTONIC_SEND: AnomalyMeaning(
            rules.SEQ_ORDER, "a process sent a record after another, and it lies before it in the partition"
        ),
        AnomalyKind.INT_NONMONOTONIC_SEND: AnomalyMeaning(rules.SEQ_ORDER, "the same within one operation"),
        AnomalyKind.INT_SEND_SKIP: AnomalyMeaning(
            rules.SEQ_ORDER, "records of others lie between two that one operation sent", _INTERLEAVE
        ),
        AnomalyKind.NONMONOTONIC_POLL: AnomalyMeaning(
            rules.LSO_READ_COMMITTED,
            "a process was given a record at or before the last one it had been given",
            _REBALANCED,
        ),
        AnomalyKind.INT_NONMONOTONIC_POLL: AnomalyMeaning(rules.LSO_READ_COMMITTED, "the same within one operation"),
        AnomalyKind.POLL_SKIP: AnomalyMeaning(
            rules.LSO_READ_COMMITTED, "a process read past records of the partition without getting them", _REBALANCED
        ),
        AnomalyKind.INT_POLL_SKIP: AnomalyMeaning(rules.LSO_READ_COMMITTED, "the same within one operation"),
        AnomalyKind.WRITE_CYCLE: AnomalyMeaning(
            rules.TXN_ATOMIC, "transactions lie one before another in partitions, in a circle", _INTERLEAVE
        ),
        AnomalyKind.READ_CYCLE: AnomalyMeaning(
            rules.LSO_READ_COMMITTED, "transactions were given records of one another, in a circle"
        ),
        AnomalyKind.READ_CYCLE_PROCESS: AnomalyMeaning(
            rules.LSO_READ_COMMITTED, "likewise, where one process called some of them one after another"
        ),
        AnomalyKind.READ_CYCLE_REALTIME: AnomalyMeaning(
            rules.LSO_READ_COMMITTED, "likewise, where some of them had ended before others began"
        ),
        AnomalyKind.TORN: AnomalyMeaning(
            rules.TXN_ATOMIC, "readers were given a part of a transaction, and read past the rest of it"
        ),
        AnomalyKind.OFFSETS_WITHOUT_OUTPUTS: AnomalyMeaning(
            rules.OFFSETS_ATOMIC,
            "a transaction that consumed as a member of a group is committed, its outputs are lost",
        ),
        AnomalyKind.OFFSETS_OF_ABORTED: AnomalyMeaning(
            rules.OFFSETS_ATOMIC,
            "after an abort, a group skipped records that no successful operation of it was given",
            "a consumer that its client does not wind back after an abort does so",
        ),
        AnomalyKind.CONSUMED_TWICE: AnomalyMeaning(
            rules.OFFSETS_ATOMIC,
            "two committed transactions of a group consumed the same record, and both have outputs",
            "a rebalance may come between the poll and the commit, where the commit does not name the generation",
        ),
    }
)
"""What each class means."""

SEVERITIES: Final = tuple(Severity)
VIOLATION, SUSPICIOUS, UNDECIDED = (
    SEVERITIES.index(one) for one in (Severity.VIOLATION, Severity.SUSPICIOUS, Severity.UNDECIDED)
)
"""Numbers of severities, for arrays."""


@dataclass(frozen=True, slots=True)
class Called:
    """An operation of the history, as a report names it; `process` is absent where the history has none."""

    index: int
    process: str
    name: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.name} {self.index} of process {self.process}"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One case of a class.

    Attributes:
        key: the partition, as the history calls it.
        offsets: that it is about, those that are known.
        values: likewise.
        operations: likewise, in the order of the message.
        rows: those of the operations.
    """

    kind: AnomalyKind
    severity: Severity
    key: str
    offsets: tuple[int, ...]
    values: tuple[str, ...]
    operations: tuple[Called, ...]
    message: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AnomalyCases:
    """All cases of a class that one check found.

    Attributes:
        severity: of each case, as a number of `SEVERITIES`.
        describe: a case by its number, and its severity.
        judged: how much was looked at: a check that looks at nothing shows nothing.
    """

    kind: AnomalyKind
    severity: Integers
    describe: Callable[[int, Severity], Anomaly]
    judged: int

    def count(self, severity: Severity) -> int:
        """How many cases are as grave."""
        return int((self.severity == SEVERITIES.index(severity)).sum())

    def examples(self, most: int) -> list[Anomaly]:
        """The first cases, the gravest first."""
        order = np.argsort(self.severity, kind="stable")[:most]
        return [self.describe(case, SEVERITIES[self.severity[case]]) for case in order.tolist()]


def of_severity(count: int, severity: int) -> Integers:
    """One severity for all cases."""
    return np.full(count, severity, np.int64)


_GRAVITY: Final = np.array([UNDECIDED, VIOLATION, SUSPICIOUS, UNDECIDED], np.int64)
"""The severity of each `ClientVerdict`; what holds has none."""


def broken(verdict: Term, count: int) -> tuple[Integers, Integers]:
    """Of the verdict on so many rows: those in which it does not hold, and how grave each is.

    Args:
        verdict: a column of `ClientVerdict`, or one for all rows.
        count: of the rows.
    """
    verdicts = np.broadcast_to(np.asarray(verdict, np.int64), count)
    rows = np.flatnonzero(verdicts != ClientVerdict.HOLDS.value)
    return rows, _GRAVITY[verdicts[rows]]


@dataclass(frozen=True, slots=True)
class Describing:
    """Words for what numbers mean."""

    order: LogOrder

    def called(self, *operations: int) -> tuple[Called, ...]:
        """Operations by their rows."""
        history = self.order.history
        return tuple(
            Called(
                int(history.index[row]),
                str(history.processes[history.process[row]]),
                history.names[history.name[row]] + ("" if history.completed[row] < NEVER else " (never ended)"),
            )
            for row in operations
        )

    def key(self, number: int) -> str:
        """A partition."""
        return written(self.order.history.keys[number])

    def value(self, number: int) -> str:
        """A value."""
        return written(self.order.history.values[number]) if number >= 0 else "unknown"

    def record(self, value: int) -> str:
        """A record, by its value where that is known."""
        return f"value {self.value(value)}" if value >= 0 else "a record"

    def anomaly(
        self,
        kind: AnomalyKind,
        severity: Severity,
        key: int,
        offsets: Sequence[int],
        values: Sequence[int],
        operations: Sequence[int],
        message: str,
    ) -> Anomaly:
        """A case, of which rows and numbers are given.

        Args:
            kind: of the case.
            severity: violation, suspicious, known or undecided.
            key: the partition, by its number.
            offsets: that the case is about.
            values: of the records.
            operations: rows of the history.
            message: what is wrong.
        """
        return Anomaly(
            kind,
            severity,
            self.key(key),
            tuple(int(offset) for offset in offsets if offset >= 0),
            tuple(self.value(int(value)) for value in values),
            self.called(*(int(row) for row in operations)),
            message,
            tuple(int(row) for row in operations),
        )


def written(thing: object) -> str:
    """A key or a value, short."""
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], str) and isinstance(thing[1], int):
        return f"{thing[0]}-{thing[1]}"
    return str(thing)[:80]
