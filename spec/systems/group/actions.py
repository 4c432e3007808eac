"""The actions of members, of the group's coordinator, and of the transactions of both sides."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import lso, offsets
from spec.protocol.offsets import NO_OFFSET, OffsetEntry
from spec.systems.group.world import (
    ABORT,
    COMMIT,
    GENERATION,
    OUTCOME,
    PLAIN,
    POSITION,
    RUN,
    TRANSACTIONAL,
    WAY,
    GroupKnobs,
    fetched,
    is_let_commit,
    is_transactional,
    start_of,
    works_on,
)
from spec.systems.language import Action, Sort, State, always, pick, rewrite, update
from spec.systems.links import outcomes_agree
from spec.vocabulary import ABSENT, ErrorCode

Guard: TypeAlias = Iterator[Term]

TWICE: Final = 2
"""Effects are counted up to this."""


class MemberActions:
    """The actions of the system, as guards (a fact a line) and effects.

    Args:
        knobs: what is in the system.
    """

    def __init__(self, knobs: GroupKnobs) -> None:
        self.knobs = knobs

    def all(self) -> tuple[Action, ...]:
        """Every action."""
        member = (GENERATION, RUN)
        actions = {
            "record_is_decided": (POSITION, OUTCOME),
            "group_rebalances": (),
            "member_begins": (GENERATION,),
            "member_begins_run": (*member, WAY),
            "member_reads": (*member, POSITION),
            "member_commits": (*member, POSITION),
            "member_ends": member,
            "member_learns_outcome": member,
            "group_accepts": (RUN, POSITION),
            "group_accepts_plain": (RUN, POSITION),
            "run_commits": (RUN,),
            "run_aborts": (RUN,),
            "marker_comes": (RUN, OUTCOME),
            **({} if self.knobs.keeps_offset else {"group_loses_offset": ()}),
        }
        return tuple(self._action(name, over) for name, over in actions.items())

    def _action(self, name: str, over: tuple[Sort, ...]) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))

    # --- what the group reads ---------------------------------------------------------------------------------

    def record_is_decided_if(self, state: State, position: Term, outcome: Term) -> Guard:
        """The transaction that wrote it has no outcome yet."""
        yield position >= 0
        yield state.verdict(position) == ABSENT
        yield self._has_room(position, "positions")
        yield any_of(outcome == ABORT, outcome == COMMIT)

    def record_is_decided(self, state: State, position: Term, outcome: Term) -> State:
        """It has one."""
        return state.but(verdict=update(state.verdict, position, to=outcome))

    # --- members ----------------------------------------------------------------------------------------------

    def member_begins_if(self, state: State, generation: Term) -> Guard:
        """The generation has come, its member works on nothing, and the fetch of the group's offset is answered."""
        yield generation >= 0
        yield generation <= state.generation()
        yield state.position(generation) == ABSENT
        yield state.current(generation) == ABSENT
        yield fetched(self.knobs, state).error == ErrorCode.NONE.value

    def member_begins(self, state: State, generation: Term) -> State:
        """It begins at the offset."""
        latest = state.latest()
        return state.but(
            position=update(state.position, generation, to=start_of(state)),
            latest=always(choose(generation > latest, generation, latest)),
        )

    def member_begins_run_if(self, state: State, generation: Term, run: Term, way: Term) -> Guard:
        """The last one is over, and no offset of its transaction is pending where this one has none."""
        yield generation >= 0
        yield state.position(generation) >= 0
        yield state.current(generation) == ABSENT
        yield run >= 0
        yield state.by(run) == ABSENT
        yield any_of(run == 0, state.by(run - 1) >= 0)
        yield any_of(way == TRANSACTIONAL, all_of(way == PLAIN, state.pending_of(generation) == ABSENT))

    def member_begins_run(self, state: State, generation: Term, run: Term, way: Term) -> State:
        """The run begins where the member is."""
        return state.but(
            current=update(state.current, generation, to=run),
            by=update(state.by, run, to=generation),
            way=update(state.way, run, to=way),
            begins=update(state.begins, run, to=state.position(generation)),
        )

    def member_reads_if(self, state: State, generation: Term, run: Term, bound: Term) -> Guard:
        """The bound is a stable one, below which all is decided."""
        yield from self.may_read(state, generation, run, bound)
        position = state.position(generation)
        if self.knobs.waits_for_stable:
            yield lso.is_decided_below(position, bound, state.verdict(position) >= 0)

    def may_read(self, state: State, generation: Term, run: Term, bound: Term) -> Guard:
        """The next record is below the bound of the member's fetch."""
        yield works_on(state, generation, run)
        yield negate(state.ending(run))
        yield state.position(generation) < bound

    def member_reads(self, state: State, generation: Term, run: Term, _: Term) -> State:
        """It is given to the application or filtered out, and the member continues."""
        position = state.position(generation)
        aborted = all_of(state.verdict(position) == ABORT, self.knobs.aborted_filtered)
        given = lso.is_delivered(control=False, transactional=True, aborted=aborted, read_committed=True)
        return state.but(
            position=update(state.position, generation, to=position + 1),
            given=update(state.given, run, position, to=given),
        )

    def member_commits_if(self, state: State, generation: Term, run: Term, offset: Term) -> Guard:
        """The offset is the one after what it has read."""
        yield works_on(state, generation, run)
        yield negate(state.ending(run))
        position = state.position(generation)
        yield offset == position if self.knobs.read_all else offset >= position

    def member_commits(self, state: State, _: Term, run: Term, offset: Term) -> State:
        """The commit is on the network; where it is not part of a transaction, it ends the run."""
        return state.but(
            requested=update(state.requested, run, to=offset),
            ending=update(state.ending, run, to=negate(is_transactional(state, run))),
        )

    def member_ends_if(self, state: State, generation: Term, run: Term) -> Guard:
        """The commit of the offset after all that it has read was answered."""
        yield works_on(state, generation, run)
        yield is_transactional(state, run)
        yield negate(state.ending(run))
        if self.knobs.waits_for_answer:
            yield state.accepted(run) == state.position(generation)

    def member_ends(self, state: State, _: Term, run: Term) -> State:
        """It has asked for the commit of its transaction."""
        return state.but(ending=update(state.ending, run, to=True))

    def member_learns_outcome_if(self, state: State, generation: Term, run: Term) -> Guard:
        """There is one."""
        yield works_on(state, generation, run)
        yield state.outcome(run) >= 0

    def member_learns_outcome(self, state: State, generation: Term, run: Term) -> State:
        """It continues where it is; after an abort it is to begin anew."""
        stays = any_of(state.outcome(run) == COMMIT, not self.knobs.goes_back)
        return state.but(
            current=update(state.current, generation, to=ABSENT),
            position=update(state.position, generation, to=choose(stays, state.position(generation), ABSENT)),
        )

    # --- the group's coordinator ------------------------------------------------------------------------------

    def group_rebalances_if(self, state: State) -> Guard:
        """There may be a further generation."""
        yield self._has_room(state.generation() + 1, "generations")

    def group_rebalances(self, state: State) -> State:
        """The next generation has come."""
        return state.but(generation=always(state.generation() + 1))

    def group_accepts_if(self, state: State, run: Term, offset: Term) -> Guard:
        """The commit is of the present generation, and the transaction is open as far as the offsets know."""
        yield from self.commit_arrives(state, run, offset)
        yield is_let_commit(self.knobs, state, run, transactional=True)

    def commit_arrives(self, state: State, run: Term, offset: Term) -> Guard:
        """A commit in a transaction is there, which the log would take."""
        yield run >= 0
        yield state.by(run) >= 0
        yield is_transactional(state, run)
        yield state.requested(run) >= 0
        yield offset == state.requested(run) if self.knobs.in_order else self._was_requested(state, run, offset)
        yield negate(state.marked(run))
        pending = state.pending_of(state.by(run))
        yield any_of(pending == ABSENT, pending == run)
        yield self._has_room(state.log_end(), "commits")

    def _was_requested(self, state: State, run: Term, offset: Term) -> Term:
        return all_of(state.begins(run) <= offset, offset <= state.requested(run))

    def group_accepts(self, state: State, run: Term, offset: Term) -> State:
        """The offset is in the log, and pending for the member's producer."""
        by, end = state.by(run), state.log_end()
        pending = offsets.pending_after(state.pending(by), OffsetEntry(offset, end), self.knobs.profile, appended=True)
        return state.but(
            pending=update(state.pending, by, to=pending),
            pending_of=update(state.pending_of, by, to=run),
            accepted=update(state.accepted, run, to=offset),
            log_end=always(end + 1),
        )

    def group_accepts_plain_if(self, state: State, run: Term, offset: Term) -> Guard:
        """The commit is part of no transaction, is of the present generation, and was not accepted before."""
        yield run >= 0
        yield state.by(run) >= 0
        yield negate(is_transactional(state, run))
        yield state.outcome(run) == ABSENT
        yield state.requested(run) >= 0
        yield offset == state.requested(run)
        yield is_let_commit(self.knobs, state, run, transactional=False)
        yield self._has_room(state.log_end(), "commits")

    def group_accepts_plain(self, state: State, run: Term, offset: Term) -> State:
        """The offset is in the log, and is the group's."""
        end = state.log_end()
        return self._committed(state, run, offset).but(
            committed=always(offsets.committed_after(state.committed(), OffsetEntry(offset, end))),
            accepted=update(state.accepted, run, to=offset),
            marked=update(state.marked, run, to=True),
            log_end=always(end + 1),
        )

    def group_loses_offset_if(self, state: State) -> Guard:
        """It has one."""
        yield state.committed().present

    def group_loses_offset(self, state: State) -> State:
        """It has expired."""
        return state.but(committed=always(NO_OFFSET))

    # --- the transactions of the members ----------------------------------------------------------------------

    def run_commits_if(self, state: State, run: Term) -> Guard:
        """Its member has asked for it, and nothing was decided."""
        yield run >= 0
        yield is_transactional(state, run)
        yield state.ending(run)
        yield state.outcome(run) == ABSENT

    def run_commits(self, state: State, run: Term) -> State:
        """Its outputs are committed."""
        return self._committed(state, run, state.accepted(run))

    def _committed(self, state: State, run: Term, offset: Term) -> State:
        """All that the run was given has had an effect."""

        def counted(position: Term) -> Term:
            before = state.effects(position)
            return choose(before < TWICE, before + 1, before)

        return state.but(
            outcome=update(state.outcome, run, to=COMMIT),
            effects=rewrite(state.effects, lambda position: state.given(run, position), counted),
            frontier=always(offset),
            last=always(run),
        )

    def run_aborts_if(self, state: State, run: Term) -> Guard:
        """Nothing was decided; without a transaction, no commit was sent."""
        yield run >= 0
        yield state.by(run) >= 0
        yield state.outcome(run) == ABSENT
        yield any_of(is_transactional(state, run), state.requested(run) == ABSENT)

    def run_aborts(self, state: State, run: Term) -> State:
        """It has no effects: its client, a timeout or a fence has ended it."""
        return state.but(outcome=update(state.outcome, run, to=ABORT))

    def marker_comes_if(self, state: State, run: Term, outcome: Term) -> Guard:
        """The transaction is decided, and its marker with that outcome is on the way to the offsets."""
        yield from self.marker_is_due(state, run, outcome)
        if self.knobs.one_outcome:
            yield outcomes_agree(outcome, state.outcome(run))

    def marker_is_due(self, state: State, run: Term, outcome: Term) -> Guard:
        """The transaction is decided, and some marker of it is on the way to the offsets."""
        yield run >= 0
        yield is_transactional(state, run)
        yield state.outcome(run) >= 0
        yield negate(state.marked(run))
        yield any_of(outcome == ABORT, outcome == COMMIT)

    def marker_comes(self, state: State, run: Term, outcome: Term) -> State:
        """What is pending of it is the group's offset, or forgotten."""
        by = state.by(run)
        here, pending = state.pending_of(by) == run, state.pending(by)
        applied = offsets.apply(
            state.committed(), pending, commits=outcome == COMMIT, without=self.knobs.without
        ).committed
        return state.but(
            marked=update(state.marked, run, to=True),
            committed=always(pick(here, applied, state.committed())),
            pending=update(state.pending, by, to=pick(here, NO_OFFSET, pending)),
            pending_of=update(state.pending_of, by, to=choose(here, ABSENT, state.pending_of(by))),
        )

    def _has_room(self, number: Term, what: str) -> Term:
        return True if self.knobs.bounds is None else number < getattr(self.knobs.bounds, what)
