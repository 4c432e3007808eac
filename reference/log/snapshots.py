"""The snapshots of producer state in one partition's directory, each named after the first offset not in it."""

from collections.abc import Iterable
from pathlib import Path

from reference.log import file_names, snapshot_file
from reference.log.leader_epochs import replace_file
from reference.log.snapshot_file import Producers
from spec.vocabulary import Offset


class Snapshots:
    """Files of snapshots; the directory alone says which there are."""

    __slots__ = ("directory",)

    def __init__(self, directory: Path) -> None:
        """The snapshots in that directory."""
        self.directory = directory

    def offsets(self) -> list[Offset]:
        """The offset of each snapshot, ascending."""
        return list(file_names.files_of(self.directory, file_names.SNAPSHOT))

    def path(self, offset: int) -> Path:
        """The snapshot of that offset."""
        return file_names.path_of(self.directory, offset, file_names.SNAPSHOT)

    def take(self, offset: int, producers: Producers) -> None:
        """Write a snapshot of what the batches below `offset` leave."""
        replace_file(self.path(offset), snapshot_file.encode(producers))

    def read(self, offset: int) -> Producers:
        """The producers in a snapshot.

        Raises:
            DamagedFile: the file cannot be trusted.
        """
        return snapshot_file.decode(self.path(offset).read_bytes())

    def delete(self, offset: int) -> None:
        """Remove a snapshot, if there is one."""
        self.path(offset).unlink(missing_ok=True)

    def keep_between(self, log_start: int, log_end: int) -> None:
        """Remove the snapshots that are at the log start or below, or beyond the log end."""
        for offset in self.offsets():
            if not log_start < offset <= log_end:
                self.delete(offset)

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Remove the snapshots that belong to no segment, except the newest if it is beyond all segments."""
        bases = set(base_offsets)
        strays = [offset for offset in self.offsets() if offset not in bases]
        if strays and strays[-1] > max(bases, default=-1):
            strays.pop()
        for offset in strays:
            self.delete(offset)
