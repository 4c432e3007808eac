"""Sequence diagrams: what both drawings must show, and what they must not lose."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from model_tests.diagrams.events import DrawnMessage, Ending, Mark, Note, Sequence, participants_of
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import LETTER, description_of, svg_of

STEPS = (
    (DrawnMessage("client", "coordinator", "EndTxn abort"), Note("coordinator", "PREPARE_ABORT")),
    (DrawnMessage("coordinator", "partition", "marker <ABORT>", Mark.LOST),),
    (DrawnMessage("client", "coordinator", "EndTxn abort", Mark.LATE),),
    (DrawnMessage("partition", "client", "a reply over all columns that would need several lines if it were narrow"),),
)
DIAGRAM = Sequence(
    "An example", ("client", "coordinator", "partition"), STEPS, Ending("txn.no_crosstalk", "a late one ended it")
)
SVG = "{http://www.w3.org/2000/svg}"


def line_with(text: str) -> str:
    """The line of the drawing that has a text."""
    return next(line for line in text_of(DIAGRAM).splitlines() if text in line)


def arrow_below(text: str) -> str:
    """The line under the one that has a text."""
    lines = text_of(DIAGRAM).splitlines()
    return lines[lines.index(line_with(text)) + 1]


def test_every_participant_has_a_column_and_a_line_of_life() -> None:
    """The heads stand over as many lines of life."""
    lines = text_of(DIAGRAM).splitlines()

    assert all(name in lines[3] for name in DIAGRAM.participants)
    assert 3 == lines[5].count("│")
    assert [lines[4].index("┬"), lines[4].rindex("┬")] == [lines[5].index("│"), lines[5].rindex("│")]


def test_steps_are_numbered_once() -> None:
    """The events of a step stand under one number."""
    numbers = [line[:4].strip() for line in text_of(DIAGRAM).splitlines()[5:]]

    assert ["1", "2", "3", "4"] == [number for number in numbers if number.isdigit()]


def test_arrows_point_where_messages_go() -> None:
    """To the right with the head at the receiver, to the left likewise."""
    assert arrow_below("EndTxn abort").rstrip("│ ").endswith("▶")
    assert "◀" in arrow_below("narrow")
    assert arrow_below("narrow").index("◀") == arrow_below("EndTxn abort").index("│") + 1


def test_a_late_message_is_reported_from_a_plain_one() -> None:
    """It is marked in words and drawn with another line."""
    assert "╌" in arrow_below("EndTxn abort (late)")
    assert "╌" not in arrow_below("EndTxn abort")


def test_a_lost_message_does_not_arrive() -> None:
    """It ends in a cross, and no head is at the receiver."""
    arrow = arrow_below("marker <ABORT> (lost)")

    assert "✗" in arrow
    assert "▶" not in arrow


def test_no_text_is_cut() -> None:
    """Every word of every event and of the ending is in the drawing."""
    drawn = " ".join(text_of(DIAGRAM).replace("│", " ").split())

    for step in STEPS:
        for event in step:
            assert event.text in drawn
    assert DIAGRAM.ending.label in drawn


def test_the_svg_is_accessible_and_stands_alone() -> None:
    """It has a title and a description with all steps, themes for both grounds, and nothing from outside."""
    drawn = svg_of(DIAGRAM)
    root = ElementTree.fromstring(drawn)

    assert "img" == root.get("role")
    assert DIAGRAM.title == root.findtext(f"{SVG}title")
    assert description_of(DIAGRAM) == root.findtext(f"{SVG}desc")
    assert "prefers-color-scheme: dark" in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_the_svg_has_an_arrow_for_each_message_and_every_text() -> None:
    """Lost and late ones are marked; special characters are escaped."""
    root = ElementTree.fromstring(svg_of(DIAGRAM))
    arrows = [line for line in root.iter(f"{SVG}line") if "arrow" in str(line.get("class"))]
    texts = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))

    assert 4 == len(arrows)
    assert 2 == sum("odd" in str(line.get("class")) for line in arrows)
    assert "marker <ABORT> (lost)" in texts
    assert "txn.no_crosstalk is violated" in texts


def test_a_long_title_makes_lines_and_no_wider_drawing() -> None:
    """It is as wide as what is below it, nothing of it is left out, and nothing is drawn over it."""
    named = replace(DIAGRAM, title="a late EndTxn ends the transaction after the one that it is of, " * 4)
    plain, long = (ElementTree.fromstring(svg_of(each)) for each in (DIAGRAM, named))
    lines = [text for text in long.iter(f"{SVG}text") if text.get("class") == "title"]
    [head, *_] = [float(str(box.get("y"))) for box in long.iter(f"{SVG}rect") if box.get("class") == "head"]

    assert plain.get("width") == long.get("width")
    assert named.title.split() == " ".join(str(line.text) for line in lines).split()
    assert len(lines) > 1
    assert all(float(str(line.get("y"))) < head for line in lines)


def test_the_description_reports_the_steps_in_sentences() -> None:
    """For those who do not see the drawing."""
    assert "1. client to coordinator: EndTxn abort; coordinator: PREPARE_ABORT." in description_of(DIAGRAM)
    assert description_of(DIAGRAM).endswith("In the end: txn.no_crosstalk is violated: a late one ended it.")


def test_an_event_of_a_stranger_is_refused() -> None:
    """A diagram without one of its participants would be wrong."""
    with pytest.raises(ValueError, match="'reader' is not among the participants client"):
        Sequence("x", ("client",), ((Note("reader", "waits"),),), Ending("", "nothing"))


def test_participants_who_do_nothing_have_no_column() -> None:
    """In the requested order."""
    assert ("client", "coordinator") == participants_of(STEPS[:1], ("client", "reader", "coordinator"))


def test_a_long_name_stays_whole() -> None:
    """The name of an error may be longer than a line of a label: it is kept whole for searches, and there is room."""
    error = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    steps = (
        (
            DrawnMessage("coordinator", "client", error, Mark.REFUSED),
            Note("coordinator", f"{error} of client-number-1"),
        ),
    )
    diagram = Sequence("An example", ("client", "coordinator"), steps, Ending("", "in the end"))

    drawn = ElementTree.fromstring(svg_of(diagram))
    texts = {each.text: float(each.get("x", "0")) for each in drawn.iter(f"{SVG}text")}
    assert 2 == text_of(diagram).count(error)
    assert {error, "of client-number-1"} <= set(texts)
    assert texts[error] + len(error) * LETTER < float(drawn.get("width", "0"))
