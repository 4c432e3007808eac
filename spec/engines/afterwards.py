"""What can still happen after something has: the shortest run of each action behind a cause, over a whole graph."""

from collections.abc import Callable, Mapping

from spec.engines.liveness import Graph
from spec.engines.verdict import Happening, Trace

_Place = tuple[int, bool]
"""A state by its number, and whether the cause has happened before it."""


def shortest_after(graph: Graph, is_cause: Callable[[Happening], bool]) -> Mapping[str, Trace]:
    """For each action that can happen after a cause, a shortest run from the start that ends with it.

    Args:
        graph: every reachable state of an instance.
        is_cause: whether a happening is the cause.
    """
    start: _Place = (0, False)
    came: dict[_Place, tuple[_Place, Happening] | None] = {start: None}
    places, found = [start], dict[str, Trace]()
    for place in places:
        state, caused = place
        for happening, after in graph.edges[state]:
            if caused and happening.action not in found:
                found[happening.action] = (*_run(came, place), happening)
            following = after, caused or is_cause(happening)
            if following not in came:
                came[following] = place, happening
                places.append(following)
    return found


def _run(came: Mapping[_Place, tuple[_Place, Happening] | None], place: _Place) -> Trace:
    steps: list[Happening] = []
    step = came[place]
    while step is not None:
        place, happening = step
        steps.append(happening)
        step = came[place]
    return tuple(reversed(steps))
