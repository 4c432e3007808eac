"""Why duplicates and disorder arise, and how idempotence prevents them."""

from dataclasses import replace
from typing import Final

from model_tests.scenarios.producer_stage import ALONE, OfProducers, ProducerStage
from model_tests.scenarios.scenario import Facts, scenario
from spec.versions import KAFKA_0_11, SPLIT_OUT_OF_ORDER
from spec.vocabulary import MAX_SEQUENCE, Sequence

PLAIN: Final = OfProducers(shape=replace(ALONE, idempotent=False))
IDEMPOTENT: Final = OfProducers()
SIX: Final = 6  # one request in flight more than the idempotent producer may have


@scenario(
    "lost-acknowledgement",
    "An acknowledgement is lost, and the record is there twice",
    items=(1, 5),
    story="""A producer without an answer cannot know whether its record was appended. It sends it again, since a
    record too many is better than one too few: delivery is at least once, and here the record is in the log twice.""",
    setting=PLAIN,
    expected={"log": ["a", "a"], "acknowledged": ["a"]},
)
@scenario(
    "lost-acknowledgement-idempotent",
    "An acknowledgement is lost, and the broker knows the record",
    items=(1, 4, 5),
    story="""The same run with idempotence. The record carries a producer id and a sequence number, and a retry
    never changes them. The broker finds them in its window of the last five batches, appends nothing, and answers the
    offset of the first copy.""",
    setting=IDEMPOTENT,
    expected={"log": ["a"], "acknowledged": ["a"]},
)
def lost_acknowledgement(stage: ProducerStage) -> Facts:
    """The answer to the only record is lost."""
    (first,) = stage.send("a")
    stage.broker_receives(first)
    stage.lose_answers()
    stage.send_again()
    stage.settle()
    return {"log": stage.log, "acknowledged": stage.promised}


@scenario(
    "lost-request",
    "A request is lost, and the retry puts its record behind the next one",
    items=(1, 5),
    story="""Two records are in flight. The first request is lost, the second arrives, and the retry of the first
    comes after it: nothing is lost or duplicated, but the order of the log is not the order of sending. Without
    idempotence only one request in flight at a time (max.in.flight.requests.per.connection=1) prevents this.""",
    setting=PLAIN,
    expected={"log": ["b", "a"], "acknowledged": ["a", "b"]},
)
@scenario(
    "lost-request-idempotent",
    "A request is lost, and the broker refuses the next one until it has come",
    items=(1, 4, 5, 6),
    story="""The same run with idempotence. The second record has sequence 1, the broker expects 0, and answers
    OUT_OF_ORDER_SEQUENCE_NUMBER. The producer sends both again, lowest sequence first and one at a time, and the order
    of sending is kept with five requests in flight.""",
    setting=IDEMPOTENT,
    expected={"log": ["a", "b"], "acknowledged": ["a", "b"]},
)
def lost_request(stage: ProducerStage) -> Facts:
    """The first of two requests is lost before the log has anything of the producer.

    A record of the same producer comes before both: since 2.5 a broker takes whatever it sees first of a producer.
    """
    with stage.story.offstage():
        stage.acknowledged("(first)")
    first, second = stage.send("a", "b")
    stage.lose(first)
    stage.broker_receives(second)
    stage.answer_all()
    stage.settle()
    return {
        "log": [value for value in stage.log if value != "(first)"],
        "acknowledged": [value for value in stage.promised if value != "(first)"],
    }


@scenario(
    "one-in-flight",
    "Kafka 0.11 remembers one batch, and lets one be in flight",
    items=(5, 25),
    story="""The first release with idempotence kept one batch of each producer, not five. One request in flight is
    then all that a producer may have: with more, the retry of an earlier batch would not be recognized.""",
    setting=OfProducers(KAFKA_0_11),
    expected={"in flight at once": 1, "log": ["a", "b", "c"]},
)
def one_in_flight(stage: ProducerStage) -> Facts:
    """Three records are handed over at once, and the answer to the first is lost."""
    sent = stage.send("a", "b", "c")
    stage.broker_receives(sent[0])
    stage.lose_answers()
    stage.settle()
    return {"in flight at once": len(sent), "log": stage.log}


@scenario(
    "five-in-flight",
    "Five batches in flight, all answers lost, and a window of five",
    items=(5, 6),
    story="""The broker keeps the last five batches of each producer, and the producer never has more than five in
    flight. So whichever batch it sends again is still in the window, and is answered as a duplicate.""",
    setting=IDEMPOTENT,
    expected={"in flight at once": 5, "log": ["1", "2", "3", "4", "5"], "highest epoch": 0},
)
@scenario(
    "six-in-flight",
    "Six batches in flight, all answers lost, and a window of five",
    items=(5, 6),
    story="""A producer with six in flight outruns the window. The retry of its first batch is in the log but no
    longer in the window, and the answer is OUT_OF_ORDER_SEQUENCE_NUMBER, the same as for a gap. The producer takes it
    for one: it raises its epoch, numbers all six again from 0, and every record is there twice.""",
    setting=OfProducers(shape=replace(ALONE, max_in_flight=SIX)),
    expected={
        "in flight at once": 6,
        "log": ["1", "2", "3", "4", "5", "6", "1", "2", "3", "4", "5", "6"],
        "highest epoch": 1,
    },
)
@scenario(
    "six-in-flight-split",
    "Six batches in flight, and a broker that distinguishes below from above",
    items=(5, 6),
    story="""A proposal that is in no release: a sequence below the expected one is answered
    DUPLICATE_SEQUENCE_NUMBER, only one above it OUT_OF_ORDER_SEQUENCE_NUMBER. The producer takes the former for
    success, and a sixth batch in flight does no harm. The price is an acknowledgement without an offset.""",
    setting=OfProducers(SPLIT_OUT_OF_ORDER, replace(ALONE, max_in_flight=SIX)),
    expected={"in flight at once": 6, "log": ["1", "2", "3", "4", "5", "6"], "highest epoch": 0},
)
def many_in_flight(stage: ProducerStage) -> Facts:
    """All answers to as many batches as may be in flight are lost."""
    queue = stage.producers[0].queues[0]
    queue.max_in_flight = stage.shape.max_in_flight
    sent = stage.send(*(str(number) for number in range(1, queue.max_in_flight + 1)))
    for message in sent:
        stage.broker_receives(message)
    stage.lose_answers()
    stage.settle()
    return {
        "in flight at once": len(sent),
        "log": stage.log,
        "highest epoch": max(batch.producer_epoch for batch in stage.partitions[0].leader.log),
    }


@scenario(
    "sequence-wraps",
    "After 2147483647 the next sequence is 0",
    items=(4,),
    story="""Sequences are 31 bits wide and start again at 0. The broker takes 0 for the successor of the greatest
    one, and no record is refused or taken for a duplicate there.""",
    setting=IDEMPOTENT,
    expected={"sequences in the log": [2147483646, 2147483647, 0], "log": ["a", "b", "c"]},
)
def sequence_wraps(stage: ProducerStage) -> Facts:
    """The producer has sent nearly 2^31 records before."""
    stage.producers[0].queues[0].adopt(stage.identity_of(0))
    stage.producers[0].queues[0].next_sequence = Sequence(MAX_SEQUENCE - 1)
    for value in "abc":
        stage.acknowledged(value)
    return {
        "sequences in the log": [int(batch.base_sequence) for batch in stage.partitions[0].leader.log],
        "log": stage.log,
    }
