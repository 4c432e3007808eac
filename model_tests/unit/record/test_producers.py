"""Producers followed by what brokers answer: the journal, the counters, and what cannot be true."""

from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.addresses import Address
from model_tests.record import producers
from model_tests.record.batches import shorten
from model_tests.record.counts import Counts
from model_tests.record.exchange import Exchange, Link
from model_tests.record.producers import Producers
from reference.log.batch import value_batch
from reference.wire.codec import RequestHeader, decode_body, encode_body, key_of
from spec.vocabulary import ErrorCode


@dataclass
class Asking:
    """Requests and their answers, as they pass."""

    events: list[dict[str, Any]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    link: Link = field(default_factory=lambda: Link(1, "127.0.0.1", Address("broker", 9092)))

    def __post_init__(self) -> None:
        self.producers = Producers(self.events.append, self.counts, lambda part: str(part.name or ""))

    def ask(self, api: str, version: int, fields: dict[str, Any]) -> Exchange:
        header = RequestHeader(key_of(api), api, version, 1, "test")
        message = decode_body("request", api, version, encode_body("request", api, version, fields))
        if api == "Produce":
            shorten(api, message)
        exchange = Exchange(self.link, header, 0, message)
        self.producers.requested(exchange)
        return exchange

    def answer(self, exchange: Exchange, fields: dict[str, Any]) -> None:
        version = exchange.message.version
        data = encode_body("response", exchange.api, version, fields)
        exchange.answer = decode_body("response", exchange.api, version, data)
        self.producers.answered(exchange)

    def initialize(self, identity: tuple[int, int], transactional_id: str | None = "app", before: int = -1) -> None:
        requested = {"transactional_id": transactional_id, "producer_id": before, "producer_epoch": before}
        exchange = self.ask("InitProducerId", 4, requested)
        self.answer(exchange, {"error_code": 0, "producer_id": identity[0], "producer_epoch": identity[1]})

    def produce(
        self, identity: tuple[int, int], sequence: int, *, transactional: bool = True, acks: int = -1
    ) -> Exchange:
        batch = value_batch(
            [b"one", b"two"],
            producer_id=identity[0],
            epoch=identity[1],
            base_sequence=sequence,
            transactional=transactional,
        )
        parts = [{"name": "in", "partition_data": [{"index": 0, "records": batch.encode()}]}]
        named = "app" if transactional else None
        return self.ask("Produce", 9, {"transactional_id": named, "acks": acks, "topic_data": parts})

    def append(self, exchange: Exchange, offset: int, error: int = 0) -> None:
        part = {"index": 0, "error_code": error, "base_offset": offset}
        self.answer(exchange, {"responses": [{"name": "in", "partition_responses": [part]}]})

    def end(self, identity: tuple[int, int], *, committed: bool, version: int = 3, **answer: int) -> None:
        requested = {"transactional_id": "app", "producer_id": identity[0], "producer_epoch": identity[1]}
        self.answer(self.ask("EndTxn", version, {**requested, "committed": committed}), {"error_code": 0, **answer})

    def journal(self) -> list[tuple[Any, ...]]:
        """The events without the names of producers."""
        return [
            tuple(value for name, value in event.items() if name not in ("p", "topic", "part")) for event in self.events
        ]


def test_a_transaction_begins_with_what_names_it_and_ends_with_the_answer() -> None:
    """Its batches are of it even where their answers come after its end."""
    asking = Asking()
    asking.initialize((5, 0))
    first, late = asking.produce((5, 0), 0), asking.produce((5, 0), 2)
    asking.append(first, 10)
    asking.end((5, 0), committed=False)
    asking.append(late, 12)
    asking.append(asking.produce((5, 0), 4), 15)
    asking.end((5, 0), committed=True)

    assert [
        ("producer", "app"),
        ("begin", 1),
        ("ack", 1, 10, 2),
        ("abort", 1, True),
        ("ack", 1, 12, 2),
        ("begin", 2),
        ("ack", 2, 15, 2),
        ("commit", 2, True),
    ] == asking.journal()
    assert {"aborted": 1, "committed": 1} == asking.counts.outcomes


def test_an_end_that_is_to_be_asked_for_again_is_none() -> None:
    """Nor is one of which the broker has already said how it ended."""
    asking = Asking()
    asking.initialize((5, 0))
    asking.append(asking.produce((5, 0), 0), 0)
    asking.end((5, 0), committed=True, error_code=int(ErrorCode.CONCURRENT_TRANSACTIONS))
    asking.end((5, 0), committed=True)
    asking.end((5, 0), committed=True)

    assert [("commit", 1, True)] == [event for event in asking.journal() if event[0] in ("commit", "abort")]
    assert {"committed": 1} == asking.counts.outcomes


def test_under_version_2_the_producer_goes_on_with_the_next_epoch() -> None:
    """It is the same one in the journal."""
    asking = Asking()
    asking.initialize((5, 0))
    asking.append(asking.produce((5, 0), 0), 0)
    asking.end((5, 0), committed=True, version=5, producer_id=5, producer_epoch=1)
    asking.append(asking.produce((5, 1), 0), 3)
    asking.end((5, 1), committed=True, version=5, producer_id=5, producer_epoch=2)
    asking.producers.finish()

    assert 1 == len({event["p"] for event in asking.events})
    assert {"committed": 2} == asking.counts.outcomes


def test_what_has_no_end_is_open_or_left_to_the_next_instance() -> None:
    """The journal does not say how it ended."""
    asking = Asking()
    asking.initialize((5, 0))
    asking.append(asking.produce((5, 0), 0), 0)
    asking.initialize((5, 1))
    asking.append(asking.produce((5, 1), 0), 3)
    asking.end((5, 1), committed=True, error_code=int(ErrorCode.INVALID_TXN_STATE))
    asking.append(asking.produce((5, 1), 2), 6)
    asking.producers.finish()

    assert {"left to a new instance": 1, "end refused": 1, "open": 1} == asking.counts.outcomes
    assert [("commit", 1, False)] == [event for event in asking.journal() if event[0] == "commit"]


def test_an_instance_that_the_coordinator_does_not_know_is_fenced() -> None:
    """Its transaction is over."""
    asking = Asking()
    asking.initialize((5, 0))
    adding = {
        "v3_and_below_transactional_id": "app",
        "v3_and_below_producer_id": 5,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": "in", "partitions": [0]}],
    }
    exchange = asking.ask("AddPartitionsToTxn", 3, adding)
    refused = [{"partition_index": 0, "partition_error_code": int(ErrorCode.PRODUCER_FENCED)}]
    asking.answer(exchange, {"results_by_topic_v3_and_below": [{"name": "in", "results_by_partition": refused}]})
    asking.producers.finish()

    assert {"fenced": 1} == asking.counts.outcomes


def test_a_batch_that_is_acknowledged_again_is_one() -> None:
    """At its offset, as a broker answers a duplicate that it remembers, or with the error of one that it does not."""
    asking = Asking()
    asking.initialize((5, 0), None)
    asking.append(asking.produce((5, 0), 0, transactional=False), 7)
    asking.append(asking.produce((5, 0), 0, transactional=False), 7)
    again = asking.produce((5, 0), 0, transactional=False)
    asking.append(again, -1, int(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))

    assert [("producer", None), ("ack", None, 7, 2)] == asking.journal()
    assert (2, 2, 0) == (asking.counts.duplicates, asking.counts.records, asking.counts.contradicted)


CONTRADICTING = {
    "one batch at two offsets": ([(0, 7), (0, 9)], "acknowledged at offset 7, and again at 9"),
    "one offset for two batches": ([(0, 7), (2, 7)], "offset 7 was acknowledged for the batch"),
}


@pytest.mark.parametrize("name", CONTRADICTING)
def test_answers_that_cannot_all_be_true_are_counted(name: str) -> None:
    """Of producers that wait for all replicas; others may lose what was acknowledged."""
    answered, what = CONTRADICTING[name]
    for acks, count in ((-1, 1), (1, 0)):
        asking = Asking()
        asking.initialize((5, 0), None)
        for sequence, offset in answered:
            asking.append(asking.produce((5, 0), sequence, transactional=False, acks=acks), offset)

        assert count == asking.counts.contradicted
        assert ["seq.exactly_once"] * count == [each.rule.id for each in asking.counts.contradictions]
        assert all(what in each.what for each in asking.counts.contradictions)


def test_an_identity_is_given_once() -> None:
    """Except to who names it, and asks for the next epoch twice because the answer was lost."""
    asking = Asking()
    asking.initialize((5, 1), before=5)
    asking.initialize((5, 1), before=5)
    assert 0 == asking.counts.contradicted
    asking.initialize((6, 0), None)
    asking.initialize((6, 0), "app")

    assert ["ids.identity_never_repeats"] == [each.rule.id for each in asking.counts.contradictions]
    assert "was given to a producer without transactional id, and again to transactional id app" in (
        asking.counts.contradictions[0].what
    )


def test_a_topic_that_comes_again_begins_anew() -> None:
    """Its offsets and its batches are others."""
    asking = Asking()
    asking.initialize((5, 0), None)
    asking.append(asking.produce((5, 0), 0, transactional=False), 0)
    exchange = asking.ask("DeleteTopics", 4, {"topic_names": ["in"], "timeout_ms": 1})
    asking.answer(exchange, {"responses": [{"name": "in", "error_code": 0}]})
    asking.append(asking.produce((5, 0), 0, transactional=False), 1)

    assert 0 == asking.counts.contradicted
    assert {"ev": "delete_topic", "topic": "in"} in asking.events


def test_a_producer_that_began_before_the_recording_is_followed_from_there() -> None:
    """With the transactional id that its requests name."""
    asking = Asking()
    asking.append(asking.produce((5, 3), 40), 100)
    asking.end((5, 3), committed=True)

    assert [("producer", "app"), ("begin", 1), ("ack", 1, 100, 2), ("commit", 1, True)] == asking.journal()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers, partitions of theirs, and their batches; the oldest go."""
    monkeypatch.setattr(producers, "MOST_PRODUCERS", 10)
    asking = Asking()
    for number in range(100):
        asking.initialize((number, 0), f"app-{number}")
        asking.append(asking.produce((number, 0), 0), 2 * number)
    asking.producers.finish()

    assert 10 == asking.counts.outcomes["open"]
    for sequence in range(0, 400, 2):
        asking.append(asking.produce((99, 0), sequence + 2), 1_000 + sequence)
    assert producers.WINDOW == max(len(kept) for kept in asking.producers._batches.values())
