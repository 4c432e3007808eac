"""A script lets events of a world's list happen: with its own choices, and only as they can happen now."""

import re

import pytest

from reference.event import FaultRates
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.scheduler import ANSWER_LOST, ProducerScheduler
from reference.simulate.shape import Shape
from reference.tape import ImpossibleChoice, ScriptedTape, Tape
from spec.versions import NEWEST

RATE = 300


def drawn(tape: Tape) -> list[object]:
    """Every kind of draw."""
    return [
        tape.pick("abc"),
        tape.below(5),
        tape.between(10, 20),
        tape.happens(RATE),
        tape.happens(RATE + 1),
        tape.pick(["alone"]),
        tape.below(1),
        tape.between(7, 7),
    ]


def played(script: ScriptedTape) -> list[object]:
    """The same of a script, which has no more choices than that."""
    made = drawn(script)
    script.end()
    return made


def test_the_choices_are_values_and_a_single_option_takes_none() -> None:
    """What the script made is also on an ordinary tape, which plays the same."""
    script = ScriptedTape(("c", 4, 13), happening=(RATE,))

    made = played(script)

    assert ["c", 4, 13, True, False, "alone", 0, 7] == made
    assert made == drawn(Tape.recorded(script.drawn))


@pytest.mark.parametrize(
    ("choices", "happening", "named"),
    [
        (("d", 4, 13), (), "'d'"),
        (("c", 5, 13), (), "5"),
        (("c", 4, 9), (), "9"),
        (("c", 4), (), "nothing"),
        (("c", 4, 13, 1), (), "[1]"),
        (("c", 4, 13), (RATE, 17), "[17]"),
    ],
)
def test_a_choice_that_is_none_is_named(choices: tuple[object, ...], happening: tuple[int, ...], named: str) -> None:
    """It is no option, outside of the range, missing, or left over; or nothing has the rate."""
    script = ScriptedTape(choices, happening)

    with pytest.raises(ImpossibleChoice, match=re.escape(named)):
        played(script)


def events(replicas: int = 2) -> ProducerScheduler:
    """Events of a cluster with a batch under way, which fail only where a script says so."""
    cluster = SimulatedCluster(NEWEST, Shape(producers=1, nodes=replicas), ordered=False)
    cluster.producer_asks_for_id(0)
    cluster.application_makes(0, 0, 1)
    cluster.producer_sends(0, 0)
    return ProducerScheduler(cluster, Tape.recorded(()), FaultRates())


def test_an_event_happens_as_the_script_says() -> None:
    """The request is lost; a follower leads."""
    scheduler = events()
    (message,) = scheduler.cluster.requests.in_transit

    scheduler.let(scheduler.network_fails, message)
    scheduler.let(scheduler.leader_fails_over, 1)

    assert [] == scheduler.cluster.requests.in_transit
    assert 1 == scheduler.cluster.partitions[0].leader_node


def test_what_cannot_happen_is_refused() -> None:
    """Another message is to be lost than the one that is under way; nobody can take over; nothing arrives twice."""
    lossy, alone = events(), events(replicas=1)
    with pytest.raises(ImpossibleChoice, match="another message"):
        lossy.let(lossy.network_fails, "another message")
    (message,) = alone.cluster.requests.in_transit
    with pytest.raises(ImpossibleChoice, match="leader_fails_over"):
        alone.let(alone.leader_fails_over)
    with pytest.raises(ImpossibleChoice, match=str(ANSWER_LOST)):
        alone.let(alone.broker_receives, message, happening=(ANSWER_LOST,))
    with pytest.raises(ImpossibleChoice, match="broker_receives"):
        alone.let(alone.broker_receives, message)


def test_a_loss_that_leaves_nothing_under_way_has_happened() -> None:
    """A simulation lets no other event happen in its place."""
    scheduler = events()

    assert scheduler.network_fails(Tape.recorded(()))
    assert not scheduler.network_fails(Tape.recorded(()))
