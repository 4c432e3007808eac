"""The size and the kind of a world of transactions, and the stories that its runs follow."""

from dataclasses import dataclass
from typing import Final

from reference.tape import Tape
from reference.world.transaction_shape import TransactionShape
from spec.rules import Circumstances
from spec.versions import KAFKA_3_9_UNVERIFIED, KAFKA_4_1, NEWEST, Profile
from spec.vocabulary import MAX_EPOCH

SAFE: Final = (NEWEST, NEWEST, NEWEST.under(1), NEWEST.under(0))
"""The newest release under each transaction version, most often under version 2."""

PROFILES: Final = (*SAFE, NEWEST, KAFKA_4_1, KAFKA_3_9_UNVERIFIED)
"""Likewise, and versions in which the network may break rules that are not claimed there."""

TIMEOUT_MS: Final = 60_000
"""The clients' default of `transaction.timeout.ms`."""

EXPIRATION_MS: Final = 24 * 60 * 60 * 1000
"""Kafka's default of `producer.id.expiration.ms`."""


@dataclass(frozen=True, slots=True)
class TransactionSetting:
    """One world.

    Attributes:
        ids: transactional ids, each with any number of instances.
        workers: the ids but the first read what the first writes, and send their offsets along.
        first_epoch: epoch that the ids have already reached, -1 none.
    """

    profile: Profile
    ids: int = 1
    nodes: int = 2
    replicas: int = 1
    partitions: int = 2
    log_partitions: int = 1
    workers: bool = False
    ordered: bool = False
    first_epoch: int = -1

    @property
    def names(self) -> tuple[str, ...]:
        """The transactional ids."""
        return tuple(f"{'worker' if self.workers and number else 'id'}-{number}" for number in range(self.ids))

    @property
    def shape(self) -> TransactionShape:
        """The same for the world."""
        return TransactionShape(
            nodes=self.nodes,
            replicas=self.replicas,
            partitions=self.partitions,
            log_partitions=self.log_partitions,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_expiration_ms=EXPIRATION_MS,
            ordered=self.ordered,
        )

    def circumstances(self, *, delayed: bool, forgotten: bool) -> Circumstances:
        """What the domains of rules ask about."""
        return Circumstances(
            transaction_version=self.profile.transaction_version,
            marker_epoch_checked=self.profile.marker_epoch_strict,
            partition_verification=self.profile.partition_verification,
            state_retained=not forgotten,
            delayed_requests=delayed,
        )


@dataclass(frozen=True, slots=True)
class WorldSetting:
    """What a machine is about: the worlds that it draws, and the faults that happen in them more often.

    Attributes:
        least_ids: transactional ids at least; `most_ids` at most.
        profiles: of its worlds.
        near_the_end: whether some ids have used up nearly all epochs.
        often: names of the events that happen more often than elsewhere.
        never: names of the events that do not happen.
    """

    name: str
    least_ids: int = 1
    most_ids: int = 1
    workers: bool = False
    near_the_end: bool = False
    profiles: tuple[Profile, ...] = PROFILES
    often: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def setting(self, choose: Tape) -> TransactionSetting:
        """A world of this story."""
        near_the_end = self.near_the_end and choose.below(3) == 1
        nodes = 2 + choose.below(2)
        return TransactionSetting(
            profile=choose.pick(SAFE if near_the_end else self.profiles),
            ids=self.least_ids + choose.below(self.most_ids - self.least_ids + 1),
            nodes=nodes,
            replicas=1 + choose.below(2),
            partitions=2 + choose.below(2),
            log_partitions=1 if near_the_end else 1 + choose.below(2),
            workers=self.workers,
            ordered=choose.below(4) == 1,
            first_epoch=MAX_EPOCH - 1 - choose.below(3) if near_the_end else -1,
        )


EXPIRY: Final = frozenset({"producer_state_expires", "transactional_ids_expire"})
OFFSETS: Final = frozenset({"worker_takes_over", "group_looks_up_offsets"})
COORDINATOR: Final = frozenset(
    {"coordinator_fails_over", "fault_is_mended", "coordinator_log_fails", "coordinator_sends_markers"}
)

LATE: Final = frozenset({"request_arrives_twice", "batch_outlives_its_transaction", "late_request_arrives"})

INSTANCES: Final = WorldSetting(
    "one transactional id, several instances",
    near_the_end=True,
    often=frozenset({"instance_starts", "transactions_time_out", "network_holds_up", *LATE}),
    never=frozenset({"worker_takes_over"}),
)
SHARED: Final = WorldSetting(
    "several ids over shared partitions",
    least_ids=2,
    most_ids=3,
    often=frozenset({"group_looks_up_offsets", "consumer_commits", "transactional_ids_expire"}),
    never=frozenset({"worker_takes_over"}),
)
WORKERS: Final = WorldSetting(
    "consume, transform, produce",
    least_ids=3,
    most_ids=3,
    workers=True,
    often=OFFSETS,
    never=EXPIRY | {"consumer_commits"},
)
FAILOVER: Final = WorldSetting(
    "coordinators fail",
    most_ids=2,
    often=COORDINATOR | LATE,
    never=frozenset({"worker_takes_over", *EXPIRY}),
)
OUTLIVED: Final = WorldSetting(
    "requests that outlive their transaction",
    profiles=(NEWEST.under(0), NEWEST.under(0), NEWEST),
    often=LATE | {"network_holds_up"},
    never=frozenset({"worker_takes_over", *EXPIRY}),
)
"""Used apart from the machines, for runs of one kind."""

UNBUMPED: Final = WorldSetting(
    "one epoch for many transactions",
    profiles=(NEWEST.under(1), NEWEST.under(0)),
    often=INSTANCES.often,
    never=INSTANCES.never,
)
"""Likewise: before version 2, what is left of one transaction meets the next."""

STORIES: Final = (INSTANCES, SHARED, WORKERS, FAILOVER)
