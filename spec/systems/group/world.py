"""The state of a group that reads one partition, of which each generation has one member.

That member is the one of its generation for ever: members of past generations go on as if they were still present, and
whether a later generation's member is another one makes no difference. A member works on a run of records, and asks the
group to commit the offset after it: in a transaction, whose outputs are the effects of the records, or without one.
The effects of a run without a transaction are what it is taken to have done when its commit is accepted.
"""

from dataclasses import dataclass
from typing import Final

from spec.algebra import Term, all_of, choose
from spec.protocol import committing, offsets
from spec.protocol.committing import CommitRequest
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.offsets import NO_OFFSET, OffsetReply
from spec.systems import assumptions as assume
from spec.systems.language import Least, Sort, State, Variable
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, GroupState

GENERATION: Final = Sort("generation")
RUN: Final = Sort("run")
POSITION: Final = Sort("position")
OUTCOME: Final = Sort("outcome")
WAY: Final = Sort("way")

ABORT, COMMIT = 0, 1
"""The outcomes of a run, and of the transaction that wrote a record which the group reads."""

PLAIN, TRANSACTIONAL = 0, 1
"""The ways in which a run's offset is committed."""

ASSUMPTIONS: Final = (
    assume.MARKERS_ARE_TAKEN_OVER,
    assume.ONE_MEMBER_READS,
    assume.LAST_COMMIT_COUNTS,
    assume.COMMITS_WHAT_IT_HAS_READ,
    assume.GOES_BACK_AFTER_ABORT,
    assume.GROUP_KEEPS_ITS_OFFSET,
)


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """How many of each an instance has."""

    generations: int = 2
    runs: int = 2
    positions: int = 2
    commits: int = 3


@dataclass(frozen=True, slots=True)
class GroupKnobs:
    """What is in the system; the defaults are the true system, without bounds.

    Attributes:
        profile: the release whose decisions are taken.
        without: guards of commits and of fetches that never apply.
        waits_for_stable: a reader is given nothing that is not decided.
        aborted_filtered: nor what was aborted.
        fetches_stable: a member asks for a stable offset when it begins (KIP-447).
        one_outcome: the marker of the offsets has the outcome of the outputs.
        in_order: the commit of an offset that comes last is the last one of its run.
        read_all: a member asks to commit no offset beyond what it has read.
        waits_for_answer: a transaction is to commit once the commit of its offset is accepted.
        keeps_offset: the group's offset stays until a later one is committed.
        goes_back: a member whose transaction was aborted begins at the group's offset again.
        bounds: of a finite instance, if it has bounds.
    """

    profile: Profile = NEWEST
    without: frozenset[str] = frozenset()
    waits_for_stable: bool = True
    aborted_filtered: bool = True
    fetches_stable: bool = True
    one_outcome: bool = True
    in_order: bool = True
    read_all: bool = True
    waits_for_answer: bool = True
    goes_back: bool = True
    keeps_offset: bool = True
    bounds: GroupBounds | None = None

    def sizes(self) -> dict[str, int]:
        """How many values each sort has in a finite instance."""
        bounds = self.bounds or GroupBounds()
        return {
            GENERATION.name: bounds.generations,
            RUN.name: bounds.runs,
            POSITION.name: bounds.positions + 1,
            OUTCOME.name: 2,
            WAY.name: 2,
        }


VARIABLES: Final = (
    # the records that the group reads: their outcomes, as far as they have one
    Variable("verdict", (POSITION,), ABSENT),
    # members: how far each is, ABSENT if it has not begun, and what it works on
    Variable("position", (GENERATION,), ABSENT),
    Variable("current", (GENERATION,), ABSENT),
    # runs: whose, committed how, where each begins, the offset that was asked for last, and whether no more is
    Variable("by", (RUN,), ABSENT),
    Variable("way", (RUN,), PLAIN),
    Variable("begins", (RUN,), ABSENT),
    Variable("requested", (RUN,), ABSENT),
    Variable("ending", (RUN,), initial=False),
    # the coordinators: what each run comes to, and whether the marker has reached the offsets
    Variable("outcome", (RUN,), ABSENT),
    Variable("marked", (RUN,), initial=False),
    # the group: its generation, its offset, what each member's producer has pending, and in which run
    Variable("generation", (), 0),
    Variable("log_end", (), 0),
    Variable("committed", (), NO_OFFSET),
    Variable("pending", (GENERATION,), NO_OFFSET),
    Variable("pending_of", (GENERATION,), ABSENT),
    Variable("accepted", (RUN,), ABSENT),
    # ghosts: the records that a run was given, the effects of each record, and how far the effects are; the last run
    # that was committed, and the latest member that has begun
    Variable("given", (RUN, POSITION), initial=False),
    Variable("effects", (POSITION,), 0),
    Variable("frontier", (), 0),
    Variable("last", (), ABSENT),
    Variable("latest", (), ABSENT),
)


def derived() -> tuple[Least, ...]:
    """The first offset that a member has pending, by its place in the log; a fetch looks for one."""

    def pends(state: State, generation: Term) -> Term:
        return state.pending(generation).recorded_at

    return (Least("first_pending", (), (GENERATION,), pends),)


def is_transactional(state: State, run: Term) -> Term:
    """The run's offset is committed in a transaction."""
    return state.way(run) == TRANSACTIONAL


def works_on(state: State, generation: Term, run: Term) -> Term:
    """The generation's member works on this run."""
    return all_of(generation >= 0, run >= 0, state.current(generation) == run)


def start_of(state: State) -> Term:
    """Where a member begins that finds the group's offset as it is: at the start, where there is none."""
    return choose(state.committed().present, state.committed().offset, 0)


def fetched(knobs: GroupKnobs, state: State) -> OffsetReply:
    """The answer to a member that fetches the group's offset."""
    is_pending = state.first_pending() >= 0
    return offsets.fetch(state.committed(), is_pending, stable=knobs.fetches_stable, without=knobs.without)


def is_let_commit(knobs: GroupKnobs, state: State, run: Term, *, transactional: bool) -> Term:
    """The group lets the commit of a run through, as that of a present member."""
    group = GroupEntry(known=True, state=GroupState.STABLE.value, generation=state.generation())
    member = KnownClaim(generation=state.by(run), member_given=True, member_known=True)
    version = committing.ADDS_SINCE if transactional else committing.NOT_FOUND_SINCE
    decide = committing.commit_in_transaction if transactional else committing.commit
    let = decide(group, CommitRequest(version, claim=member), knobs.profile, knobs.without)
    return let.error == ErrorCode.NONE.value
