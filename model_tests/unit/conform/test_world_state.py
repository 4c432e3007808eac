from collections import deque
from copy import deepcopy
from typing import Any

import pytest

from model_tests.conform.world_state import state_of


class Node:
    """An object with a cycle, a bound method, and containers of each kind."""

    def __init__(self) -> None:
        self.number, self.names = 1, {"b", "a"}
        self.queue: deque[Any] = deque([1, {"k": (1, 2)}])
        self.owner, self.act = self, self.say

    def say(self) -> int:
        return self.number


def test_a_copy_has_the_state_of_the_original() -> None:
    """Though nothing of it is the same object."""
    assert state_of(deepcopy(node := Node())) == state_of(node)


@pytest.mark.parametrize(
    "change",
    [
        lambda node: setattr(node, "number", 2),
        lambda node: node.names.add("c"),
        lambda node: node.queue[1].update(k=(1, 3)),
        lambda node: setattr(node, "owner", Node()),
        lambda node: setattr(node, "act", node.__init__),
        lambda node: setattr(node, "number", True),
    ],
)
def test_another_value_anywhere_is_another_state(change: Any) -> None:
    """In an attribute, a container, a cycle or the object of a method; also of another type."""
    node = Node()
    changed = deepcopy(node)
    change(changed)

    assert state_of(changed) != state_of(node)
