"""How large a world of replicas is, and how it is configured."""

from dataclasses import dataclass
from typing import Final

from reference.client.producer import DELIVERY_TIMEOUT_MS
from reference.log.producer_state import PRODUCER_EXPIRATION_MS

ACKS_ALL: Final = -1  # the number of acks=all on the wire


@dataclass(frozen=True, slots=True)
class ReplicaProducer:
    """A producer.

    Attributes:
        acks: -1 all, 1 leader only, 0 none.
        idempotent: whether it numbers its batches; Kafka's clients do with acks=all only.
    """

    acks: int = ACKS_ALL
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class ReplicasShape:
    """The world.

    Attributes:
        brokers: how many.
        controllers: nodes that may be controller.
        replicas: of each partition.
        partitions: of the one topic.
        writers: the producers.
        min_insync: min.insync.replicas.
        unclean_allowed: unclean.leader.election.enable.
        lag_max_ms: replica.lag.time.max.ms; None: the release's own.
        session_timeout_ms: broker.session.timeout.ms, zookeeper.session.timeout.ms.
        request_timeout_ms: request.timeout.ms of producers, after which a broker gives up waiting for acks=all, too.
        fetch_timeout_ms: after which a follower whose fetch was not answered asks again.
        delivery_timeout_ms: delivery.timeout.ms of producers.
        expiration_ms: producer.id.expiration.ms.
        fetched_batches: batches in the answer to one fetch of a follower.
        ordered: connections deliver in the order of sending.
    """

    brokers: int = 3
    controllers: int = 2
    replicas: int = 3
    partitions: int = 1
    writers: tuple[ReplicaProducer, ...] = (ReplicaProducer(), ReplicaProducer(idempotent=False))
    min_insync: int = 1
    unclean_allowed: bool = False
    lag_max_ms: int | None = None
    session_timeout_ms: int = 9_000
    request_timeout_ms: int = 30_000
    fetch_timeout_ms: int = 500
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    expiration_ms: int = PRODUCER_EXPIRATION_MS
    fetched_batches: int = 3
    ordered: bool = True

    def assignment(self, partition: int) -> tuple[int, ...]:
        """The brokers of a partition's replicas: the first leads if it can."""
        return tuple((partition + place) % self.brokers for place in range(self.replicas))
