"""Kafka's own words: ids, sentinels, error codes, state names.

Everything here is pure data. The specification and the reference share these names and nothing else
(besides the rule registry and the profiles), so that their agreement means something.
"""

from enum import IntEnum, StrEnum, unique
from typing import Final, NewType

ProducerId = NewType("ProducerId", int)  # int64
Epoch = NewType("Epoch", int)  # int16, of a producer
CoordinatorEpoch = NewType("CoordinatorEpoch", int)  # int32, leader epoch of a `__transaction_state` partition
LeaderEpoch = NewType("LeaderEpoch", int)  # int32, of a partition
Sequence = NewType("Sequence", int)  # int32, 0 .. 2^31-1, per producer id, epoch and partition
Offset = NewType("Offset", int)  # int64
Timestamp = NewType("Timestamp", int)  # int64, milliseconds since 1970-01-01T00:00Z

ABSENT: Final = -1
"""The protocol's own sentinel: no producer id, no epoch, no sequence, no offset, no timestamp."""

NO_PRODUCER_ID: Final = ProducerId(ABSENT)
NO_EPOCH: Final = Epoch(ABSENT)
NO_COORDINATOR_EPOCH: Final = CoordinatorEpoch(ABSENT)
NO_SEQUENCE: Final = Sequence(ABSENT)
NO_OFFSET: Final = Offset(ABSENT)
NO_TIMESTAMP: Final = Timestamp(ABSENT)

MAX_SEQUENCE: Final = Sequence(2**31 - 1)
"""The sequence number after which the next one is 0."""

MAX_EPOCH: Final = Epoch(2**15 - 1)
"""Reserved for the coordinator, so that it can always fence; clients get 0 .. 32766."""

PRODUCER_ID_BLOCK: Final = 1000
"""Producer ids that a broker claims at once."""


@unique
class ErrorCode(IntEnum):
    """Kafka's error codes, by their number on the wire."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    GROUP_ID_NOT_FOUND = 69
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    STALE_BROKER_EPOCH = 77
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    INVALID_UPDATE_VERSION = 95
    TRANSACTIONAL_ID_NOT_FOUND = 105
    INELIGIBLE_REPLICA = 107
    STALE_MEMBER_EPOCH = 113
    TRANSACTION_ABORTABLE = 120


@unique
class Api(StrEnum):
    """Kafka's requests by their names, in the order of their keys; each is the text that traces and sessions hold."""

    PRODUCE = "Produce"
    FETCH = "Fetch"
    LIST_OFFSETS = "ListOffsets"
    METADATA = "Metadata"
    OFFSET_COMMIT = "OffsetCommit"
    OFFSET_FETCH = "OffsetFetch"
    FIND_COORDINATOR = "FindCoordinator"
    JOIN_GROUP = "JoinGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    SYNC_GROUP = "SyncGroup"
    DESCRIBE_GROUPS = "DescribeGroups"
    LIST_GROUPS = "ListGroups"
    API_VERSIONS = "ApiVersions"
    CREATE_TOPICS = "CreateTopics"
    DELETE_TOPICS = "DeleteTopics"
    DELETE_RECORDS = "DeleteRecords"
    INIT_PRODUCER_ID = "InitProducerId"
    OFFSET_FOR_LEADER_EPOCH = "OffsetForLeaderEpoch"
    ADD_PARTITIONS_TO_TXN = "AddPartitionsToTxn"
    ADD_OFFSETS_TO_TXN = "AddOffsetsToTxn"
    END_TXN = "EndTxn"
    WRITE_TXN_MARKERS = "WriteTxnMarkers"
    TXN_OFFSET_COMMIT = "TxnOffsetCommit"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    CREATE_PARTITIONS = "CreatePartitions"
    DELETE_GROUPS = "DeleteGroups"
    OFFSET_DELETE = "OffsetDelete"
    DESCRIBE_CLUSTER = "DescribeCluster"
    DESCRIBE_PRODUCERS = "DescribeProducers"
    DESCRIBE_TRANSACTIONS = "DescribeTransactions"
    LIST_TRANSACTIONS = "ListTransactions"

    def __repr__(self) -> str:
        """As the text, which is what messages show and what generated code contains."""
        return repr(self.value)


@unique
class Origin(IntEnum):
    """Who asks the log to append (Kafka's AppendOrigin)."""

    CLIENT = 0
    COORDINATOR = 1  # transaction markers, transactional offset commits, the transaction log itself
    REPLICATION = 2  # followers, and replay of the log after a restart
    RAFT_LEADER = 3


@unique
class ControlType(IntEnum):
    """Type of a control record, as in its key."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@unique
class TransactionState(IntEnum):
    """State of a transactional id at its coordinator, by its number in `__transaction_state`."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


@unique
class GroupState(IntEnum):
    """State of a classic group at its coordinator; Kafka writes it by name, the numbers are of this project."""

    EMPTY = 0
    PREPARING_REBALANCE = 1  # members join
    COMPLETING_REBALANCE = 2  # they await their assignment
    STABLE = 3
    DEAD = 4
