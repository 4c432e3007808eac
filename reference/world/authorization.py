"""Who may do what: the checks that come before any other, and the error of each (KafkaApis, KIP-98, KIP-679)."""

from collections.abc import Collection, Iterable
from enum import StrEnum, unique
from typing import Final, NamedTuple

from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import (
    AddOffsets,
    CoordinatorRequest,
    CoordinatorType,
    FindCoordinator,
    TxnOffsetCommit,
)
from spec.vocabulary import ErrorCode


@unique
class AclOperation(StrEnum):
    """What one may be allowed to do."""

    READ = "Read"
    WRITE = "Write"
    DESCRIBE = "Describe"
    IDEMPOTENT_WRITE = "IdempotentWrite"


@unique
class Resource(StrEnum):
    """What one may be allowed to do it with."""

    TRANSACTIONAL_ID = "TransactionalId"
    TOPIC = "Topic"
    GROUP = "Group"
    CLUSTER = "Cluster"


THE_CLUSTER: Final = "kafka-cluster"


class Permission(NamedTuple):
    """An operation on a resource."""

    operation: AclOperation
    resource: Resource
    name: str


class Authorizer:
    """All principals may do everything except what is denied.

    Attributes:
        denied: by principal.
        topics: the topics there are.
    """

    __slots__ = ("denied", "topics")

    def __init__(self, topics: Iterable[str]) -> None:
        """Nothing is denied."""
        self.denied: dict[str, set[Permission]] = {}
        self.topics = tuple(topics)

    def deny(self, principal: str, operation: AclOperation, resource: Resource, name: str) -> None:
        """Take a right away.

        Args:
            principal: whose it is.
            operation: what the right lets it do.
            resource: what kind of thing it is about.
            name: of the thing.
        """
        self.denied.setdefault(principal, set()).add(Permission(operation, resource, name))

    def allow(self, principal: str, operation: AclOperation, resource: Resource, name: str) -> None:
        """Give a right back.

        Args:
            principal: whose it is.
            operation: what the right lets it do.
            resource: what kind of thing it is about.
            name: of the thing.
        """
        self.denied.get(principal, set()).discard(Permission(operation, resource, name))

    def may(self, principal: str, operation: AclOperation, resource: Resource, name: str) -> bool:
        """Whether a principal has a right.

        Args:
            principal: whose it is.
            operation: what the right lets it do.
            resource: what kind of thing it is about.
            name: of the thing.
        """
        if principal not in self.denied:
            return True
        return Permission(operation, resource, name) not in self.denied[principal]

    def may_write_as(self, principal: str, transactional_id: str) -> bool:
        """Whether a principal may speak for a transactional id."""
        return self.may(principal, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)

    def may_write_idempotently(self, principal: str) -> bool:
        """Whether a principal may have a producer id: by the cluster's right, or that of some topic (KIP-679)."""
        by_cluster = self.may(principal, AclOperation.IDEMPOTENT_WRITE, Resource.CLUSTER, THE_CLUSTER)
        return by_cluster or any(
            self.may(principal, AclOperation.WRITE, Resource.TOPIC, topic) for topic in self.topics
        )

    # --- by request -------------------------------------------------------------------------------------------

    def check_producer_id(self, principal: str, transactional_id: str | None) -> ErrorCode:
        """InitProducerId."""
        if transactional_id is None:
            allowed = self.may_write_idempotently(principal)
            return ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        allowed = self.may_write_as(principal, transactional_id)
        return ErrorCode.NONE if allowed else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def check_produce(self, principal: str, transactional_id: str | None, topic: str) -> ErrorCode:
        """Produce of one batch: since 3.0 an idempotent one needs no right but that of its topic (KIP-679)."""
        if transactional_id is not None and not self.may_write_as(principal, transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        allowed = self.may(principal, AclOperation.WRITE, Resource.TOPIC, topic)
        return ErrorCode.NONE if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def check(self, principal: str, request: CoordinatorRequest) -> ErrorCode:
        """A request to a coordinator, its partitions aside."""
        match request:
            case FindCoordinator(coordinator=CoordinatorType.GROUP, key=group):
                return self._of_group(principal, AclOperation.DESCRIBE, group)
            case FindCoordinator(key=transactional_id):
                allowed = self.may(principal, AclOperation.DESCRIBE, Resource.TRANSACTIONAL_ID, transactional_id)
                return ErrorCode.NONE if allowed else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            case AddOffsets(group=group) | TxnOffsetCommit(group=group):
                writing = self.check_producer_id(principal, request.transactional_id)
                return writing if writing is not ErrorCode.NONE else self._of_group(principal, AclOperation.READ, group)
            case _:
                return self.check_producer_id(principal, request.transactional_id)

    def _of_group(self, principal: str, operation: AclOperation, group: str) -> ErrorCode:
        allowed = self.may(principal, operation, Resource.GROUP, group)
        return ErrorCode.NONE if allowed else ErrorCode.GROUP_AUTHORIZATION_FAILED

    def check_partitions(
        self, principal: str, operation: AclOperation, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """The partitions whose topic a principal has no right to."""
        return {
            partition: ErrorCode.TOPIC_AUTHORIZATION_FAILED
            for partition in partitions
            if not self.may(principal, operation, Resource.TOPIC, partition.topic)
        }
