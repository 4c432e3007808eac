"""A producer of records in runs from a tape: its rules hold and are at stake, and a defect turns the machine red."""

from collections import Counter
from typing import Final

import pytest

from model_tests.machines import part
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.sending_events import SENDING_RULES, run_sending
from model_tests.machines.sending_machine import SendingMachine
from model_tests.mutants.defects.of_sending import OF_SENDING, hunt_in_sending
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import caught, survival
from model_tests.unit.machines.small import small
from spec.vocabulary import ErrorCode

SMALL: Final = small(20)


def test_the_rules_hold_and_everything_happens() -> None:
    """Nothing breaks in runs from seeds, in which batches are retried, split, given up and renumbered."""
    ledger, errors, failed, bumped = Ledger(), Counter[ErrorCode](), Counter[str](), 0
    for seed in range(120):
        producer = run_sending(seed, ledger).producer
        errors += producer.counts.errors
        failed += producer.counts.failed
        bumped += producer.batches.identity is not None and producer.batches.identity.epoch > 0

    assert [] == [str(broken) for broken in ledger.broken]
    assert [] == [rule.id for rule in SENDING_RULES if ledger.at_stake[rule] < 1000]
    seen = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE)
    assert [] == [error.name for error in seen if not errors[error]]
    assert (True, True) == (failed["REQUEST_TIMED_OUT"] > 0, bumped > 0)


def test_memory_comes_back() -> None:
    """When every record has come to its end, no batch has memory."""
    for seed in range(40):
        world = run_sending(seed, Ledger())

        assert world.shape.settings.buffer_bytes == world.producer.accumulator.free


def test_a_seed_is_a_producer() -> None:
    """The same seed makes the same logs."""
    first, second = (run_sending(5, Ledger()) for _ in range(2))

    assert [p.leader.log.batches for p in first.partitions] == [p.leader.log.batches for p in second.partitions]


def test_the_machine_keeps_its_rules_and_sees_a_defect() -> None:
    """Examples of Hypothesis find nothing in the true reference, and the defect under the name of its rule."""
    planted = next(each for each in OF_SENDING if each.name == "a batch that was sent takes records")

    true = part.failures_of(SendingMachine, Ledger(), SMALL)
    with planted.in_place():
        broken = part.failures_of(SendingMachine, Ledger(), SMALL)

    assert [] == true
    assert any(str(failure).startswith(f"[{planted.rule.id}]") for failure in broken)


@pytest.mark.parametrize("planted", OF_SENDING, ids=lambda planted: planted.name)
def test_a_defect_of_sending_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunt_in_sending(planted)

    assert caught(found), survival(found)
