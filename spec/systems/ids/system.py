"""Any number of brokers that claim blocks of producer ids, race, crash, and hand ids out.

The transactions need one theorem of it: the id that is handed out next is new.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol import blocks
from spec.protocol.blocks import LARGEST, NOTHING_LEFT, UNREAD, Block, BlockClaim, BlockRecord
from spec.systems import assumptions as assume
from spec.systems import language
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, update
from spec.systems.links import is_new
from spec.versions import NEWEST
from spec.vocabulary import PRODUCER_ID_BLOCK

BROKER: Final = Sort("broker", opaque=True)
NUMBER: Final = Sort("producer_id")

VARIABLES: Final = (
    Variable("record", (), BlockRecord()),  # the shared record
    Variable("read", (BROKER,), UNREAD),  # what a broker read of it, before it claims
    Variable("current", (BROKER,), NOTHING_LEFT),  # the block that it hands out
    Variable("ahead", (BROKER,), NOTHING_LEFT),  # the block that it claimed in advance
    Variable("lowest", (BROKER,), 0),  # where its current block began
    Variable("times", (NUMBER,), 0),  # how often an id was handed out
)

ASSUMPTIONS: Final = (
    assume.ONE_RECORD_OF_BLOCKS,
    assume.BLOCKS_ARE_GRANTED_ONCE,
)


@dataclass(frozen=True, slots=True)
class IdsKnobs:
    """What is in the system; by default what Kafka has, without bounds.

    Attributes:
        size: ids of a block.
        largest: the largest id.
        compares: a claim is refused if the record was written since it was read.
        raises: a claim raises the record.
        forgets: a restart loses what is left of the blocks; otherwise the block is kept and its position is not.
    """

    size: int = PRODUCER_ID_BLOCK
    largest: int = LARGEST
    compares: bool = True
    raises: bool = True
    forgets: bool = True

    def claim(self, record: BlockRecord, read: BlockRecord) -> BlockClaim:
        """The decision, with what the knobs change in it."""
        taken = read if self.compares else replace(read, version=record.version)
        claimed = blocks.claim(record, taken, self.size, NEWEST, self.largest)
        return claimed if self.raises else replace(claimed, record=record)


class IdsActions:
    """The actions of the system, as guards (a fact a line) and effects."""

    def __init__(self, knobs: IdsKnobs) -> None:
        self.knobs = knobs

    def all(self) -> tuple[Action, ...]:
        """Every action."""
        names = (
            "broker_reads_record",
            "broker_claims",
            "claim_is_not_heard",
            "broker_turns_to_next_block",
            "broker_hands_out",
            "broker_restarts",
        )
        return tuple(Action(name, (BROKER,), getattr(self, f"{name}_if"), getattr(self, name)) for name in names)

    def broker_reads_record_if(self, state: State, broker: Term) -> Iterator[Term]:
        """The broker has not claimed in advance yet."""
        yield state.ahead(broker).empty

    def broker_reads_record(self, state: State, broker: Term) -> State:
        """It knows the record as it is now; others may write it before the claim."""
        return state.but(read=update(state.read, broker, to=state.record()))

    def broker_claims_if(self, state: State, broker: Term) -> Iterator[Term]:
        """The record is as the broker read it, and ids are left."""
        yield state.read(broker).first >= 0
        yield state.ahead(broker).empty
        yield self.knobs.claim(state.record(), state.read(broker)).granted

    def broker_claims(self, state: State, broker: Term) -> State:
        """The record is raised by a block, and the block is the broker's."""
        block = self.knobs.claim(state.record(), state.read(broker)).block
        return self.claim_is_not_heard(state, broker).but(ahead=update(state.ahead, broker, to=block))

    def claim_is_not_heard_if(self, state: State, broker: Term) -> Iterator[Term]:
        """As for a claim."""
        yield from self.broker_claims_if(state, broker)

    def claim_is_not_heard(self, state: State, broker: Term) -> State:
        """The record is raised, the answer is lost, and so is the block."""
        raised = self.knobs.claim(state.record(), state.read(broker)).record
        return state.but(record=lambda: raised, read=update(state.read, broker, to=UNREAD))

    def broker_turns_to_next_block_if(self, state: State, broker: Term) -> Iterator[Term]:
        """The current block is handed out, and there is another."""
        yield state.current(broker).empty
        yield negate(state.ahead(broker).empty)

    def broker_turns_to_next_block(self, state: State, broker: Term) -> State:
        """What was claimed in advance is the current block."""
        return state.but(
            current=update(state.current, broker, to=state.ahead(broker)),
            lowest=update(state.lowest, broker, to=state.ahead(broker).position),
            ahead=update(state.ahead, broker, to=NOTHING_LEFT),
        )

    def broker_hands_out_if(self, state: State, broker: Term) -> Iterator[Term]:
        """An id is left."""
        yield negate(state.current(broker).empty)

    def broker_hands_out(self, state: State, broker: Term) -> State:
        """The next id of the current block was given out."""
        block = state.current(broker)
        return state.but(
            current=update(state.current, broker, to=blocks.handed_out(block)),
            times=update(state.times, block.position, to=state.times(block.position) + 1),
        )

    def broker_restarts_if(self, state: State, broker: Term) -> Iterator[Term]:
        """It has something to lose."""
        block = state.current(broker)
        yield any_of(negate(block.empty), negate(state.ahead(broker).empty), state.read(broker).first >= 0)

    def broker_restarts(self, state: State, broker: Term) -> State:
        """The rest of its blocks is never given out."""
        kept = Block(state.lowest(broker), state.current(broker).end)
        return state.but(
            read=update(state.read, broker, to=UNREAD),
            current=update(state.current, broker, to=NOTHING_LEFT if self.knobs.forgets else kept),
            ahead=update(state.ahead, broker, to=NOTHING_LEFT),
        )


def handed_out_once(state: State, number: Term) -> Term:
    """No producer id is handed out twice."""
    return state.times(number) <= 1


def handed_out_is_claimed(state: State, number: Term) -> Term:
    """What was handed out lies below the record."""
    return any_of(state.times(number) == 0, number < state.record().first)


def blocks_are_claimed(state: State, broker: Term) -> Term:
    """What a broker has left lies below the record."""
    below = state.record().first
    return all_of(below >= 0, state.current(broker).end <= below, state.ahead(broker).end <= below)


def blocks_are_fresh(state: State, broker: Term, number: Term) -> Term:
    """What a broker has left was never handed out."""
    held = any_of(_inside(state.current(broker), number), _inside(state.ahead(broker), number))
    return implies(held, state.times(number) == 0)


def blocks_of_one_are_apart(state: State, broker: Term) -> Term:
    """A broker's two blocks have no id in common."""
    return _apart(state.current(broker), state.ahead(broker))


def blocks_of_two_are_apart(state: State, one: Term, other: Term) -> Term:
    """Blocks of two brokers have no id in common."""
    pairs = ((a(one), b(other)) for a in (state.current, state.ahead) for b in (state.current, state.ahead))
    return any_of(one == other, all_of(*(_apart(*pair) for pair in pairs)))


def unwritten_since_read(state: State, broker: Term) -> Term:
    """Where the version is as it was read, so is the record."""
    read, record = state.read(broker), state.record()
    return implies(read.first >= 0, all_of(read.version <= record.version, _agrees(read, record)))


def _agrees(read: BlockRecord, record: BlockRecord) -> Term:
    return implies(read.version == record.version, read.first == record.first)


def _inside(block: Block, number: Term) -> Term:
    return all_of(block.position <= number, number < block.end)


def _apart(one: Block, other: Block) -> Term:
    return any_of(one.empty, other.empty, one.end <= other.position, other.end <= one.position)


def burnt(state: State, broker: Term, number: Term) -> Term:
    """An id was claimed, never handed out, and is lost."""
    mine = any_of(_inside(state.current(broker), number), _inside(state.ahead(broker), number))
    return all_of(state.times(number) == 0, number < state.record().first, negate(mine), state.record().version > 1)


def two_hand_out(state: State, one: Term, other: Term) -> Term:
    """Two brokers are in the midst of their blocks."""
    begun = (all_of(negate(state.current(b).empty), state.lowest(b) < state.current(b).position) for b in (one, other))
    return all_of(negate(one == other), *begun)


def raced(state: State, broker: Term) -> Term:
    """A broker's claim would be refused: another was faster."""
    return all_of(state.read(broker).first >= 0, state.read(broker).version < state.record().version)


LEMMAS: Final = (
    (handed_out_once, (NUMBER,)),
    (handed_out_is_claimed, (NUMBER,)),
    (blocks_are_claimed, (BROKER,)),
    (blocks_are_fresh, (BROKER, NUMBER)),
    (blocks_of_one_are_apart, (BROKER,)),
    (blocks_of_two_are_apart, (BROKER, BROKER)),
    (unwritten_since_read, (BROKER,)),
)

GOALS: Final = ((burnt, (BROKER, NUMBER)), (two_hand_out, (BROKER, BROKER)), (raced, (BROKER,)))


def sizes(knobs: IdsKnobs, brokers: int = 2) -> dict[str, int]:
    """How many values each sort has in a finite instance.

    Raises:
        ValueError: the knobs ask for more producer ids than one block has.
    """
    if knobs.largest > PRODUCER_ID_BLOCK:
        raise ValueError("an instance with so many producer ids is not small")
    return {BROKER.name: brokers, NUMBER.name: knobs.largest + 1}


def ids(knobs: IdsKnobs = IdsKnobs()) -> System:
    """The system with these knobs; by default the true one, without bounds."""

    def claim(holds: Callable[..., Term], over: tuple[Sort, ...], name: str = "") -> language.Claim:
        return language.Claim(name or holds.__name__, rules.IDS_UNIQUE, str(holds.__doc__), over, holds)

    return System(
        name="ids",
        variables=VARIABLES,
        actions=IdsActions(knobs).all(),
        theorems=(claim(handed_out_once, (NUMBER,), "no_id_twice"),),
        lemmas=tuple(claim(holds, over) for holds, over in LEMMAS),
        goals=tuple(Goal(reached.__name__, str(reached.__doc__), over, reached) for reached, over in GOALS),
        assumptions=ASSUMPTIONS,
    )


_SMALL: Final[dict[str, Any]] = {"size": 2, "largest": 5}

CONTROLS: Final = (
    ("claims are not compared", IdsKnobs(compares=False, **_SMALL)),
    ("a claim does not raise the record", IdsKnobs(raises=False, **_SMALL)),
    ("a restart begins its block anew", IdsKnobs(forgets=False, **_SMALL)),
)
"""Changes of the system that hand an id out twice, by what is changed."""


# --- what the transactions need ---------------------------------------------------------------------------------------


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
