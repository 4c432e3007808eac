"""The actions and findings of recovery: every file that it dropped or derived anew, by name."""

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


class Repair(NamedTuple):
    """One finding of recovery, with the file's name."""

    kind: RepairKind
    file: str
    detail: str = ""
