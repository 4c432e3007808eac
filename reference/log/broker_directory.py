"""A broker's log directory: whose it is, the folders of its partitions, and its checkpoints (LogManager).

Kafka's files: `.lock`, `meta.properties`, `replication-offset-checkpoint`, `recovery-point-offset-checkpoint`,
`log-start-offset-checkpoint`, `.kafka_cleanshutdown` after a clean stop, and a folder for each partition.
"""

import base64
import fcntl
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from reference.errors import Refusal
from reference.log import checkpoint_file
from reference.log.checkpoint_file import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, PartitionOffset, replace_file
from reference.log.config import LogConfig
from reference.log.damage import DamagedFile
from reference.log.disk_partition import DiskPartition
from reference.log.file_names import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    PARTITION_METADATA,
    PartitionMetadata,
    Properties,
    decode_partition_metadata,
    decode_properties,
    encode_json,
    partition_of,
)
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from spec.versions import Profile
from spec.vocabulary import Offset

LOCK: Final = ".lock"
DELETED: Final = "-delete"
"""Ends the name of a partition's folder that is about to be removed."""

Name = tuple[str, int]
"""Topic and number of a partition."""


class UnusableDirectory(Exception):
    """A directory that no broker can start on: in one line which one it is, and why."""


class DirectoryOwner(NamedTuple):
    """Whose a directory is.

    Attributes:
        cluster: id of the cluster.
        node: number of the broker.
        raft: whether its controllers are a quorum, so that the format of `meta.properties` is KRaft's.
        topic_ids: whether topics have ids (KIP-516, 2.8).
        directory_ids: whether directories have ids (KIP-858, 3.7), and a clean stop leaves more than an empty file.
    """

    cluster: str
    node: int
    raft: bool
    topic_ids: bool
    directory_ids: bool


class BrokerDirectory:
    """One broker's directory, locked while it is open.

    Attributes:
        path: of the directory.
        partitions: that are open, by topic and number.
        clean: whether the last stop was clean.
    """

    def __init__(self, path: Path, profile: Profile, owner: DirectoryOwner) -> None:
        """Make the directory, or open what a broker left there.

        Args:
            path: of the directory; it is made if it is missing.
            profile: release of the broker.
            owner: whose it must be.

        Raises:
            UnusableDirectory: another process has it, another broker wrote it, or a file in it is damaged.
            OSError: it cannot be read or written.
        """
        self.path = path
        self.partitions: dict[Name, DiskPartition] = {}
        self._profile = profile
        self._owner = owner
        path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self._check_owner()
            self._high_watermarks = self._offsets(HIGH_WATERMARKS)
            self._recovery_points = self._offsets(RECOVERY_POINTS)
            self._log_starts = self._offsets(LOG_STARTS)
            self._remove_deleted()
        except BaseException:
            os.close(self._lock)
            raise
        self.clean = (path / CLEAN_SHUTDOWN).exists()
        (path / CLEAN_SHUTDOWN).unlink(missing_ok=True)

    # --- what was left ----------------------------------------------------------------------------------------

    def _check_owner(self) -> None:
        file, own = self.path / META_PROPERTIES, self._meta()
        if not file.exists():
            replace_file(file, own.encode())
            return
        try:
            found = decode_properties(file.read_bytes())
        except DamagedFile as damage:
            raise UnusableDirectory(f"{file}: {damage}") from damage
        if found.values != own.values:
            raise UnusableDirectory(f"{file}: the directory is another broker's: {found.values}, not {own.values}")

    def _meta(self) -> Properties:
        cluster, node, raft, _, directory_ids = self._owner
        values = {"cluster.id": cluster, "version": str(int(raft)), "node.id" if raft else "broker.id": str(node)}
        if raft and directory_ids:
            values["directory.id"] = id_of(f"{cluster}/{node}")
        return Properties(("#",), values)

    def _offsets(self, name: str) -> dict[Name, int]:
        file = self.path / name
        try:
            found = checkpoint_file.decode_offsets(file.read_bytes()) if file.exists() else None
        except DamagedFile as damage:
            raise UnusableDirectory(f"{file}: {damage}") from damage
        return {(entry.topic, entry.partition): entry.offset for entry in found or ()}

    def _remove_deleted(self) -> None:
        for folder in self.path.glob(f"*{DELETED}"):
            shutil.rmtree(folder)

    def folders(self) -> tuple[Name, ...]:
        """The partitions that have a folder.

        Raises:
            UnusableDirectory: a folder is not named after a partition; Kafka does not start either.
        """
        found = []
        for folder in sorted(path for path in self.path.iterdir() if path.is_dir()):
            try:
                found.append(partition_of(folder))
            except ValueError as error:
                raise UnusableDirectory(f"{folder}: a folder of no partition (TOPIC-NUMBER)") from error
        return tuple(found)

    # --- partitions -------------------------------------------------------------------------------------------

    def open(
        self,
        name: Name,
        config: LogConfig,
        *,
        now: int,
        alone: bool = False,
        expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> DiskPartition:
        """Open the folder of a partition, new or left behind.

        Args:
            name: topic and number.
            config: settings of the log.
            now: milliseconds; producers that were silent for too long before are forgotten.
            alone: it is the only replica, which leads.
            expiration_ms: setting producer.id.expiration.ms.

        Raises:
            UnusableDirectory: the log breaks a rule that its release's replicas insist on.
        """
        folder = self._folder(name)
        try:
            opened = DiskPartition(
                folder,
                self._profile,
                config,
                leads=alone,
                alone=alone,
                now=now,
                clean=self.clean,
                log_start=self._log_starts.pop(name, 0),
                recovery_point=self._recovery_points.pop(name, 0),
                high_watermark=None if alone else self._high_watermarks.pop(name, 0),
                expiration_ms=expiration_ms,
            )
        except Refusal as refusal:
            raise UnusableDirectory(f"{folder}: a batch that no replica accepts: {refusal}") from refusal
        self.partitions[name] = opened
        return opened

    def _folder(self, name: Name) -> Path:
        return self.path / f"{name[0]}-{name[1]}"

    def name_topic(self, name: Name, topic_id: str) -> None:
        """Write the id of its topic, 22 letters of base 64, beside a partition's log, if the release has topic ids.

        Raises:
            UnusableDirectory: another one is there.
        """
        file, own = self._folder(name) / PARTITION_METADATA, PartitionMetadata(topic_id)
        if not self._owner.topic_ids:
            return
        if not file.exists():
            replace_file(file, own.encode())
            return
        try:
            found = decode_partition_metadata(file.read_bytes())
        except DamagedFile as damage:
            raise UnusableDirectory(f"{file}: {damage}") from damage
        if found != own:
            raise UnusableDirectory(f"{file}: the folder is of topic {found.topic_id}, not {topic_id}")

    def remove(self, name: Name) -> None:
        """Remove the folder of a partition, in two steps, as a crash may come between."""
        opened, folder = self.partitions.pop(name, None), self._folder(name)
        if opened is not None:
            opened.crash()
        for left in (self._high_watermarks, self._recovery_points, self._log_starts):
            left.pop(name, None)
        if folder.exists():
            shutil.rmtree(folder.rename(folder.with_name(f"{folder.name}{DELETED}")))

    # --- checkpoints and the end ------------------------------------------------------------------------------

    def write_checkpoints(self) -> None:
        """Write down high watermarks, log starts, and up to where logs are flushed."""
        opened = self.partitions
        self._write(HIGH_WATERMARKS, {name: each.high_watermark for name, each in opened.items()})
        self._write(RECOVERY_POINTS, {name: each.disk.active.base_offset for name, each in opened.items()})
        self._write(LOG_STARTS, {name: each.log_start for name, each in opened.items() if each.log_start})

    def _write(self, file: str, offsets: Mapping[Name, Offset]) -> None:
        entries = (PartitionOffset(topic, number, offset) for (topic, number), offset in offsets.items())
        replace_file(self.path / file, checkpoint_file.encode_offsets(entries))

    def close(self) -> None:
        """Stop cleanly: logs are flushed and have snapshots, and the next start need not check them."""
        for each in self.partitions.values():
            each.close()
        self.write_checkpoints()
        self._write(RECOVERY_POINTS, {name: each.log_end for name, each in self.partitions.items()})
        epoch = encode_json({"version": 0, "brokerEpoch": -1})
        (self.path / CLEAN_SHUTDOWN).write_bytes(epoch if self._owner.directory_ids else b"")
        os.close(self._lock)

    def crash(self) -> None:
        """End without any of that; the directory stays as it is."""
        for each in self.partitions.values():
            each.crash()
        os.close(self._lock)


def id_of(name: str) -> str:
    """An id made from a name, as Kafka writes ids: 22 letters of base 64."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()[:16]).decode().rstrip("=")


def _locked(path: Path) -> int:
    """The lock of a directory; it ends with the process.

    Raises:
        UnusableDirectory: another process has it.
    """
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as held:
        os.close(descriptor)
        raise UnusableDirectory(f"{path}: another server has this directory open") from held
    return descriptor
