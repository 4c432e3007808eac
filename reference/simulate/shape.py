"""How large a simulated world is, and how it is configured."""

from dataclasses import dataclass

from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.log.producer_state import PRODUCER_EXPIRATION_MS


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the world is, and how it is configured.

    Attributes:
        producers: idempotent producers.
        partitions: partitions of the one topic.
        nodes: nodes, each with a replica of every partition.
        acks: -1 all, 1 leader only, 0 none: a batch that is sent is a success, and there is no answer.
        min_insync: min.insync.replicas.
        expiration_ms: producer.id.expiration.ms.
        delivery_timeout_ms: delivery.timeout.ms of the producers.
        max_in_flight: unacknowledged batches of a producer per partition, at most the broker's window.
        eager_metadata: a producer turns to a new leader while batches are under way to the old one; a later batch
            may then be the first that the new leader sees, and is accepted as such (KAFKA-14359).
        idempotent: whether producers number their batches (enable.idempotence); Kafka's clients do with acks -1 only.
    """

    producers: int = 2
    partitions: int = 1
    nodes: int = 3
    acks: int = -1
    min_insync: int = 1
    expiration_ms: int = PRODUCER_EXPIRATION_MS
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    max_in_flight: int = MAX_IN_FLIGHT
    eager_metadata: bool = False
    idempotent: bool = True
