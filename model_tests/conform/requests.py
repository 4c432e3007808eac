"""The requests of a session as typed records: what a client sent, before either side handles it."""

from dataclasses import dataclass
from typing import Final, TypeAlias

Named: TypeAlias = int | str
"""A producer id as a session writes it: a symbol (`pid0`), or -1 for none."""

NO_LIMIT: Final = 2**31 - 1
"""A fetch of more bytes than any session has."""

SEVERAL: Final = "ProduceMulti"
"""What a recording calls a Produce with batches for several partitions."""

MINUTE: Final = 60_000
"""Timeout of a transaction that the recorder asks for where it does not matter, in milliseconds."""


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """One batch of a Produce request.

    Attributes:
        partition: topic and number, as `t-0`.
        last_offset_delta: as the header says, which need not be what the records are.
        control: COMMIT or ABORT where the client wrote a control batch, else empty.
        batch_count: how many such batches go to the partition, each continuing the one before.
        values: value of each record.
    """

    partition: str
    producer_id: Named
    producer_epoch: int
    base_sequence: int
    record_count: int
    last_offset_delta: int
    transactional: bool
    control: str
    coordinator_epoch: int
    batch_count: int
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedProduce:
    """Produce, with one batch (several where `batch_count` says so) for each of its partitions.

    Attributes:
        sent_at: milliseconds; a network's copy of a request has the time of the original.
        several: the session recorded the answer by partition.
    """

    version: int
    transactional_id: str | None
    acks: int
    batches: tuple[RecordedBatch, ...]
    sent_at: int
    several: bool


@dataclass(frozen=True, slots=True)
class RecordedFetch:
    """Fetch of one partition from an offset, of so many bytes, but at least one batch."""

    version: int
    partition: str
    offset: int
    committed_only: bool
    max_bytes: int = NO_LIMIT


@dataclass(frozen=True, slots=True)
class RecordedInitProducerId:
    """InitProducerId; producer id and epoch are the expected identity, -1 for none.

    Without a transactional id, timeout and expected identity mean nothing.
    """

    version: int
    transactional_id: str | None = None
    timeout: int = MINUTE
    producer_id: Named = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxn:
    """AddPartitionsToTxn of one transaction, by a client (up to version 3) or a broker.

    Attributes:
        verify_only: a broker asks whether the partitions are in the transaction, and adds none.
    """

    version: int
    transactional_id: str
    producer_id: Named
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxn:
    """AddOffsetsToTxn: the offsets of a group are to belong to a transaction."""

    version: int
    transactional_id: str
    producer_id: Named
    producer_epoch: int
    group: str


@dataclass(frozen=True, slots=True)
class RecordedEndTxn:
    """EndTxn; from version 5 on it bumps the epoch."""

    version: int
    transactional_id: str
    producer_id: Named
    producer_epoch: int
    committed: bool


@dataclass(frozen=True, slots=True)
class RecordedMarker:
    """One marker of WriteTxnMarkers; the coordinator epoch counts from that at the session's start.

    Attributes:
        transaction_version: of the transaction that it ends; before version 2 of the request it cannot say so.
    """

    producer_id: Named
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    partitions: tuple[str, ...]
    transaction_version: int = 0


@dataclass(frozen=True, slots=True)
class WriteTxnMarkers:
    """WriteTxnMarkers, which the recorder sends in a coordinator's place."""

    version: int
    markers: tuple[RecordedMarker, ...]


@dataclass(frozen=True, slots=True)
class RecordedTxnOffsetCommit:
    """TxnOffsetCommit; before version 3 it cannot say which member of the group it comes from.

    Attributes:
        offsets: partition and offset.
        generation: -1 for none, as for no member (an empty id) and no instance (None).
    """

    version: int
    transactional_id: str
    producer_id: Named
    producer_epoch: int
    group: str
    offsets: tuple[tuple[str, int], ...]
    generation: int = -1
    member: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedOffsetCommit:
    """OffsetCommit of a member, or without membership (generation -1 and no member)."""

    version: int
    group: str
    generation: int
    member: str
    offsets: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RecordedOffsetFetch:
    """OffsetFetch; if it requires stable offsets, none that an open transaction may change is returned."""

    version: int
    group: str
    partitions: tuple[str, ...]
    require_stable: bool


@dataclass(frozen=True, slots=True)
class JoinSync:
    """A single member joined a group and got its assignment (JoinGroup, then SyncGroup)."""

    group: str
    group_instance_id: str | None


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """ListTransactions with filters by state and producer id; an empty filter lets everything pass."""

    version: int
    states: tuple[str, ...]
    producer_ids: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """The whole broker went down and came back.

    Attributes:
        clean: it was asked to stop (SIGTERM) and not killed.
        coordinator_epoch: what the election made it, counted from that at the session's start.
    """

    clean: bool
    coordinator_epoch: int = 0


KnownProducer: TypeAlias = tuple[str, Named]
"""A partition, and a producer that it knows."""


@dataclass(frozen=True, slots=True)
class AwaitState:
    """Time passed until a transactional id had one of these states (or TRANSACTIONAL_ID_NOT_FOUND).

    Attributes:
        kept: who was known to which partition then; each partition looks for idle producers at times of its own.
    """

    transactional_id: str
    states: tuple[str, ...]
    kept: frozenset[KnownProducer] = frozenset()


@dataclass(frozen=True, slots=True)
class AwaitProducerExpiry:
    """Time passed until a partition had forgotten a producer; `kept` as for AwaitState."""

    partition: str
    producer_id: Named
    kept: frozenset[KnownProducer] = frozenset()


@dataclass(frozen=True, slots=True)
class InjectTransactionState:
    """A record of version 0 was written into the coordinator's log; the next restart reads it."""

    transactional_id: str
    producer_id: Named
    producer_epoch: int
    timeout: int
    state: str
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BumpEpochs:
    """InitProducerId of one transactional id, many times without an expected identity.

    Attributes:
        times: how often; each but the last was answered with the epoch after that of the answer before.
    """

    transactional_id: str
    times: int
    timeout: int = MINUTE


@dataclass(frozen=True, slots=True)
class Settle:
    """Everything under way came to its end."""


@dataclass(frozen=True, slots=True)
class UnsupportedRequest:
    """A request that neither side can judge yet; `what` names it."""

    what: str


Request: TypeAlias = (
    RecordedProduce
    | RecordedFetch
    | RecordedInitProducerId
    | BumpEpochs
    | AddPartitionsToTxn
    | AddOffsetsToTxn
    | RecordedEndTxn
    | WriteTxnMarkers
    | RecordedTxnOffsetCommit
    | RecordedOffsetCommit
    | RecordedOffsetFetch
    | JoinSync
    | ListTransactions
    | Restart
    | AwaitState
    | AwaitProducerExpiry
    | InjectTransactionState
    | Settle
    | UnsupportedRequest
)
