"""A mapping that forgets what was put in longest ago, so that a long recording does not grow."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The latest entries by key."""

    __slots__ = ("_entries", "_most")

    def __init__(self, most: int) -> None:
        """No entries; never more than so many."""
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._most = most

    def get(self, key: Key) -> Value | None:
        """What was put in for a key; it is as if it had been put in now."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: Value) -> None:
        """Keep a value for a key, in place of the one before."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def forget(self, chosen: Callable[[Key], bool]) -> None:
        """Leave out the keys that are chosen."""
        for key in [key for key in self._entries if chosen(key)]:
            del self._entries[key]

    def values(self) -> Iterator[Value]:
        """All values, the oldest first."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
