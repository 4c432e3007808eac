"""Entries of a sparse index in memory: pairs of numbers, sixteen bytes each."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, overload

Entry = TypeVar("Entry", bound=tuple[int, int])


class IndexEntries(Sequence[Entry]):
    """Entries in their order; a log of many gigabytes has millions, so that none is an object of its own."""

    __slots__ = ("_make", "_numbers")

    def __init__(self, make: Callable[[Iterable[int]], Entry], entries: Iterable[Entry] = ()) -> None:
        """These entries; `make` makes one of two numbers."""
        self._make = make
        self._numbers = array("q", (number for entry in entries for number in entry))

    def append(self, entry: Entry) -> None:
        """One more."""
        self._numbers.extend(entry)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._numbers) // 2

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        """One entry, or several.

        Raises:
            IndexError: there is none.
        """
        if isinstance(place, slice):
            return [self._at(each) for each in range(*place.indices(len(self)))]
        return self._at(range(len(self))[place])

    def _at(self, place: int) -> Entry:
        return self._make(self._numbers[2 * place : 2 * place + 2])
