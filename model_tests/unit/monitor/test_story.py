"""What is drawn of a recorded run, and what a world annotates only then."""

import pytest

from model_tests.diagrams.events import DrawnMessage, Mark, Note
from model_tests.monitor.story import Story
from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.scenarios.judged import judged
from model_tests.scenarios.transaction_stage import GROUPS, T0, OfTransactions, TransactionStage
from reference.recording.recorder import FATE, Recorder
from reference.world.transaction_world import TransactionWorld
from spec.versions import NEWEST
from spec.vocabulary import Timestamp

NOW = Timestamp(0)


def events_of(name: str) -> list[DrawnMessage | Note]:
    return [event for step in judged(SCENARIOS[name]).diagram.steps for event in step]


def test_what_happens_offstage_is_not_drawn() -> None:
    """Neither are steps that change nothing, requests that are hidden, nor what was before the story."""
    recorder = Recorder(0, NEWEST)
    recorder.record("BrokerFenced", NOW, node="controller-0")
    story = Story(recorder)
    with story.offstage():
        story.remark("a", "unseen")
    story.remark("a", "seen")
    recorder.record("BecomeLeader", NOW, node="broker-0")
    recorder.record("FindCoordinator", NOW, node="broker-0", client="instance-0", message=1)
    recorder.record("BrokerFenced", NOW, node="controller-0")

    assert ["seen", "BrokerFenced"] == [row["api"] for row in story.rows]


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_world_annotates_only_what_is_to_be_drawn(lost: str) -> None:
    """The rows of a trace are steps alone."""
    world = TransactionWorld(NEWEST)
    played(world, lost)

    assert not [row for row in world.recorder.rows if FATE in row]

    stage = TransactionStage(NEWEST, world.shape)
    played(stage, lost)
    assert [f"{'answer ' if lost == 'answer' else ''}lost"] == [row[FATE] for row in stage.story.rows if FATE in row]


def played(world: TransactionWorld, lost: str) -> None:
    """InitProducerId or its answer is lost."""
    instance = world.application_starts("payments")
    world.application_initializes(instance)
    world.producer_asks(instance)  # FindCoordinator
    world.broker_receives(world.wires.requests.in_transit[0])
    with_annotations, world.recorder.annotates = world.recorder.annotates, False
    world.sender_receives(world.wires.replies.in_transit[0])
    world.recorder.annotates = with_annotations
    world.producer_asks(instance)
    if lost == "request":
        world.request_is_lost(world.wires.requests.in_transit[0])
    else:
        world.broker_receives(world.wires.requests.in_transit[0])
        world.reply_is_lost(world.wires.replies.in_transit[0])


def test_a_refusal_that_no_step_records_is_drawn_with_its_request() -> None:
    """A broker that denies a topic decides nothing about the batch."""
    events = events_of("right-to-a-topic")

    at = next(n for n, event in enumerate(events) if isinstance(event, DrawnMessage) and "closed-0 x" in event.text)
    request, answer = events[at : at + 2]
    assert isinstance(request, DrawnMessage)
    assert isinstance(answer, DrawnMessage)
    assert ("payments", "closed-0", Mark.PLAIN) == (request.sender, request.receiver, request.mark)
    assert ("TOPIC_AUTHORIZATION_FAILED", Mark.REFUSED) == (answer.text, answer.mark)


def test_a_node_is_drawn_as_its_coordinators_and_partitions() -> None:
    """Markers go from the coordinator to partitions and to the group's coordinator, and batches are verified."""
    messages = [event for event in events_of("exactly-once-pipeline") if isinstance(event, DrawnMessage)]

    ways = {(each.text.partition(" ")[0], each.sender, each.receiver) for each in messages}
    assert {("WriteTxnMarkers", "coordinator 0", GROUPS), ("WriteTxnMarkers", "coordinator 0", "t-1")} <= ways
    assert ("AddPartitionsToTxn", "t-1", "coordinator 0") in ways


def test_the_offsets_of_a_request_are_one_message() -> None:
    """And so is the answer about them, which names their partitions."""
    texts = [event.text for event in events_of("stable-fetch") if isinstance(event, DrawnMessage)]

    at = next(number for number, text in enumerate(texts) if text.startswith("TxnOffsetCommit"))
    assert [
        "TxnOffsetCommit 2/0 words-0 offset 4, words-1 offset 0 as worker-2-2, generation 2",
        "words-0, words-1 NONE",
    ] == texts[at : at + 2]


def test_a_reader_is_shown_what_it_gets_and_what_it_passes_over() -> None:
    """An aborted record reaches the reader, not its application."""
    stage = OfTransactions().stage()
    producer = stage.start("payments")
    stage.begin(producer, t0="a")
    stage.end(producer, commit=False)

    assert [] == stage.shows(T0)
    fetched = [row for row in stage.story.rows if row["api"] == "ClientFetched"]
    assert [False] == [row["delivered"] for row in fetched]
    assert ["reader"] == [stage.story.client(row) for row in fetched]


@pytest.mark.parametrize(("name", "end"), [("leader-fails", "is killed"), ("controlled-shutdown", "goes")])
def test_the_end_of_a_broker_is_a_remark(name: str, end: str) -> None:
    """A shutdown in order is none of being killed."""
    remarks = {event.text for event in events_of(name) if isinstance(event, Note) and event.at == "broker 0"}

    assert {end} == remarks & {"is killed", "goes"}
