"""Directed scripts: they lead to behaviours which chance meets too seldom."""

from dataclasses import replace
from typing import Final

from model_tests.probe.script import ACKS, COPY, IDEMPOTENT, Script, ScriptAction
from spec.vocabulary import Api

DIRECTED: Final = "B"
"""The family of the directed scripts."""


def directed() -> tuple[Script, ...]:
    """Scripts that lead to behaviours which chance meets too seldom; an epoch is raised by old clients, too."""
    listed = (
        _marker_again(),
        _first_sequence(),
        _late_copies(),
        _next_epoch(),
        _bumped(),
        _aborts_nothing(),
        _wrong_acks(),
    )
    numbered = (tuple(replace(action, key=key) for key, action in enumerate(actions, 1)) for actions in listed)
    scripts = tuple(Script(DIRECTED, number, actions) for number, actions in enumerate(numbered))
    return (*scripts, replace(scripts[listed.index(_bumped())], seed=len(scripts), legacy=True))


def _began(*, epoch: int = 0) -> tuple[ScriptAction, ...]:
    """A transaction with one batch."""
    return (
        ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"),
        ScriptAction(0, Api.ADD_PARTITIONS_TO_TXN, who="t0", epoch=epoch),
        ScriptAction(0, Api.PRODUCE, who="t0", transactional=True, epoch=epoch),
    )


def _marker_again() -> tuple[ScriptAction, ...]:
    """Markers of the epoch that has ended, the one after and the one before, of a newer coordinator and an older."""
    end = ScriptAction(0, Api.END_TXN, who="t0")
    marker = ScriptAction(0, Api.WRITE_TXN_MARKERS, who="t0")
    epochs = (marker, replace(marker, epoch=1), replace(marker, epoch=-1))
    older = (replace(marker, epoch=1, marker_epoch=1), replace(marker, epoch=1))
    return (*_began(), end, *epochs, *_began()[1:], end, *older)


def _first_sequence() -> tuple[ScriptAction, ...]:
    """A producer that the partition does not know begins in the middle, and again after a gap."""
    produce = ScriptAction(0, Api.PRODUCE, who=IDEMPOTENT, sequence=5)
    return (ScriptAction(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), produce, replace(produce, sequence=0), produce)


def _late_copies() -> tuple[ScriptAction, ...]:
    """Copies of each of six batches."""
    produced = tuple(ScriptAction(0, Api.PRODUCE, who=IDEMPOTENT, records=2) for _ in range(6))
    copies = tuple(ScriptAction(0, COPY, original=original) for original in (7, 6, 3, 2))
    return (ScriptAction(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), *produced, *copies)


def _next_epoch() -> tuple[ScriptAction, ...]:
    """A client ends a transaction with the epoch after its own, and then begins anew."""
    end = ScriptAction(0, Api.END_TXN, who="t0", epoch=1)
    return (*_began(), end, replace(end, epoch=0), ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"))


def _bumped() -> tuple[ScriptAction, ...]:
    """A new epoch begins with another sequence than 0, and an old one writes after it."""
    initialize = ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0", expects=True)
    produce = ScriptAction(0, Api.PRODUCE, who="t0", transactional=True)
    first = (*_began(), ScriptAction(0, Api.END_TXN, who="t0"), initialize)
    late = replace(produce, epoch=-1)
    return (
        *first,
        late,
        _began()[1],
        replace(produce, sequence=3),
        late,
        produce,
        ScriptAction(0, Api.END_TXN, who="t0"),
    )


def _aborts_nothing() -> tuple[ScriptAction, ...]:
    """A client aborts what it has not begun, twice, and begins a transaction after it."""
    abort = ScriptAction(0, Api.END_TXN, who="t0", commits=False)
    return (
        ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"),
        abort,
        abort,
        *_began()[1:],
        ScriptAction(0, Api.END_TXN, who="t0"),
    )


def _wrong_acks() -> tuple[ScriptAction, ...]:
    """A batch with acks that there are not, before its partition is in the transaction, and after."""
    initialize, add, produce = _began()
    wrong = replace(produce, ill=ACKS)
    end = ScriptAction(0, Api.END_TXN, who="t0")
    return (initialize, wrong, end, initialize, add, wrong, produce, wrong, end)
