"""What is drawn of a run: the steps that its recorder keeps, with annotations, and what the story calls things."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from model_tests.monitor.drawing import Captions, unnamed
from model_tests.traces.schema import Row
from reference.log.batch import RecordBatch
from reference.log.record import Record
from reference.recording.recorder import FATE, Fate, Recorder
from reference.recording.trace import STATE
from reference.world.history import origin_of
from reference.world.node import BLOCKS
from spec.vocabulary import Api

RESULTS: Final = ("ClientFetched", "ClientSendFailed", "ClientCrash")
"""Of the rows of clients those that no row of a node says too."""

BY_THEMSELVES: Final = ("BrokerFenced", "LeaderElection", "AlterPartition", "ControllerElection", "ControlledShutdown")
"""Decisions of controllers, which change nothing that a row shows."""


class Story:
    """One run while it is recorded.

    Attributes:
        names: what the story calls the values of records.
        records: what it calls records, by their writer and their number among all that it made.
        participants: what it calls clients and nodes, by their names in rows.
        hidden: requests and participants that are not drawn, by their names in rows.
        transaction: what it calls the transaction of a request.
    """

    def __init__(self, recorder: Recorder, participants: Mapping[str, str] | None = None) -> None:
        """The recorder annotates from now on."""
        recorder.annotates = True
        self.names: dict[bytes, str] = {}
        self.records: dict[tuple[str, int], str] = {}
        self.participants = dict(participants or {})
        self.hidden: set[str] = {Api.FIND_COORDINATOR, BLOCKS}
        self.transaction: Callable[[Row], str] = unnamed
        self._recorder = recorder
        self._begun = len(recorder.rows)

    @property
    def rows(self) -> list[Row]:
        """The steps to draw: messages, what changes something, and annotations."""
        rows = self._recorder.rows[self._begun :]
        shown = (row for row in rows if self.hidden.isdisjoint((row["api"], row["client"], row["node"])))
        return list(filter(_is_drawn, shown))

    def captions(self, order: Iterable[str]) -> Captions:
        """What the drawing calls things, and the participants from left to right."""
        return Captions(self.client, self.node, self.records_of, tuple(order), self.transaction)

    def call(self, value: bytes, name: str) -> None:
        """Name a record of a world, whose value says who made it."""
        made_by = origin_of(value)
        self.names[value] = self.records[made_by.writer, made_by.first_record] = name

    def client(self, row: Row) -> str:
        """Who asks in a step."""
        return self.participants.get(str(row["client"]), str(row["client"]))

    def node(self, row: Row) -> str:
        """Who handles it."""
        return self.participants.get(str(row["node"]), str(row["node"]))

    def records_of(self, row: Row) -> str:
        """The records of its client that a step is about."""
        numbers = range(row["first_record"], row["first_record"] + max(1, row["record_count"]))
        return ", ".join(filter(None, (self.records.get((row["writer"], number), "") for number in numbers)))

    @contextmanager
    def offstage(self) -> Iterator[None]:
        """What happens inside is not drawn: it was the same in every other run."""
        before, self._recorder.keeps = self._recorder.keeps, False
        try:
            yield
        finally:
            self._recorder.keeps = before

    def remark(self, at: str, text: str) -> None:
        """A participant's own act or state."""
        self._recorder.annotate(Fate.REMARK, text, {"node": at})

    def name_of(self, record: Record) -> str:
        """What the story calls a record: its value, if it has no other name."""
        value = record.value or b""
        return self.names.get(value, value.decode())

    def names_in(self, batches: Iterable[RecordBatch]) -> list[str]:
        """What the story calls the records of batches; markers have none."""
        return [self.name_of(record) for batch in batches if not batch.is_control for record in batch.records()]


def _is_drawn(row: Row) -> bool:
    api = row["api"]
    if api == Api.HEARTBEAT:
        return bool(row["error"] > 0)  # a refused one says what the group does; all others say nothing new
    if FATE in row:
        return True
    if api.startswith("Client"):
        return api in RESULTS and not row["control"]
    if row["message"] >= 0 or api in BY_THEMSELVES or api == "ConsumerFetch":
        return True
    if api == "ReplicaLagCheck":
        return bool(row["proposed"])
    if api == "FollowerHighWatermark":
        return False  # it is behind that of the leader, which is drawn
    return any(row[f"after_{column.name}"] != row[f"before_{column.name}"] for column in STATE)
