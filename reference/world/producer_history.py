"""The history of producers without transactional id: what was handed over, and what became of it."""

from collections.abc import Sequence

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import IdempotentProducer
from reference.recording.recorder import Row
from reference.world.history import NO_TRANSACTION, PRODUCER, HistoryRows, SentBatch, Unreported, origin_of, values_of
from reference.world.replica_rows import TOPIC


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
    """Which producer of a world has made a batch, as its values say."""
    return dict(origin_of(batch.values[0])._asdict())


def identity_columns(identity: ProducerIdentity | None) -> Row:
    """The producer's identity, as a row of its client names it; none where there is none."""
    return {} if identity is None else {"producer_id": identity.producer_id, "producer_epoch": identity.epoch}
