"""One log as a replica of its partition: the summary of it by which it is compared with the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from model_tests.audit.controller_log_history import ControllerHistory
from model_tests.audit.group_log import PartitionGroupOffsets
from model_tests.logs.kafka_log_batches import Batches, Integers
from model_tests.logs.kafka_log_folders import CLEAN_SHUTDOWN, LogFolder
from model_tests.logs.locations import located
from spec.vocabulary import ABSENT

Digests = npt.NDArray[np.uint64]

MOST_BLOCKS: Final = 256
_NARROWEST: Final = 64
"""Digests of a log, at most: what is sent of a replica is some KiB however long it is. The narrowest block has so many
offsets; blocks double in width until there are few enough."""

_TOPIC_ID: Final = "topic_id:"
_ODD: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


@dataclass(frozen=True, slots=True)
class ReplicaSummary:
    """A summary of a log's history.

    Attributes:
        first: first offset that can be in its files; `begin`, from which on nothing was cleaned or removed.
        high_watermark: by the broker's checkpoint; -1 where it has none.
        stopped: the broker was stopped cleanly, by its directory: nothing was still to be written.
        topic_id: as `partition.metadata` has it; empty where that is not there.
        width: offsets of a block; a power of two.
        blocks: for every block from offset 0 on a digest of the batches that begin in it; digests of two
            neighbours add up to that of both.
        epochs: runs of batches of the same leader epoch: the epoch, the first offset, and the number of batches.
        noted: the lines of its leader-epoch checkpoint: the epoch, and the offset that it begins at.
    """

    first: int
    begin: int
    log_end: int
    high_watermark: int = ABSENT
    stopped: bool = False
    topic_id: str = ""
    width: int = _NARROWEST
    blocks: tuple[int, ...] = ()
    epochs: tuple[tuple[int, int, int], ...] = ()
    noted: tuple[tuple[int, int], ...] = ()

    def epoch_at(self, offset: int) -> int:
        """Leader epoch of the batch that has an offset; -1 where none has."""
        return next((epoch for epoch, first, _ in reversed(self.epochs) if first <= offset), ABSENT)

    def noted_at(self, offset: int) -> int:
        """Leader epoch that its checkpoint gives an offset; -1 where that has none."""
        return next((epoch for epoch, start in reversed(self.noted) if start <= offset), ABSENT)

    @property
    def committed(self) -> int:
        """The offset below which its records are committed, as far as it knows and has them."""
        return min(self.high_watermark, self.log_end)


@dataclass(frozen=True, slots=True)
class ClusterSide:
    """A log's evidence of the cluster: as a replica; the controller's, of all partitions; that of groups, offsets."""

    replica: ReplicaSummary | None = None
    controller: ControllerHistory | None = None
    groups: PartitionGroupOffsets | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """Digests of the batches that begin in each block of a log, from offset 0 on; a block has `width` offsets."""

    width: int
    digests: Digests


def summarized(
    log: LogFolder,
    blocks: Blocks,
    epochs: tuple[tuple[int, int, int], ...],
    log_start: int,
    log_end: int,
    cleaned_to: int,
) -> ReplicaSummary:
    """The summary of a whole log, of which nothing is known to be cleaned from `cleaned_to` on.

    Args:
        log: the replica's directory.
        blocks: digests of its batches.
        epochs: of each run of one leader epoch: the epoch, the first offset, and the number of batches.
        log_start: log start offset.
        log_end: log end offset.
        cleaned_to: below it the cleaner may have been, so that replicas may differ.
    """
    width = max(_width(log_end), blocks.width)
    return ReplicaSummary(
        first=log.segments[0].base,
        begin=max(log.segments[0].base, log_start, cleaned_to),
        log_end=log_end,
        high_watermark=log.checkpointed_watermark,
        stopped=(located(log.path).resolve().parent / CLEAN_SHUTDOWN).exists(),
        topic_id=_topic_id(log),
        width=width,
        blocks=tuple(coarser(blocks.digests, blocks.width, width).tolist()),
        epochs=epochs,
    )


def digests(batches: Batches) -> Digests:
    """A number for each batch, of its offsets, its leader epoch, and the checksum of everything else."""
    columns = (batches.base_offset, batches.last_offset_delta, batches.leader_epoch, batches.crc)
    mixed = np.zeros(len(batches), np.uint64)
    for column, odd in zip(columns, _ODD, strict=True):
        mixed ^= np.ascontiguousarray(column).view(np.uint64)
        mixed *= np.uint64(odd)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def coarser(blocks: Sequence[int] | Digests, width: int, wanted: int) -> Digests:
    """The digests of blocks as if they were so much wider."""
    table = np.array(blocks, np.uint64)
    times = min(wanted // width, max(len(table), 1))  # a damaged offset may be far beyond all others
    padded = np.zeros(-(-len(table) // times) * times, np.uint64)
    padded[: len(table)] = table
    added: Digests = np.add.reduce(padded.reshape(-1, times), axis=1, dtype=np.uint64)
    return added


def epoch_runs(batches: Batches) -> tuple[tuple[int, int, int], ...]:
    """Batches of the same leader epoch that follow each other: epoch, first offset, count."""
    if not len(batches):
        return ()
    opens = np.flatnonzero(np.concatenate(([True], np.diff(batches.leader_epoch) != 0)))
    counts = np.diff(np.append(opens, len(batches)))
    columns = (batches.leader_epoch[opens], batches.base_offset[opens], counts)
    return tuple((int(epoch), int(offset), int(count)) for epoch, offset, count in zip(*columns, strict=True))


def epoch_runs_joined(
    first: tuple[tuple[int, int, int], ...], second: tuple[tuple[int, int, int], ...]
) -> tuple[tuple[int, int, int], ...]:
    """The runs of a log and of one that continues it."""
    if not first or not second or first[-1][0] != second[0][0]:
        return first + second
    epoch, offset, count = first[-1]
    return (*first[:-1], (epoch, offset, count + second[0][2]), *second[1:])


def blocks_of(batches: Batches) -> Blocks:
    """The digests of a log, or of a part; of a broken one, not the last batch may have the largest offset."""
    width = _width(int(batches.base_offset.max()) + 1 if len(batches) else 0)
    return Blocks(width, _blocks(batches, width))


def blocks_added(first: Blocks, second: Blocks) -> Blocks:
    """The digests of two parts of one log."""
    width = max(first.width, second.width)
    one, other = (coarser(blocks.digests, blocks.width, width) for blocks in (first, second))
    added = np.zeros(max(len(one), len(other)), np.uint64)
    added[: len(one)] += one
    added[: len(other)] += other
    return Blocks(width, added)


def _width(log_end: int) -> int:
    width = _NARROWEST
    while log_end > width * MOST_BLOCKS:
        width *= 2
    return width


def _blocks(batches: Batches, width: int) -> Digests:
    """The digests of all blocks."""
    if not len(batches):
        return np.zeros(0, np.uint64)
    block: Integers = batches.base_offset // width
    opens = np.flatnonzero(np.concatenate(([True], np.diff(block) != 0)))
    blocks = np.zeros(int(block.max()) + 1, np.uint64)
    np.add.at(blocks, block[opens], np.add.reduceat(digests(batches), opens))
    return blocks


def _topic_id(log: LogFolder) -> str:
    try:
        lines = (located(log.path) / "partition.metadata").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.removeprefix(_TOPIC_ID).strip() for line in lines if line.startswith(_TOPIC_ID)), "")
