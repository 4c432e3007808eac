"""What is claimed of a group that reads, and the lemmas by which it is proved."""

from collections.abc import Callable
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.rules import Rule
from spec.systems.group.world import (
    ABORT,
    COMMIT,
    GENERATION,
    PLAIN,
    POSITION,
    RUN,
    TRANSACTIONAL,
    is_transactional,
    start_of,
    works_on,
)
from spec.systems.language import Sort, State, given
from spec.vocabulary import ABSENT


def is_committed(state: State, position: Term) -> Term:
    """The record is of a committed transaction."""
    return all_of(position >= 0, state.verdict(position) == COMMIT)


def has_its_effects(state: State, position: Term, one: Term) -> Term:
    """The record has had one effect, or none."""
    effects = state.effects(position)
    return all_of(implies(one, effects == 1), implies(negate(one), effects == 0))


# --- theorems -------------------------------------------------------------------------------------------------


def has_effect_once_in_order(state: State, position: Term, later: Term) -> Term:
    """A committed record has an effect once at most, after all before it; no other record has any."""
    once = has_its_effects(state, position, is_committed(state, position))
    before = all_of(position >= 0, position < later, state.effects(later) > 0)
    return all_of(any_of(state.effects(position) == 0, once), implies(before, once))


def passed_had_its_effect(state: State, position: Term) -> Term:
    """Each committed record that the group's offset has passed has had its effect."""
    passed = all_of(position >= 0, position < start_of(state))
    return implies(passed, has_its_effects(state, position, is_committed(state, position)))


def offset_is_of_effects(state: State, position: Term) -> Term:
    """Once the marker of each commit has come, nothing beyond the group's offset has had an effect."""
    run = state.last()
    over = any_of(run == ABSENT, given(run >= 0, lambda: state.marked(run)))
    return implies(all_of(over, position >= start_of(state)), state.effects(position) == 0)


THEOREMS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (has_effect_once_in_order, rules.OFFSETS_ATOMIC, (POSITION, POSITION)),
    (passed_had_its_effect, rules.OFFSETS_ATOMIC, (POSITION,)),
    (offset_is_of_effects, rules.OFFSETS_ATOMIC, (POSITION,)),
)
"""Each theorem, its rule, and what it speaks of."""


# --- lemmas ---------------------------------------------------------------------------------------------------


def verdicts_are_outcomes(state: State, position: Term) -> Term:
    """A record is committed, aborted or undecided."""
    verdict = state.verdict(position)
    return any_of(verdict == ABSENT, verdict == ABORT, verdict == COMMIT)


def latest_has_come(state: State) -> Term:
    """The generation of the latest member that has begun has come."""
    return all_of(state.generation() >= 0, state.latest() >= ABSENT, state.latest() <= state.generation())


def begun_is_not_later(state: State, generation: Term) -> Term:
    """No member that has begun is later than the latest."""
    position, latest = state.position(generation), state.latest()
    begun = all_of(generation >= 0, generation <= latest)
    return all_of(
        position >= ABSENT,
        implies(position >= 0, begun),
        implies(state.current(generation) >= 0, position >= 0),
    )


def works_on_its_own(state: State, generation: Term, run: Term) -> Term:
    """A member works on a run of its own, whose offset is not beyond where it is."""
    at, asked = state.position(generation), state.requested(run)
    ended = implies(any_of(state.ending(run), state.outcome(run) == COMMIT), asked == at)
    own = all_of(state.by(run) == generation, state.begins(run) <= at, asked <= at, ended)
    return implies(works_on(state, generation, run), own)


def undecided_is_worked_on(state: State, run: Term) -> Term:
    """A run that is not decided is the one that its member works on."""
    by = state.by(run)
    return implies(all_of(run >= 0, by >= 0, state.outcome(run) == ABSENT), state.current(by) == run)


def unused_has_read_nothing(state: State, run: Term, position: Term) -> Term:
    """A run that nobody has begun was given nothing."""
    return implies(state.by(run) == ABSENT, negate(state.given(run, position)))


def unused_is_empty(state: State, run: Term) -> Term:
    """Nothing is known of a run that nobody has begun."""
    empty = all_of(
        state.outcome(run) == ABSENT,
        state.requested(run) == ABSENT,
        state.accepted(run) == ABSENT,
        negate(state.ending(run)),
        negate(state.marked(run)),
    )
    return all_of(state.by(run) >= ABSENT, implies(state.by(run) == ABSENT, empty))


def run_is_in_shape(state: State, run: Term) -> Term:
    """A run begins somewhere, its offset is asked for before it is accepted, and it ends when that is all it has."""
    begins, asked, accepted = state.begins(run), state.requested(run), state.accepted(run)
    way, outcome = state.way(run), state.outcome(run)
    transactional, ends = way == TRANSACTIONAL, any_of(state.ending(run), outcome == COMMIT)
    asks = any_of(asked == ABSENT, begins <= asked)
    accepts = any_of(accepted == ABSENT, all_of(begins <= accepted, accepted <= asked))
    shape = all_of(
        begins >= 0,
        state.by(run) <= state.latest(),
        any_of(way == PLAIN, transactional),
        any_of(outcome == ABSENT, outcome == ABORT, outcome == COMMIT),
        asks,
        accepts,
        implies(ends, asked >= 0),
        implies(any_of(all_of(ends, transactional), outcome == COMMIT), accepted == asked),
        implies(outcome == COMMIT, state.ending(run)),
        implies(all_of(negate(transactional), asked >= 0), state.ending(run)),
        implies(state.marked(run), outcome >= 0),
        implies(all_of(negate(transactional), outcome == COMMIT), state.marked(run)),
    )
    return implies(all_of(run >= 0, state.by(run) >= 0), shape)


def pending_is_of_the_latest(state: State, generation: Term, run: Term) -> Term:
    """What is pending is of a transaction without a marker, of the latest member that has begun."""
    pending = state.pending(generation)
    mine = all_of(
        run >= 0,
        state.by(run) == generation,
        is_transactional(state, run),
        negate(state.marked(run)),
        pending.present,
        pending.offset == state.accepted(run),
        pending.recorded_at < state.log_end(),
        generation == state.latest(),
    )
    pends = all_of(generation >= 0, state.pending_of(generation) == run)
    return all_of(
        implies(all_of(pends, negate(run == ABSENT)), mine),
        same(state.pending_of(generation) == ABSENT, negate(pending.present)),
    )


def accepted_is_pending(state: State, run: Term) -> Term:
    """What was accepted in a transaction is pending until its marker comes."""
    waits = all_of(run >= 0, state.accepted(run) >= 0, is_transactional(state, run), negate(state.marked(run)))
    return implies(waits, state.pending_of(state.by(run)) == run)


def plain_has_none_to_come(state: State, generation: Term, run: Term, other: Term) -> Term:
    """While a member works without a transaction, no transaction of it has an offset to commit."""
    plain = all_of(works_on(state, generation, run), negate(is_transactional(state, run)))
    pends = all_of(other >= 0, state.pending_of(generation) == other)
    return implies(all_of(plain, pends), state.outcome(other) == ABORT)


def offset_is_in_the_log(state: State) -> Term:
    """The record of the group's offset is in the log."""
    recorded_at, end = state.committed().recorded_at, state.log_end()
    return all_of(recorded_at >= ABSENT, recorded_at < end, end >= 0)


def commits_are_written_later(state: State, generation: Term, run: Term) -> Term:
    """What may still become the group's offset was written after the one that it has."""
    committed, pending = state.committed(), state.pending(generation)
    pends = all_of(generation >= 0, run >= 0, state.pending_of(generation) == run)
    may = all_of(pends, negate(state.outcome(run) == ABORT))
    return implies(may, pending.recorded_at > committed.recorded_at)


def unmarked_commit_is_the_last(state: State, run: Term) -> Term:
    """A committed run whose marker has not come is the last that was committed."""
    waits = all_of(run >= 0, state.outcome(run) == COMMIT, negate(state.marked(run)))
    return implies(waits, state.last() == run)


def frontier_is_of_the_last(state: State) -> Term:
    """The effects go as far as the last run that was committed; the group's offset is there once that is marked."""
    run, frontier, committed = state.last(), state.frontier(), state.committed()
    nothing = all_of(frontier == 0, negate(committed.present))

    def of_last() -> Term:
        there = all_of(committed.present, committed.offset == frontier)
        return all_of(
            state.outcome(run) == COMMIT,
            state.by(run) >= 0,
            state.accepted(run) == frontier,
            implies(state.marked(run), there),
        )

    return all_of(
        run >= ABSENT,
        frontier >= 0,
        start_of(state) <= frontier,
        start_of(state) >= 0,
        choose(run == ABSENT, nothing, given(run >= 0, of_last)),
    )


def latest_is_at_the_frontier(state: State, generation: Term, run: Term) -> Term:
    """The latest member that has begun works where the effects end; a run that it has committed ended there."""
    at, frontier = state.position(generation), state.frontier()
    is_latest = all_of(generation >= 0, generation == state.latest(), at >= 0)
    works, outcome = works_on(state, generation, run), state.outcome(run)
    return implies(
        is_latest,
        all_of(
            implies(state.current(generation) == ABSENT, at == frontier),
            implies(all_of(works, outcome == ABSENT), state.begins(run) == frontier),
            implies(all_of(works, outcome == COMMIT), at == frontier),
        ),
    )


def effects_are_of_the_committed(state: State, position: Term) -> Term:
    """Of the records before the frontier each committed one has had an effect once, and nothing else has."""
    behind = all_of(position >= 0, position < state.frontier())
    had = all_of(behind, state.verdict(position) == COMMIT)
    return all_of(
        has_its_effects(state, position, had),
        implies(behind, state.verdict(position) >= 0),
    )


def given_is_what_was_read(state: State, generation: Term, run: Term, position: Term) -> Term:
    """A run has been given the committed records from where it begins to where its member is, which are decided."""
    read = all_of(position >= 0, state.begins(run) <= position, position < state.position(generation))
    exactly = same(state.given(run, position), all_of(read, state.verdict(position) == COMMIT))
    works = all_of(works_on(state, generation, run), state.outcome(run) == ABSENT)
    return implies(works, all_of(exactly, implies(read, state.verdict(position) >= 0)))


LEMMAS: Final[tuple[tuple[Callable[..., Term], tuple[Sort, ...]], ...]] = (
    (verdicts_are_outcomes, (POSITION,)),
    (latest_has_come, ()),
    (begun_is_not_later, (GENERATION,)),
    (works_on_its_own, (GENERATION, RUN)),
    (undecided_is_worked_on, (RUN,)),
    (unused_has_read_nothing, (RUN, POSITION)),
    (unused_is_empty, (RUN,)),
    (run_is_in_shape, (RUN,)),
    (pending_is_of_the_latest, (GENERATION, RUN)),
    (accepted_is_pending, (RUN,)),
    (plain_has_none_to_come, (GENERATION, RUN, RUN)),
    (offset_is_in_the_log, ()),
    (commits_are_written_later, (GENERATION, RUN)),
    (unmarked_commit_is_the_last, (RUN,)),
    (frontier_is_of_the_last, ()),
    (latest_is_at_the_frontier, (GENERATION, RUN)),
    (effects_are_of_the_committed, (POSITION,)),
    (given_is_what_was_read, (GENERATION, RUN, POSITION)),
)
"""Each lemma, and what it speaks of."""
