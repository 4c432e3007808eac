"""The topics of a cluster: names, ids, and how many partitions each has."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from reference.broker.transaction_metadata import TopicPartition

LONGEST_NAME: Final = 249
"""Characters of a topic's name (Kafka's `Topic.MAX_NAME_LENGTH`): with a partition's number it names a folder."""

MOST_PARTITIONS: Final = 10_000
"""Of all topics together; a limit of this server alone, in whose memory they are."""

NO_ROOM: Final = f"there are at most {MOST_PARTITIONS} partitions here"

NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


class Topic(NamedTuple):
    """A topic; `topic_id` is hexadecimal, and made from the name, the start, and how often it had such a topic."""

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

    __slots__ = ("_by_id", "_by_name", "_made", "_starts")

    def __init__(self, starts: int = 0) -> None:
        """No topic; the cluster has started so often before, and does not know the ids that it had then."""
        self._starts = starts
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[str, Topic] = {}
        self._made = Counter[str]()

    @property
    def by_name(self) -> Mapping[str, Topic]:
        """Every topic by its name, in the order in which they were made."""
        return self._by_name

    def add(self, name: str, partitions: int) -> Topic:
        """Make a topic."""
        of_that_name = self._made[name]
        self._made[name] += 1
        made_from = f"{name}/{self._starts}/{of_that_name}" if self._starts or of_that_name else name
        return self.put(Topic(name, hashlib.sha256(made_from.encode()).hexdigest()[:32], partitions))

    def has_room(self, partitions: int) -> bool:
        """Whether there may be so many more partitions."""
        return partitions + sum(topic.partitions for topic in self._by_name.values()) <= MOST_PARTITIONS

    def grow(self, topic: Topic, partitions: int) -> Topic:
        """The topic has so many partitions from now on."""
        return self.put(topic._replace(partitions=partitions))

    def put(self, topic: Topic) -> Topic:
        """Have a topic with the id that it already has."""
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
        return topic

    def delete(self, topic: Topic) -> None:
        """The topic is gone; another one of its name has another id."""
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]

    def with_id(self, topic_id: str) -> Topic | None:
        """The topic with an id, None if there is none."""
        return self._by_id.get(topic_id)
