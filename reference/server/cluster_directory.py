"""The data of all nodes on disk: a log directory of Kafka's layout for each, and what the cluster remembers.

What ZooKeeper or the controllers' log hold for Kafka is in `cluster.json`: release, topics with their ids, the next
producer id, the latest coordinator epochs. Leader epochs of data are in the checkpoints of the logs. There is one copy
of each coordinator's log, on the node that leads it first, because nodes take what is in it to be replicated.
"""

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from reference.broker.group_log import OffsetsTopic
from reference.broker.ids import BlockAllocator, BlockRecord
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_log import TransactionLog
from reference.broker.transaction_metadata import TopicPartition
from reference.log.broker_directory import BrokerDirectory, DirectoryOwner, UnusableDirectory, id_of
from reference.log.checkpoint_file import replace_file
from reference.log.config import LogConfig
from reference.log.damage import FileRepair
from reference.log.disk_partition import DiskPartition
from reference.log.partition import Partition
from reference.replication.replicated import ReplicatedPartition
from reference.server.topics import Topic
from reference.wire.versions import is_since
from reference.world.node import Storage
from spec.versions import Profile
from spec.vocabulary import LeaderEpoch

MEMORY: Final = "cluster.json"
"""What the cluster remembers, beside the directories of its nodes."""

TRANSACTIONS_TOPIC: Final = "__transaction_state"
OWN_TOPICS: Final = (TRANSACTIONS_TOPIC, OFFSETS_TOPIC)
"""Topics of the brokers themselves, which the cluster remembers without a line for each."""

DATA: Final = LogConfig(segment_index_bytes=4 * 1024 * 1024)
"""Settings of the other logs; their indexes are preallocated as large as those of a full segment, not at 10 MiB."""

COORDINATORS: Final = LogConfig(segment_bytes=100 * 1024 * 1024, segment_index_bytes=512 * 1024, compacts=True)
"""Settings of the coordinators' logs (transaction.state.log.segment.bytes, offsets.topic.segment.bytes)."""

TOPIC_IDS_SINCE: Final = "3.6"
"""First release here that writes `partition.metadata` (KIP-516: 2.8)."""

DIRECTORY_IDS_SINCE: Final = "3.9"
"""First release here whose directories have ids (KIP-858: 3.7)."""

MEMBERS_OF_A_START: Final = 10**9
"""So many ids of group members belong to each start of the server, so that none comes twice."""


class StoredAllocator(BlockAllocator):
    """The record of producer ids; a claim is on disk before an id of it is given out."""

    __slots__ = ("_store",)

    def __init__(self, first: int, store: Callable[[int], None]) -> None:
        """A record of which every id below `first` has been handed out; `store` writes the next first one down."""
        super().__init__(first)
        self._store = store

    def write(self, read: BlockRecord, first: int) -> bool:
        """Write the record if it is still the one that was read; whether it was."""
        written = super().write(read, first)
        if written:
            self._store(first)
        return written


class ClusterDirectory(Storage):
    """The directories of a cluster's nodes.

    Attributes:
        path: that they are in.
        starts: how often there was a start on it before.
        topics: as they were left, in the order in which they were made.
        recovered: whether there was a cluster before.
        clean: whether all of its nodes had stopped cleanly.
        nodes: the directory of each.
    """

    def __init__(self, path: Path, profile: Profile, nodes: int, now: int, cluster: str) -> None:
        """Open a directory, new or left behind.

        Args:
            path: of the directory; it is made if it is missing.
            profile: release of all nodes.
            nodes: how many.
            now: milliseconds; producers that were silent for too long before are forgotten.
            cluster: its id.

        Raises:
            UnusableDirectory: it is no directory of such a cluster, another server has it, or a file is damaged.
        """
        super().__init__(profile)
        self.path = path
        self._now = now
        self._written = {"profile": profile.name, "transaction_version": profile.transaction_version, "nodes": nodes}
        self.nodes: list[BrokerDirectory] = []
        try:
            memory = self._read()
            self.recovered = memory is not None
            self._take_over(memory or {"starts": 0, "next_producer_id": 0, "coordinator_epochs": [], "topics": []})
            ids, directory_ids = (is_since(profile, since) for since in (TOPIC_IDS_SINCE, DIRECTORY_IDS_SINCE))
            for node in range(nodes):
                owner = DirectoryOwner(cluster, node, profile.quorum_controller, ids, directory_ids)
                self.nodes.append(BrokerDirectory(path / f"node-{node}", profile, owner))
            self.clean = all(node.clean for node in self.nodes)
            self._remove_strays()
        except OSError as error:
            self.crash()
            raise UnusableDirectory(f"{error.filename or path}: {error.strerror}") from error
        except BaseException:
            self.crash()
            raise

    # --- what the cluster remembers ---------------------------------------------------------------------------

    def _read(self) -> dict[str, Any] | None:
        """What was left in the file, None in a new directory."""
        if self.path.exists() and not self.path.is_dir():
            raise UnusableDirectory(f"{self.path}: a file, where a directory is wanted")
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / MEMORY
        if not file.exists():
            if any(self.path.iterdir()):
                raise UnusableDirectory(f"{self.path}: not empty, and eos serve has not written it: no {MEMORY}")
            return None
        try:
            memory = json.loads(file.read_bytes())
            reported = {name: memory[name] for name in self._written}
        except (ValueError, TypeError, KeyError) as damage:
            raise UnusableDirectory(f"{file}: not as eos serve writes it") from damage
        if reported != self._written:
            raise UnusableDirectory(
                f"{self.path}: of {_description(reported)}; it cannot be served as {_description(self._written)}"
            )
        return memory  # type: ignore[no-any-return]

    def _take_over(self, memory: dict[str, Any]) -> None:
        try:
            self.starts = int(memory["starts"])
            self._next_producer_id = int(memory["next_producer_id"])
            self._epochs = dict(enumerate(map(int, memory["coordinator_epochs"])))
            topics = (Topic(str(each["name"]), str(each["id"]), int(each["partitions"])) for each in memory["topics"])
            self.topics = {topic.name: topic for topic in topics}
        except (ValueError, TypeError, KeyError) as damage:
            raise UnusableDirectory(f"{self.path / MEMORY}: not as eos serve writes it") from damage
        self._known = dict(self.topics)
        self._begun = False
        if not self.recovered:
            self._write()

    def _write(self) -> None:
        topics = [
            {"name": each.name, "id": each.topic_id, "partitions": each.partitions} for each in self._known.values()
        ]
        memory = {
            **self._written,
            "starts": self.starts + 1,
            "next_producer_id": self._next_producer_id,
            "coordinator_epochs": [self._epochs[number] for number in sorted(self._epochs)],
            "topics": topics,
        }
        replace_file(self.path / MEMORY, json.dumps(memory, indent=1).encode())

    def remember(self, topics: Mapping[str, Topic]) -> None:
        """Write down which topics there are, if they are not those of the last time; what is gone loses its folders."""
        if topics == self._known:
            return
        self._known = dict(topics)
        self._write()
        self._remove_strays()
        self._name_topics()
        self.write_checkpoints()

    def _remove_strays(self) -> None:
        """Remove the folders of partitions that the cluster does not know: a deletion or creation that did not end."""
        for node in self.nodes:
            for topic, number in node.folders():
                known = self._known.get(topic)
                if topic not in OWN_TOPICS and (known is None or number >= known.partitions):
                    node.remove((topic, number))

    def _name_topics(self) -> None:
        for node in self.nodes:
            for topic, number in node.partitions:
                known = self._known.get(topic)
                node.name_topic((topic, number), id_of(topic) if known is None else encoded_id(known.topic_id))

    def _store_producer_id(self, first: int) -> None:
        self._next_producer_id = first
        self._write()

    # --- storage ----------------------------------------------------------------------------------------------

    def partition(self, name: TopicPartition, replicas: int, expiration_ms: int) -> ReplicatedPartition:
        """A data partition: a folder at each of its nodes."""
        opened = [node.open(name, DATA, now=self._now, expiration_ms=expiration_ms) for node in self.nodes[:replicas]]
        return ReplicatedPartition(self.profile, replicas, expiration_ms, opened)

    def transaction_log(self, partitions: int) -> TransactionLog:
        """`__transaction_state`."""
        logs = [self._coordinators(TRANSACTIONS_TOPIC, number).disk for number in range(partitions)]
        return TransactionLog(self.profile, opened=logs)  # type: ignore[arg-type]  # they do what PartitionLog does

    def offsets_topic(self, partitions: int) -> OffsetsTopic:
        """`__consumer_offsets`; its partitions have a new leader epoch with each start."""
        opened: list[Partition] = []
        for number in range(partitions):
            each = self._coordinators(OFFSETS_TOPIC, number)
            each.leader_epoch = LeaderEpoch(each.epochs.latest + 1)
            opened.append(each)
        return OffsetsTopic(self.profile, opened=tuple(opened), members=self.starts * MEMBERS_OF_A_START)

    def _coordinators(self, topic: str, number: int) -> DiskPartition:
        node = self.nodes[number % len(self.nodes)]
        return node.open((topic, number), COORDINATORS, now=self._now, alone=True)

    def allocator(self) -> BlockAllocator:
        """The record of the producer ids that are handed out; each claim is written down at once."""
        return StoredAllocator(self._next_producer_id, self._store_producer_id)

    def coordinator_epochs(self) -> dict[int, int]:
        """The latest leader epoch of each partition of `__transaction_state`; of those that have had one."""
        return dict(self._epochs)

    def coordinator_elected(self, partition: int, epoch: int) -> None:
        """A new epoch of a partition of `__transaction_state` is on disk before it is used."""
        self._epochs[partition] = epoch
        if self._begun:
            self._write()

    # --- checkpoints and the end ------------------------------------------------------------------------------

    def repairs(self) -> list[tuple[Path, FileRepair]]:
        """What recovery had to do, by the folder of the partition."""
        opened = (each for node in self.nodes for each in node.partitions.values())
        return [(each.disk.directory, repair) for each in opened for repair in each.repairs]

    def begin(self) -> None:
        """All partitions that there were are open: their topics' ids are beside them, and their checkpoints are new."""
        self._begun = True
        self._write()
        self._name_topics()
        self.write_checkpoints()

    def write_checkpoints(self) -> None:
        """Write down how far partitions have come; after a crash nothing depends on how late that was."""
        for node in self.nodes:
            node.write_checkpoints()

    def close(self) -> None:
        """Stop cleanly."""
        for node in self.nodes:
            node.close()

    def crash(self) -> None:
        """End without that; the directory stays as it is."""
        for node in self.nodes:
            node.crash()


def encoded_id(topic_id: str) -> str:
    """A hexadecimal id of a topic as Kafka's files have it: 22 letters of base 64."""
    return base64.urlsafe_b64encode(bytes.fromhex(topic_id)).decode().rstrip("=")


def _description(reported: Mapping[str, object]) -> str:
    return f"{reported['profile']}, transaction.version {reported['transaction_version']}, nodes: {reported['nodes']}"
