"""The names of topics and groups in rows: what is deleted and comes again under the same name is another thing there.

The rules hold one step of a name against another: a log does not become shorter, an offset of a group does not go
back. A topic that was deleted n times is `orders#n` in the rows that follow; so is the group of an offset.
"""

from collections import Counter
from collections.abc import Iterable

from reference.broker.group_record import OffsetKey
from reference.recording.recorder import Row


class RowNames:
    """How often each topic, and each offset of a group, was deleted."""

    __slots__ = ("_offsets", "_topics")

    def __init__(self) -> None:
        """Nothing was."""
        self._topics = Counter[object]()
        self._offsets = Counter[object]()

    def topic_deleted(self, topic: str) -> None:
        """A topic is gone."""
        self._topics[topic] += 1

    def offsets_deleted(self, keys: Iterable[OffsetKey]) -> None:
        """Offsets of groups are gone."""
        self._offsets.update((key.group, key.partition.topic, key.partition.partition) for key in keys)

    def __call__(self, row: Row) -> None:
        """Put the names into a step."""
        topic = row["topic"]
        if row["group"]:
            row["group"] = numbered(str(row["group"]), self._offsets[row["group"], topic, row["partition"]])
        if topic:
            row["topic"] = numbered(str(topic), self._topics[topic])


def numbered(name: str, deleted: int) -> str:
    """The name of something that was deleted so often before; no topic is called so by a client."""
    return f"{name}#{deleted}" if deleted else name
