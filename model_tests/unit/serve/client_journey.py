"""The journey of an application through a client library of Python, written once for all of them.

Idempotent records; transactions that commit and abort; an instance that a second one fences; a group of two members
that makes records of `out` of those of `in`, with their offsets in one transaction, while members come and go; and a
reader of what is committed. The scripts of `model_tests/clients` make the same journey in other languages.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from model_tests.unit.serve.journeys import PATIENCE_S, JourneyLedger, made_of

PARTITIONS = 2
"""Of `in` and of `out`, which are there."""

END = b"end of partition"
PLAIN, WAVE = 24, 8
"""How many records without transactions there are at first, and while the group is shared, and afterwards."""

ENDS = ("abort", "abort", "commit", "commit", "commit")
"""How the transactions of an instance end, one after the other: a reader is given two aborted ones at a time."""


class JourneyRecord(NamedTuple):
    """A record that a reader was given."""

    topic: str
    partition: int
    offset: int
    value: bytes


class JourneyMember(Protocol):
    """A reader of committed records in a group, from the first on."""

    def poll(self) -> Sequence[JourneyRecord]:
        """The next records, after some tenths of a second at most; it takes part in rebalances meanwhile."""

    def partitions(self) -> int:
        """How many it has."""

    def rewind(self, records: Sequence[JourneyRecord]) -> None:
        """Go back to before these records, if it still has their partitions."""

    def close(self) -> None:
        """Leave the group."""


class Writer(Protocol):
    """A producer, of which each call returns when it is answered."""

    def begin(self) -> None:
        """Begin a transaction."""

    def send(self, topic: str, partition: int, value: bytes) -> int:
        """The offset at which a record was acknowledged."""

    def send_offsets(self, member: JourneyMember) -> None:
        """Where the member stands joins the transaction."""

    def commit(self) -> None:
        """Commit the transaction."""

    def abort(self) -> None:
        """Abort the transaction."""

    def close(self) -> None:
        """Go, without waiting for anything."""


class Library(Protocol):
    """A client library.

    Attributes:
        of_threads: members of a group poll in threads of their own, as those do that give up a rebalance which does not
            end within one poll: polled in turns, each would begin it again for ever.
    """

    of_threads: bool

    @property
    def error(self) -> type[Exception]:
        """What its calls raise."""

    def writer(self, transactional_id: str | None) -> Writer:
        """An idempotent producer, which has its epoch if it has a transactional id."""

    def member(self, group: str, topics: list[str]) -> JourneyMember:
        """A member of a group."""

    def reader(self, topics: list[str]) -> JourneyMember:
        """A reader of all partitions, in a group of its own or in none."""


class JournalledWriter:
    """A producer that writes what it does into a ledger."""

    def __init__(self, ledger: JourneyLedger, name: str, transactional_id: str | None, library: Library) -> None:
        self.number = 0
        self.name = name
        self._ledger = ledger
        self._txn: int | None = None
        self._writer = library.writer(transactional_id)
        ledger.event("producer", name, tid=transactional_id)

    def begin(self) -> None:
        self._writer.begin()
        self.number += 1
        self._txn = self.number
        self._ledger.event("begin", self.name, txn=self._txn)

    def send(self, topic: str, partition: int, value: bytes) -> None:
        offset = self._writer.send(topic, partition, value)
        self._ledger.event("ack", self.name, txn=self._txn, topic=topic, part=partition, off=offset)

    def send_offsets(self, member: JourneyMember) -> None:
        self._writer.send_offsets(member)
        self._ledger.event("send_offsets", self.name, txn=self._txn, ok=True)

    def end(self, how: str) -> None:
        done = False
        try:
            {"commit": self._writer.commit, "abort": self._writer.abort}[how]()
            done = True
        finally:
            self._ledger.event(how, self.name, txn=self._txn, ok=done)
            self._txn = None

    def close(self) -> None:
        self._writer.close()


@dataclass
class Worker:
    """A member of the group, with a producer of its own; its second transaction is aborted."""

    member: JourneyMember
    writer: JournalledWriter
    error: type[Exception]

    def work(self, ledger: JourneyLedger) -> None:
        """Make other records of the next ones, in one transaction."""
        if not (records := self.member.poll()):
            return
        self.writer.begin()
        how = "abort" if self.writer.number == 2 else "commit"
        try:
            for record in records:
                self.writer.send("out", record.partition, made_of(record.value))
            self.writer.send_offsets(self.member)
        except self.error:  # a rebalance has taken its partitions
            how = "abort"
        self.writer.end(how)
        if how == "commit":
            ledger.consumed += [record.value for record in records]
        else:
            self.member.rewind(records)

    def close(self) -> None:
        self.member.close()
        self.writer.close()


@dataclass
class Journey:
    """One application."""

    client_library: Library
    ledger: JourneyLedger

    def writer(self, name: str, transactional_id: str | None = None) -> JournalledWriter:
        return JournalledWriter(self.ledger, name, transactional_id, self.client_library)

    def travel(self) -> None:
        """All of it."""
        plain = self.writer("plain")
        self.send(plain, "plain", PLAIN)
        self.instances()
        self.group(plain)
        self.read(plain, ("in", "out"))
        plain.close()

    def travel_without_transactions(self) -> None:
        """Idempotent records, and the reader."""
        plain = self.writer("plain")
        self.send(plain, "plain", PLAIN)
        self.read(plain, ("in",))
        plain.close()

    def send(self, plain: JournalledWriter, what: str, count: int) -> None:
        """Records without transactions, on one partition after the other."""
        for number in range(count):
            value = f"{what}-{number}".encode()
            plain.send("in", number % PARTITIONS, value)
            self.ledger.acknowledged.append(value)

    def instances(self) -> None:
        """Transactions of an instance, until a second one begins; what the first then writes is refused."""
        first = self.writer("app-1", "app")
        for number, how in enumerate(ENDS):
            self.transaction(first, f"txn-{number}".encode(), how)
        second = self.writer("app-2", "app")
        try:
            self.transaction(first, b"zombie", "commit")
        except self.client_library.error:
            self.ledger.fenced = True
        self.transaction(second, b"of the second instance", "commit")
        first.close()
        second.close()

    def transaction(self, instance: JournalledWriter, value: bytes, how: str) -> None:
        """One record in a transaction of its own."""
        instance.begin()
        instance.send("in", 0, value)
        instance.end(how)
        (self.ledger.committed if how == "commit" else self.ledger.aborted).append(value)

    def group(self, plain: JournalledWriter) -> None:
        """One member works, then two, then the other one."""
        first = self.worker("worker-1")
        self.until([first], self.all_is_made)
        second = self.worker("worker-2")
        self.until([first, second], lambda: [1, 1] == [each.member.partitions() for each in (first, second)])
        self.send(plain, "shared", WAVE)
        self.until([first, second], self.all_is_made)
        first.close()
        self.until([second], lambda: second.member.partitions() == PARTITIONS)
        self.send(plain, "alone", WAVE)
        self.until([second], self.all_is_made)
        second.close()

    def worker(self, name: str) -> Worker:
        return Worker(
            self.client_library.member("transformers", ["in"]), self.writer(name, name), self.client_library.error
        )

    def until(self, workers: Sequence[Worker], holds: Callable[[], bool]) -> None:
        """Work until something holds.

        Raises:
            TimeoutError: it does not, in good time.
        """
        give_up = time.monotonic() + PATIENCE_S

        def work(together: Sequence[Worker]) -> None:
            while not holds():
                if time.monotonic() > give_up:
                    raise TimeoutError(f"{len(self.ledger.consumed)} records are made into others")
                for worker in together:
                    worker.work(self.ledger)

        if not self.client_library.of_threads:
            work(workers)
            return
        with ThreadPoolExecutor(len(workers)) as pool:
            for done in [pool.submit(work, [worker]) for worker in workers]:
                done.result()

    def all_is_made(self) -> bool:
        return set(self.ledger.consumed) >= {*self.ledger.acknowledged, *self.ledger.committed}

    def read(self, plain: JournalledWriter, topics: Sequence[str]) -> None:
        """A reader of committed records reads each partition up to a last record."""
        for topic in topics:
            for partition in range(PARTITIONS):
                plain.send(topic, partition, END)
        places: dict[tuple[str, int, int], bytes] = {}
        reader, ends, give_up = self.client_library.reader(list(topics)), 0, time.monotonic() + PATIENCE_S
        while ends < len(topics) * PARTITIONS and time.monotonic() < give_up:
            records: list[JourneyRecord] = []
            with suppress(self.client_library.error):  # a connection that breaks may end a poll
                records = list(reader.poll())
            for record in records:
                place = (record.topic, record.partition, record.offset)
                if places.get(place) == record.value:  # a group that is joined again reads from the start
                    continue
                places[place] = record.value
                self.ledger.received.append(place)
                if record.value == END:
                    ends += 1
                else:
                    (self.ledger.seen if record.topic == "in" else self.ledger.made).append(record.value)
        reader.close()
