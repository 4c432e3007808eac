"""What a stage notes down: exchanges stay together, remarks stand alone, and what is offstage is not drawn."""

from model_tests.diagrams.events import DrawnMessage, Mark, Note
from model_tests.scenarios.storyboard import Storyboard


def test_an_answer_is_drawn_with_its_request() -> None:
    """And so is what is noted in between; the next exchange is the next step."""
    story = Storyboard()
    story.report("producer", "broker", "Produce", part_of=1)
    story.note("broker", "appends it")
    story.report("broker", "producer", "offset 0", part_of=1)
    story.report("producer", "broker", "Produce", Mark.LOST, part_of=2)

    request, noted = DrawnMessage("producer", "broker", "Produce"), Note("broker", "appends it")
    answered, lost = (
        DrawnMessage("broker", "producer", "offset 0"),
        DrawnMessage("producer", "broker", "Produce", Mark.LOST),
    )
    assert ((request, noted, answered), (lost,)) == story.steps


def test_an_answer_after_something_else_is_a_step_of_its_own() -> None:
    """Time goes downwards only."""
    story = Storyboard()
    story.report("producer", "broker", "Produce", part_of=1)
    story.remark("broker", "fails")
    story.report("broker", "producer", "offset 0", part_of=1)

    assert [1, 1, 1] == [len(step) for step in story.steps]


def test_a_remark_begins_a_step() -> None:
    """What is noted after it belongs to it."""
    story = Storyboard()
    story.report("producer", "broker", "Produce", part_of=1)
    story.remark("broker", "looks at the clock")
    story.note("broker", "forgets the producer")

    assert [1, 2] == [len(step) for step in story.steps]


def test_what_is_offstage_is_not_drawn() -> None:
    """Also inside of another offstage, and no longer than that."""
    story = Storyboard()
    with story.offstage():
        with story.offstage():
            story.note("broker", "starts")
        story.report("producer", "broker", "InitProducerId")
    story.remark("producer", "has a producer id")

    assert ((Note("producer", "has a producer id"),),) == story.steps
