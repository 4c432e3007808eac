"""The common part of the actions of leaders, followers, brokers and the controller."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from spec.algebra import Term, all_of, choose
from spec.systems.language import Action, Function, Sort, State, rewrite, update
from spec.systems.replication.world import NO_REPLY, NOTHING, ReplicationKnobs, ReplicationView

Guard: TypeAlias = Iterator[Term]


class ReplicationActionBase:
    """Actions as guards (a fact a line, the cheapest first) and effects, each pair by the name of the action."""

    def __init__(self, knobs: ReplicationKnobs) -> None:
        self.knobs = knobs
        self.of = partial(ReplicationView, knobs)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))


def decided(state: State) -> State:
    """The controller has decided something that the leader does not know yet."""
    return state.but(
        view=rewrite(
            state.view,
            lambda replica: state.view(replica).leader == replica,
            lambda replica: replace(state.view(replica), outdated=True),
        )
    )


def cut(state: State, replica: Term, end: Term) -> State:
    """A replica's log ends here, and its high watermark is not beyond; an answer to what it asked before is void."""
    beyond = state.high_watermark(replica) > end
    return state.but(
        log=rewrite(state.log, lambda r, position: all_of(r == replica, position >= end), lambda *_: NOTHING),
        length=update(state.length, replica, to=end),
        high_watermark=update(state.high_watermark, replica, to=choose(beyond, end, state.high_watermark(replica))),
        reply=update(state.reply, replica, to=NO_REPLY),
    )


def row(function: Function, replica: Term, to: Function) -> Function:
    """The function with other values wherever this replica comes first."""
    return rewrite(function, lambda first, _: first == replica, lambda _, second: to(second))
