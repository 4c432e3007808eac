"""Damage of files beside the log: the error that names it, and what recovery dropped or derived anew because of it."""

from enum import StrEnum, unique
from typing import NamedTuple


@unique
class RepairKind(StrEnum):
    """What was done."""

    REMOVED_TEMPORARY = "removed temporary"  # left by a deletion or a cleaning that did not end
    REMOVED_ORPHAN = "removed orphan"  # an index without its segment
    FINISHED_SWAP = "finished swap"  # a cleaned segment takes the place of those that it was made of
    REBUILT_INDEX = "rebuilt index"  # missing or damaged
    CUT_SEGMENT = "cut segment"  # at the first damaged batch
    REMOVED_SEGMENT = "removed segment"  # it follows a cut, or ends below the log start
    REMOVED_SNAPSHOT = "removed snapshot"  # damaged
    REBUILT_EPOCHS = "rebuilt epochs"  # the checkpoint of leader epochs is damaged
    NO_STATE = "no producer state"  # no producer state is left: duplicates will not be recognised


class FileRepair(NamedTuple):
    """One finding of recovery, with the file's name."""

    kind: RepairKind
    file: str
    detail: str = ""


@unique
class FileDamage(StrEnum):
    """What is wrong with a file."""

    LENGTH = "length"  # the file is shorter or longer than what it declares, or ends inside an entry
    CHECKSUM = "checksum"  # the bytes are not those that were written
    VERSION = "version"  # a version that is not known
    ORDER = "order"  # entries that must ascend do not
    FORM = "form"  # a line that is not of the file's form
    RANGE = "range"  # a number that its field cannot have


class DamagedFile(ValueError):
    """A file that cannot be trusted.

    Attributes:
        damage: what is wrong.
        position: byte, or number of the line from 0 in a text file.
        detail: the values found.
    """

    def __init__(self, damage: FileDamage, position: int, detail: str) -> None:
        """Name the damage and where it is."""
        super().__init__(f"{damage} at {position}: {detail}")
        self.damage = damage
        self.position = position
        self.detail = detail


def check_whole_entries(data: bytes, entry_size: int) -> None:
    """The file is a sequence of entries of one size.

    Raises:
        DamagedFile: the file ends inside an entry.
    """
    rest = len(data) % entry_size
    if rest:
        position = len(data) - rest
        raise DamagedFile(FileDamage.LENGTH, position, f"{rest} bytes are no entry of {entry_size}")
