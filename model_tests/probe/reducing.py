"""A script made shorter while it shows what it is to show."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from model_tests.probe.script import COPY, EXHAUST, NEWEST, ScriptAction

Shows = Callable[[Sequence[ScriptAction]], bool]
"""Whether these actions still show it."""

Goes = Callable[[], bool]
"""Whether there is time left."""


def reduced(actions: Sequence[ScriptAction], shows: Shows, has_time: Goes = lambda: True) -> Sequence[ScriptAction]:
    """Take away actions, then what is special about them, and again: none can be left out of what is left.

    Args:
        actions: that show it.
        shows: is asked about each shorter or simpler script.
        has_time: is asked before each.
    """
    before: Sequence[ScriptAction] = ()
    while before != actions and has_time():
        before = actions
        size = len(actions)
        while size >= 1 and has_time():
            size = min(size, len(actions))
            shorter = _without(actions, size, shows, has_time)
            actions, size = shorter, size if len(shorter) < len(actions) else size // 2
        for simpler in SIMPLER:
            actions = _each_simpler(actions, simpler, shows, has_time)
    return actions


def closed(actions: Sequence[ScriptAction]) -> list[ScriptAction]:
    """Without copies of what is not there."""
    keys: set[int] = set()
    kept: list[ScriptAction] = []
    for action in actions:
        if action.api != COPY or action.original in keys:
            keys.add(action.key)
            kept.append(action)
    return kept


def _without(actions: Sequence[ScriptAction], size: int, shows: Shows, has_time: Goes) -> Sequence[ScriptAction]:
    """Leave out so many neighbours, wherever that is possible."""
    listed = actions
    for end in range(len(listed), 0, -size):
        if not has_time():
            break
        gone = {action.key for action in listed[max(end - size, 0) : end]}
        rest = closed([action for action in actions if action.key not in gone])
        if 0 < len(rest) < len(actions) and shows(rest):
            actions = rest
    return actions


def _each_simpler(
    actions: Sequence[ScriptAction], simpler: Callable[[ScriptAction], ScriptAction], shows: Shows, has_time: Goes
) -> Sequence[ScriptAction]:
    for place in range(len(actions)):
        changed = simpler(actions[place])
        if changed == actions[place]:
            continue
        if not has_time():
            break
        others = [*actions[:place], changed, *actions[place + 1 :]]
        if shows(others):
            actions = others
    return actions


def _one_record(action: ScriptAction) -> ScriptAction:
    return replace(action, records=1)


def _first_partition(action: ScriptAction) -> ScriptAction:
    return replace(action, partition=0)


def _newest(action: ScriptAction) -> ScriptAction:
    return replace(action, version=NEWEST)


def _plain(action: ScriptAction) -> ScriptAction:
    epoch = action.epoch if action.api == EXHAUST else 0
    return replace(action, sequence=0, epoch=epoch, expects=False, limit=0, member=False)


def _ordinary(action: ScriptAction) -> ScriptAction:
    return replace(action, stranger=False, generation=0, instance="", ill="", timeout_ms=0)


def _of_itself(action: ScriptAction) -> ScriptAction:
    return replace(action, of="")


def _one_partition(action: ScriptAction) -> ScriptAction:
    return replace(action, both=False)


SIMPLER: Final[tuple[Callable[[ScriptAction], ScriptAction], ...]] = (
    _plain,
    _ordinary,
    _of_itself,
    _one_partition,
    _one_record,
    _first_partition,
    _newest,
)
"""What is not special about an action any more."""
