"""The subjects of Kafka's exactly-once, by number; a scenario names those that it shows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SUBJECTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "exactly once per session and partition; why duplicates and disorder arise",
        2: "producer ids",
        3: "authorization",
        4: "sequence numbers",
        5: "the producer client",
        6: "the broker's append path and its window of five batches",
        7: "producer state across failures of brokers",
        8: "limits of idempotence",
        9: "unknown producers, before and since KIP-360",
        10: "transactional ids, epochs and the fencing of zombies",
        11: "the transaction coordinator",
        12: "control batches, isolation levels and the last stable offset",
        13: "consume, transform, produce",
        14: "limits of reading transactions",
        15: "errors: fatal, abortable or retriable",
        16: "failure of the coordinator at each point",
        17: "transaction timeout and expiration of transactional ids",
        18: "a partition that is unavailable during a commit",
        19: "two-phase commit, snapshots and atomic broadcast beside it",
        20: "topics, partitions and offsets",
        21: "consumer groups",
        22: "replication: which setting loses or duplicates what",
        23: "election of the controller",
        24: "storage: segments, indexes and retention",
        25: "differences between versions",
    }
)
