"""A trace as a diagram: the requests, the answers with the branches that decided, and what they left behind."""

from typing import Any

import pytest

from model_tests.diagrams.events import DrawnMessage, Ending, Mark, Note
from model_tests.diagrams.sequence import text_of
from model_tests.monitor.drawing import Captions, sequence_of
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import complete
from reference.recording.recorder import FATE, Fate

HOLDS = Ending("", "nothing is broken")


def a_step(**columns: Any) -> dict[str, Any]:
    """A step on the newest release in which nothing applies but what is given."""
    return complete({"profile": "4.3", "transaction_version": 2, "step": 0, "error": 0, **columns})


def drawn(*rows: dict[str, Any]) -> tuple[tuple[DrawnMessage | Note, ...], ...]:
    return sequence_of(rows, "a trace", HOLDS).steps


def test_a_request_is_a_message_and_what_it_leaves_a_note() -> None:
    """Request and answer on the arrow, the changed state at the node."""
    state = {"after_txn_producer_id": 4000, "after_txn_epoch": 0, "after_txn_state": 0}
    request = a_step(api="InitProducerId", client="instance-0", node="broker-1", transactional_id="payments", **state)

    ((message, note),) = drawn({**request, "reply_producer_id": 4000, "reply_epoch": 0, "timeout_ms": 60_000})

    assert isinstance(message, DrawnMessage)
    assert ("instance-0", "broker-1", Mark.PLAIN) == (message.sender, message.receiver, message.mark)
    assert "InitProducerId payments → NONE 4000/0 [" in message.text
    assert Note("broker-1", "4000/0 EMPTY") == note


def test_a_refusal_and_a_copy_are_marked() -> None:
    """An error is a refusal; a request that is sent a second time is marked as such."""
    request = a_step(api="EndTxn", client="instance-0", node="broker-1", transactional_id="payments", message=7)
    refused = {**request, "step": 1, "message": 8, "error": 47}

    marks = [
        step[0].mark for step in drawn(request, {**request, "step": 1}, refused) if isinstance(step[0], DrawnMessage)
    ]

    assert [Mark.PLAIN, Mark.AGAIN, Mark.REFUSED] == marks


def test_what_a_node_does_by_itself_is_a_note() -> None:
    """A fault has no sender."""
    ((note,),) = drawn(a_step(api="LeaderFailover", node="broker-0", topic="t", partition=1))

    assert Note("broker-0", "LeaderFailover t-1") == note


def test_numbers_that_mean_nothing_are_drawn_as_they_are() -> None:
    """A file from elsewhere may say anything."""
    row = a_step(api="EndTxn", client="c", node="n", transactional_id="p", error=9999, after_txn_state=77)

    text = text_of(sequence_of([row], "a trace", HOLDS))

    assert "9999" in text
    assert "77" in text


def test_every_step_of_a_trace_is_drawn_under_its_number() -> None:
    """Clients stand left of nodes, and the first number is that of the first step."""
    rows = trace_of(2, steps=40)[10:]

    diagram = sequence_of(rows, "a trace", HOLDS)

    assert (30, 10) == (len(diagram.steps), diagram.first)
    assert all(diagram.steps)
    nodes = [name.startswith("broker") for name in diagram.participants]
    assert sorted(nodes) == nodes
    assert " 39 " in text_of(diagram)


PRODUCE = {"api": "Produce", "client": "producer-0", "node": "broker-0", "topic": "t", "partition": 0, "message": 7}
PRODUCE |= {"writer": "producer-0", "first_record": 0, "record_count": 1}


def annotated(fate: Fate, **columns: Any) -> dict[str, Any]:
    return {**a_step(**PRODUCE | columns), FATE: fate}


def test_the_batches_of_a_request_are_one_step() -> None:
    """Its answer names their partitions; what the network has copied is a step of its own."""
    batches = [a_step(**PRODUCE | {"partition": partition}) for partition in (0, 1)]
    answers = [annotated(Fate.ANSWERED, partition=partition, first_offset=4) for partition in (0, 1)]

    request, copy = drawn(*({**row, "step": step} for step, row in enumerate([*batches, *answers, batches[0]])))

    messages = [each for each in request if isinstance(each, DrawnMessage)]
    assert ["Produce t-0", "Produce t-1", "t-0, t-1 NONE at 4"] == [each.text for each in messages]
    assert {Mark.PLAIN} == {each.mark for each in messages}
    assert Mark.AGAIN == next(each.mark for each in copy if isinstance(each, DrawnMessage))


def test_what_is_annotated_of_a_message_is_drawn_once() -> None:
    """Its partitions stand in one line, and one of them refuses all; a copy is another message."""
    kinds = (Fate.SENT, Fate.LOST, Fate.ARRIVED, Fate.ARRIVED, Fate.GIVEN_UP, Fate.ANSWERED)
    batches = [{"partition": 0, "base_sequence": 3}, {"partition": 1, "base_sequence": 8, "error": 10}]
    rows = [annotated(kind, **batch, origin=0, last_offset_delta=0) for kind in kinds for batch in batches]

    events = [event for step in drawn(*rows) for event in step]

    request = "Produce t-0 data seq 3, t-1 data seq 8"
    assert [
        Note("producer-0", f"sends {request}"),
        DrawnMessage("producer-0", "broker-0", request, Mark.LOST),
        DrawnMessage("producer-0", "broker-0", request),
        DrawnMessage("producer-0", "broker-0", request, Mark.AGAIN),
        Note("producer-0", f"waits no longer for the answer to {request}"),
        DrawnMessage("broker-0", "producer-0", "t-0 NONE, t-1 MESSAGE_TOO_LARGE", Mark.REFUSED),
    ] == events


def test_a_run_with_annotations_shows_each_message_where_it_arrives() -> None:
    """The answer is under the number of its request where it comes at once, and is lost where it is lost."""
    steps = drawn(a_step(**PRODUCE, first_offset=4), annotated(Fate.ANSWER_LOST, first_offset=4))

    request, answer = steps[0]
    assert isinstance(request, DrawnMessage)
    assert isinstance(answer, DrawnMessage)
    assert ("Produce t-0", Mark.PLAIN) == (request.text, request.mark)
    assert ("broker-0", "producer-0", "NONE at 4", Mark.LOST) == (
        answer.sender,
        answer.receiver,
        answer.text,
        answer.mark,
    )


def test_a_request_that_was_given_up_is_late_and_a_lost_one_does_not_arrive() -> None:
    """A remark stands at its participant, and an answer with an error is refused."""
    fates = (annotated(Fate.LOST), annotated(Fate.GIVEN_UP), a_step(**PRODUCE), annotated(Fate.ANSWERED, error=45))
    remark = {**a_step(api="is killed", node="broker-0"), FATE: Fate.REMARK}

    events = [event for step in drawn(*fates, remark) for event in step]

    assert [Mark.LOST, Mark.LATE, Mark.REFUSED] == [each.mark for each in events if isinstance(each, DrawnMessage)]
    assert Note("producer-0", "waits no longer for the answer to Produce t-0") in events
    assert Note("broker-0", "is killed") in events


def test_a_request_may_be_sent_arrive_and_be_handled_in_three_steps() -> None:
    """Sent, it is at its client; handled, it is at the node that it has arrived at; copies of it are marked."""
    sent, arrived, answered = (annotated(each, first_offset=4) for each in (Fate.SENT, Fate.ARRIVED, Fate.ANSWERED))
    handled = a_step(**PRODUCE, first_offset=4)
    rows = [sent, arrived, handled, answered, handled, arrived]
    numbers = (0, 1, 2, 2, 3, 4)

    steps = drawn(*({**row, "step": step} for row, step in zip(rows, numbers, strict=True)))

    copy = DrawnMessage("producer-0", "broker-0", "Produce t-0", Mark.AGAIN)
    assert (
        (Note("producer-0", "sends Produce t-0"),),
        (DrawnMessage("producer-0", "broker-0", "Produce t-0"),),
        (Note("broker-0", "Produce t-0"), DrawnMessage("broker-0", "producer-0", "NONE at 4")),
        (copy,),
        (copy,),
    ) == steps


def test_rows_of_one_step_are_drawn_under_its_number() -> None:
    """Whoever they are about; an answer under another number stays where it is."""
    remark = {**a_step(api="is killed", node="broker-1"), FATE: Fate.REMARK, "step": 0}

    together, alone = drawn(a_step(**PRODUCE), remark, {**annotated(Fate.LOST), "step": 1})

    assert ["broker-0", "broker-1"] == [event.concerned[-1] for event in together]
    assert 1 == len(alone)


def test_a_transaction_has_its_caption_and_a_marker_its_coordinator() -> None:
    """Neither is drawn where it is absent; an answer from the cache says so."""
    marker = {"origin": 1, "control": True, "control_type": 1, "coordinator_epoch": 3, "producer_id": 7}
    rows = [
        a_step(**PRODUCE | marker, transaction=2, profile="a draft"),
        {**annotated(Fate.ANSWERED, duplicate=True), "step": 0},
    ]
    captions = Captions(transaction=lambda row: f"of transaction {row['transaction']}")

    ((request, answer),) = sequence_of(rows, "a trace", HOLDS, captions).steps

    assert isinstance(request, DrawnMessage)
    assert isinstance(answer, DrawnMessage)
    assert "Produce t-0 marker COMMIT producer 7 coordinator epoch 3 of transaction 2" == request.text
    assert "NONE duplicate" == answer.text


def test_captions_name_participants_and_records_from_writer_to_copy() -> None:
    """A copy has the name of the record at its place in the log."""
    place = {"origin": 0, "first_offset": 4, "appended": True, "producer_id": -1, "base_sequence": -1}
    copied = a_step(api="ReplicaFetch", client="broker-0", node="broker-1", topic="t", partition=0, **place)
    captions = Captions(
        lambda row: f"by {row['client']}", lambda row: f"at {row['node']}", lambda row: "a" if row["writer"] else ""
    )

    diagram = sequence_of([a_step(**PRODUCE | place), copied], "a run", HOLDS, captions)

    texts = [event.text for step in diagram.steps for event in step if isinstance(event, DrawnMessage)]
    assert ["Produce t-0 a", "ReplicaFetch t-0 a"] == [text.partition(" →")[0] for text in texts]
    assert ("by producer-0", "by broker-0", "at broker-0", "at broker-1") == diagram.participants


@pytest.mark.parametrize(
    "columns",
    [
        {"api": "EndTxn", "transactional_id": "p", "error": 16},
        {"api": "EndTxn", "transactional_id": "p", "error": 14},
        {"api": "Produce", "origin": 0, "verification_refused": True, "error": 48},
    ],
)
def test_what_was_not_asked_has_decided_nothing(columns: dict[str, Any]) -> None:
    """A node that does not coordinate the id, and a log whose batch was refused before."""
    ((message,),) = drawn(a_step(client="c", node="n", **columns))

    assert isinstance(message, DrawnMessage)
    assert "[" not in message.text
