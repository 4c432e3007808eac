"""An observer's knowledge that no broker has: the client transaction of every request, record and marker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.log.batch import RecordBatch
from reference.world.messages import Request


class Owner(NamedTuple):
    """One transaction of one instance, as its application counts them."""

    instance: int
    ordinal: int

    def __str__(self) -> str:
        """Short, for messages."""
        return f"transaction {self.ordinal} of instance {self.instance}"


Owners = Mapping[str, Owner | None]
"""The transactions that a request belongs to, by transactional id: one of a client's, any number of a broker's."""


class CurrentEvent(NamedTuple):
    """What is happening: an event by name, the request that arrives in it, and the transactions it belongs to."""

    name: str
    request: Request | None = None
    owners: Owners = MappingProxyType({})

    @property
    def owner(self) -> Owner | None:
        """The transaction of a client's request; of a broker's, which may belong to several, the first."""
        return next(iter(self.owners.values()), None)

    def owner_of(self, transactional_id: str | None) -> Owner | None:
        """The transaction that is behind what happens to an id; an id that the request does not name has the first.

        Args:
            transactional_id: of the record or batch that was written; None if that belongs to no id that is known.
        """
        return self.owner if transactional_id is None else self.owners.get(transactional_id, self.owner)


@dataclass(eq=False, slots=True)
class CoordinatedTransaction:
    """One transaction as the coordinator's log has it, from the first partition to the last marker.

    Attributes:
        owner: of the request that began it.
        registered: its partitions.
        commits: the decision, None before.
        identity: producer id and epoch of its markers.
        epochs: of the coordinators that owed its markers.
        marked: partitions that got a marker of it; `effective` counts those that ended something.
    """

    transactional_id: str
    owner: Owner | None
    registered: set[TopicPartition]
    commits: bool | None = None
    identity: ProducerIdentity | None = None
    epochs: set[int] = field(default_factory=set)
    completed: bool = False
    marked: set[TopicPartition] = field(default_factory=set)
    effective: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def loses_marker(self, partition: TopicPartition, offset: int) -> None:
        """A new leader has not copied a marker."""
        self.effective.get(partition, set()).discard(offset)
        self.marked.discard(partition)

    def __str__(self) -> str:
        """What was decided, of whose transaction."""
        message = {None: "open", True: "COMMIT", False: "ABORT"}[self.commits]
        return f"{self.transactional_id} ({self.owner}): {message}"


class LoggedChange(NamedTuple):
    """One record of `__transaction_state`; no metadata is a tombstone."""

    transactional_id: str
    metadata: TransactionMetadata | None
    cause: CurrentEvent
    coordinator_epoch: int

    @property
    def owner(self) -> Owner | None:
        """The transaction whose request made it."""
        return self.cause.owner_of(self.transactional_id)


@dataclass(eq=False, slots=True)
class LoggedMarker:
    """One marker in a log.

    Attributes:
        decided: the transaction that it was sent for.
        step: when it was appended.
    """

    partition: TopicPartition
    batch: RecordBatch
    commits: bool
    coordinator_epoch: int
    decided: CoordinatedTransaction | None
    step: int


@dataclass(eq=False, slots=True)
class LoggedBatch:
    """One transactional batch in a log, and the marker that ended it."""

    partition: TopicPartition
    batch: RecordBatch
    owner: Owner | None
    step: int
    ended_by: LoggedMarker | None = None

    @property
    def identity(self) -> ProducerIdentity:
        """Who wrote it."""
        return ProducerIdentity(self.batch.producer_id, self.batch.producer_epoch)

    @property
    def is_committed(self) -> bool:
        """Whether a COMMIT marker ended it."""
        return self.ended_by is not None and self.ended_by.commits

    def __str__(self) -> str:
        """Where it is, and whose."""
        place = f"{self.partition.topic}-{self.partition.partition}@{self.batch.base_offset}"
        return f"{place} (producer {self.batch.producer_id} epoch {self.batch.producer_epoch}, {self.owner})"
