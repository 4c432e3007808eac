"""What the blocks of producer ids give to the transactions: the id that is handed out next is new."""

from dataclasses import replace

from spec import rules
from spec.algebra import Term, any_of
from spec.systems.ids.system import BROKER, NUMBER, ids
from spec.systems.language import Claim, State, System
from spec.systems.links import is_new


def next_id_is_new(state: State, broker: Term, number: Term) -> Term:
    """The next producer id that a broker hands out has not been handed out before."""
    block = state.current(broker)
    return any_of(block.empty, is_new(block.position, number, state.times(number) > 0))


def new_ids() -> System:
    """The system whose theorem is that the next producer id is new."""
    system = ids()
    theorem = Claim(
        next_id_is_new.__name__, rules.IDS_UNIQUE, str(next_id_is_new.__doc__), (BROKER, NUMBER), next_id_is_new
    )
    return replace(
        system,
        name="new_ids",
        actions=(),
        theorems=(theorem,),
        lemmas=(),
        goals=(),
        taken=system.lemmas,
        taken_from=system.name,
    )
