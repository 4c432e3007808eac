"""Independence of transactional ids: no action of one id reads or writes a cell of another.

A cell of another id is what a partition knows of a producer id that the other id has drawn, and what there is of a
transaction with such an id. Two states that differ in these cells alone are put to each action: it happens in both or
in neither, leaves the same in the cells of its own id, and leaves the other cells as they are. What ids share (the end
of a log, the offsets and the generation of a group, the next producer id) an action changes as `OtherIds` says.

A lemma is about the arguments of the action, then about a transaction, partition, batch, instance, decision,
coordinator epoch, producer id, number, reader and a second transaction, each any.
"""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol.records import flatten
from spec.systems.language import Action, Claim, Function, Least, Sort, State, StepLemma, System, Variable, rewrite
from spec.systems.links import is_new
from spec.systems.transactions.clients import OtherIds, shared_cells
from spec.systems.transactions.decisions import decisions
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.world import (
    BATCH,
    COORDINATOR,
    DECISION,
    INSTANCE,
    NUMBER,
    PARTITION,
    PRODUCER,
    READER,
    TRANSACTION,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT

OF_NO_ID: Final = frozenset({"leader_fails_over", "group_rebalances", "reader_fetches"})
"""Actions of brokers, groups and readers: what they do, they do to every id."""

WHOSE: Final = frozenset({"owner", "identity", "drawn_by_other_id"})
"""What says which transaction is whose; it is the same in both states."""

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]

_ABOUT: Final = (TRANSACTION, PARTITION, BATCH, INSTANCE, DECISION, COORDINATOR, PRODUCER, NUMBER, READER, TRANSACTION)
_TXN, _PARTITION, _BATCH, _INSTANCE, _DECISION, _COORDINATOR, _PRODUCER, _NUMBER, _READER, _LAST = range(len(_ABOUT))


# --- whose producer ids ---------------------------------------------------------------------------------------


def coordinator_has_own_ids(view: TransactionLemmaView) -> Term:
    """No producer id that the coordinator has in memory, in its log, or still to draw is another transactional id's."""
    entries = (view.memory(), view.record())
    known = ((entry.producer_id, entry.next_producer_id, entry.previous_producer_id) for entry in entries)
    return all_of(*(_is_own(view, one) for ids in known for one in ids))


def transaction_has_own_ids(view: TransactionLemmaView, txn: Term) -> Term:
    """Nor is one that a transaction has, or that its end returned."""
    return all_of(_is_own(view, view.identity(txn).producer_id), _is_own(view, view.next_identity(txn).producer_id))


def instance_has_own_id(view: TransactionLemmaView, instance: Term) -> Term:
    """Nor is one that an instance was given."""
    return _is_own(view, view.given(instance).producer_id)


def marker_has_own_id(view: TransactionLemmaView, decision: Term) -> Term:
    """Nor is that of any marker."""
    return _is_own(view, view.marker(decision).producer_id)


def next_id_is_nobodys(view: TransactionLemmaView, producer: Term) -> Term:
    """What another id has drawn is below what will be drawn next."""
    return implies(view.drawn_by_other_id(producer), producer < view.drawn())


def drawn_id_is_new(view: TransactionLemmaView, producer: Term) -> Term:
    """The next producer id is none that another id has drawn, nor one that the coordinator has."""
    own = any_of(view.memory().producer_id == producer, view.record().producer_id == producer)
    return is_new(view.drawn(), producer, all_of(producer >= 0, any_of(view.drawn_by_other_id(producer), own)))


def _is_own(view: TransactionLemmaView, producer: Term) -> Term:
    return any_of(producer == ABSENT, all_of(producer < view.drawn(), negate(view.drawn_by_other_id(producer))))


_LEMMAS: Final[tuple[tuple[Callable[..., Term], tuple[int, ...]], ...]] = (
    (coordinator_has_own_ids, ()),
    (transaction_has_own_ids, (_TXN,)),
    (instance_has_own_id, (_INSTANCE,)),
    (marker_has_own_id, (_DECISION,)),
    (next_id_is_nobodys, (_PRODUCER,)),
)


# --- the lemmas of single steps -------------------------------------------------------------------------------


class Frame:
    """The lemmas by which transactional ids are independent.

    Args:
        knobs: of the system.
        system: the transactions with these knobs, and maybe with a defect.
    """

    def __init__(self, knobs: TransactionKnobs, system: System) -> None:
        self._system = system
        self.of = partial(TransactionLemmaView, knobs, decisions(knobs))
        others = {action.name for action in OtherIds(knobs, decisions(knobs)).all()}
        self._own = tuple(action for action in system.actions if action.name not in OF_NO_ID | others)

    def twins(self) -> tuple[Variable, ...]:
        """What there is in the other state, in the cells of other ids."""
        return tuple(replace(one, name=_twin(one.name)) for one in self._system.variables if _may_be_others(one))

    def lemmas(self) -> tuple[Claim, ...]:
        """That producer ids are of one transactional id; the steps keep them."""
        return tuple(self._claim(sentence, *(_ABOUT[place] for place in at)) for sentence, at in _LEMMAS)

    def theorems(self) -> tuple[Claim, ...]:
        """The theorem, as far as it speaks of one state."""
        named = replace(self._claim(self.ids_are_apart, *_ABOUT), name="ids_are_apart")
        return (named, self._claim(drawn_id_is_new, PRODUCER))

    def ids_are_apart(self, view: TransactionLemmaView, *at: Term) -> Term:
        """No action of one transactional id reads or writes a cell of another, as none has a producer id of another."""
        return all_of(*(sentence(view, *(at[place] for place in where)) for sentence, where in _LEMMAS))

    def steps(self) -> tuple[StepLemma, ...]:
        """Every lemma, under every action that it speaks of."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[StepLemma]:
        for action in self._system.actions:
            yield from self._kept(action)
        for action in self._own:
            yield self._nothing_written(action)
            yield self._nothing_read(action)
            yield self._shared(action)
        yield from self._of_derived()

    def _kept(self, action: Action) -> Iterator[StepLemma]:
        for lemma, (_, about) in zip(self.lemmas(), _LEMMAS, strict=True):
            places = tuple(len(action.over) + place for place in about)

            def holds(
                before: State, after: State, *at: Term, lemma: Claim = lemma, places: tuple[int, ...] = places
            ) -> Term:
                held = lemma.holds(after, *(at[place] for place in places))
                draws = after.functions["drawn"] is not before.functions["drawn"]
                is_next = at[-len(_ABOUT) + _PRODUCER] == before.drawn()
                return implies(is_next, held) if draws and PRODUCER not in lemma.over else held

            itself: Given = ((lemma.name, places),)
            given = (*itself, *self._own_ids(action))
            yield self._lemma(lemma.name, lemma.sentence, action, given, self._of_last(action, holds))

    def _of_last(self, action: Action, holds: Callable[..., Term]) -> Callable[..., Term]:
        """The second transaction is the last one of the instance that the action is about."""
        instance = next((place for place, sort in enumerate(action.over) if sort == INSTANCE), None)
        if instance is None:
            return holds

        def of_last(before: State, after: State, *at: Term) -> Term:
            is_last = at[len(action.over) + _LAST] == before.current(at[instance])
            return implies(is_last, holds(before, after, *at))

        return of_last

    def _own_ids(self, action: Action) -> Given:
        """That the coordinator, and all that the action is about, has own ids; and what the next one is."""
        keyed = {TRANSACTION: "transaction_has_own_ids", INSTANCE: "instance_has_own_id", DECISION: "marker_has_own_id"}
        about = ((keyed[sort], (place,)) for place, sort in enumerate(action.over) if sort in keyed)
        here = len(action.over)
        return (
            ("coordinator_has_own_ids", ()),
            ("next_id_is_nobodys", (here + _PRODUCER,)),
            ("transaction_has_own_ids", (here + _LAST,)),
            *about,
        )

    def _nothing_written(self, action: Action) -> StepLemma:
        def holds(before: State, after: State, *at: Term) -> Term:
            about = at[len(action.over) :]
            unchanged = (
                implies(_is_others(before, one, about), _alike(before, after, one, about))
                for one in self._system.variables
                if _may_be_others(one)
            )
            return all_of(*unchanged)

        statement = "What an action of one id leaves in the cells of another is what was there."
        return self._lemma("cells_of_others_stay", statement, action, self._own_ids(action), holds)

    def _nothing_read(self, action: Action) -> StepLemma:
        here = len(action.over)

        def holds(before: State, after: State, *at: Term) -> Term:
            about, twin = at[here:], self._twin(before)
            there = action.effect(twin, *at[:here])
            alike = (
                any_of(_is_others(before, one, about), _alike(after, there, one, about))
                for one in self._system.variables
            )
            return all_of(action.enabled(twin, *at[:here]), *alike)

        statement = (
            "An action of one id may happen, and leaves in its own cells the same, whatever is in those of another."
        )
        own = self._own_ids(action)
        return self._lemma("cells_of_others_are_not_read", statement, action, own, self._of_last(action, holds))

    def _shared(self, action: Action) -> StepLemma:
        here = len(action.over)

        def holds(before: State, after: State, *at: Term) -> Term:
            about, view = at[here:], self.of(before)
            pending = before.pending(about[_PRODUCER], about[_PARTITION])
            chosen: Term = all_of(
                about[_BATCH] == 0, about[_TXN] == pending.offset, about[_NUMBER] == pending.recorded_at
            )
            if action.over[:1] == (DECISION,):
                chosen = all_of(chosen, about[_PRODUCER] == view.mark(at[0]).producer_id)
            return implies(chosen, shared_cells(before, after, about[_PARTITION]))

        message = (here + _TXN, here + _PARTITION, here + _BATCH)
        given: Given = (
            ("pending_is_open", (here + _PRODUCER, here + _PARTITION)),
            ("log_is_numbered", message),
            ("kind_is_of_what_was_sent", message),
            ("numbers_are_of_one_id", (*message, here + _NUMBER)),
        )
        statement = "What ids share an action of one changes as others are taken to change it."
        return self._lemma("shared_cells_as_assumed", statement, action, given, holds)

    def _of_derived(self) -> Iterator[StepLemma]:
        """What a guard reads of many cells at once, reads cells of its own id alone; readers wait for every id."""
        for least in self._system.derived:
            if least.name == "first_ongoing":
                continue
            sorts = (*least.over, *least.among)
            whose = (place for place, sort in enumerate(sorts) if sort == TRANSACTION)
            given: Given = tuple(("transaction_has_own_ids", (place,)) for place in whose)
            nothing = Action(least.name, sorts, lambda *_: iter(()), lambda state, *_: state)
            statement = "What is derived for one id is derived from its own cells."
            holds = partial(self._derived_alike, least)
            yield self._lemma("cells_of_others_are_not_read", statement, nothing, given, holds)

    def _derived_alike(self, least: Least, before: State, _: State, *at: Term) -> Term:
        of = at[: len(least.over) + len(least.among)]
        alike: Term = least.value(before, *of) == least.value(self._twin(before), *of)
        return alike

    def _twin(self, before: State) -> State:
        """The other state: the same in all cells but those of other ids."""
        changed = {
            one.name: rewrite(
                getattr(before, one.name), partial(_of_others, before, one), getattr(before, _twin(one.name))
            )
            for one in self._system.variables
            if _may_be_others(one)
        }
        derived = {least.name: partial(_same_as, getattr(before, least.name)) for least in self._system.derived}
        return State({**before.functions, **changed}, derived)

    def _claim(self, sentence: Callable[..., Term], *over: Sort) -> Claim:
        statement = str(sentence.__doc__).partition("\n")[0]
        return Claim(
            sentence.__name__, rules.TXN_NO_CROSSTALK, statement, over, lambda state, *at: sentence(self.of(state), *at)
        )

    def _lemma(self, name: str, sentence: str, action: Action, given: Given, holds: Callable[..., Term]) -> StepLemma:
        return StepLemma(name, rules.TXN_NO_CROSSTALK, sentence, action, _ABOUT, given, holds)


def _same_as(function: Function, _: State) -> Function:
    return function


def _twin(name: str) -> str:
    return f"{name}_there"


def _key(variable: Variable) -> int | None:
    """The place of the argument that says whose a cell is: a transaction or a producer id; None where nothing does."""
    return next((place for place, sort in enumerate(variable.over) if sort in (TRANSACTION, PRODUCER)), None)


def _may_be_others(variable: Variable) -> bool:
    return _key(variable) is not None and variable.name not in WHOSE


def _of_others(before: State, variable: Variable, *at: Term) -> Term:
    """The cell with these arguments is of another id."""
    place = _key(variable)
    if place is None:
        return False
    key = at[place]
    producer = before.identity(key).producer_id if variable.over[place] == TRANSACTION else key
    return all_of(producer >= 0, before.drawn_by_other_id(producer))


def _at(variable: Variable, about: tuple[Term, ...]) -> tuple[Term, ...]:
    any_of_sort = dict(zip(_ABOUT[:_LAST], about, strict=False))
    return tuple(any_of_sort.get(sort, 0) for sort in variable.over)


def _is_others(before: State, variable: Variable, about: tuple[Term, ...]) -> Term:
    return _of_others(before, variable, *_at(variable, about))


def _alike(one: State, other: State, variable: Variable, about: tuple[Term, ...]) -> Term:
    """The two states have the same in a cell."""
    mine, theirs = (getattr(state, variable.name)(*_at(variable, about)) for state in (one, other))
    if not is_dataclass(mine):
        return mine == theirs
    return all_of(*(left == right for (_, left), (_, right) in zip(flatten(mine), flatten(theirs), strict=True)))


def frame(knobs: TransactionKnobs = UNBOUNDED, changed: System | None = None) -> System:
    """The system whose theorem is that transactional ids are independent.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        changed: the transactions with these knobs, where they have a defect.
    """
    system = changed or proved(knobs)
    of = Frame(knobs, system)
    return replace(
        system,
        name="frame",
        variables=(*system.variables, *of.twins()),
        actions=(),
        theorems=of.theorems(),
        lemmas=of.lemmas(),
        goals=(),
        steps=of.steps(),
        taken=system.lemmas,
        taken_from=system.name,
    )
