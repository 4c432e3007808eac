"""The repairs that an audit tries: what may have gone wrong, one thing at a time.

Each is proposed where its evidence is at hand, and every one is judged by the same search (`diagnosis`), with the same
cost and the same threshold.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RepairKind:
    """One thing that may have gone wrong.

    Attributes:
        name: the thing that a repair puts right.
        shown_by: what the evidence shows if it is so.
        among: of how many alternatives one is chosen, which is what it costs beside its causes.
    """

    name: str
    shown_by: str
    among: str

    def row(self) -> tuple[str, str, str]:
        """Its row in a table of all kinds."""
        return self.name, self.shown_by, self.among


RECORD_KEY: Final = RepairKind(
    "a coordinator's record under the key of another transactional id",
    "it breaks the history of its key, and fits the history of the id that has its producer id",
    "transactional ids",
)
BATCH_PRODUCER: Final = RepairKind(
    "a batch under another producer id",
    "it breaks that producer's history, and another producer lacks just its sequences there",
    "producers of the log",
)
MARKER_PLACE: Final = RepairKind(
    "a marker away from its place",
    "a transaction lacks its marker, and the marker stands behind later ones, or before earlier ones",
    "markers of no transaction",
)
MARKER_PRODUCER: Final = RepairKind(
    "a marker under another producer id",
    "a transaction lacks its marker, and one in its place differs from it in the producer id alone",
    "markers of no transaction",
)
UNMARKED_MARKER: Final = RepairKind(
    "a marker that is not marked as one",
    "a transaction lacks its marker, and the first batch behind its data is malformed",
    "findings that are explained together",
)
ONE_BATCH: Final = RepairKind(
    "a batch that breaks its partition's history and its transaction",
    "the log alone and the coordinator's log have a finding about the same batch, or about one that follows from it",
    "findings that are explained together",
)
FILES: Final = RepairKind(
    "a batch that the files beside its log describe otherwise",
    "index and snapshots differ from the log at a batch that is itself broken, or all at one batch",
    "findings that are explained together",
)
OTHER_LOG: Final = RepairKind(
    "a batch or record that breaks what other logs have of it",
    "an identity was handed out twice; a marker differs from that of other replicas, or from a client's answer",
    "findings that are explained together",
)
FOREIGN_FOLDER: Final = RepairKind(
    "a coordinator's folder of another cluster or time",
    "it contradicts the other logs, and next to nothing of its transactions is in them",
    "coordinators' logs",
)
FOLDER_NAMES: Final = RepairKind(
    "folders of a topic under each other's names",
    "read under each other's names, they have the transactions and the ends that coordinator and broker know",
    "all rings of so many folders, in all choices of directories",
)
COPIED_SEGMENT: Final = RepairKind(
    "a segment of another partition, copied over one of this",
    "its batches are the other's offset by offset, and nothing else of the two logs is alike",
    "segments of the log and all logs",
)

REPAIR_KINDS: Final = (
    RECORD_KEY,
    BATCH_PRODUCER,
    MARKER_PLACE,
    MARKER_PRODUCER,
    UNMARKED_MARKER,
    ONE_BATCH,
    FILES,
    OTHER_LOG,
    FOREIGN_FOLDER,
    FOLDER_NAMES,
    COPIED_SEGMENT,
)
"""All of them."""
