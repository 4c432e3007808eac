"""What idempotence does not promise: a record is recognized from the same producer only, while the broker remembers."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.producer_stage import ALONE, OfProducers, ProducerStage
from model_tests.scenarios.scenario import Facts, scenario
from spec.versions import KAFKA_2_4, KAFKA_2_5

TWO: Final = OfProducers(shape=replace(ALONE, producers=2))
FORGETFUL: Final = replace(ALONE, expiration_ms=60_000)
"""Brokers that forget a producer before its batches run into their delivery timeout."""


@scenario(
    "producer-restart",
    "A producer restarts, and sends its last record again",
    items=(8,),
    story="""A producer crashes after its record was appended and before the answer arrives. Its next run has no
    transactional id, hence another producer id, and sends the record once more. To the broker it is the first record of
    a new producer: exactly once holds within one session of a producer only.""",
    setting=TWO,
    expected={"log": ["a", "a"], "producer ids in the log": 2},
)
def producer_restart(stage: ProducerStage) -> Facts:
    """The second producer is the next run of the first one."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.lose_answers()
    stage.story.remark(stage.name_of(0), "crashes")
    stage.story.remark(stage.name_of(1), "is the next run of it, with a producer id of its own")
    (again,) = stage.send("a", producer=1)
    stage.broker_receives(again)
    stage.answer_all()
    return seen_by_log(stage)


@scenario(
    "two-producers",
    "Two producers send the same record",
    items=(8,),
    story="""What is recognized is a batch of a producer, not the content of a record. If two producers are given
    the same input, the log has it twice.""",
    setting=TWO,
    expected={"log": ["a", "a"], "producer ids in the log": 2},
)
def two_producers(stage: ProducerStage) -> Facts:
    """Both send, and both are acknowledged."""
    stage.acknowledged("a", producer=0)
    stage.acknowledged("a", producer=1)
    return seen_by_log(stage)


@scenario(
    "application-resends",
    "An application sends a record again that timed out",
    items=(8, 5),
    story="""The answer does not come within delivery.timeout.ms, and the application gets an error. That does
    not mean that the record is not in the log. If the application calls send() again, the record gets another number,
    and cannot be distinguished from a new one.""",
    setting=OfProducers(),
    expected={"log": ["a", "a"], "failed": ["a"], "acknowledged": ["a"]},
)
def application_resends(stage: ProducerStage) -> Facts:
    """The answer to the first is under way until it is too late."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.events.let(stage.events.delivery_times_out)
    stage.story.remark(stage.name_of(0), "reports a timeout to the application (delivery.timeout.ms)")
    stage.lose_answers()
    stage.acknowledged("a")
    return {"log": stage.log, "failed": stage.failed, "acknowledged": stage.promised}


@scenario(
    "expired-producer-state",
    "A retry comes after the broker has forgotten the producer",
    items=(8, 7),
    story="""Brokers forget a producer that was silent for producer.id.expiration.ms: a day by default, a minute
    here. If the retry of a record comes after that, the broker has nothing to recognize it by. Since 2.5 it takes
    whatever sequence it sees first, and the record is there twice, without any error.""",
    setting=OfProducers(shape=FORGETFUL),
    expected={"log": ["a", "b", "b"], "answers": ["NONE", "NONE", "NONE"], "acknowledged": ["a", "b"]},
)
@scenario(
    "rewritten-sequences",
    "Before 2.5: UNKNOWN_PRODUCER_ID, and a batch that is numbered again is there twice",
    items=(9, 8, 25),
    story="""The same run before KIP-360. The broker refuses the retry with UNKNOWN_PRODUCER_ID, and the producer
    numbers what it has in flight again, from 0. One of these batches had been appended, only its answer was lost:
    numbering it again hides that from every later check. Since 2.5 brokers do not send this error any more.""",
    setting=OfProducers(KAFKA_2_4, FORGETFUL),
    expected={
        "log": ["a", "b", "b"],
        "answers": ["NONE", "NONE", "UNKNOWN_PRODUCER_ID", "NONE"],
        "acknowledged": ["a", "b"],
    },
)
def retry_after_expiry(stage: ProducerStage) -> Facts:
    """The record is appended, its answer is lost, and the producer is forgotten before the retry arrives."""
    stage.acknowledged("a")
    (second,) = stage.send("b")
    stage.broker_receives(second)
    stage.lose_answers()
    forget(stage)
    stage.settle()
    return {"log": stage.log, "answers": stage.answers, "acknowledged": stage.promised}


@scenario(
    "idle-producer-before-2.5",
    "Before 2.5: a producer that was idle for long is unknown",
    items=(9, 25),
    story="""A producer has been silent, and the broker has forgotten it. Its next record has sequence 1, and a
    broker before KIP-360 takes an unknown producer at sequence 0 only: it answers UNKNOWN_PRODUCER_ID, though nothing
    is missing. The producer must number its batches again, under a new epoch.""",
    setting=OfProducers(KAFKA_2_4, FORGETFUL),
    expected={"log": ["a", "b"], "answers": ["NONE", "UNKNOWN_PRODUCER_ID", "NONE"], "sequences in the log": [0, 0]},
)
@scenario(
    "idle-producer-since-2.5",
    "Since 2.5: a producer that was idle for long continues",
    items=(9, 25),
    story="""The same run since KIP-360. A producer without state may continue at any sequence: there is no
    error, and nothing is numbered again.""",
    setting=OfProducers(KAFKA_2_5, FORGETFUL),
    expected={"log": ["a", "b"], "answers": ["NONE", "NONE"], "sequences in the log": [0, 1]},
)
def idle_producer(stage: ProducerStage) -> Facts:
    """The producer is forgotten between two acknowledged records."""
    stage.acknowledged("a")
    forget(stage)
    stage.acknowledged("b")
    return {
        "log": stage.log,
        "answers": stage.answers,
        "sequences in the log": [int(batch.base_sequence) for batch in stage.partitions[0].leader.log],
    }


@scenario(
    "first-batch-overtaken",
    "The very first batch is lost, and the broker takes the second one for the first",
    items=(8, 6),
    story="""Since 2.5 a broker accepts any first sequence of a producer that it does not know, for it
    may have forgotten it. If that is the second batch, the first one comes too late: it is out of order, as often as it
    is sent again, until delivery.timeout.ms has passed and the application gets an error. There are no duplicates,
    but b is acknowledged although a, which was sent before it, is missing.""",
    setting=OfProducers(),
    expected={"log": ["b", "c"], "acknowledged": ["b", "c"], "failed": ["a"]},
)
@scenario(
    "first-batch-overtaken-before-2.5",
    "Before 2.5 the second batch must wait for the first",
    items=(9, 8, 25),
    story="""The same run before KIP-360. A producer that is not known must begin at sequence 0: the second batch is
    refused with UNKNOWN_PRODUCER_ID, both are numbered again under a new epoch, and the order is kept.""",
    setting=OfProducers(KAFKA_2_4),
    expected={"log": ["a", "b", "c"], "acknowledged": ["a", "b", "c"], "failed": []},
)
def first_batch_overtaken(stage: ProducerStage) -> Facts:
    """The first of two requests is lost, and the broker knows nothing of the producer."""
    first, second = stage.send("a", "b")
    stage.lose(first)
    stage.broker_receives(second)
    stage.answer_all()
    stage.send_again()
    stage.settle(rounds=2)
    stage.events.let(stage.events.delivery_times_out)
    stage.settle(rounds=2)
    stage.acknowledged("c")
    return {"log": stage.log, "acknowledged": stage.promised, "failed": stage.failed}


@scenario(
    "delayed-batch-before-2.5",
    "Before 2.5: a batch that is only delayed is numbered again, and is there twice",
    items=(9, 8, 25),
    story="""The first batch is not lost but late, and the producer does not wait for it any longer. The second one
    was refused with UNKNOWN_PRODUCER_ID, so that both have new numbers when the first is sent again. The late request
    has the old ones: the broker takes it, and then the other one too.""",
    setting=OfProducers(KAFKA_2_4),
    expected={"log": ["a", "a", "b"], "acknowledged": ["a", "b"]},
)
@scenario(
    "delayed-batch-since-2.5",
    "Since 2.5: a batch that is delayed keeps its number",
    items=(9, 8, 25),
    story="""The same run since KIP-360. The second batch was taken, and nothing is numbered again. Both copies of
    the first one are out of order and refused, so that it is there at most once; here it is not there at all, and the
    application gets an error.""",
    setting=OfProducers(KAFKA_2_5),
    expected={"log": ["b"], "acknowledged": ["b"]},
)
def delayed_batch(stage: ProducerStage) -> Facts:
    """The request of the first batch arrives after the second one, and before its own retry."""
    first, second = stage.send("a", "b")
    stage.broker_receives(second)
    stage.answer_all()
    stage.producer_stops_waiting(first)
    stage.send_again()
    stage.broker_receives(first)
    stage.settle(rounds=3)
    stage.events.let(stage.events.delivery_times_out)
    stage.settle(rounds=2)
    return {"log": stage.log, "acknowledged": stage.promised}


def forget(stage: ProducerStage) -> None:
    """So much time passes that brokers forget their silent producers."""
    for node in range(stage.shape.nodes):
        stage.events.let(stage.events.producer_state_expires, node)


def seen_by_log(stage: ProducerStage) -> Facts:
    """What is in the log, and of how many producers."""
    return {"log": stage.log, "producer ids in the log": len({b.producer_id for b in stage.partitions[0].leader.log})}
