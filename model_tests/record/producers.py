"""Producers and their transactions, followed by the answers of brokers, and written as a journal of clients.

A producer begins with each answer to InitProducerId. It is known by producer id and epoch, over whatever connections;
without a transactional id by the producer id alone, since such a client may raise its epoch by itself. A transaction
begins with the first request that names it.

An answer counts whether or not the client received it: the broker has given it. Only the latest entries are kept, so
that a long recording does not grow.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from model_tests.record.batches import BatchHead, BatchHeads
from model_tests.record.counts import FENCES, Counts
from model_tests.record.exchange import Exchange, errors_in
from spec import rules
from spec.vocabulary import ABSENT, Api, ErrorCode

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The latest entries by key."""

    __slots__ = ("_entries", "_most")

    def __init__(self, most: int) -> None:
        """No entries; never more than so many."""
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._most = most

    def get(self, key: Key) -> Value | None:
        """The value of a key, which becomes the latest entry."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: Value) -> None:
        """Keep a value for a key, in place of the one before."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def forget(self, chosen: Callable[[Key], bool]) -> None:
        """Remove the keys that are chosen."""
        for key in [key for key in self._entries if chosen(key)]:
            del self._entries[key]

    def values(self) -> Iterator[Value]:
        """All values, the oldest first."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


# --- producers --------------------------------------------------------------------------------------------------------


MOST_PRODUCERS: Final = 100_000
"""Identities that are remembered; one that was silent for longer begins anew in the journal."""

MOST_PARTITIONS: Final = 20_000
"""Partitions of producers of which the latest batches are remembered."""

WINDOW: Final = 64
"""Batches of one producer at one partition that are remembered; a broker remembers five."""

OFFSETS: Final = 1_024
"""Acknowledged batches of one partition that are remembered."""

ALL: Final = -1
"""The acks of a producer that waits for all replicas."""

AGAIN: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Errors to EndTxn after which the client retries."""

COMMITTED, ABORTED, REFUSED, FENCED = "committed", "aborted", "end refused", "fenced"
REPLACED, OPEN = "left to a new instance", "open"
"""How a transaction ended, or that it has not."""

Write = Callable[[dict[str, Any]], None]
"""Takes an event of the journal."""

Named = tuple[str, int]
"""A partition: topic and number."""


@dataclass(slots=True)
class FollowedProducer:
    """One producer.

    Attributes:
        name: in the journal.
        transactional_id: empty if it has none.
        transactions: how many it began.
        open: number of the transaction that is under way, None if none is.
    """

    name: str
    transactional_id: str
    transactions: int = 0
    open: int | None = None


Following = tuple[FollowedProducer, int | None]
"""The producer of a request, and the number of its transaction."""


class UnansweredBatch(NamedTuple):
    """A batch that waits for its answer.

    Attributes:
        producer: that sent it.
        txn: its number, None outside of transactions.
        head: of the batch.
    """

    producer: FollowedProducer
    txn: int | None
    head: BatchHead


class Producers:
    """All producers that were met."""

    def __init__(self, write: Write, counts: Counts, topic_called: Callable[[Any], str]) -> None:
        """Producers, none so far.

        Args:
            write: takes the events of the journal.
            counts: what is counted.
            topic_called: the name of a topic's part of a request or answer, empty if it is not known.
        """
        self._write = write
        self._counts = counts
        self._topic_called = topic_called
        self._known: Recent[tuple[int, int], FollowedProducer] = Recent(MOST_PRODUCERS)
        self._newest: Recent[str, FollowedProducer] = Recent(MOST_PRODUCERS)
        self._given: Recent[tuple[int, int], str] = Recent(MOST_PRODUCERS)
        self._batches: Recent[tuple[int, Named], Recent[tuple[int, int], int]] = Recent(MOST_PARTITIONS)
        self._offsets: Recent[Named, Recent[int, tuple[int, int, int]]] = Recent(MOST_PARTITIONS)
        self._names = 0

    # --- requests ---------------------------------------------------------------------------------------------

    def requested(self, exchange: Exchange) -> None:
        """A request is on its way."""
        message, api = exchange.message, exchange.api
        if message is None:
            return
        if api == Api.PRODUCE:
            exchange.followed = dict(self._sent(exchange))
        elif api == Api.ADD_PARTITIONS_TO_TXN:
            adding = list(_adding(message))
            begun = [
                self._producer(producer_id, epoch, transactional_id) for transactional_id, producer_id, epoch in adding
            ]
            exchange.followed = [(producer, self._begun(producer)) for producer in begun]
        elif api in (Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT, Api.END_TXN):
            producer = self._producer(message.producer_id, message.producer_epoch, message.transactional_id)
            exchange.followed = [(producer, producer.open if api == Api.END_TXN else self._begun(producer))]

    def _sent(self, exchange: Exchange) -> Iterator[tuple[Named, UnansweredBatch]]:
        for topic in exchange.message.topic_data:
            name = self._topic_called(topic)
            for part in topic.partition_data:
                heads: BatchHeads = part.records
                if not name or not heads.readable or len(heads.batches) != 1:
                    reason = "topic id without a name" if not name else "message format before version 2"
                    self._counts.not_journaled[reason] += 1
                    continue
                (head,) = heads.batches
                producer = self._sender(exchange, head)
                txn = self._begun(producer) if head.transactional else None
                yield (name, part.index), UnansweredBatch(producer, txn, head)

    def _sender(self, exchange: Exchange, head: BatchHead) -> FollowedProducer:
        if head.producer_id == ABSENT:
            return self._known.get((ABSENT, exchange.link.number)) or self._new(
                (ABSENT, exchange.link.number), f"connection {exchange.link.number}", ""
            )
        if head.transactional:
            return self._producer(head.producer_id, head.producer_epoch, exchange.message.transactional_id or "")
        return self._producer(head.producer_id, ABSENT, "")

    def _producer(self, producer_id: int, epoch: int, transactional_id: str) -> FollowedProducer:
        """The producer of an identity; one that began before the recording is new."""
        key = producer_id, epoch
        return self._known.get(key) or self._new(key, _name_of(producer_id, epoch, transactional_id), transactional_id)

    def _new(self, key: tuple[int, int], name: str, transactional_id: str) -> FollowedProducer:
        self._names += 1
        producer = FollowedProducer(f"{name} #{self._names}", transactional_id)
        self._write({"ev": "producer", "p": producer.name, "tid": transactional_id or None})
        self._known.put(key, producer)
        return producer

    def _begun(self, producer: FollowedProducer) -> int:
        if producer.open is None:
            producer.transactions += 1
            producer.open = producer.transactions
            self._write({"ev": "begin", "p": producer.name, "txn": producer.open})
        return producer.open

    # --- answers ----------------------------------------------------------------------------------------------

    def answered(self, exchange: Exchange) -> None:
        """An answer is on its way back."""
        message, answer = exchange.message, exchange.answer
        if message is None or answer is None:
            return
        if exchange.api == Api.PRODUCE:
            self._appended(exchange)
        elif exchange.api == Api.INIT_PRODUCER_ID and not answer.error_code:
            self._initialized(message, answer)
        elif exchange.api == Api.END_TXN:
            self._ended(exchange)
        elif exchange.api == Api.TXN_OFFSET_COMMIT:
            ((producer, txn),) = exchange.followed
            if not any(errors_in(answer)):
                self._write({"ev": "send_offsets", "p": producer.name, "txn": txn, "ok": True})
        elif exchange.api in (Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN):
            if FENCES & set(errors_in(answer)):
                self._fenced(exchange.followed)
        elif exchange.api == Api.DELETE_TOPICS:
            for topic in answer.responses:
                if not topic.error_code:
                    self._deleted(self._topic_called(topic))

    def _initialized(self, message: Any, answer: Any) -> None:
        identity = answer.producer_id, answer.producer_epoch
        transactional_id = message.transactional_id or ""
        whose = f"transactional id {transactional_id}" if transactional_id else "a producer without transactional id"
        if message.producer_id == ABSENT:  # a producer that names its identity may request the next one twice
            other = self._given.get(identity)
            if other is not None:
                what = f"producer id {identity[0]} with epoch {identity[1]} was given to {other}, and again to {whose}"
                self._counts.contradicts(rules.IDS_IDENTITY_NEVER_REPEATS, what)
        self._given.put(identity, whose)
        key = identity if transactional_id else (identity[0], ABSENT)
        producer = self._new(key, _name_of(*identity, transactional_id), transactional_id)
        if transactional_id:
            before = self._newest.get(transactional_id)
            if before is not None and before.open is not None:
                before.open = None
                self._counts.outcomes[REPLACED] += 1
            self._newest.put(transactional_id, producer)

    def _ended(self, exchange: Exchange) -> None:
        message, answer = exchange.message, exchange.answer
        ((producer, txn),) = exchange.followed
        if not answer.error_code and answer.producer_id != ABSENT:
            self._known.put((answer.producer_id, answer.producer_epoch), producer)
        if txn is None or producer.open != txn or answer.error_code in AGAIN:
            return
        producer.open = None
        event = "commit" if message.committed else "abort"
        self._write({"ev": event, "p": producer.name, "txn": txn, "ok": not answer.error_code})
        outcome = COMMITTED if message.committed else ABORTED
        if answer.error_code:
            outcome = FENCED if answer.error_code in FENCES else REFUSED
        self._counts.outcomes[outcome] += 1

    def _fenced(self, followed: Sequence[Following]) -> None:
        """The coordinator knows another instance: the transactions of this one are over."""
        for producer, txn in followed:
            if producer.open == txn:
                producer.open = None
                self._counts.outcomes[FENCED] += 1

    def _appended(self, exchange: Exchange) -> None:
        waits_for_all = exchange.message.acks == ALL
        for topic in exchange.answer.responses:
            name = self._topic_called(topic)
            for part in topic.partition_responses:
                sent = exchange.followed.get((name, part.index))
                if part.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                    self._counts.duplicates += 1
                elif sent is not None and not part.error_code and part.base_offset >= 0:
                    self._acknowledged((name, part.index), sent, part.base_offset, waits_for_all=waits_for_all)

    def _acknowledged(self, partition: Named, sent: UnansweredBatch, offset: int, *, waits_for_all: bool) -> None:
        head = sent.head
        batch = head.producer_id, head.producer_epoch, head.base_sequence
        if head.producer_id != ABSENT:
            batches = self._batches.get((head.producer_id, partition))
            if batches is None:
                batches = Recent(WINDOW)
                self._batches.put((head.producer_id, partition), batches)
            before = batches.get(batch[1:])
            if before == offset:
                self._counts.duplicates += 1
                return
            batches.put(batch[1:], offset)
            if waits_for_all:
                self._compare(partition, batch, offset, before)
        self._counts.records += head.records
        acknowledged = {"ev": "ack", "p": sent.producer.name, "txn": sent.txn, "topic": partition[0]}
        more = {"count": head.records} if head.records > 1 else {}
        self._write({**acknowledged, "part": partition[1], "off": offset, **more})

    def _compare(self, partition: Named, batch: tuple[int, int, int], offset: int, before: int | None) -> None:
        """For producers with acks=all, check that a batch has one offset, and that an offset has one batch."""
        where = f"{partition[0]}-{partition[1]}"
        if before is not None:
            what = f"{where}: {_batch(batch)} was acknowledged at offset {before}, and again at {offset}"
            self._counts.contradicts(rules.SEQ_EXACTLY_ONCE, what)
        offsets = self._offsets.get(partition)
        if offsets is None:
            offsets = Recent(OFFSETS)
            self._offsets.put(partition, offsets)
        other = offsets.get(offset)
        if other is not None and other != batch:
            what = f"{where}: offset {offset} was acknowledged for {_batch(other)}, and for {_batch(batch)}"
            self._counts.contradicts(rules.SEQ_EXACTLY_ONCE, what)
        offsets.put(offset, batch)

    def _deleted(self, topic: str) -> None:
        """A topic was deleted; a later topic of this name is another one."""
        self._write({"ev": "delete_topic", "topic": topic})
        self._batches.forget(lambda key: key[1][0] == topic)
        self._offsets.forget(lambda key: key[0] == topic)

    def finish(self) -> None:
        """Count what is still open."""
        still_open = {id(producer) for producer in self._known.values() if producer.open is not None}
        if still_open:
            self._counts.outcomes[OPEN] += len(still_open)


def _adding(message: Any) -> Iterator[tuple[str, int, int]]:
    """The transactions that partitions are added to: transactional id, producer id and epoch of each."""
    for each in message.transactions or ():
        if not each.verify_only:
            yield each.transactional_id, each.producer_id, each.producer_epoch
    if message.v3_and_below_transactional_id:
        yield (
            message.v3_and_below_transactional_id,
            message.v3_and_below_producer_id,
            message.v3_and_below_producer_epoch,
        )


def _name_of(producer_id: int, epoch: int, transactional_id: str) -> str:
    named = f"{transactional_id} producer" if transactional_id else "producer"
    return f"{named} {producer_id} epoch {epoch}" if epoch != ABSENT else f"{named} {producer_id}"


def _batch(batch: tuple[int, int, int]) -> str:
    return "the batch of producer {} epoch {} from sequence {}".format(*batch)
