"""What is under way in a world of replicas: from whom, to whom, of which partition, what it says."""

from typing import NamedTuple

from reference.broker.produce import PartitionAnswer
from reference.client.producer import Attempt, Reply
from reference.replication.messages import (
    Altered,
    AlterPartition,
    AskEpochEnd,
    EpochEndAnswer,
    Fetch,
    Fetched,
    LeaderAndIsr,
)
from spec.vocabulary import ErrorCode


class Produce(NamedTuple):
    """A producer's batch."""

    producer: int
    attempt: Attempt
    acks: int


class Produced(NamedTuple):
    """The answer to it."""

    asked: Produce
    reply: Reply


class FetchAnswer(NamedTuple):
    """The answer to a follower's fetch."""

    asked: Fetch
    answer: Fetched


class EpochAnswer(NamedTuple):
    """The answer to OffsetsForLeaderEpoch."""

    asked: AskEpochEnd
    answer: EpochEndAnswer


class AlterAnswer(NamedTuple):
    """The answer to a proposed in-sync set."""

    asked: AlterPartition
    answer: Altered


class Heartbeat(NamedTuple):
    """A broker is there; under ZooKeeper, it keeps its session."""

    broker: int
    epoch: int
    shuts_down: bool


class HeartbeatAnswer(NamedTuple):
    """What the controller makes of it."""

    error: ErrorCode


Body = (
    Produce
    | Produced
    | Fetch
    | FetchAnswer
    | AskEpochEnd
    | EpochAnswer
    | AlterPartition
    | AlterAnswer
    | Heartbeat
    | HeartbeatAnswer
    | LeaderAndIsr
)


class Sent(NamedTuple):
    """One message; `partition` is -1 where it is of none."""

    sender: str
    receiver: str
    partition: int
    body: Body


class Waiting(NamedTuple):
    """A batch that is written, whose answer waits until it is replicated."""

    sent: Sent
    answer: PartitionAnswer
