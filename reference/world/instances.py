"""Instances of transactional ids: producers that come and go, and the results that each got for its transactions."""

from dataclasses import dataclass, field
from typing import NamedTuple

from reference.broker.group_requests import Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import PendingResult
from reference.client.transactional_producer import TransactionalProducer
from reference.world.history import INSTANCE, SentBatch, Unreported, values_of
from spec.vocabulary import ErrorCode


class SentOffsets(NamedTuple):
    """Offsets of a group that belong to a transaction."""

    group: str
    offsets: Offsets
    result: PendingResult


@dataclass(slots=True)
class ClientTransaction:
    """One transaction as its application sees it; brokers know nothing of its number.

    Attributes:
        ordinal: which of the instance's transactions it is, from 0.
        identity: producer id and epoch with which it began.
        commits: whether it is to be committed; None while the application has not said, or was not let.
        result: what the end of it comes to.
    """

    ordinal: int
    identity: ProducerIdentity | None
    batches: list[SentBatch] = field(default_factory=list)
    offsets: list[SentOffsets] = field(default_factory=list)
    commits: bool | None = None
    result: PendingResult | None = None

    @property
    def is_committed(self) -> bool:
        """Whether the application got a success for its commit."""
        return self.commits is True and self._succeeded

    @property
    def is_aborted(self) -> bool:
        """Whether the application got a success for its abort."""
        return self.commits is False and self._succeeded

    @property
    def _succeeded(self) -> bool:
        return self.result is not None and self.result.error is ErrorCode.NONE

    def values(self) -> tuple[bytes, ...]:
        """The values of all its records."""
        return tuple(value for sent in self.batches for value in sent.batch.values)


@dataclass(slots=True)
class ApplicationRun:
    """One run of an application with a transactional id.

    Attributes:
        number: among all instances of the world.
        alive: until it crashes, nothing of it is lost; then all but what it has sent.
        known_leaders: node that it takes for the leader of each partition.
        transactions: oldest first.
        initialized: what `init_transactions` comes to, None before.
        records: how many it has made.
        unreported: results that it awaits.
    """

    number: int
    transactional_id: str
    producer: TransactionalProducer
    known_leaders: dict[TopicPartition, int]
    alive: bool = True
    transactions: list[ClientTransaction] = field(default_factory=list)
    initialized: PendingResult | None = None
    records: int = 0
    unreported: Unreported = field(default_factory=Unreported)

    @property
    def client(self) -> str:
        """Its name in rows."""
        return f"{INSTANCE}{self.number}"

    @property
    def ordinal(self) -> int:
        """Number of the newest transaction, -1 before the first."""
        return len(self.transactions) - 1

    @property
    def transaction(self) -> ClientTransaction:
        """The newest transaction."""
        return self.transactions[-1]

    def next_values(self, count: int) -> tuple[bytes, ...]:
        """Values that no other record has."""
        return values_of(self.client, self.ordinal, self.records, count)
