"""The coordinator's graph on the page: found by asking the decisions, and equal to what the reference allows."""

from xml.etree import ElementTree

import pytest

from model_tests.unit.docs.extensions import extension
from reference.broker.transaction_metadata import VALID_BEFORE
from spec.protocol import ending
from spec.versions import KAFKA_3_9, NEWEST
from spec.vocabulary import TransactionState

found = extension("coordinator_edges")
graph = extension("state_graph")

FENCE, ONGOING = TransactionState.PREPARE_EPOCH_FENCE.name, TransactionState.ONGOING.name
ALLOWED = {(before.name, after.name) for after, states in VALID_BEFORE.items() for before in states}


def pairs(edges: tuple[object, ...]) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in edges}  # type: ignore[attr-defined]


def test_the_edges_are_those_that_the_reference_allows() -> None:
    """Two texts that were written apart have the same graph; a fence is an open transaction in the log."""
    edges = pairs(found.edges(NEWEST, 2)) - {(found.NEW, TransactionState.EMPTY.name)}

    in_log = {edge if edge in ALLOWED else (edge[0].replace(FENCE, ONGOING), edge[1]) for edge in edges}
    assert ALLOWED == in_log


def test_without_version_2_an_abort_needs_an_open_transaction() -> None:
    """The edges that version 2 adds all lead to PREPARE_ABORT."""
    added = pairs(found.edges(NEWEST, 2)) - pairs(found.edges(KAFKA_3_9, 0))

    assert {(state, "PREPARE_ABORT") for state in ("EMPTY", "COMPLETE_COMMIT", "COMPLETE_ABORT")} == added


def test_an_edge_that_a_decision_loses_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing is of the decision: where EndTxn refuses every commit no edge is one."""
    table = {key: ending._STATE if key[1] == ending._COMMIT else cell for key, cell in ending.WITHOUT_BUMP.items()}

    monkeypatch.setattr(ending, "WITHOUT_BUMP", table)
    assert (ONGOING, "PREPARE_COMMIT") not in pairs(found.edges(KAFKA_3_9, 0))


def test_the_drawing_is_read_aloud() -> None:
    """Title and description are there, and every edge is in the description."""
    edges = found.edges(NEWEST, 2)

    drawing = ElementTree.fromstring(graph.svg_of(edges, graph.ranks(found.edges(NEWEST, 0)), "States"))
    title, description = (drawing.findtext(f"{{http://www.w3.org/2000/svg}}{name}") for name in ("title", "desc"))
    assert "States" == title
    assert all(f"{edge.source} to {edge.target} by " in str(description) for edge in edges)


def test_no_two_states_are_at_one_place() -> None:
    """Nodes do not cover each other."""
    places = graph.placed(graph.ranks(found.edges(NEWEST, 0)))

    assert len(places) == len({(place.x, place.y) for place in places.values()})


@pytest.mark.parametrize("version", [0, 2])
def test_no_label_is_covered(version: int) -> None:
    """What an edge is called can be read: no state lies over it, and no other label."""
    drawing = ElementTree.fromstring(
        graph.svg_of(found.edges(NEWEST, version), graph.ranks(found.edges(NEWEST, 0)), "States")
    )
    boxes: dict[str, list[tuple[float, ...]]] = {"veil": [], "head": []}
    for rect in drawing.iter("{http://www.w3.org/2000/svg}rect"):
        if rect.get("class") in boxes:
            boxes[str(rect.get("class"))].append(tuple(float(rect.get(at, 0)) for at in ("x", "y", "width", "height")))

    assert len(boxes["veil"]) > len(boxes["head"]) > 5
    assert [] == [(label, node) for label in boxes["veil"] for node in boxes["head"] if overlap(label, node)]
    assert [] == [(a, b) for i, a in enumerate(boxes["veil"]) for b in boxes["veil"][:i] if overlap(a, b, slack=2)]


def overlap(one: tuple[float, ...], other: tuple[float, ...], slack: float = 0) -> bool:
    return all(
        abs((one[a] + one[a + 2] / 2) - (other[a] + other[a + 2] / 2)) < (one[a + 2] + other[a + 2]) / 2 - slack
        for a in (0, 1)
    )
