"""All entries of a log's aborted indexes as columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from model_tests.logs.kafka_log_batches import Integers
from model_tests.logs.kafka_log_derived import ABORTED_ENTRY, DerivedFile, DerivedFiles

_SIZE: Final = ABORTED_ENTRY.itemsize


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries of a log's aborted indexes, file by file."""

    files: tuple[DerivedFile, ...]
    file: Integers
    number: Integers  # in its file
    producer_id: Integers
    first: Integers
    last: Integers
    stable: Integers

    def where(self, entry: int) -> str:
        """File and position of an entry."""
        path = Path(self.files[int(self.file[entry])].path)
        return f"{path.name} position {int(self.number[entry]) * _SIZE}"


def flat(derived: DerivedFiles) -> Entries:
    """The entries of all files."""
    files = tuple(derived.aborted[base] for base in sorted(derived.aborted))
    rows = np.concatenate([file.rows for file in files]) if files else np.empty(0, ABORTED_ENTRY)
    counts = [len(file.rows) for file in files]
    numbers = [np.arange(count) for count in counts]

    def column(name: str) -> Integers:
        return rows[name].astype(np.int64)

    return Entries(
        files,
        np.repeat(np.arange(len(files)), counts),
        np.concatenate(numbers) if numbers else np.empty(0, np.int64),
        column("producer_id"),
        column("first_offset"),
        column("last_offset"),
        column("last_stable"),
    )
