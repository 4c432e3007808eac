"""Applications of confluent-kafka that go on whatever breaks, and the ledger of what they were answered."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from model_tests.unit.serve.journeys import PATIENCE_S
from model_tests.unit.support.confluent_clients import producer, reader

CALL_S: Final = 20.0
"""How long a call of a client may take before the application tries something else, in seconds."""

QUICK: Final = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "retry.backoff.ms": 10}
"""Clients that try again soon."""

TRANSACTIONAL: Final = {**QUICK, "transaction.timeout.ms": 15_000}
MEMBER: Final = {**QUICK, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 200}


@dataclass
class ApplicationOutcomes:
    """What the application knows of its records.

    Attributes:
        committed: were acknowledged, or their transaction committed.
        aborted: their transaction was aborted.
        unknown: the client never learned.
        recreated: how often a producer was made anew, after an error that it does not survive.
        fenced: whether an instance was refused after a second one began.
    """

    committed: list[bytes] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)
    unknown: list[bytes] = field(default_factory=list)
    recreated: Counter[str] = field(default_factory=Counter)
    fenced: bool = False

    def check(self, seen: list[bytes]) -> None:
        """What was committed was read once, what was aborted never, what is not known once at most."""
        counted = Counter(seen)
        assert [] == [value for value in self.committed if counted[value] != 1]
        assert [] == [value for value in self.aborted if counted[value]]
        assert [] == [value for value in self.unknown if counted[value] > 1]
        assert set() == counted.keys() - {*self.committed, *self.unknown}


class ApplicationTransactions:
    """One transactional id, whose producer is made anew after an error that it does not survive."""

    def __init__(self, servers: str, transactional_id: str, outcomes: ApplicationOutcomes) -> None:
        """Its first producer, initialized."""
        self._settings = {**TRANSACTIONAL, "transactional.id": transactional_id}
        self._servers = servers
        self.outcomes = outcomes
        self.producer = self._new()

    def _new(self) -> Any:
        give_up = time.monotonic() + PATIENCE_S
        while True:
            made = producer(self._servers, **self._settings)
            try:
                until_done(partial(made.init_transactions, CALL_S))
            except KafkaException as failure:
                if time.monotonic() > give_up:
                    raise
                self.outcomes.recreated[failure.args[0].name()] += 1
            else:
                return made

    def run(self, values: list[bytes], topic: str, *, commits: bool, offsets: Callable[[Any], None] = print) -> bool:
        """One transaction with these values; whether it has surely committed."""
        made, ending = self.producer, False
        try:
            made.begin_transaction()
            for value in values:
                made.produce(topic, value)
            if commits:
                if offsets is not print:
                    offsets(made)
                ending = True
                until_done(lambda: made.commit_transaction(CALL_S))
            else:
                made.flush(CALL_S)
                until_done(lambda: made.abort_transaction(CALL_S))
        except (KafkaException, BufferError) as failure:
            self._fails(failure.args[0], values, ending)
            return False
        (self.outcomes.committed if commits else self.outcomes.aborted).extend(values)
        return commits

    def _fails(self, error: KafkaError, values: list[bytes], ending: bool) -> None:
        if error.txn_requires_abort():
            try:
                until_done(lambda: self.producer.abort_transaction(CALL_S))
            except KafkaException as failure:
                error = failure.args[0]
            else:
                self.outcomes.aborted.extend(values)
                return
        (self.outcomes.unknown if ending else self.outcomes.aborted).extend(values)
        self.outcomes.recreated[error.name()] += 1
        self.producer = self._new()


def until_done(call: Callable[[], None]) -> None:
    """Call again as long as the client says that it may help."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            call()
        except KafkaException as failure:
            if not failure.args[0].retriable() or time.monotonic() > give_up:
                raise
        else:
            return


def write_plainly(servers: str, topic: str, values: list[bytes], outcomes: ApplicationOutcomes) -> None:
    """Idempotent batches; what failed for good is not known, and the producer is made anew."""
    left = list(values)
    while left:
        made, failures = producer(servers, **QUICK, **{"linger.ms": 5}), Counter[str]()

        def delivered(error: Any, message: Any, failures: Counter[str] = failures) -> None:
            (outcomes.committed if error is None else outcomes.unknown).append(message.value())
            if error is not None:
                failures[error.name()] += 1

        while left and not failures:
            made.produce(topic, left.pop(0), callback=delivered)
            made.poll(0.004)
        made.flush(PATIENCE_S)
        outcomes.recreated.update(failures.keys())


def transform(
    servers: str, instance: int, source: str, sink: str, done: threading.Event, outcomes: ApplicationOutcomes
) -> None:
    """Consume, transform, produce, in a group; each transaction has what was read and its offsets."""
    app, consumer = ApplicationTransactions(servers, f"transform-{instance}", outcomes), member(servers, source)
    while not done.is_set():
        read = consumer.consume(20, 0.1)
        values = [b"out-" + message.value() for message in read if message.error() is None]
        if not values:
            continue
        if not app.run(values, sink, commits=True, offsets=lambda made: send_offsets(made, consumer)):
            rewind(consumer)
    consumer.close()


def member(servers: str, source: str) -> Any:
    """A member of the group of transformers."""
    joined = reader(servers, "transformers", **MEMBER)
    joined.subscribe([source])
    return joined


def send_offsets(made: Any, consumer: Any) -> None:
    """Have the transaction commit where the consumer is."""
    positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
    until_done(lambda: made.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), CALL_S))


def rewind(consumer: Any) -> None:
    """Go on from what the group has committed."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        try:
            for each in consumer.committed(consumer.assignment(), CALL_S):
                if each.error is not None:
                    raise KafkaException(each.error)
                offset = each.offset if each.offset >= 0 else confluent_kafka.OFFSET_BEGINNING
                consumer.seek(confluent_kafka.TopicPartition(each.topic, each.partition, offset))
        except KafkaException:
            time.sleep(0.05)
        else:
            return


def read_all(servers: str, topic: str, partitions: int, least: int) -> list[bytes]:
    """What a reader of committed records finds, up to the end that the partitions have; so many records at least."""
    consumer = reader(servers, "unused", **QUICK)
    first = confluent_kafka.OFFSET_BEGINNING
    consumer.assign([confluent_kafka.TopicPartition(topic, number, first) for number in range(partitions)])
    seen: list[bytes] = []
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up and not (len(seen) >= least and _at_end(consumer)):
        seen += [message.value() for message in consumer.consume(500, 0.1) if message.error() is None]
    consumer.close()
    return seen


def _at_end(consumer: Any) -> bool:
    """Whether a consumer has read all that can be read."""
    assigned = consumer.position(consumer.assignment())
    try:
        ends = [consumer.get_watermark_offsets(each, CALL_S)[1] for each in assigned]
    except KafkaException:
        return False
    return all(each.offset >= end for each, end in zip(assigned, ends, strict=True))


def fence(servers: str, transactional_id: str, topic: str, outcomes: ApplicationOutcomes) -> None:
    """A second instance starts while the first is in a transaction, which never commits then."""
    first = ApplicationTransactions(servers, transactional_id, outcomes)
    first.producer.begin_transaction()
    first.producer.produce(topic, b"zombie")
    first.producer.flush(CALL_S)
    second = ApplicationTransactions(servers, transactional_id, outcomes)
    outcomes.aborted.append(b"zombie")
    try:
        until_done(partial(first.producer.commit_transaction, CALL_S))
    except KafkaException as failure:
        outcomes.fenced = not failure.args[0].retriable()
    second.run([b"of the second"], topic, commits=True)


@dataclass
class Threads:
    """Applications in threads; the first failure is raised in the end."""

    failures: list[BaseException] = field(default_factory=list)
    running: list[threading.Thread] = field(default_factory=list)

    def start(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        """Have one more run."""

        def run() -> None:
            try:
                work(*arguments)
            except BaseException as failure:  # noqa: BLE001  # raised again by `join`
                self.failures.append(failure)

        thread = threading.Thread(target=run, daemon=True)
        self.running.append(thread)
        thread.start()
        return thread

    def join(self) -> None:
        """Wait for all."""
        for thread in self.running:
            thread.join(2 * PATIENCE_S)
        for failure in self.failures:
            raise failure


def numbered(prefix: str, count: int) -> Iterator[bytes]:
    """So many values."""
    return (f"{prefix}-{number}".encode() for number in range(count))


ABORTED = 4
"""Every fourth transaction is aborted."""


def write_in_transactions(servers: str, count: int, outcomes: ApplicationOutcomes) -> None:
    """Transactions of two records each, of which some are aborted; then a second instance comes."""
    app = ApplicationTransactions(servers, "payments", outcomes)
    for number in range(count):
        app.run(list(numbered(f"txn-{number}", 2)), "txn", commits=number % ABORTED != ABORTED - 1)
    fence(servers, "payments", "txn", outcomes)


def use(servers: str, transactions: int, transformers: int = 2) -> ApplicationOutcomes:
    """All applications at once, until each has done its part; what became of the transactions of the first."""
    done = threading.Event()
    plain, txn, loop = ApplicationOutcomes(), ApplicationOutcomes(), ApplicationOutcomes()
    writers, loops = Threads(), Threads()
    writers.start(write_plainly, servers, "in", list(numbered("v", 4 * transactions)), plain)
    writers.start(write_in_transactions, servers, transactions, txn)
    for instance in range(transformers):
        loops.start(transform, servers, instance, "in", "out", done, loop)
    writers.join()
    written = read_all(servers, "in", 2, len(plain.committed))
    made = read_all(servers, "out", 2, len(written))
    done.set()
    loops.join()

    plain.check(written)
    txn.check(read_all(servers, "txn", 2, len(txn.committed)))
    assert Counter(b"out-" + value for value in written) == Counter(made)
    assert txn.fenced
    return txn
