"""How large a world of transactions is, and how it is configured."""

from dataclasses import dataclass
from typing import NamedTuple

from reference.broker.group_membership import INITIAL_DELAY_MS
from reference.broker.transaction_coordinator import DEFAULT_EXPIRATION_MS, DEFAULT_MAX_TIMEOUT_MS
from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.client.transactional_producer import TRANSACTION_TIMEOUT_MS
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from reference.world.replica_rows import TOPIC


class Skew(NamedTuple):
    """How a node's clock differs from true time: ahead by so much at first, and drifting in parts per million."""

    ahead_ms: int = 0
    drift_ppm: int = 0


@dataclass(frozen=True, slots=True)
class TransactionShape:
    """Sizes and settings.

    Attributes:
        nodes: nodes; any may coordinate.
        replicas: of each partition, on nodes 0 .. replicas-1; with one, nothing need be copied.
        topics: their names.
        partitions: of each topic.
        log_partitions: of `__transaction_state`.
        offsets_partitions: of `__consumer_offsets`.
        min_insync: min.insync.replicas.
        transaction_timeout_ms: transaction.timeout.ms of the producers.
        max_timeout_ms: transaction.max.timeout.ms.
        id_expiration_ms: transactional.id.expiration.ms.
        producer_expiration_ms: producer.id.expiration.ms.
        delivery_timeout_ms: delivery.timeout.ms of the producers.
        initial_delay_ms: group.initial.rebalance.delay.ms.
        ordered: whether a connection delivers in the order of sending.
        unclean: unclean.leader.election.enable.
        leaderless_is_known: whether nodes learn at once that a partition has lost its leader. If not, they go on with
            the one that they know, and coordinators of 4.3 do not take the partition for deleted (KAFKA-20734): random
            workloads, whose rules would be broken by it, leave it so.
        skews: of the nodes' clocks, by node; the clocks of all others are true.
    """

    nodes: int = 2
    replicas: int = 1
    topics: tuple[str, ...] = (TOPIC,)
    partitions: int = 2
    log_partitions: int = 1
    offsets_partitions: int = 1
    min_insync: int = 1
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    max_timeout_ms: int = DEFAULT_MAX_TIMEOUT_MS
    id_expiration_ms: int = DEFAULT_EXPIRATION_MS
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    initial_delay_ms: int = INITIAL_DELAY_MS
    ordered: bool = False
    unclean: bool = False
    leaderless_is_known: bool = False
    skews: tuple[Skew, ...] = ()
