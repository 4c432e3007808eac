"""Tables whose columns are arrays of the same length: some of their rows, and several of them after each other."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Table = TypeVar("Table")


def taken(table: Table, rows: npt.NDArray[Any]) -> Table:
    """The rows at these places, or where this mask is true."""
    return type(table)(**{name: getattr(table, name)[rows] for name in columns_of(table)})


def stacked(tables: Sequence[Table]) -> Table:
    """One table after the other; at least one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    return type(first)(
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in columns_of(first)}
    )


def columns_of(table: object) -> tuple[str, ...]:
    """The names of its columns."""
    return tuple(part.name for part in fields(table))  # type: ignore[arg-type]  # tables are dataclasses
