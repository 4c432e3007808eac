"""A client history as columns: what was called, how it ended, what it sent and what it was given.

Places, keys, values and names of processes are numbers: those of the first time that each was met. A key is a
partition, whatever the history calls it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Facts: TypeAlias = npt.NDArray[np.bool_]
Partition: TypeAlias = tuple[str, int]
"""Topic and number."""

TRANSACTION: Final = "transaction"
"""The name of an operation of a journal that is a transaction."""

UNKNOWN: Final = -1
"""Number of a value that the history does not have, and of a process without a name."""

UNREAD: Final = "lines that cannot be read are left out"
"""Why a history with damage is not whole."""

NEVER: Final = 2**62
"""Place in the history of an operation's end that it does not have."""

MOST: Final = 2**63 - 1
"""The largest offset that there can be."""


@unique
class OperationResult(IntEnum):
    """The answer that the client got to an operation in the end, by the numbers of `ClientAnswer`."""

    OK = 0
    INFO = 1  # it is not known whether it happened
    FAIL = 2  # it did not happen


@dataclass(frozen=True, slots=True)
class OperationRecords:
    """Records that were sent, or given to a reader, in the order of the history.

    Attributes:
        operation: row of the operation.
        key: number of the partition.
        offset: -1 where it is not known.
        value: number of the value, -1 where it is not known.
    """

    operation: Integers
    key: Integers
    offset: Integers
    value: Integers

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.operation)


@dataclass(frozen=True, slots=True)
class Breaks:
    """Where a process stops reading on: its next read of a partition need not follow the one before.

    Attributes:
        process: whose.
        at: place in the history.
        key: the partition that is broken off; for `kept`, one that is continued while all others break off.
    """

    process: Integers
    at: Integers
    key: Integers


@dataclass(frozen=True, slots=True)
class Operations:
    """A whole history.

    Attributes:
        index: what the history calls each operation: its index, or its line.
        process: number of the process.
        outcome: `OperationResult`.
        invoked: place in the history at which it began.
        completed: place at which it ended, `NEVER` if it did not.
        atomic: its records are in one transaction.
        via: `ReaderAssignment` of the process at that time.
        name: what it is called (`:txn`), by operation.
        number: its client's own number of each operation, -1 where it has none.
        transactional_id: number of the transactional id, likewise.
        sent: records that were to be sent.
        given: records that a reader was given.
        broken: partitions that a process stops reading on.
        reset: at which places a process begins anew with all partitions, but for those that `kept` has.
        kept: the partitions that it continues with.
        from_start: partitions that some process is known to have read from the start.
        processes: names of processes; `keys` of partitions; `values` of values; `names` of operations;
            `transactional_ids`: by number.
        partial: why what is absent from the history may yet have happened; empty if it is whole.
        aside: lines that could not be read, by reason.
        passed_over: lines that were read and have no records, by what they are.
        read_committed: its readers were to see committed records only.
    """

    index: Integers
    process: Integers
    outcome: Integers
    invoked: Integers
    completed: Integers
    atomic: Facts
    via: Integers
    name: Integers
    number: Integers
    transactional_id: Integers
    sent: OperationRecords
    given: OperationRecords
    broken: Breaks
    reset: Breaks
    kept: Breaks
    from_start: Integers
    processes: Sequence[object]
    keys: Sequence[object]
    values: Sequence[object]
    names: Sequence[str]
    transactional_ids: Sequence[str]
    partial: tuple[str, ...] = ()
    aside: Mapping[str, int] = field(default_factory=dict)
    passed_over: Mapping[str, int] = field(default_factory=dict)
    read_committed: bool = True

    @property
    def whole(self) -> bool:
        """Whether what is absent from it did not happen."""
        return not self.partial

    def __len__(self) -> int:
        """The number of operations that have ended, or never will."""
        return len(self.index)
