"""The partition with an unreplicated tail refines the durable partition, in which nothing is ever lost.

The durable partition is a log that only grows, with one entry for each producer: each of its steps is one append, as
the append decision takes it, and is never lost. The system of transactions has such partitions. A state here is
mapped to the part of the log that every replica has which may be elected (`copied`). Each action either leaves that
part as it is, or adds batches to it that the log has already: one durable step for each, in the order of the log.

A lemma is about the arguments of the action, then about a partition, a producer, and two positions. Each lemma has a
control: a change that takes the lemma away.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.judging.judge import entries_agree
from spec.protocol.records import AppendRequest
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, State, StepLemma, System, Variable, rewrite, update
from spec.systems.links import is_durable_append, keeps_committed
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.partition.actions import PartitionActions
from spec.systems.partition.log import PARTITION, POSITION, PRODUCER, PartitionKnobs, PartitionView
from spec.systems.partition.system import TRUE_SYSTEM, partition
from spec.vocabulary import ABSENT

HISTORY: Final = (
    # ghosts: the batch at each position as it was sent, and its sender
    Variable("request", (PARTITION, POSITION), AppendRequest(base_offset=0)),
    Variable("wrote", (PARTITION, PRODUCER, POSITION), initial=False),
)

COPIES: Final = "followers_copy"
"""The one action that makes more of the log safe."""

ELECTS: Final = "leader_fails_over"
"""A follower becomes the leader, with its own log."""

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]

_ABOUT: Final = (PARTITION, PRODUCER, POSITION, POSITION)


def each_batch_is_one_durable_step(log: PartitionView, producer: Term, k: Term, i: Term) -> Term:
    """From one batch to the next, what is known of producers is what one durable append makes of it.

    Args:
        log: the partition, as its leader and its followers have it.
        producer: any.
        k: a position.
        i: a position before it.
    """
    request, before, after = log.request(k), log.entry(producer, k), log.entry(producer, k + 1)
    wrote, marks = log.wrote(producer, k), log.marker(producer, k)
    decided = log.decided_by(producer, i)
    undecided = all_of(i >= 0, i < k, log.data(producer, i), any_of(decided == ABSENT, decided >= k))
    is_data = all_of(wrote, request.transactional, negate(request.control))
    step = all_of(
        request.base_offset == log.end(k),
        log.end(k + 1) == log.end(k) + request.last_offset_delta + 1,
        choose(wrote, is_durable_append(before, request, after, log.decide), entries_agree(before, after)),
        log.data(producer, k) == is_data,
        marks == all_of(wrote, request.control),
        implies(undecided, choose(marks, decided == k, negate(decided == k))),
    )
    return implies(all_of(k >= 0, k < log.length()), step)


class Refinement:
    """The lemmas of the forward simulation.

    Args:
        knobs: of the partition, and maybe of a defect.
    """

    def __init__(self, knobs: PartitionKnobs) -> None:
        self._knobs = knobs
        self._of = partial(PartitionView, knobs, knobs.decide)
        self.actions = tuple(self._remembering(action) for action in partition(knobs).actions)

    def lemma(self) -> Claim:
        """That the log is a run of the durable partition; its steps keep it."""
        sentence = each_batch_is_one_durable_step
        statement = str(sentence.__doc__).partition("\n")[0]

        def holds(state: State, partition: Term, *at: Term) -> Term:
            return sentence(self._of(state, partition), *at)

        return Claim(sentence.__name__, rules.REPL_COMMITTED_SURVIVES, statement, _ABOUT, holds)

    def theorem(self) -> Claim:
        """The same for what is committed."""

        def holds(state: State, partition: Term, producer: Term, k: Term, i: Term) -> Term:
            return implies(k < state.copied(partition), self.lemma().holds(state, partition, producer, k, i))

        statement = "What is committed of a partition is a run of the durable partition: nothing of it is ever lost."
        rests_on = frozenset({self.lemma().name, "counts"})
        return replace(
            self.lemma(), name="committed_prefix_is_durable", sentence=statement, holds=holds, rests_on=rests_on
        )

    def steps(self) -> tuple[StepLemma, ...]:
        """Every lemma, under every action."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[StepLemma]:
        for action in self.actions:
            here = len(action.over)
            about = (here, here + 1, here + 2, here + 3)
            in_order: Given = (("counts", (here,)), ("deciding_is_a_marker", (here, here + 1, here + 3)))
            inside: Given = tuple((name, about[:3]) for name in ("data_is_in_log", "marker_is_in_log"))
            given = (*in_order, *inside, (self.lemma().name, about))
            yield self._lemma(self.lemma().name, self.lemma().sentence, action, given, self._is_still_a_run)
            yield self.stays(action, COPIED)
            if action.name == ELECTS:
                yield self.assumes_no_more(action)

    def assumes_no_more(self, guarded: Action) -> StepLemma:
        """An election that keeps what is committed is one that the system lets happen.

        Args:
            guarded: the election, as the system has it.
        """
        unclean = partition(replace(self._knobs, clean_elections=False)).action(ELECTS)

        def holds(before: State, _: State, *at: Term) -> Term:
            where, to = at[0], at[1]
            last = before.copied(where) - 1
            kept = keeps_committed(last >= 0, last, to, True)
            return implies(kept, guarded.enabled(before, *at[:3]))

        statement = "A new leader is assumed to have what is committed where it was, and nothing else of it."
        return self._lemma("election_assumes_no_more", statement, unclean, (("counts", (len(unclean.over),)),), holds)

    def _is_still_a_run(self, _: State, after: State, *at: Term) -> Term:
        return self.lemma().holds(after, *at[-4:])

    def stays(self, action: Action, mapped: str) -> StepLemma:
        """What is mapped to the durable partition stays, and grows by copying alone.

        Args:
            action: any of the system.
            mapped: what counts the batches that are mapped.
        """
        here = len(action.over)

        def holds(before: State, after: State, *at: Term) -> Term:
            where, producer, k, i = at[-4:]
            was, now = self._of(before, where), self._of(after, where)
            safe = getattr(before, mapped)(where)
            grown = getattr(after, mapped)(where)
            stays = grown >= safe if action.name == COPIES else grown == safe
            within = all_of(k >= 0, k < safe, i == k)
            return all_of(
                stays,
                implies(all_of(k >= 0, k <= safe), _same_at(was, now, producer, k)),
                implies(within, _same_batch(was, now, producer, k, safe)),
            )

        given: Given = (("counts", (here,)), ("deciding_is_a_marker", (here, here + 1, here + 3)))
        statement = "What every replica has which may be elected stays, and grows by copying alone."
        return self._lemma("committed_prefix_stays", statement, action, given, holds)

    def _lemma(self, name: str, sentence: str, action: Action, given: Given, holds: Callable[..., Term]) -> StepLemma:
        return StepLemma(name, rules.REPL_COMMITTED_SURVIVES, sentence, action, _ABOUT, given, holds)

    def _remembering(self, action: Action) -> Action:
        """The action, which also keeps what it has appended, if it does."""
        made = self._requests().get(action.name)
        if made is None:
            return action

        def effect(state: State, partition: Term, producer: Term, *at: Term) -> State:
            after, end = action.effect(state, partition, producer, *at), state.length(partition)
            return after.but(
                request=update(state.request, partition, end, to=made(self._of(state, partition), *at)),
                wrote=rewrite(
                    state.wrote, lambda p, _, i: all_of(p == partition, i == end), lambda _, q, __: q == producer
                ),
            )

        return replace(action, effect=effect)

    def _requests(self) -> Mapping[str, Callable[..., AppendRequest]]:
        actions = PartitionActions(self._knobs, self._knobs.decide)
        return {
            "producer_appends": actions.data,
            "producer_appends_plain": actions.plain,
            "group_coordinator_commits": actions.offsets,
            "coordinator_writes_marker": actions.marker,
        }


COPIED: Final = "copied"


def _same_at(was: PartitionView, now: PartitionView, producer: Term, length: Term) -> Term:
    """A log with so many batches ends at the same offset, and a replica that has them knows the same."""
    return all_of(
        was.end(length) == now.end(length), entries_agree(was.entry(producer, length), now.entry(producer, length))
    )


def _same_batch(was: PartitionView, now: PartitionView, producer: Term, k: Term, safe: Term) -> Term:
    """The batch at a position is the same, and so is what has decided it, as far as that is safe."""
    return all_of(
        *(getattr(was, name)(producer, k) == getattr(now, name)(producer, k) for name in ("data", "marker", "wrote")),
        was.request(k).base_offset == now.request(k).base_offset,
        _decided(was, producer, k, safe) == _decided(now, producer, k, safe),
    )


def _decided(log: PartitionView, producer: Term, k: Term, safe: Term) -> Term:
    marker = log.decided_by(producer, k)
    return choose(marker < safe, marker, ABSENT)


def durable(knobs: PartitionKnobs = TRUE_SYSTEM) -> System:
    """The system whose theorem is that what is committed of a partition is durable.

    Args:
        knobs: what is in it; by default the true system, without bounds.
    """
    system, of = partition(knobs), Refinement(knobs)
    return replace(
        system,
        name="durable",
        variables=(*system.variables, *HISTORY),
        actions=(),
        theorems=(of.theorem(),),
        lemmas=(of.lemma(),),
        goals=(),
        steps=of.steps(),
        assumptions=(*system.assumptions, assume.ANSWERED_IS_COMMITTED),
        taken=system.lemmas,
        taken_from=system.name,
    )


_RUN, _STAYS = "each_batch_is_one_durable_step", "committed_prefix_stays"


def guarded_more(elects: Action) -> Action:
    """An election of a leader that has the whole log."""

    def guard(state: State, partition: Term, to: Term, known: Term) -> Iterator[Term]:
        yield from elects.guard(state, partition, to, known)
        yield to == state.length(partition)

    return replace(elects, guard=guard)


CHANGED: Final = (
    ("unclean election", _STAYS, "leader_fails_over", PartitionKnobs(clean_elections=False)),
    ("a new leader knows nothing of producers", _STAYS, "leader_fails_over", PartitionKnobs(replays=False)),
    ("producer state expires", _STAYS, "leader_forgets", PartitionKnobs(state_expires=True)),
    (
        "a failed append changes what is known of its producer",
        _STAYS,
        "append_fails",
        PartitionKnobs(failed_append_undone=False),
    ),
    ("a marker does not end the transaction", _RUN, "coordinator_writes_marker", PartitionKnobs(marker_ends=False)),
)
"""The defect, the lemma that is lost, the action that loses it, and the knobs of the defect."""


def undurable() -> Iterator[Misjudged]:
    """Each control, with its system."""
    for what, lemma, action, knobs in CHANGED:
        yield step_with(what, durable(knobs), lemma, action)
    system = durable()
    of = Refinement(PartitionKnobs())
    fails = next(action for action in of.actions if action.name == "leader_fails_over")
    more = of.assumes_no_more(guarded_more(fails))
    yield Misjudged("an election is assumed to lose nothing", system, more)
    yield Misjudged("all below the high watermark is mapped", system, of.stays(fails, "visible"))
