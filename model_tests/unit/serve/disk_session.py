"""An application over a server with data on disk: what it was answered, and what is there after the server's end."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_tests.unit.serve.api_bench import START_MS, Bench
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import delivered
from reference.log.batch import value_batch
from reference.log.partition import READ_COMMITTED
from spec.versions import Profile
from spec.vocabulary import ErrorCode

TOPIC = "orders"
GROUP = "readers"


def opened(directory: Path, profile: Profile, nodes: int = 1, now: int = START_MS) -> Bench:
    """A server on a directory; few coordinators, so that it starts at once."""
    return Bench(profile, nodes, now, directory=directory, coordinator_partitions=2)


@dataclass
class DiskSession:
    """An application's requests, and what it was answered.

    Attributes:
        acknowledged: values of records without transaction.
        committed: values of committed transactions, each with the offset of the group that it committed.
        aborted: values of aborted ones, also of those that are asked to be.
        unsure: values that were sent and not answered for yet.
        offset: that the group has committed last.
        offsets: that it may have.
        sent: the latest batch.
    """

    bench: Bench
    acknowledged: list[bytes] = field(default_factory=list)
    committed: list[tuple[bytes, ...]] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)
    unsure: list[tuple[bytes, ...]] = field(default_factory=list)
    offset: int = -1
    offsets: set[int] = field(default_factory=lambda: {-1})
    sent: bytes = b""
    sequences: dict[tuple[int, int], int] = field(default_factory=dict)

    def run(self) -> None:
        """Everything: plain records, transactions of both outcomes, offsets of both kinds, an open transaction."""
        topic = {"name": TOPIC, "num_partitions": 2, "replication_factor": -1, "assignments": [], "configs": []}
        created = self.bench.ask("CreateTopics", 4, {"topics": [topic], "timeout_ms": 1, "validate_only": False})
        assert 0 == created.topics[0].error_code
        plain = self.identified(None)
        for number in range(2):
            self.sends_plain(plain, f"plain-{number}".encode())
        app = self.identified("app")
        app = self.transaction(app, (b"a", b"b"), commits=True, offset=2)
        app = self.transaction(app, (b"c", b"d"), commits=False, offset=4)
        self.commits_offset(3)
        app = self.transaction(app, (b"e", b"f"), commits=True, offset=6)
        self.sends_plain(plain, b"plain-2")
        self.in_transaction(app, (b"open",))
        self.aborted.append(b"open")

    # --- requests ---------------------------------------------------------------------------------------------

    def identified(self, transactional_id: str | None) -> dict[str, int]:
        """The identity of a new producer; the instance before is gone first, if it has left a transaction open."""
        fields = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
        node = self.coordinator("app", 1) if transactional_id else 0
        answer = self.bench.ask("InitProducerId", 1, fields, node=node)
        while answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
            self.bench.wait(50)
            answer = self.bench.ask("InitProducerId", 1, fields, node=node)
        assert 0 == answer.error_code
        return {"producer_id": answer.producer_id, "epoch": answer.producer_epoch}

    def sends_plain(self, identity: dict[str, int], value: bytes) -> None:
        """One record without transaction."""
        self.unsure.append((value,))
        assert 0 == self.produces(identity, value, 0)
        self.acknowledged.append(value)
        self.unsure.pop()

    def produces(self, identity: dict[str, int], value: bytes, partition: int, transactional_id: str = "") -> int:
        """The error of a batch with the next sequence."""
        place = identity["producer_id"] * 100_000 + identity["epoch"], partition
        sequence = self.sequences.get(place, 0)
        self.sequences[place] = sequence + 1
        sent = value_batch(
            (value,),
            base_sequence=sequence,
            timestamp=self.bench.now,
            transactional=bool(transactional_id),
            **identity,
        )
        return self.sends_batch(sent.encode(), partition, transactional_id)

    def sends_batch(self, data: bytes, partition: int, transactional_id: str = "") -> int:
        """The error of a batch."""
        self.sent = data
        parts = [{"index": partition, "records": data}]
        topics = [{"name": TOPIC, "partition_data": parts}]
        fields = {"transactional_id": transactional_id or None, "acks": -1, "timeout_ms": 1_000, "topic_data": topics}
        answer = self.bench.ask("Produce", 3, fields, node=self.leader(partition))
        return int(answer.responses[0].partition_responses[0].error_code)

    def leader(self, partition: int) -> int:
        """The node that leads a partition."""
        return self.bench.service.world.brokers.leader_of(TopicPartition(TOPIC, partition))

    def in_transaction(self, identity: dict[str, int], values: tuple[bytes, ...], offset: int | None = None) -> None:
        """Begin a transaction with a record for each partition, and with an offset of the group if one is given."""
        numbers = list(range(len(values)))
        self.coordinated("AddPartitionsToTxn", identity, topics=[{"name": TOPIC, "partitions": numbers}])
        for number, value in enumerate(values):
            assert 0 == self.produces(identity, value, number, "app")
        if offset is not None:
            self.coordinated("AddOffsetsToTxn", identity, group_id=GROUP)
            self.coordinated("TxnOffsetCommit", identity, group_id=GROUP, topics=committed(offset))

    def transaction(
        self, identity: dict[str, int], values: tuple[bytes, ...], *, commits: bool, offset: int
    ) -> dict[str, int]:
        """A whole transaction; the identity that the producer goes on with."""
        self.unsure.append(values)
        if commits:
            self.offsets.add(offset)
        else:
            self.aborted += values
        self.in_transaction(identity, values, offset)
        self.coordinated("EndTxn", identity, committed=commits)
        if commits:
            self.committed.append(values)
            self.offset, self.offsets = offset, {offset}
        self.unsure.pop()
        return identity

    def coordinated(self, api: str, identity: dict[str, int], **more: Any) -> None:
        """A request to the transaction's coordinator, or to that of the group, which is not refused."""
        who = {"producer_id": identity["producer_id"], "producer_epoch": identity["epoch"]}
        fields = {"transactional_id": "app", **who, **more}
        if api == "AddPartitionsToTxn":
            fields = {f"v3_and_below_{name}": value for name, value in fields.items()}
        key, kind = (GROUP, 0) if api == "TxnOffsetCommit" else ("app", 1)
        answer = self.bench.ask(api, 0, fields, node=self.coordinator(key, kind))
        while ErrorCode.CONCURRENT_TRANSACTIONS in errors_in(answer):
            self.bench.wait(50)
            answer = self.bench.ask(api, 0, fields, node=self.coordinator(key, kind))
        assert {0} == set(errors_in(answer)), api

    def coordinator(self, key: str, kind: int) -> int:
        """The node that coordinates a group (0) or a transactional id (1)."""
        return int(self.bench.ask("FindCoordinator", 1, {"key": key, "key_type": kind}).node_id)

    def commits_offset(self, offset: int) -> None:
        """An offset of the group without transaction."""
        self.offsets.add(offset)
        fields = {"group_id": GROUP, "generation_id_or_member_epoch": -1, "member_id": "", "topics": committed(offset)}
        answer = self.bench.ask("OffsetCommit", 2, fields, node=self.coordinator(GROUP, 0))
        assert {0} == set(errors_in(answer))
        self.offset, self.offsets = offset, {offset}

    # --- what is there ----------------------------------------------------------------------------------------

    def goes_on(self, bench: Bench) -> None:
        """After the server has ended: the next instance begins, and all that was answered is there."""
        self.bench = bench
        if TOPIC not in bench.service.topics.by_name:
            assert [] == self.acknowledged
            assert [] == self.committed
            return
        self.sequences.clear()
        app = self.identified("app")
        self.check()
        self.transaction(app, (b"next", b"after it"), commits=True, offset=1)
        self.check()
        assert [] == bench.violations

    def check(self) -> None:
        """Readers of what is committed see what was acknowledged, once, and a transaction as a whole or not at all."""
        seen = [value for number in range(2) for value in self.visible(number)]
        assert len(set(seen)) == len(seen)
        answered = {*self.acknowledged, *(value for values in self.committed for value in values)}
        assert answered <= set(seen)
        assert not set(self.aborted) & set(seen)
        assert set(seen) - answered <= {value for values in self.unsure for value in values}
        assert all(len(set(values) & set(seen)) in (0, len(values)) for values in self.unsure)
        assert self.group_offset() in self.offsets | {self.offset}

    def visible(self, partition: int) -> list[bytes | None]:
        """The values that a reader of what is committed is given."""
        leader = self.bench.service.world.brokers.partitions[TopicPartition(TOPIC, partition)].leader
        assert leader.last_stable == leader.high_watermark == leader.log_end
        return [record.value for _, record in delivered(leader.fetch(leader.log_start, READ_COMMITTED), 0)]

    def group_offset(self) -> int:
        """What the group has committed, -1 for nothing."""
        fields = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
        answer = self.bench.ask("OffsetFetch", 1, fields, node=self.coordinator(GROUP, 0))
        return int(answer.topics[0].partitions[0].committed_offset)


def committed(offset: int) -> list[dict[str, Any]]:
    """A commit of one offset."""
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    return [{"name": TOPIC, "partitions": [part]}]


def errors_in(answer: Any) -> list[int]:
    """Every error of an answer."""
    if hasattr(answer, "error_code"):
        return [int(answer.error_code)]
    if hasattr(answer, "results_by_topic_v3_and_below"):
        parts = [part for topic in answer.results_by_topic_v3_and_below for part in topic.results_by_partition]
        return [int(part.partition_error_code) for part in parts]
    return [int(part.error_code) for topic in answer.topics for part in topic.partitions]
