"""The topics of a cluster: names, ids, and how many partitions each has."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from reference.broker.transaction_metadata import TopicPartition

LONGEST_NAME: Final = 249
NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


class Topic(NamedTuple):
    """A topic; `topic_id` is hexadecimal, and made from the name."""

    name: str
    topic_id: str
    partitions: int

    def partition(self, number: int) -> TopicPartition:
        """One of its partitions."""
        return TopicPartition(self.name, number)


def is_legal(name: str) -> bool:
    """Whether a topic may be called so."""
    return len(name) <= LONGEST_NAME and name not in (".", "..") and NAME.fullmatch(name) is not None


class Topics:
    """All topics.

    Attributes:
        by_name: in the order in which they were made.
    """

    __slots__ = ("_by_id", "_by_name")

    def __init__(self) -> None:
        """No topic."""
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[str, Topic] = {}

    @property
    def by_name(self) -> Mapping[str, Topic]:
        """Every topic by its name, in the order in which they were made."""
        return self._by_name

    def add(self, name: str, partitions: int) -> Topic:
        """Make a topic."""
        return self.put(Topic(name, hashlib.sha256(name.encode()).hexdigest()[:32], partitions))

    def put(self, topic: Topic) -> Topic:
        """Have a topic with the id that it already has."""
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
        return topic

    def with_id(self, topic_id: str) -> Topic | None:
        """The topic with an id, None if there is none."""
        return self._by_id.get(topic_id)
