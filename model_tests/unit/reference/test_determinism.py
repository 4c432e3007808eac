import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.monitor.monitor import Monitor
from reference.clock import Clock, NodeClock
from reference.network import Network
from reference.tape import SeededReel, Tape, Weighted
from reference.world.transaction_shape import Skew, TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import TransactionState


def test_a_seed_gives_the_same_numbers_everywhere() -> None:
    """The generator is SplitMix64, whose first outputs for seed 0 are published."""
    reel = SeededReel(0)

    assert [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4] == [reel.below(2**64), reel.below(2**64)]


@given(st.integers())
def test_words_that_are_mixed_together_are_those_that_are_mixed_alone(seed: int) -> None:
    """The generator by its definition, past the end of a block."""
    reel, word = SeededReel(seed), 2**64

    for place in range(1, 600):
        alone = (seed + place * 0x9E3779B97F4A7C15) % word
        alone = (alone ^ (alone >> 30)) * 0xBF58476D1CE4E5B9 % word
        alone = (alone ^ (alone >> 27)) * 0x94D049BB133111EB % word
        assert alone ^ (alone >> 31) == reel.below(word)


@given(st.integers(), st.lists(st.integers(1, 1000), max_size=30))
def test_a_recorded_tape_makes_the_same_choices(seed: int, bounds: list[int]) -> None:
    """What a tape drew, played again, is the same run."""
    tape = Tape.seeded(seed)
    first = [tape.below(bound) for bound in bounds]

    again = Tape.recorded(tape.drawn)

    assert first == [again.below(bound) for bound in bounds]


def test_past_its_end_a_tape_makes_the_simplest_choice() -> None:
    """A tape cut short still plays: first option, no fault."""
    tape = Tape.recorded([])

    assert "first" == tape.pick(["first", "second"])
    assert not tape.happens(999)
    assert "a" == tape.weighted([("a", 1), ("b", 5)])


@given(st.data())
def test_hypothesis_can_be_the_tape(data: st.DataObject) -> None:
    """Choices drawn by Hypothesis stay within their bounds."""
    tape = Tape.drawing(lambda bound: data.draw(st.integers(0, bound - 1)))

    assert 3 <= tape.between(3, 9) <= 9


def test_options_are_chosen_by_their_weights() -> None:
    """Each as often as its weight; one without weight never, and the first is the simplest."""
    options = Weighted([("often", 30), ("never", 0), ("seldom", 10)])
    tape = Tape.seeded(5)

    chosen = [options.pick(tape) for _ in range(2000)]

    assert {"often", "seldom"} == set(chosen)
    assert 1400 < chosen.count("often") < 1600
    assert ("often", 40) == (options.pick(Tape.recorded([])), options.total)


def test_a_clock_is_ahead_and_drifts() -> None:
    """Half a second ahead at first; a clock that is too slow by one in a thousand loses a second in a thousand."""
    world = Clock()
    fast, slow = NodeClock(world, ahead_ms=500), NodeClock(world, drift_ppm=-1000)
    before = (fast.now, slow.now)

    world.advance(1_000_000)

    assert (500, 0) == before
    assert (1_000_500, 999_000) == (fast.now, slow.now)


def test_a_coordinator_times_out_by_its_own_clock() -> None:
    """A transaction that is not yet too old by true time is aborted by a node whose clock goes too fast."""
    aborted = []
    for drift_ppm in (0, 100_000):
        shape = TransactionShape(transaction_timeout_ms=5_000, skews=(Skew(300, drift_ppm),))
        world = TransactionWorld(shape=shape)
        instance = world.application_starts("payments")
        world.application_initializes(instance)
        _settle(world)
        world.application_begins(instance)
        world.application_sends(instance, world.partitions[0])
        _settle(world)
        world.clock.advance(4_900)
        world.coordinator_aborts_timed_out(0)
        row = world.recorder.rows[-1]
        assert row["api"] == "TransactionTimeout"
        aborted.append(row["after_txn_state"] == TransactionState.PREPARE_ABORT)

    assert [False, True] == aborted


def test_a_coordinator_completes_before_the_time_in_the_prepare_record_of_another() -> None:
    """The new coordinator's clock is behind that of the one that decided: no rule is broken by the earlier time."""
    world = TransactionWorld(shape=TransactionShape(skews=(Skew(9_000, 0),)))
    instance = world.application_starts("payments")
    world.application_initializes(instance)
    _settle(world)
    world.application_begins(instance)
    world.application_sends(instance, world.partitions[0])
    _settle(world)
    world.application_commits(instance)
    _settle(world)
    world.coordinator_fails_over(0, 1)
    world.coordinator_sends_markers(1)
    _settle(world)

    completed = world.recorder.rows[-1]
    assert ("MarkerAnswered", TransactionState.COMPLETE_COMMIT) == (completed["api"], completed["after_txn_state"])
    assert int(completed["after_txn_updated_ms"]) < int(completed["before_txn_updated_ms"])
    monitor = Monitor()
    assert not [each for row in world.recorder.rows for each in monitor.judge(row)]


def test_a_row_has_the_time_of_its_node_and_the_true_time() -> None:
    """Where a clock is ahead, the difference is that of the two columns; clients go by true time."""
    world = TransactionWorld(shape=TransactionShape(skews=(Skew(700, 0),)))
    instance = world.application_starts("payments")
    world.application_initializes(instance)
    _settle(world)

    ahead = {str(row["api"]): int(row["time_ms"]) - int(row["world_ms"]) for row in world.recorder.rows}
    assert (700, 0) == (ahead["InitProducerId"], ahead["ClientStart"])


def _settle(world: TransactionWorld) -> None:
    """Deliver everything at once, so that no time passes."""
    for _ in range(20):
        for instance in world.living:
            if instance.producer.may_poll():
                world.producer_asks(instance)
            for partition in world.sendable(instance):
                world.producer_sends(instance, partition)
        for request in tuple(world.wires.requests.in_transit):
            world.broker_receives(request)
        for answer in tuple(world.wires.replies.in_transit):
            world.sender_receives(answer)


def test_a_connection_keeps_its_order() -> None:
    """In order, only the oldest message of each connection can come next."""
    network: Network[str] = Network(ordered=True)
    for channel, payload in ((1, "a"), (1, "b"), (2, "c")):
        network.send(channel, payload)

    assert ["a", "c"] == [message.payload for message in network.deliverable()]


def test_without_order_everything_can_come_next() -> None:
    """Out of order, any message can."""
    network: Network[str] = Network(ordered=False)
    for payload in "abc":
        network.send(1, payload)

    assert ["a", "b", "c"] == [message.payload for message in network.deliverable()]


def test_a_copy_comes_later_with_the_same_number() -> None:
    """A delivered message may leave a copy, which holds up nothing."""
    network: Network[str] = Network()
    sent = network.send(1, "a")
    network.send(1, "b")

    network.deliver(sent, leave_copy=True)

    assert [("b", 1, False), ("a", 0, True)] == [(m.payload, m.number, m.copy) for m in network.deliverable()]


def test_a_break_takes_the_tail() -> None:
    """What was sent last is lost; what arrives is a beginning of what was sent."""
    network: Network[str] = Network()
    for payload in "abc":
        network.send(1, payload)
    network.send(2, "d")

    network.cut(1, 1)

    assert ["a", "d"] == [message.payload for message in network.in_transit]


PRINTED = """
import json
from reference.simulate.simulation import simulate
from spec.versions import PROFILES
from spec.vocabulary import TransactionState

profiles = list(PROFILES.values())
for workload in ("raw", "producers", "transactions", "replicas"):
    for seed in range(4):
        print(json.dumps(simulate(seed, profiles[5 * seed % len(profiles)], 150, workload=workload)))
"""
OTHER_PYTHON = "EOS_OTHER_PYTHON"


@cache
def digest(python: str, hash_seed: str) -> str:
    """Of traces of every workload, made by an interpreter of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])}
    ran = subprocess.run([python, "-c", PRINTED], env=environment, capture_output=True, check=True)
    assert ran.stdout.count(b"\n") == 16
    return hashlib.sha256(ran.stdout).hexdigest()


def other_python() -> str | None:
    """An interpreter of another version that has what the reference needs: one that is named, or on the path."""
    newer = (f"python3.{minor}" for minor in range(11, 16) if minor != sys.version_info.minor)
    for name in (os.environ.get(OTHER_PYTHON, ""), *newer):
        found = shutil.which(name) if name else None
        if found is not None:
            imports = subprocess.run([found, "-c", "import crc32c, cramjam"], capture_output=True, check=False)
            if imports.returncode == 0:
                return found
    return None


def test_the_order_of_sets_and_dictionaries_leaves_no_mark() -> None:
    """Two hash seeds, the same bytes."""
    assert digest(sys.executable, "1") == digest(sys.executable, "2")


def test_another_version_of_python_makes_the_same_bytes() -> None:
    """Two versions of Python, the same bytes."""
    other = other_python()
    if other is None:
        pytest.skip(f"no other Python >= 3.11 with crc32c and cramjam on the path; {OTHER_PYTHON} may name one")

    assert digest(sys.executable, "1") == digest(other, "2")
