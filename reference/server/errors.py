"""Error codes of requests that have nothing to do with exactly-once, and so are in no rule."""

from enum import IntEnum, unique


@unique
class ServerError(IntEnum):
    """Kafka's codes, by Kafka's names."""

    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    POLICY_VIOLATION = 44
    FETCH_SESSION_ID_NOT_FOUND = 70
    UNSUPPORTED_COMPRESSION_TYPE = 76
    UNKNOWN_TOPIC_ID = 100
