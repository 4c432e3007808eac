"""The coordinator's graph as a drawing and as a table: `state-graph` for clients of one transaction version.

Its edges are found by asking the decisions; where a state stands follows from how far it is from a new id.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from coordinator_edges import FENCING, NEW, StateChange, edges
from docutils import nodes
from drawings import drawn
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import folded, table

from model_tests.diagrams.sequence_svg import STYLE
from spec.versions import NEWEST

COLUMN, ROW, TOP, MIDDLE, HALF_HEIGHT, LETTER = 262, 92, 30, 0, 15, 7.3
"""Pixels between columns and rows, to the first row and the middle, half of a node's height, width of a letter."""

WHAT: Final = {0: "versions 0 and 1", 2: "version 2"}


@dataclass(frozen=True, slots=True)
class NodePosition:
    """Where the middle of a node is."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Arc:
    """All edges from one node to another: where it begins, bends and ends."""

    source: NodePosition
    bend: tuple[NodePosition, NodePosition]
    target: NodePosition

    @property
    def middle(self) -> NodePosition:
        """The middle of the curve, where its label is."""
        points = (self.source, *self.bend, self.target)
        x, y = (sum(w * getattr(p, at) for w, p in zip((1, 3, 3, 1), points, strict=True)) / 8 for at in ("x", "y"))
        return NodePosition(x, y)


def ranks(found: Sequence[StateChange]) -> Mapping[str, int]:
    """The row of each state: the longest way to it that never comes nearer to a new id; last what no edge leaves."""
    near = _distances(found)
    onward = [(e.source, e.target) for e in found if e.source != e.target and near[e.source] <= near[e.target]]
    rows = dict.fromkeys(near, 0)
    for _ in rows:
        for source, target in onward:
            rows[target] = max(rows[target], rows[source] + 1)
    return rows


def _distances(found: Sequence[StateChange]) -> Mapping[str, int]:
    distance, waiting = {NEW: 0}, deque([NEW])
    while waiting:
        here = waiting.popleft()
        for edge in found:
            if edge.source == here and edge.target not in distance:
                distance[edge.target] = distance[here] + 1
                waiting.append(edge.target)
    ends = distance.keys() - {edge.source for edge in found}
    return {name: len(distance) if name in ends else at for name, at in distance.items()}


def placed(at: Mapping[str, int]) -> Mapping[str, NodePosition]:
    """The nodes of a rank beside each other around the middle, the one that is in memory alone between them."""
    places = {}
    for rank in sorted(set(at.values())):
        line = [name for name in at if at[name] == rank]
        if FENCING.name in line:
            line.remove(FENCING.name)
            line.insert(len(line) // 2, FENCING.name)
        if len(line) == 2:
            line.insert(1, "")
        for column, name in enumerate(line):
            places[name] = NodePosition(MIDDLE + (column - (len(line) - 1) / 2) * COLUMN, TOP + rank * ROW)
    places.pop("", None)
    return places


def arc(source: str, target: str, places: Mapping[str, NodePosition], both_ways: bool) -> Arc:
    """The way from one node to another: straight to a neighbour, around the others to one further off, a loop home."""
    start, end = places[source], places[target]
    if source == target:
        return _loop(NodePosition(start.x + half_width(source), start.y - HALF_HEIGHT))
    if start.y == end.y:
        return _beside(start, end, (source, target))
    rows = abs(end.y - start.y) / ROW
    if rows <= 1 or (rows <= 2 and end.y > start.y and start.x != end.x):
        return _below(start, end, both_ways)
    return _around(start, end, (source, target), rows)


def _loop(corner: NodePosition) -> Arc:
    bends = NodePosition(corner.x - 8, corner.y - 30), NodePosition(corner.x + 52, corner.y - 24)
    return Arc(NodePosition(corner.x - 8, corner.y), bends, NodePosition(corner.x, corner.y + 8))


def _beside(start: NodePosition, end: NodePosition, names: tuple[str, str]) -> Arc:
    right = 1 if end.x > start.x else -1
    first, last = (
        NodePosition(start.x + right * half_width(names[0]), start.y),
        NodePosition(end.x - right * half_width(names[1]), end.y),
    )
    return Arc(first, (first, last), last)


def _below(start: NodePosition, end: NodePosition, both_ways: bool) -> Arc:
    down = 1 if end.y > start.y else -1
    bow = down * 44 if both_ways else 0
    first, last = (
        NodePosition(start.x + bow, start.y + down * HALF_HEIGHT),
        NodePosition(end.x + bow, end.y - down * HALF_HEIGHT),
    )
    third = NodePosition((last.x - first.x) / 3, (last.y - first.y) / 3)
    bends = (
        NodePosition(first.x + third.x + bow * 0.7, first.y + third.y),
        NodePosition(last.x - third.x + bow * 0.7, last.y - third.y),
    )
    return Arc(first, bends, last)


def _around(start: NodePosition, end: NodePosition, names: tuple[str, str], rows: float) -> Arc:
    side = 1 if start.x + end.x > 2 * MIDDLE else -1
    lean = 6 if end.y > start.y else -6
    first = NodePosition(start.x + side * half_width(names[0]), start.y + lean)
    last = NodePosition(end.x + side * half_width(names[1]), end.y - lean)
    far = MIDDLE + side * (COLUMN + 80 + 62 * (rows - 1))
    far += (far - (first.x + last.x) / 2) / 3
    return Arc(first, (NodePosition(far, first.y), NodePosition(far, last.y)), last)


def half_width(name: str) -> float:
    """Half of the width of a node in pixels."""
    return len(name) / 2 * LETTER + 10


def svg_of(found: Sequence[StateChange], at: Mapping[str, int], title: str) -> str:
    """The graph as the text of an SVG file."""
    places = placed(at)
    joined: dict[tuple[str, str], list[str]] = {}
    for edge in found:
        joined.setdefault((edge.source, edge.target), []).append(edge.by)
    arcs = {ends: arc(*ends, places, ends[::-1] in joined) for ends in joined}
    left, right = (edge(one.middle.x for one in arcs.values()) for edge in (min, max))
    left, width = left - 80, right - left + 160
    height = max(place.y for place in places.values()) + TOP
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description(joined))}</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="ground" x="{left:.0f}" width="100%" height="100%"/>',
            *(_line(one) for one in arcs.values()),
            *(_label(label_position(arcs[ends], ends, by), by) for ends, by in joined.items()),
            *(_node(name, place) for name, place in places.items()),
            "</svg>\n",
        )
    )


def label_position(one: Arc, ends: tuple[str, str], by: Sequence[str]) -> NodePosition:
    """Where the label is: on the middle of the curve, or beside a loop."""
    if ends[0] != ends[1]:
        return one.middle
    return NodePosition(one.middle.x + max(map(len, by)) / 2 * LETTER + 20, one.middle.y - 6)


def description(joined: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """The graph in sentences, for those who do not see it."""
    return " ".join(f"{source} to {target} by {', '.join(by)}." for (source, target), by in joined.items())


def _line(one: Arc) -> str:
    points = (one.source, *one.bend, one.target)
    start, first, second, end = (f"{point.x:.1f} {point.y:.1f}" for point in points)
    return f'<path class="arrow" d="M{start} C{first}, {second}, {end}"/>{_point(one)}'


def _point(one: Arc) -> str:
    before = one.bend[1] if one.bend[1] != one.target else one.source
    dx, dy = one.target.x - before.x, one.target.y - before.y
    long = (dx * dx + dy * dy) ** 0.5 or 1.0
    back = NodePosition(one.target.x - 9 * dx / long, one.target.y - 9 * dy / long)
    side = NodePosition(-4 * dy / long, 4 * dx / long)
    corners = (
        one.target,
        NodePosition(back.x + side.x, back.y + side.y),
        NodePosition(back.x - side.x, back.y - side.y),
    )
    return f'<path class="point" d="M{" L".join(f"{corner.x:.1f} {corner.y:.1f}" for corner in corners)} z"/>'


def _label(at: NodePosition, by: Sequence[str]) -> str:
    return "".join(_words(at, words, 14 * (line - (len(by) - 1) / 2)) for line, words in enumerate(by))


def _words(at: NodePosition, words: str, lower: float) -> str:
    half = len(words) / 2 * LETTER + 2
    y = at.y + lower
    return (
        f'<rect class="veil" x="{at.x - half:.1f}" y="{y - 8:.1f}" width="{2 * half:.1f}" height="15"/>'
        f'<text class="note" x="{at.x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(words)}</text>'
    )


def _node(name: str, at: NodePosition) -> str:
    half = half_width(name)
    dashed = ' style="stroke-dasharray: 4 3"' if name in (FENCING.name, NEW) else ""
    return (
        f'<rect class="head" x="{at.x - half:.1f}" y="{at.y - HALF_HEIGHT}" width="{2 * half:.1f}" '
        f'height="{2 * HALF_HEIGHT}" rx="4"{dashed}/>'
        f'<text x="{at.x:.1f}" y="{at.y + 4:.1f}" text-anchor="middle">{escape(name)}</text>'
    )


class StateGraph(SphinxDirective):
    """The graph of the newest release, for clients of one transaction version: a drawing, and its edges as a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the graph of the version that the argument names."""
        named = {str(of): of for of in WHAT}
        if self.arguments[0] not in named:
            raise self.error(f"states are drawn of the versions {', '.join(named)}, not of {self.arguments[0]!r}")
        version = named[self.arguments[0]]
        found, plain = (edges(NEWEST.under(of), of) for of in (version, 0))
        title = f"States of a transactional id, {WHAT[version]}"
        drawing = drawn(self.env, f"states-{version}", svg_of(found, ranks(plain), title))
        listing = table([("from", "to", "by"), *_rows(found, plain)], (30, 30, 40))
        return [*drawing, *folded(f"Its {len(found)} edges", listing)]


def _rows(found: Sequence[StateChange], plain: Sequence[StateChange]) -> Iterator[tuple[str, str, str]]:
    for edge in found:
        yield edge.source, edge.target, edge.by if edge in plain else f"{edge.by} (not in {WHAT[0]})"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("state-graph", StateGraph)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
