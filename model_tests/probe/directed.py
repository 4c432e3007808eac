"""Directed scripts: they lead to behaviours which chance meets too seldom."""

from dataclasses import replace
from typing import Final

from model_tests.probe.script import COPY, IDEMPOTENT, Action, Script
from spec.vocabulary import Api

DIRECTED: Final = "B"
"""The family of the directed scripts."""


def directed() -> tuple[Script, ...]:
    """Scripts that lead to behaviours which chance meets too seldom; an epoch is raised by old clients, too."""
    listed = (_marker_again(), _first_sequence(), _late_copies(), _next_epoch(), _bumped(), _aborts_nothing())
    numbered = (tuple(replace(action, key=key) for key, action in enumerate(actions, 1)) for actions in listed)
    scripts = tuple(Script(DIRECTED, number, actions) for number, actions in enumerate(numbered))
    return (*scripts, replace(scripts[listed.index(_bumped())], seed=len(scripts), legacy=True))


def _began(*, epoch: int = 0) -> tuple[Action, ...]:
    """A transaction with one batch."""
    return (
        Action(0, Api.INIT_PRODUCER_ID, who="t0"),
        Action(0, Api.ADD_PARTITIONS_TO_TXN, who="t0", epoch=epoch),
        Action(0, Api.PRODUCE, who="t0", transactional=True, epoch=epoch),
    )


def _marker_again() -> tuple[Action, ...]:
    """Markers of the epoch that has ended, the one after and the one before, of a newer coordinator and an older."""
    end = Action(0, Api.END_TXN, who="t0")
    marker = Action(0, Api.WRITE_TXN_MARKERS, who="t0")
    epochs = (marker, replace(marker, epoch=1), replace(marker, epoch=-1))
    older = (replace(marker, epoch=1, marker_epoch=1), replace(marker, epoch=1))
    return (*_began(), end, *epochs, *_began()[1:], end, *older)


def _first_sequence() -> tuple[Action, ...]:
    """A producer that the partition does not know begins in the middle, and again after a gap."""
    produce = Action(0, Api.PRODUCE, who=IDEMPOTENT, sequence=5)
    return (Action(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), produce, replace(produce, sequence=0), produce)


def _late_copies() -> tuple[Action, ...]:
    """Copies of each of six batches."""
    produced = tuple(Action(0, Api.PRODUCE, who=IDEMPOTENT, records=2) for _ in range(6))
    copies = tuple(Action(0, COPY, original=original) for original in (7, 6, 3, 2))
    return (Action(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), *produced, *copies)


def _next_epoch() -> tuple[Action, ...]:
    """A client ends a transaction with the epoch after its own, and then begins anew."""
    end = Action(0, Api.END_TXN, who="t0", epoch=1)
    return (*_began(), end, replace(end, epoch=0), Action(0, Api.INIT_PRODUCER_ID, who="t0"))


def _bumped() -> tuple[Action, ...]:
    """A new epoch begins with another sequence than 0, and an old one writes after it."""
    initialize = Action(0, Api.INIT_PRODUCER_ID, who="t0", expects=True)
    produce = Action(0, Api.PRODUCE, who="t0", transactional=True)
    first = (*_began(), Action(0, Api.END_TXN, who="t0"), initialize)
    late = replace(produce, epoch=-1)
    return (*first, late, _began()[1], replace(produce, sequence=3), late, produce, Action(0, Api.END_TXN, who="t0"))


def _aborts_nothing() -> tuple[Action, ...]:
    """A client aborts what it has not begun, twice, and begins a transaction after it."""
    abort = Action(0, Api.END_TXN, who="t0", commits=False)
    return (Action(0, Api.INIT_PRODUCER_ID, who="t0"), abort, abort, *_began()[1:], Action(0, Api.END_TXN, who="t0"))
