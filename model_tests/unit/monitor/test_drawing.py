"""A trace as a diagram: the requests, the answers with the branches that decided, and what they left behind."""

from typing import Any

from model_tests.diagrams.events import DrawnMessage, Ending, Mark, Note
from model_tests.diagrams.sequence import text_of
from model_tests.monitor.drawing import sequence_of
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import complete

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
