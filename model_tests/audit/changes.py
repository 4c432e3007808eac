"""Copies of the recorded cluster with one change in the raw bytes, and new checksums."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from crc32c import crc32c

from model_tests.audit.recorded import CLUSTER

BROKERS = ("n1", "n2", "n3")
CONTROLLER_LOG = "__cluster_metadata-0"

Change = Callable[[bytearray], None]


def copied(recordings: Path, directory: Path, *partitions: str, controlled: bool = True) -> Path:
    """The brokers with these partitions only, and with one copy of the controller's log."""
    for node in BROKERS:
        source = recordings / CLUSTER / node
        (directory / node).mkdir(parents=True)
        for file in source.iterdir():
            if file.is_file():
                shutil.copy2(file, directory / node)
        names = {*partitions, *([CONTROLLER_LOG] if controlled and node == "n1" else [])}
        for name in sorted(names):
            if (source / name).exists():
                shutil.copytree(source / name, directory / node / name)
    return directory


def with_change(directory: Path, partition: str, offset: int, change: Change, *nodes: str) -> None:
    """Change the batch at an offset on some brokers, and make its checksum anew; what is derived from it goes.

    Args:
        directory: of the logs.
        partition: which one.
        offset: of the batch.
        change: what to make of the batch.
        nodes: the brokers; every one if none is named.
    """
    for node in nodes or BROKERS:
        folder = directory / node / partition
        if not folder.exists():
            continue
        path = max(path for path in folder.glob("*.log") if int(path.stem) <= offset)
        content = bytearray(path.read_bytes())
        for start, end in batches_in(content):
            if int.from_bytes(content[start : start + 8], "big") == offset:
                batch = content[start:end]
                change(batch)
                batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
                content[start:end] = batch
        path.write_bytes(content)
        for derived in (*folder.glob("*.snapshot"), *folder.glob("*index")):
            derived.unlink()


def cut(directory: Path, partition: str, node: str, batches: int) -> int:
    """Cut so many batches off a replica's end; the offset it then ends at.

    Args:
        directory: of the logs.
        partition: which one.
        node: the broker.
        batches: how many.
    """
    path = max((directory / node / partition).glob("*.log"))
    content = path.read_bytes()
    start, _ = list(batches_in(content))[-batches]
    os.truncate(path, start)
    for derived in (*path.parent.glob("*.snapshot"), *path.parent.glob("*index")):
        derived.unlink()
    return int.from_bytes(content[start : start + 8], "big")


def batches_in(content: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Where each batch begins and ends."""
    start = 0
    while start + 12 <= len(content):
        end = start + 12 + int.from_bytes(content[start + 8 : start + 12], "big")
        yield start, end
        start = end


def flipped(batch: bytearray) -> None:
    """A bit of the last record's value."""
    batch[-2] ^= 1


def in_leader_epoch(epoch: int) -> Change:
    """The leader epoch, which no checksum covers."""

    def change(batch: bytearray) -> None:
        batch[12:16] = epoch.to_bytes(4, "big", signed=True)

    return change


def in_coordinator_epoch(epoch: int) -> Change:
    """The coordinator epoch of a marker."""

    def change(batch: bytearray) -> None:
        batch[-5:-1] = epoch.to_bytes(4, "big", signed=True)

    return change


def as_commit(batch: bytearray) -> None:
    """A marker that commits."""
    batch[-10:-8] = (1).to_bytes(2, "big")


def recovered(batch: bytearray) -> None:
    """A record of the controller without the recovery state of a leader whose election was unclean."""
    place = batch.index(b"\x05\x01\x01")  # tag, length, value
    batch[place + 2] = 0


def outside_transactions(batch: bytearray) -> None:
    """Data that is in no transaction."""
    batch[22] &= ~0x10
