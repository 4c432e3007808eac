"""Explicit search where things are interchangeable, and what it remembers: fewer states, the same verdicts."""

from dataclasses import replace
from functools import partial
from itertools import count, product

import pytest

from model_tests.verify.model_checking import Instanced, look
from model_tests.verify.transactions_searches import built
from spec import rules
from spec.engines import cells
from spec.engines.cells import StateLayout, StateReading, TooManyValues
from spec.engines.explore import Exploration, Symmetry, _Search, explore, replayed
from spec.engines.finite import Finite, instance_of
from spec.engines.memoization import Alarms, MemoizedValue, MemoizedValues
from spec.engines.verdict import Holds, Refuted
from spec.systems.idempotence.stream import StreamKnobs as StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.idempotence.system import sizes as stream_sizes
from spec.systems.ids.system import IdsKnobs as BlockKnobs
from spec.systems.ids.system import ids
from spec.systems.ids.system import sizes as block_sizes
from spec.systems.language import Action, Claim, Sort, State, System, Variable, rewrite, update
from spec.systems.partition.log import PartitionKnobs as LogKnobs
from spec.systems.partition.system import partition
from spec.systems.partition.system import sizes as log_sizes
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.instances import INSTANCES


def of_transactions(name: str) -> Instanced:
    return built(name, next(each.knobs for each in INSTANCES if each.name == name))


def streams() -> Instanced:
    knobs = StreamKnobs(in_flight=1, requests=1, appends=1, fails_over=False, gives_up=False)
    system = idempotence(knobs)
    return Instanced("three streams", system, system, instance_of(system, stream_sizes(knobs, streams=3)))


def producers() -> Instanced:
    knobs = LogKnobs(appends=2, plain_data=False, offset_commits=False, fails_over=False)
    system = partition(knobs)
    return Instanced("two producers", system, system, instance_of(system, log_sizes(knobs, producers=2)))


def brokers() -> Instanced:
    knobs = BlockKnobs(size=1, largest=2)
    system = ids(knobs)
    return Instanced("three brokers", system, system, instance_of(system, block_sizes(knobs, 3)))


COUNTS = {
    "one transaction on two partitions": ((274, 850), (155, 486)),
    "readers of two partitions": ((918, 4226), (494, 2282)),
    "three streams": ((125, 600), (35, 168)),
    "two producers": ((171, 294), (86, 149)),
    "three brokers": ((3079, 17895), (597, 3471)),
}
"""States and edges of the whole instance, and of its representatives: a stream has 5 states, and 35 threes of these."""

MADE = {"three streams": streams, "two producers": producers, "three brokers": brokers}


def instance_called(name: str) -> Instanced:
    return MADE[name]() if name in MADE else of_transactions(name)


def searched(instance: Instanced, symmetry: bool = False) -> Exploration:
    return explore(instance.system, instance.finite, symmetry=symmetry)


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_interchangeable_counts_once(name: str) -> None:
    """Exact counts with and without, the same depth and verdict, the same goals in as many steps."""
    instance = instance_called(name)

    whole, alike = searched(instance), searched(instance, symmetry=True)

    assert COUNTS[name] == ((whole.states, whole.edges), (alike.states, alike.edges))
    assert whole.verdict == alike.verdict == Holds(whole.depth, complete=True)
    assert whole.happened == alike.happened
    assert {goal: len(trace) for goal, trace in whole.reached.items()} == {
        goal: len(trace) for goal, trace in alike.reached.items()
    }


@pytest.mark.parametrize("name", COUNTS)
def test_every_state_is_one_of_a_representative(name: str) -> None:
    """Each state has its representative among those that were found; all of them are states."""
    instance = instance_called(name)
    layout = StateLayout(instance.system, instance.finite)
    symmetry = Symmetry(instance.system, instance.finite, layout)

    whole, alike = searched(instance), searched(instance, symmetry=True)

    assert alike.states < whole.states <= alike.states * len(symmetry)


def test_the_verification_looks_at_representatives() -> None:
    """One state stands for those that are alike; the verdict is that of the whole instance."""
    instance = instance_called("two producers")
    rules_asked = tuple({claim.rule for claim in instance.system.theorems})

    looked = look(instance, rules_asked, 0).exploration

    assert COUNTS["two producers"][1] == (looked.states, looked.edges)
    assert looked.verdict == searched(instance).verdict


def test_many_values_are_numbered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a function has more values than a byte, states are tuples, and the search is the same."""
    instance = instance_called("two producers")
    narrow = searched(instance)
    monkeypatch.setattr(cells, "MOST_VALUES", 2)

    wide = searched(instance)

    assert (narrow.states, narrow.edges, narrow.verdict) == (wide.states, wide.edges, wide.verdict)
    with pytest.raises(TooManyValues):
        _Search(instance.system, instance.finite, (), symmetry=False, narrow=True).run(None, 1000)


TWICE = [each for each in CONTROLS if each.knobs.bounds.partitions > 1]


@pytest.mark.parametrize("change", TWICE, ids=lambda change: change.name)
def test_a_violation_is_as_near_and_its_trace_is_a_run(change: object) -> None:
    """The trace has the names of one run, in which every action can happen and the claim falls."""
    instance = built(change.name, change.knobs)  # type: ignore[attr-defined]
    claim = instance.system.claim(change.violates)  # type: ignore[attr-defined]

    whole, alike = (explore(instance.system, instance.finite, [claim], symmetry=s).verdict for s in (False, True))

    assert isinstance(whole, Refuted)
    assert isinstance(alike, Refuted)
    assert whole.depth == alike.depth
    last = replayed(instance.system, instance.finite, alike.trace)
    assert not all(claim.holds(last, *at) for at in instance.finite.points(claim.over))


THING = Sort("thing", opaque=True)
ALWAYS = Claim("any", rules.SEQ_ORDER, "", (), lambda state: True)


def coloured(claim: Claim, things: int = 3) -> tuple[System, Finite]:
    """So many things, of which each is painted once, in the colours 1, 2, 3 and so on."""

    def free(state: State, thing: int) -> object:
        yield state.colour(thing) == 0

    def painted(state: State, thing: int) -> State:
        return state.but(
            colour=update(state.colour, thing, to=state.next() + 1), next=update(state.next, to=state.next() + 1)
        )

    paint = Action("painter_paints", (THING,), free, painted)  # type: ignore[arg-type]
    variables = (Variable("colour", (THING,), 0), Variable("next", (), 0))
    system = System("painting", variables, (paint,), (claim,), (), (), ())
    return system, instance_of(system, {"thing": things})


def test_things_that_are_alike_count_once() -> None:
    """Only the number of painted things distinguishes two states."""
    system, finite = coloured(ALWAYS)

    assert 1 + 3 + 6 + 6 == explore(system, finite).states
    assert 1 + 1 + 1 + 1 == explore(system, finite, symmetry=True).states


@pytest.mark.parametrize("things", [3, 4])
@pytest.mark.parametrize("order", [1, -1])
def test_a_trace_through_renamings_names_different_things(things: int, order: int) -> None:
    """Each step of the run paints another one; then they fade in some order, whatever representatives are called."""

    def fades(state: State, thing: int) -> object:
        yield state.next() >= things
        yield state.colour(thing) == (state.next() - things + 1 if order > 0 else 2 * things - state.next())

    def faded(state: State, thing: int) -> State:
        return state.but(colour=update(state.colour, thing, to=0), next=update(state.next, to=state.next() + 1))

    claim = Claim("not_all", rules.SEQ_ORDER, "Not all fade.", (), lambda state: state.next() < 2 * things)
    painting, finite = coloured(claim, things)
    paint = replace(painting.actions[0], guard=lambda state, at: iter((state.next() < things, state.colour(at) == 0)))
    fade = Action("colour_fades", (THING,), fades, faded)  # type: ignore[arg-type]
    system = replace(painting, actions=(paint, fade))

    verdict = explore(system, finite, symmetry=True).verdict

    assert isinstance(verdict, Refuted)
    painted, gone = verdict.trace[:things], verdict.trace[things:]
    assert things == len({step.at for step in painted})
    assert [step.at for step in painted][::order] == [step.at for step in gone]
    assert 2 * things == replayed(system, finite, verdict.trace).next()


def numbered(layout: StateLayout, system: System, numbers: dict[int, int]) -> int:
    """The first state, but for these numbers in these places; colours below 3 are their own numbers."""
    start = layout.initial(system)
    layout.written(layout.state(start).but(colour=lambda thing: thing))
    return layout.bits(layout.applied(start, layout.writing(numbers)))


def test_what_is_remembered_is_worked_out_once_for_the_cells_that_it_reads() -> None:
    """Another value in a cell that is not read is the same question."""
    system, finite = coloured(ALWAYS)
    layout, request = StateLayout(system, finite, narrow=True), count()

    def reads_one(state: State, _: StateReading) -> int:
        next(request)
        return 7 if state.colour(0) == 0 else int(state.colour(1))

    remembered = MemoizedValue(layout, reads_one)
    states = [numbered(layout, system, {place: number}) for place in (1, 2) for number in (0, 1)]

    assert [7] * 4 == [remembered(state) for state in states]
    assert "1" == str(next(request))


PAINTED = {at: {place: number for place, number in enumerate(at) if number} for at in product((0, 1, 2), repeat=3)}
"""States of three things, by their colours: the numbers in the places that differ from the first state."""


def test_what_turns_out_to_read_more_is_not_answered_by_what_it_read_before() -> None:
    """The first thing decides which other one is looked at: states that agree in what was read so far may differ."""
    system, finite = coloured(ALWAYS)
    layout = StateLayout(system, finite, narrow=True)
    remembered = MemoizedValue(layout, lambda state, _: state.colour(state.colour(0)))

    for _ in range(2):
        for at, numbers in PAINTED.items():
            assert at[at[0]] == remembered(numbered(layout, system, numbers))


def looks_further(thing: int, state: State, _: StateReading) -> bool:
    return bool(state.colour(state.colour(thing)) < 2)


def test_of_the_next_state_only_what_reads_what_was_written_is_asked() -> None:
    """Its answers are those of a state of which nothing is known, whatever was read on the way to the one before."""
    system, finite = coloured(ALWAYS)
    layout = StateLayout(system, finite, narrow=True)
    things = [MemoizedValue(layout, partial(looks_further, thing)) for thing in range(3)]
    watch, alarms = MemoizedValues(layout, things), Alarms(layout, things)

    for start in ((0, 0, 0), (1, 0, 1)):
        before = watch.all(numbered(layout, system, PAINTED[start]))
        assert all(before)
        for at, numbers in PAINTED.items():
            places = tuple(place for place, (old, new) in enumerate(zip(start, at, strict=True)) if old != new)
            bits = numbered(layout, system, numbers)
            low = [at[colour] < 2 for colour in at]
            assert low == watch.after(before, places, bits)
            assert [number for number, quiet in enumerate(low) if not quiet] == alarms.after(places, bits)


def test_what_depends_on_more_than_the_state_is_an_error() -> None:
    """It would be remembered wrongly."""
    system, finite = coloured(ALWAYS)
    layout, turn = StateLayout(system, finite, narrow=True), count()
    remembered = MemoizedValue(layout, lambda state, _: state.colour(next(turn)))
    remembered(numbered(layout, system, {}))

    with pytest.raises(AssertionError, match="depends on more than the state"):
        remembered(numbered(layout, system, {0: 99}))


def test_rewriting_a_function_writes_where_it_says() -> None:
    """As one update for each of these points."""
    system, finite = coloured(ALWAYS)

    def all_after(state: State, thing: int) -> State:
        return state.but(colour=rewrite(state.colour, lambda at: at >= thing, lambda at: at + 5))

    layout = StateLayout(system, finite)
    start = layout.initial(system)
    after = layout.applied(start, layout.written(all_after(layout.state(start), 1)))
    assert [0, 6, 7] == [layout.state(after).colour(thing) for thing in range(3)]
