"""Directed scripts: they lead to behaviours which chance meets too seldom."""

from dataclasses import replace
from functools import cache
from typing import Final

from model_tests.probe.script import ACKS, AWAIT, BRIEF_MS, COPY, IDEMPOTENT, ILL, Script, ScriptAction
from spec.vocabulary import Api

TRANSACTIONS: Final = "B"
"""The family of the other directed scripts."""

TIMEOUTS: Final = "T"
"""The family of the script in which a transaction times out."""


@cache
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
        _ill_formed(IDEMPOTENT),
        _ill_formed("t0"),
        _over_the_wrap(),
        _both_partitions(),
        _times_out(),
    )
    numbered = (tuple(replace(action, key=key) for key, action in enumerate(actions, 1)) for actions in listed)
    scripts = [
        Script(TIMEOUTS if any(action.timeout_ms for action in actions) else TRANSACTIONS, number, actions)
        for number, actions in enumerate(numbered)
    ]
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


def _ill_formed(who: str) -> tuple[ScriptAction, ...]:
    """Every batch that no client makes, of an idempotent producer or of one in a transaction; then one that is well."""
    begun = _began()[:2] if who.startswith("t") else (ScriptAction(0, Api.INIT_PRODUCER_ID, who=who),)
    produce = ScriptAction(0, Api.PRODUCE, who=who, transactional=who.startswith("t"))
    return (*begun, produce, *(replace(produce, ill=ill) for ill in ILL), produce)


def _over_the_wrap() -> tuple[ScriptAction, ...]:
    """Sequence numbers run out in the middle of a batch, which comes again, and so does the batch after it."""
    produce = ScriptAction(0, Api.PRODUCE, who=IDEMPOTENT, records=3, sequence=-2)
    copies = tuple(ScriptAction(0, COPY, original=original) for original in (2, 3))
    return (ScriptAction(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), produce, replace(produce, sequence=0), *copies)


def _both_partitions() -> tuple[ScriptAction, ...]:
    """Transactions with a batch in each partition: one commits, one aborts, and both partitions are read."""
    fetches = tuple(ScriptAction(0, Api.FETCH, partition=number, committed_only=True) for number in (0, 1))
    initialize, *added = _began()
    begun = tuple(replace(action, both=True) for action in added)
    ends = tuple(ScriptAction(0, Api.END_TXN, who="t0", commits=commits) for commits in (True, False))
    return (initialize, *begun, ends[0], *fetches, *begun, ends[1], *fetches)


def _times_out() -> tuple[ScriptAction, ...]:
    """A transaction times out, and one beside it does not; what its producer sends then is late."""
    initialize, add, produce = _began()
    beside = tuple(replace(action, who="t1", partition=1) for action in _began())
    end = ScriptAction(0, Api.END_TXN, who="t0")
    return (
        replace(initialize, timeout_ms=BRIEF_MS),
        *beside,
        add,
        produce,
        ScriptAction(0, AWAIT, who="t0"),
        produce,
        end,
        ScriptAction(0, Api.FETCH, partition=0, committed_only=True),
        initialize,
        add,
        produce,
        end,
        replace(end, who="t1"),
    )
