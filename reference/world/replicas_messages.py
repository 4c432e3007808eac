"""What is under way in a world of replicas: from whom, to whom, of which partition, what it says."""

from typing import NamedTuple

from reference.broker.produce import PartitionAnswer
from reference.client.producer import Attempt, AttemptReply
from reference.replication.messages import (
    Altered,
    AlterPartition,
    EpochEndAnswer,
    EpochEndRequest,
    FetchRequest,
    FollowerFetchResult,
    LeaderAndIsr,
)
from spec.vocabulary import ErrorCode


class ReplicaProduce(NamedTuple):
    """A producer's batch."""

    producer: int
    attempt: Attempt
    acks: int


class BatchAnswer(NamedTuple):
    """The answer to it."""

    request: ReplicaProduce
    reply: AttemptReply


class FollowerFetchAnswer(NamedTuple):
    """The answer to a follower's fetch."""

    request: FetchRequest
    answer: FollowerFetchResult


class EpochAnswer(NamedTuple):
    """The answer to OffsetsForLeaderEpoch."""

    request: EpochEndRequest
    answer: EpochEndAnswer


class AlterAnswer(NamedTuple):
    """The answer to a proposed in-sync set."""

    request: AlterPartition
    answer: Altered


class BrokerHeartbeat(NamedTuple):
    """A broker is there; under ZooKeeper, it keeps its session."""

    broker: int
    epoch: int
    shuts_down: bool


class HeartbeatAnswer(NamedTuple):
    """What the controller makes of it."""

    error: ErrorCode


Body = (
    ReplicaProduce
    | BatchAnswer
    | FetchRequest
    | FollowerFetchAnswer
    | EpochEndRequest
    | EpochAnswer
    | AlterPartition
    | AlterAnswer
    | BrokerHeartbeat
    | HeartbeatAnswer
    | LeaderAndIsr
)


class ReplicaMessage(NamedTuple):
    """One message; `partition` is -1 where it is of none."""

    sender: str
    receiver: str
    partition: int
    body: Body


class DelayedAnswer(NamedTuple):
    """A batch that is written, whose answer waits until it is replicated."""

    sent: ReplicaMessage
    answer: PartitionAnswer
