"""Liveness without bounds: a prepared transaction completes under fairness, by a ranking.

The rank is the number of partitions whose marker the present coordinator still waits for. They are finitely many. No
action makes them more while the outcome is carried out; a marker can be written for each of them until it is; and when
there is none left, the transaction can complete, and is over. Each of these is a lemma of single steps, for all memory.

A lemma is about the arguments of the action, then about a decision, a partition, and the producer id of the decision's
markers.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol.coordinator import is_preparing
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Sort, State, StepLemma, System
from spec.systems.transactions.decisions import decisions
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.world import DECISION, PARTITION, PRODUCER, TransactionKnobs
from spec.vocabulary import ABSENT

WRITES, COMPLETES, FAULT = "leader_writes_marker", "coordinator_completes", "coordinator_fails_over"
"""The two actions that are fair, and the one that happens finitely often: a new coordinator asks everybody anew."""

START, PREPARED = "at the start", "while an outcome is carried out"
"""Steps that change nothing: what holds of them holds of the first state, or of every state of the kind."""

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]

_ABOUT: Final = (DECISION, PARTITION, PRODUCER)


# --- the words ------------------------------------------------------------------------------------------------


def is_carried_out(view: TransactionLemmaView, decision: Term) -> Term:
    """The coordinator carries out this decision."""
    return all_of(decision >= 0, view.decision() == decision)


def is_waited_for(view: TransactionLemmaView, decision: Term, partition: Term) -> Term:
    """The present coordinator has no answer to the marker of this partition: it counts for the rank."""
    return all_of(
        is_carried_out(view, decision),
        view.to_mark(decision, partition),
        negate(view.marked(decision, partition) == view.coordinator_epoch()),
    )


def is_in_transaction(view: TransactionLemmaView, partition: Term) -> Term:
    """Memory or log of the coordinator has the partition."""
    return any_of(view.registered(partition) >= 0, view.recorded(partition) >= 0)


# --- two more lemmas of the system ----------------------------------------------------------------------------


def present_coordinator_sends(view: TransactionLemmaView, decision: Term) -> Term:
    """The present coordinator has sent the markers of the decision that it carries out."""
    return implies(is_carried_out(view, decision), view.sent_by(decision, view.coordinator_epoch()))


def marked_is_known(view: TransactionLemmaView, decision: Term, partition: Term) -> Term:
    """A partition that has a marker knows its coordinator or a later one, and that is no later than the present."""
    marked, producer = view.marked(decision, partition), view.mark(decision).producer_id
    known = all_of(marked <= view.coordinator_epoch(), marked <= view.latest_coordinator(producer, partition))
    return implies(marked >= 0, known)


# --- the lemmas of the ranking --------------------------------------------------------------------------------


class Completion:
    """The lemmas by which a prepared transaction completes.

    Args:
        knobs: of the system.
        system: the transactions with these knobs, and maybe with a defect.
    """

    def __init__(self, knobs: TransactionKnobs, system: System) -> None:
        self._system = system
        self.of = partial(TransactionLemmaView, knobs, decisions(knobs))

    def lemmas(self) -> tuple[Claim, ...]:
        """What the ranking needs besides the lemmas of the transactions; its steps keep them."""
        return (self._claim(present_coordinator_sends, DECISION), self._claim(marked_is_known, DECISION, PARTITION))

    def theorems(self) -> tuple[Claim, ...]:
        """The theorem, as far as it speaks of one state: some fair action can happen."""
        return (replace(self._claim(self.prepared_completes, *_ABOUT), name="prepared_completes"),)

    def prepared_completes(self, view: TransactionLemmaView, decision: Term, partition: Term, producer: Term) -> Term:
        """Under fairness a prepared transaction completes: while it is prepared, a fair action is possible.

        Args:
            view: the state of the system, and what is asked of it.
            decision: a transaction that the coordinator has decided, by its number.
            partition: which one.
            producer: the producer id of the decision's markers.
        """
        return all_of(
            self._marker_is_possible(view, decision, partition, producer), self._completion_is_possible(view, decision)
        )

    def steps(self) -> tuple[StepLemma, ...]:
        """Every lemma, under every action that it speaks of."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[StepLemma]:
        yield self._nothing_at_the_start()
        yield from self._of_one_state()
        for action in self._system.actions:
            yield self._finitely_many(action)
            yield from self._kept(action)
            if action.name != FAULT:
                yield self.never_more(action)
                yield self._until_marked(action)
        yield self._one_less(self._system.action(WRITES))
        yield self._over(self._system.action(COMPLETES))

    def never_more(self, action: Action) -> StepLemma:
        """The rank never rises, as no partition is waited for that was not before."""

        def holds(before: State, after: State, *at: Term) -> Term:
            decision, partition, producer = at[-3:]
            was, now = self.of(before), self.of(after)
            waits = all_of(is_carried_out(was, decision), is_waited_for(now, decision, partition))
            other = negate(was.mark(decision).producer_id == producer)
            return implies(waits, any_of(other, is_waited_for(was, decision, partition)))

        here = len(action.over)
        given: Given = (
            ("carries_out_its_decision", ()),
            ("coordinators_are_numbered", ()),
            ("marked_is_known", (here, here + 1)),
        )
        if action.name == WRITES:
            given = (
                *given,
                ("last_decision_is_remembered", ()),
                ("identity_is_in_range", ()),
                ("senders_are_coordinators", (0, 1)),
                ("coordinator_is_the_latest", (here + 2, here + 1)),
            )
        return self._lemma("rank_never_rises", "No partition is waited for that was not before.", action, given, holds)

    def _until_marked(self, action: Action) -> StepLemma:
        def holds(before: State, after: State, *at: Term) -> Term:
            decision, partition, _ = at[-3:]
            was, now = self.of(before), self.of(after)
            waited = all_of(is_waited_for(was, decision, partition), is_carried_out(now, decision))
            its_marker: Term = False
            if action.name == WRITES:
                its_marker = all_of(at[0] == decision, at[1] == was.coordinator_epoch(), at[2] == partition)
            return implies(waited, any_of(its_marker, is_waited_for(now, decision, partition)))

        statement = "A partition is waited for until its marker is written: what is possible stays so until it happens."
        return self._lemma("waits_until_marked", statement, action, (("carries_out_its_decision", ()),), holds)

    def _one_less(self, action: Action) -> StepLemma:
        def holds(before: State, after: State, *at: Term) -> Term:
            mine = at[1] == self.of(before).coordinator_epoch()
            return implies(mine, negate(is_waited_for(self.of(after), at[0], at[2])))

        return self._lemma(
            "marker_lowers_rank", "A partition with its marker is waited for no more.", action, (), holds
        )

    def _over(self, action: Action) -> StepLemma:
        def holds(_: State, after: State, *at: Term) -> Term:
            return all_of(
                negate(is_carried_out(self.of(after), at[-3])), negate(is_preparing(self.of(after).remembers()))
            )

        return self._lemma("completion_ends_it", "After Complete nothing is carried out.", action, (), holds)

    def _finitely_many(self, action: Action) -> StepLemma:
        named = [place for place, sort in enumerate(action.over) if sort == PARTITION]

        def holds(before: State, after: State, *at: Term) -> Term:
            decision, partition, _ = at[-3:]
            was, now = self.of(before), self.of(after)
            there = is_in_transaction(was, partition)
            joined = any_of(there, *(at[place] == partition for place in named))
            of_decision = any_of(was.to_mark(decision, partition), there)
            return all_of(
                implies(now.registered(partition) >= 0, joined),
                implies(now.recorded(partition) >= 0, joined),
                implies(now.to_mark(decision, partition), of_decision),
            )

        statement = (
            "A step adds one partition at most to a transaction, and none to a decision that no transaction has."
        )
        return self._lemma("rank_is_finite", statement, action, (), holds)

    def _nothing_at_the_start(self) -> StepLemma:
        first = self.of(self._system.initially())

        def holds(_: State, __: State, *at: Term) -> Term:
            decision, partition, _ = at[-3:]
            return negate(any_of(is_in_transaction(first, partition), first.to_mark(decision, partition)))

        return self._lemma("rank_is_finite", "At the start there is nothing to mark.", _nothing(START), (), holds)

    def _of_one_state(self) -> Iterator[StepLemma]:
        prepared = _nothing(PREPARED)
        given: Given = (
            ("carries_out_its_decision", ()),
            ("last_decision_is_remembered", ()),
            ("identity_is_in_range", ()),
            ("decisions_are_numbered", (0,)),
            ("partition_knows_no_later_identity", (2, 1)),
            ("open_is_due", (2, 1)),
            ("present_coordinator_sends", (0,)),
        )
        yield self._lemma(
            "marker_is_possible",
            "The marker of a partition that is waited for can be written.",
            prepared,
            given,
            lambda state, _, *at: self._marker_is_possible(self.of(state), *at),
        )
        yield self._lemma(
            "completion_is_possible",
            "When no partition is waited for, the transaction can complete.",
            prepared,
            (("carries_out_its_decision", ()), ("complete_is_always_awaited", ())),
            lambda state, _, *at: self._completion_is_possible(self.of(state), at[0]),
        )

    def _marker_is_possible(self, view: TransactionLemmaView, decision: Term, partition: Term, producer: Term) -> Term:
        writes, present = self._system.action(WRITES), view.coordinator_epoch()
        waited = all_of(is_waited_for(view, decision, partition), view.mark(decision).producer_id == producer)
        return implies(waited, writes.enabled(view.state, decision, present, partition))

    def _completion_is_possible(self, view: TransactionLemmaView, decision: Term) -> Term:
        all_marked = all_of(is_carried_out(view, decision), view.unmarked(decision) == ABSENT)
        return implies(all_marked, self._system.action(COMPLETES).enabled(view.state))

    def _kept(self, action: Action) -> Iterator[StepLemma]:
        here = len(action.over)
        sender: Given = (("senders_are_coordinators", (0, 1)),) if action.name == WRITES else ()
        of_lemmas: tuple[tuple[Claim, Given], ...] = (
            (self.lemmas()[0], (("carries_out_its_decision", ()),)),
            (self.lemmas()[1], (*sender, ("unmade_is_unmarked", (here, here + 1)))),
        )
        for lemma, given in of_lemmas:
            about = tuple(here + place for place, _ in enumerate(lemma.over))

            def holds(_: State, after: State, *at: Term, lemma: Claim = lemma, about: tuple[int, ...] = about) -> Term:
                return lemma.holds(after, *(at[place] for place in about))

            yield self._lemma(lemma.name, lemma.sentence, action, (*given, (lemma.name, about)), holds)

    def _claim(self, sentence: Callable[..., Term], *over: Sort) -> Claim:
        statement = str(sentence.__doc__).partition("\n")[0]
        return Claim(
            sentence.__name__, rules.TXN_COMPLETES, statement, over, lambda state, *at: sentence(self.of(state), *at)
        )

    def _lemma(self, name: str, sentence: str, action: Action, given: Given, holds: Callable[..., Term]) -> StepLemma:
        return StepLemma(name, rules.TXN_COMPLETES, sentence, action, _ABOUT, given, holds)


def _nothing(name: str) -> Action:
    """A step that changes nothing."""
    return Action(name, (), lambda _: iter(()), lambda state: state)


def completion(knobs: TransactionKnobs = UNBOUNDED, changed: System | None = None) -> System:
    """The system whose theorem is that a prepared transaction completes.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        changed: the transactions with these knobs, where they have a defect.
    """
    system = changed or proved(knobs)
    lemmas = Completion(knobs, system)
    return replace(
        system,
        name="completion",
        actions=(),
        theorems=lemmas.theorems(),
        lemmas=lemmas.lemmas(),
        goals=(),
        assumptions=(*system.assumptions, assume.COORDINATORS_STAY_IN_THE_END, assume.MARKERS_ARE_FAIR),
        steps=lemmas.steps(),
        taken=system.lemmas,
        taken_from=system.name,
    )
