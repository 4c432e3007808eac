"""The history of every client: calls and results of applications, as rows beside those of brokers.

A producer's batch is `ClientSend` once, then at most once `ClientAcknowledged` or `ClientSendFailed`. A call is a row,
and its result is another row, with `Answered` at the end of its name. A reader's batch is `ClientFetched`, after the
`ConsumerFetch` of the node that answered.

Every workload has the rows of readers. All but `raw`, which has no applications, have those of producers. Producers
without transactional id have a history of their own: the records that they were given, and the result of each.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import PendingResult
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import IdempotentProducer
from reference.clock import Clock
from reference.recording.recorder import Recorder, Row
from reference.world.replica_rows import TOPIC
from spec.vocabulary import ABSENT, NO_OFFSET, ErrorCode

NO_TRANSACTION: Final = -1
ALL: Final = -1
"""Acks of all replicas in sync."""
NO_ACKS: Final = 0
"""The acks with which a broker answers nothing, and a batch that is sent is a success."""

INSTANCE: Final = "instance-"
PRODUCER: Final = "producer-"
"""How the clients of a world are named: instances of transactional ids, and producers without one."""

PRODUCER_MARK: Final = "p"
VALUE: Final = re.compile(rb"(p?)(\d+)/(-?\d+)/(\d+)")
"""A record's value: client, transaction, and number of the record."""


class SentBatch(NamedTuple):
    """A batch that an application has handed over; its values are found nowhere else.

    Attributes:
        transaction: ordinal of the client's transaction, -1 none.
        first_record: number of its first record among all that the client made.
        acks: with which it is produced.
    """

    partition: TopicPartition
    batch: ProducerBatch
    transaction: int = NO_TRANSACTION
    first_record: int = ABSENT
    acks: int = ALL

    @property
    def is_acknowledged(self) -> bool:
        """Whether the application got a success for it."""
        return self.batch.outcome is True


class PendingCall(NamedTuple):
    """A call that has not returned: the api of its answer, and the columns that the answer repeats."""

    api: str
    result: PendingResult
    columns: Row


@dataclass(slots=True)
class Unreported:
    """Batches and calls whose result a client still awaits."""

    batches: list[SentBatch] = field(default_factory=list)
    calls: list[PendingCall] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether there is a result to report."""
        for sent in self.batches:
            if sent.batch.outcome is not None:
                return True
        return any(call.result.is_done for call in self.calls) if self.calls else False

    def decided_batches(self) -> list[SentBatch]:
        """The batches whose result is reported now, each once."""
        decided = [sent for sent in self.batches if sent.batch.outcome is not None]
        self.batches = [sent for sent in self.batches if sent.batch.outcome is None]
        return decided

    def returned_calls(self) -> list[PendingCall]:
        """The calls that return now, each once."""
        returned = [call for call in self.calls if call.result.is_done]
        self.calls = [call for call in self.calls if not call.result.is_done]
        return returned

    def forget(self) -> None:
        """The client is gone, and gets no more results."""
        self.batches.clear()
        self.calls.clear()


class HistoryRows:
    """The rows of clients: their apis begin with `Client`."""

    __slots__ = ("_clock", "_recorder")

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        """No client has done anything."""
        self._recorder = recorder
        self._clock = clock

    def note(self, api: str, client: str, columns: Row) -> None:
        """Record a call of a client, or a result that it gets."""
        self._recorder.add(api, self._clock.now, {"client": client, **columns})

    def hands_over(self, client: str, unreported: Unreported, sent: SentBatch, columns: Row) -> None:
        """A batch is handed over; `columns` say of which producer it is.

        Args:
            client: its name in the history.
            unreported: results that it waits for.
            sent: the batch, with its partition.
            columns: that say of which producer it is.
        """
        unreported.batches.append(sent)
        self.note("ClientSend", client, columns | sent_columns(client, sent))

    def calls(
        self,
        client: str,
        unreported: Unreported,
        api: str,
        result: PendingResult,
        columns: Row,
        parts: Sequence[Row] = (),
    ) -> None:
        """A call begins, with a row for each of its parts; one that joins a call under way is that call.

        Args:
            client: its name in the history.
            unreported: results that it waits for.
            api: what is called.
            result: what it will come to.
            columns: of every row of the call.
            parts: further columns, a row for each part; one row if there are none.
        """
        if all(call.result is not result for call in unreported.calls):
            for part in parts or ({},):
                self.note(api, client, columns | part)
            unreported.calls.append(PendingCall(f"{api}Answered", result, columns))

    def reports(self, client: str, unreported: Unreported, columns: Row) -> None:
        """The client gets the results of its batches and calls; `columns` identify them."""
        for sent in unreported.decided_batches():
            self._reports_of_batch(client, sent, columns)
        for call in unreported.returned_calls():
            self.note(call.api, client, columns | call.columns | {"error": int(call.result.error or ErrorCode.NONE)})

    def _reports_of_batch(self, client: str, sent: SentBatch, columns: Row) -> None:
        batch, reported = sent.batch, columns | sent_columns(client, sent)
        if batch.outcome:
            first = batch.offset
            last = NO_OFFSET if first == NO_OFFSET else first + batch.record_count - 1
            answer: Row = {"error": int(ErrorCode.NONE), "first_offset": first, "last_offset": last}
            self.note("ClientAcknowledged", client, reported | answer)
        else:
            error = ErrorCode.UNKNOWN_SERVER_ERROR if batch.error is None else batch.error
            self.note("ClientSendFailed", client, reported | {"error": int(error)})


def sent_columns(client: str, sent: SentBatch) -> Row:
    """The columns that every row about a client's batch has."""
    return {
        "topic": sent.partition.topic,
        "partition": sent.partition.partition,
        "batch": sent.batch.ordinal,
        "transaction": sent.transaction,
        "transactional": sent.transaction != NO_TRANSACTION,
        "acks": sent.acks,
        "writer": client,
        "first_record": sent.first_record,
        "record_count": sent.batch.record_count,
    }


def values_of(client: str, transaction: int, first: int, count: int) -> tuple[bytes, ...]:
    """Values that no other record has: the client's number, that of its transaction, and one of their own.

    Args:
        client: its name in the history.
        transaction: its number among the client's, from 0.
        first: number of the first record, among the client's.
        count: of records.
    """
    origin = client.removeprefix(INSTANCE).replace(PRODUCER, PRODUCER_MARK)
    return tuple(f"{origin}/{transaction}/{number}".encode() for number in range(first, first + count))


class RecordOrigin(NamedTuple):
    """Where the records of a batch come from: their client, its transaction, and number of the first of them."""

    writer: str
    transaction: int
    first_record: int


NOBODYS: Final = RecordOrigin("", ABSENT, ABSENT)


def origin_of(value: bytes | None) -> RecordOrigin:
    """What a batch's first value says; nothing if no client of a world has made it."""
    found = VALUE.fullmatch(value or b"")
    if found is None:
        return NOBODYS
    mark, number, transaction, first = found.groups()
    return RecordOrigin(f"{PRODUCER if mark else INSTANCE}{int(number)}", int(transaction), int(first))


def note_of(client: str, transaction: int) -> str:
    """The note that a client leaves with the offsets of a transaction: who it is, and which of its transactions."""
    return f"{client}/{transaction}"


def noted_by(note: str) -> Row:
    """What the note beside a committed offset says; nothing if no client of a world has made it."""
    writer, _, transaction = note.partition("/")
    return {"writer": writer, "transaction": int(transaction)} if transaction else {}


# --- producers without transactional id -------------------------------------------------------------------------------


class ProducerHistory:
    """The producers of a world, by number; their applications never crash."""

    __slots__ = ("_acks", "_history", "_made", "_producers", "_unreported")

    def __init__(self, history: HistoryRows, producers: Sequence[IdempotentProducer], acks: Sequence[int]) -> None:
        """All applications start.

        Args:
            history: where their rows go.
            producers: by number.
            acks: with which each produces.
        """
        self._history = history
        self._producers = producers
        self._acks = acks
        self._made = [0] * len(producers)
        self._unreported = [Unreported() for _ in producers]
        for number, each in enumerate(acks):
            history.note("ClientStart", producer_name(number), {"acks": each})

    def next_values(self, producer: int, count: int) -> tuple[bytes, ...]:
        """Values for so many records, which no other record has."""
        first = self._made[producer]
        self._made[producer] += count
        return values_of(producer_name(producer), NO_TRANSACTION, first, count)

    def hands_over(self, producer: int, partition: int, batch: ProducerBatch) -> None:
        """An application has handed over a batch."""
        first = origin_of(batch.values[0]).first_record
        sent = SentBatch(TopicPartition(TOPIC, partition), batch, first_record=first, acks=self._acks[producer])
        client, unreported = producer_name(producer), self._unreported[producer]
        self._history.hands_over(client, unreported, sent, identity_columns(self._producers[producer].identity))

    def report(self, producer: int) -> None:
        """An application gets the results that it awaits, if they are decided."""
        unreported = self._unreported[producer]
        if unreported.is_over:
            identity = self._producers[producer].identity
            self._history.reports(producer_name(producer), unreported, identity_columns(identity))


def producer_name(number: int) -> str:
    """Name of a producer in rows."""
    return f"{PRODUCER}{number}"


def made_by(batch: ProducerBatch) -> Row:
    """The producer of a world that has made a batch, by the values of the batch."""
    return dict(origin_of(batch.values[0])._asdict())


def identity_columns(identity: ProducerIdentity | None) -> Row:
    """The producer's identity, as a row of its client names it; none where there is none."""
    return {} if identity is None else {"producer_id": identity.producer_id, "producer_epoch": identity.epoch}
