from dataclasses import replace

import pytest

from model_tests.unit.by_default import by_default
from model_tests.verify.idempotence_searches import INSTANCES
from spec import rules
from spec.engines.bmc import search
from spec.engines.explore import explore, replayed
from spec.engines.finite import Finite, Vacuous, demand_all_happen, instance_of
from spec.engines.verdict import Happening, Holds, Refuted, Unknown, passed
from spec.systems.idempotence.controls import CONTROLS, BrokenSystem
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence, sizes
from spec.systems.language import Action, Claim, State, System, Variable, update
from spec.systems.system_append import remembered

COUNTS = {
    "all faults": (400, 2004),
    "five in flight": (339, 3068),
    "wrapping": (49, 179),
    "three epochs": (5227, 29615),
    "batches of two sizes": (2662, 13985),
}
"""States and edges of the whole instance."""

DEPTHS = {
    "window of four, five in flight": 10,
    "six in flight, window of five": 12,
    "two in flight, window of one": 6,
    "acknowledged batches do not count as in flight": 8,
    "duplicate check off": 4,
    "epoch reset off": 9,
    "stale epoch check off": 6,
    "wrap off": 10,
    "a request outlives a turn of the sequence": 9,
    "expiry on": 4,
    "first batch overtaken": 5,
    "a new leader knows the last batch alone": 7,
    "an answer out of order arrives late": 13,
    "unclean election": 5,
}
"""Actions of the shortest violation."""

BOUNDED = ("duplicate check off", "two in flight, window of one")
"""Controls that bounded search finds by default, too; `make verify` searches some of them within bounds by default."""

SHALLOW = 6
"""Actions of the deepest of these, and of those of the deep profile."""


def the_system(knobs: StreamKnobs) -> System:
    return idempotence(knobs, remembered(knobs.decide))


def finite_of(change: BrokenSystem) -> Finite:
    return instance_of(the_system(change.knobs), sizes(change.knobs, change.epochs, change.deltas))


@pytest.mark.parametrize("name", COUNTS)
def test_an_instance_has_exactly_these_states(name: str) -> None:
    """Every state of the true system was seen, and the theorems hold in each."""
    instance = next(instance for instance in INSTANCES if instance.name == name).built()

    found = explore(instance.system, instance.finite)

    assert COUNTS[name] == (found.states, found.edges)
    assert found.verdict == Holds(found.depth, complete=True)


def test_every_control_is_here() -> None:
    """A new control has its depth pinned."""
    assert set(DEPTHS) == {change.name for change in CONTROLS}


@pytest.mark.parametrize("change", CONTROLS, ids=lambda change: change.name)
def test_explicit_search_finds_the_shortest_violation(change: BrokenSystem) -> None:
    """The violation is of the claim written beside the change, and its trace can be replayed."""
    system = the_system(change.knobs)
    claim = system.claim(change.violates)

    verdict = explore(system, finite_of(change), [claim]).verdict

    assert isinstance(verdict, Refuted)
    assert (verdict.claim, verdict.depth) == (change.violates, DEPTHS[change.name])
    last = replayed(system, finite_of(change), verdict.trace)
    assert not all(claim.holds(last, *at) for at in finite_of(change).points(claim.over))


@pytest.mark.parametrize("stride", [1, 4])
@pytest.mark.parametrize(
    "change", by_default({each.name: each for each in CONTROLS if DEPTHS[each.name] <= SHALLOW}, BOUNDED)
)
def test_bounded_search_finds_a_violation_at_the_same_depth(change: BrokenSystem, stride: int) -> None:
    """Whatever the stride, and its trace is one of the explicit system."""
    system = idempotence(change.knobs)
    claim = system.claim(change.violates)

    verdict = search(system, finite_of(change), SHALLOW, [claim], stride).verdict

    assert isinstance(verdict, Refuted)
    assert verdict.depth == DEPTHS[change.name]
    last = replayed(system, finite_of(change), verdict.trace)
    assert not all(claim.holds(last, *at) for at in finite_of(change).points(claim.over))


def test_the_true_system_holds_as_deep_as_it_is_searched() -> None:
    """No violation in bounded search of few actions."""
    knobs = StreamKnobs(in_flight=2, requests=2, appends=2)
    system = idempotence(knobs)

    assert search(system, instance_of(system, sizes(knobs)), 4).verdict == Holds(4)


def test_two_streams_are_as_many_states_as_one_times_one() -> None:
    """Streams share nothing: their states are pairs."""
    knobs = StreamKnobs(in_flight=1, requests=1, appends=1, fails_over=False, gives_up=False)
    system = the_system(knobs)

    one = explore(system, instance_of(system, sizes(knobs))).states
    two = explore(system, instance_of(system, sizes(knobs, streams=2))).states

    assert two == one * one


def test_too_many_states_are_unknown_and_no_success() -> None:
    """A search that was cut short claims nothing."""
    knobs = StreamKnobs(in_flight=2, requests=3, appends=3)
    system = the_system(knobs)

    verdict = explore(system, instance_of(system, sizes(knobs)), most_states=10).verdict

    assert isinstance(verdict, Unknown)
    assert not passed(verdict)


def test_an_action_that_cannot_happen_is_named() -> None:
    """A system that claims less than it declares is refused."""
    with pytest.raises(Vacuous, match="client_sends can never happen"):
        demand_all_happen(idempotence(), frozenset())
    with pytest.raises(Vacuous, match="client_starts_over must never happen"):
        demand_all_happen(idempotence(), frozenset(action.name for action in idempotence().actions))


def test_a_claim_that_is_false_at_the_start_is_named() -> None:
    """Both searches refute it after nothing has happened."""
    knobs = StreamKnobs(requests=1, appends=1)
    system = the_system(knobs)
    false = replace(system.claim("counts"), name="never", holds=lambda state, s: state.length(s) > 0)
    finite = instance_of(system, sizes(knobs))

    assert explore(system, finite, [false]).verdict == Refuted("never", ())
    assert search(system, finite, 1, [false]).verdict == Refuted("never", ())


def test_a_violation_at_the_end_of_everything_is_found() -> None:
    """Bounded search asks several depths at once, also of a system in which nothing can happen after the violation."""
    once = Action(
        "happens_once", (), lambda state: iter((state.count() < 1,)), lambda s: s.but(count=update(s.count, to=1))
    )
    claim = Claim("never", rules.SEQ_ORDER, "It never happens.", (), lambda state: state.count() < 1)
    system = System("ending", (Variable("count", (), 0),), (once,), (claim,), (), (), ())

    verdict = search(system, instance_of(system, {}), 5, stride=5).verdict

    assert verdict == Refuted("never", (Happening("happens_once", ()),))


def test_a_write_outside_the_instance_is_an_error() -> None:
    """An instance too small for its system would otherwise lose what is written."""
    knobs = StreamKnobs(requests=2, appends=2)
    system = the_system(knobs)

    def beyond(state: State, stream: int, delta: int) -> State:
        return system.action("client_sends").effect(state, stream + 1, delta)

    wrong = replace(system, actions=(replace(system.action("client_sends"), effect=beyond),))
    with pytest.raises(IndexError, match="outside the instance"):
        explore(wrong, instance_of(system, sizes(knobs)))


def test_a_trace_that_cannot_happen_is_refused() -> None:
    """Replay checks each guard."""
    change = CONTROLS[0]
    system = the_system(change.knobs)
    trace = explore(system, finite_of(change), [system.claim(change.violates)]).verdict
    assert isinstance(trace, Refuted)

    with pytest.raises(ValueError, match="cannot happen"):
        replayed(system, finite_of(change), tuple(reversed(trace.trace)))
