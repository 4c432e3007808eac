"""Files that a crash leaves between two states of a directory: deletions and swaps are ended, orphans go."""

from pathlib import Path

from reference.log import file_names
from reference.log.damage import FileRepair, RepairKind
from reference.log.reader import Placed
from reference.log.scan import scan


def tidy(directory: Path) -> list[FileRepair]:
    """End what was begun; what is left are segments, their indexes, snapshots and checkpoints."""
    repairs = [*_remove_unfinished(directory), *_finish_swaps(directory), *_remove_orphans(directory)]
    for path in directory.glob("*.tmp"):
        path.unlink()
    return repairs


def _remove_unfinished(directory: Path) -> list[FileRepair]:
    """Deletions that had begun are ended; a cleaning that had not is dropped."""
    paths = sorted(path for path in directory.iterdir() if path.suffix in (file_names.DELETED, file_names.CLEANED))
    for path in paths:
        path.unlink()
    return [FileRepair(RepairKind.REMOVED_TEMPORARY, path.name) for path in paths]


def _finish_swaps(directory: Path) -> list[FileRepair]:
    """A cleaned segment was complete when it was named a swap: the segments that it covers go."""
    repairs = []
    for swap in sorted(directory.glob(f"*{file_names.LOG}{file_names.SWAP}")):
        base = int(swap.name[:20])
        end = _end_of(swap, base)
        for offset in file_names.files_of(directory, file_names.LOG):
            if base <= offset < end:
                for suffix in file_names.SEGMENT_FILES:
                    file_names.path_of(directory, offset, suffix).unlink(missing_ok=True)
        repairs.append(FileRepair(RepairKind.FINISHED_SWAP, swap.name, f"offsets {base} to {end - 1}"))
    for swap in sorted(directory.glob(f"*{file_names.SWAP}")):
        swap.replace(swap.with_suffix(""))
    return repairs


def _end_of(swap: Path, base: int) -> int:
    """The offset behind the last intact batch of a cleaned segment, at least one past its base."""
    with swap.open("rb") as file:
        found = scan(file.fileno(), 0, swap.stat().st_size)
        ends = [placed.batch.last_offset + 1 for placed in found if isinstance(placed, Placed)]
    return max(ends, default=base + 1)


def _remove_orphans(directory: Path) -> list[FileRepair]:
    segments = file_names.files_of(directory, file_names.LOG)
    orphans = [
        path
        for suffix in (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
        for offset, path in file_names.files_of(directory, suffix).items()
        if offset not in segments
    ]
    for path in orphans:
        path.unlink()
    return [FileRepair(RepairKind.REMOVED_ORPHAN, path.name) for path in orphans]
