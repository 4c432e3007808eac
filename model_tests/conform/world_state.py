"""The state of a graph of objects as one value: with equal states, two of them do the same."""

import types
from collections.abc import Hashable, Iterable
from enum import Enum
from itertools import chain
from typing import Any, Final

ATOMS: Final = (type(None), bool, int, float, str, bytes, Enum, type, types.FunctionType, types.BuiltinFunctionType)
"""What is its own state."""

CONTAINERS: Final = (tuple, list, set, frozenset)
PROTOCOL: Final = 4
"""Of `__reduce_ex__`: the first in which every class says what it is made of without code of its own."""


def state_of(thing: object) -> Hashable:
    """The state of an object and of everything that it refers to.

    An object that is met again is the number of its first meeting, so that sharing and cycles are part of the state.

    Raises:
        TypeError: something has a state that cannot be read.
    """
    return _state(thing, {}, [])


def _state(thing: Any, met: dict[int, int], alive: list[object]) -> Hashable:
    if isinstance(thing, ATOMS):
        return type(thing), thing
    if id(thing) in met:
        return met[id(thing)]
    met[id(thing)] = len(met)
    alive.append(thing)  # so that no other object gets its id
    if isinstance(thing, types.MethodType):
        return thing.__name__, _state(thing.__self__, met, alive)
    parts = tuple(_state(one, met, alive) for one in _parts(thing))
    return type(thing), frozenset(parts) if isinstance(thing, (set, frozenset)) else parts


def _parts(thing: Any) -> Iterable[Any]:
    """What an object consists of: elements, keys and values, or what it says of itself to be made again."""
    if type(thing) in CONTAINERS:
        return tuple(thing)
    if type(thing) is dict:
        return chain.from_iterable(thing.items())
    _, made_of, state, items, pairs = (*thing.__reduce_ex__(PROTOCOL), None, None, None)[:5]
    return (made_of, state, tuple(items or ()), tuple(pairs or ()))
