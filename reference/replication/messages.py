"""Messages between brokers and controllers about replicas, and their refusals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from reference.errors import Refusal
from reference.log.batch import RecordBatch
from spec import rules
from spec.vocabulary import ABSENT, NO_OFFSET, ErrorCode, LeaderEpoch, Offset

NO_LEADER: Final = ABSENT
NO_EPOCH: Final = LeaderEpoch(ABSENT)
"""The leader epoch of a request that names none."""

BrokerEpochs = Mapping[int, int]
"""Epoch of the registration of each broker that is there, by broker."""


class EpochEnd(NamedTuple):
    """A leader epoch and where it ends in a log."""

    epoch: LeaderEpoch
    end: Offset


UNDEFINED: Final = EpochEnd(NO_EPOCH, NO_OFFSET)
"""The answer of a log that does not know the epoch."""


class FetchRequest(NamedTuple):
    """A follower asks its leader for what comes next.

    Attributes:
        number: which of the follower's askings it is; the answer to an earlier one is dropped.
        follower: the broker that asks.
        broker_epoch: of its registration.
        leader_epoch: that it follows, -1 where the version does not name it.
        offset: its log end.
        last_epoch: leader epoch of its newest record, -1 likewise.
    """

    number: int
    follower: int
    broker_epoch: int
    leader_epoch: LeaderEpoch
    offset: Offset
    last_epoch: LeaderEpoch


class FollowerFetchResult(NamedTuple):
    """The answer to a Fetch.

    Attributes:
        error: Kafka's error code.
        batches: what comes next, all of it whatever is replicated.
        high_watermark: of the leader when it read its log: before this very fetch was counted.
        log_start: of the leader; with `log_end` also what ListOffsets would say to a follower out of range.
        log_end: of the leader.
        diverging: where the two logs part, `UNDEFINED` if they do not.
    """

    error: ErrorCode
    batches: tuple[RecordBatch, ...] = ()
    high_watermark: Offset = NO_OFFSET
    log_start: Offset = NO_OFFSET
    log_end: Offset = NO_OFFSET
    diverging: EpochEnd = UNDEFINED


class EpochEndRequest(NamedTuple):
    """OffsetsForLeaderEpoch: a follower asks where an epoch ends in the leader's log."""

    number: int
    follower: int
    leader_epoch: LeaderEpoch
    epoch: LeaderEpoch


class EpochEndAnswer(NamedTuple):
    """The answer; the epoch is -1 where the version does not name it."""

    error: ErrorCode
    end: EpochEnd = UNDEFINED


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the controller keeps of a partition.

    Attributes:
        assignment: brokers of the replicas; the first is the preferred leader.
        leader: -1 none.
        leader_epoch: raised with each election.
        partition_epoch: raised with each change; under ZooKeeper the version of the node.
        insync: the in-sync set.
        eligible: brokers that left an in-sync set that was too small, with their log whole (KIP-966).
        last_known: the broker that led last, while the in-sync set is empty; -1 none.
    """

    assignment: tuple[int, ...]
    leader: int
    leader_epoch: LeaderEpoch
    partition_epoch: int
    insync: frozenset[int]
    eligible: frozenset[int] = frozenset()
    last_known: int = ABSENT


class LeaderAndIsr(NamedTuple):
    """A controller's message to a broker about the state of a partition.

    Attributes:
        controller_epoch: of the sender.
        version: of the controller's metadata; a message older than the last one received is dropped.
        state: of the partition.
        brokers: that are there.
    """

    controller_epoch: int
    version: int
    state: PartitionState
    brokers: BrokerEpochs


class AlterPartition(NamedTuple):
    """A leader proposes another in-sync set.

    Attributes:
        broker: the sender.
        broker_epoch: of its registration.
        leader_epoch: under which it leads.
        partition_epoch: of the state that it knows.
        insync: the proposed set, with the epoch under which each member was counted.
    """

    broker: int
    broker_epoch: int
    leader_epoch: LeaderEpoch
    partition_epoch: int
    insync: BrokerEpochs


class Altered(NamedTuple):
    """The answer: the state as it is now, or why nothing has changed."""

    error: ErrorCode
    state: PartitionState | None = None


# --- What brokers and controllers refuse about replicas -------------------------------------------------------


class FencedLeaderEpoch(Refusal):
    """The request names a leader epoch that has passed."""

    code = ErrorCode.FENCED_LEADER_EPOCH
    rule = rules.REPL_PREFIX_AGREEMENT


class UnknownLeaderEpoch(Refusal):
    """The request names a leader epoch that this broker does not know yet."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH
    rule = rules.REPL_PREFIX_AGREEMENT


class StaleControllerEpoch(Refusal):
    """The request is of a controller that another one has replaced."""

    code = ErrorCode.STALE_CONTROLLER_EPOCH


class NotController(Refusal):
    """This node is not the controller, or not any more."""

    code = ErrorCode.NOT_CONTROLLER


class StaleBrokerEpoch(Refusal):
    """The sender has been registered again since."""

    code = ErrorCode.STALE_BROKER_EPOCH


class InvalidUpdateVersion(Refusal):
    """The proposal is of a state of the partition that has changed since."""

    code = ErrorCode.INVALID_UPDATE_VERSION
    rule = rules.REPL_COMMITTED_SURVIVES


class IneligibleReplica(Refusal):
    """A broker that is to join the in-sync set is not there, or not the one whose fetches were counted."""

    code = ErrorCode.INELIGIBLE_REPLICA
    rule = rules.REPL_COMMITTED_SURVIVES


class InvalidProposal(Refusal):
    """The sender does not lead, or the proposed in-sync set lacks the leader or has a broker of no replica."""

    code = ErrorCode.INVALID_REQUEST
    rule = rules.REPL_COMMITTED_SURVIVES


class PreferredLeaderNotAvailable(Refusal):
    """The first replica of the assignment is not in sync or not there."""

    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class ElectionNotNeeded(Refusal):
    """The partition has the leader that the election would give it."""

    code = ErrorCode.ELECTION_NOT_NEEDED


class UnexpectedAppendOffset(Refusal):
    """A copied batch begins before the follower's log end: the logs have diverged undetected."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE
    rule = rules.REPL_PREFIX_AGREEMENT
