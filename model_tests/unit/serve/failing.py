"""A service whose nodes fail, and what clients ask of it."""

from typing import Any

from model_tests.unit.serve.api_bench import Bench
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import blank_batch
from reference.server.nodes import FaultKind
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode

TOPIC = "orders"
ID = "app"
GROUP = "readers"


def bench(nodes: int = 3, min_insync: int = 1, profile: str = "4.3") -> Bench:
    made = Bench(PROFILES[profile], nodes, min_insync=min_insync)
    made.service.create_topic(TOPIC, 2)
    return made


def produced(made: Bench, node: int = 0, acks: int = -1, timeout_ms: int = 30_000, number: int = 0) -> list[Any]:
    """The error of a batch that is sent to a node, once there is an answer."""
    partition = {"index": number, "records": blank_batch(1).encode()}
    topics = [{"name": TOPIC, "partition_data": [partition]}]
    fields = {"transactional_id": None, "acks": acks, "timeout_ms": timeout_ms, "topic_data": topics}
    return made.send("Produce", 9, fields, node)


def fetched(made: Bench, max_wait_ms: int) -> list[Any]:
    """The answer of node 0 to a reader of the empty partition, once there is one."""
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    topics = [{"topic": TOPIC, "partitions": [partition]}]
    return made.send("Fetch", 11, {"max_wait_ms": max_wait_ms, "min_bytes": 1, "topics": topics})


def errors(answers: list[Any]) -> list[ErrorCode]:
    return [ErrorCode(answer.responses[0].partition_responses[0].error_code) for answer in answers]


def partition_reported(made: Bench, node: int) -> Any:
    """What Metadata of a node says of the partition."""
    return made.ask("Metadata", 9, {"topics": [{"name": TOPIC}]}, node).topics[0].partitions[0]


def registered(made: Bench, node: int) -> list[int]:
    return [each.node_id for each in made.ask("Metadata", 9, {"topics": []}, node).brokers]


def coordinator(made: Bench, kind: int = 1, key: str = ID, node: int = 0) -> int:
    return int(made.ask("FindCoordinator", 3, {"key": key, "key_type": kind}, node).node_id)


def initialized(made: Bench, node: int) -> ErrorCode:
    fields = {"transactional_id": ID, "transaction_timeout_ms": 60_000}
    return ErrorCode(made.ask("InitProducerId", 4, fields, node).error_code)


def read(made: Bench, node: int) -> int:
    """Where the log of the partition ends, as its leader says."""
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    request = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": TOPIC, "partitions": [partition]}]}
    return int(made.ask("ListOffsets", 5, request, node).topics[0].partitions[0].offset)


class Transaction:
    """A transaction on the partition, with its coordinator, the partition's leader, and the third node."""

    def __init__(self, min_insync: int = 1) -> None:
        self.made = bench(min_insync=min_insync)
        self.coordinator = coordinator(self.made)
        self.leader, self.third = (self.coordinator + 1) % 3, (self.coordinator + 2) % 3
        if self.leader:
            self.made.suffer(FaultKind.LEADER, self.leader, topic=TOPIC, partition=0)
        fields = {"transactional_id": ID, "transaction_timeout_ms": 60_000}
        given = self.made.ask("InitProducerId", 4, fields, self.coordinator)
        self._who = {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
        old = {f"v3_and_below_{name}": value for name, value in (self._who | {"transactional_id": ID}).items()}
        topics = [{"name": TOPIC, "partitions": [0]}]
        self.made.ask("AddPartitionsToTxn", 3, {**old, "v3_and_below_topics": topics}, self.coordinator)

    def ends(self) -> None:
        """It is decided to commit."""
        fields = {**self._who, "transactional_id": ID, "committed": True}
        assert 0 == self.made.ask("EndTxn", 3, fields, self.coordinator).error_code

    @property
    def markers(self) -> int:
        """How many the leader of the partition has written."""
        return int(self.made.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].leader.log_end)

    @property
    def state(self) -> str:
        """What its coordinator says."""
        request = self.made.ask("DescribeTransactions", 0, {"transactional_ids": [ID]}, self.coordinator)
        return str(request.transaction_states[0].transaction_state)
