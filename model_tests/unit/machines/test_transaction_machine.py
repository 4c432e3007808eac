"""Transactions in runs from a tape: every rule holds and is at stake; the machines have the same events."""

from collections import Counter
from typing import Final

import pytest

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_coordinator_log import DECIDED, IdHistory
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_ids import use_up_producer_ids
from model_tests.machines.transaction_machine import (
    MACHINES,
    TRANSACTION_RULES,
    SharedPartitionsMachine,
)
from model_tests.machines.transaction_runs import has_a_past, run_transactions
from model_tests.machines.transaction_setting import FAILOVER, LATE, STORIES, WorldSetting
from reference.broker.ids import BlockAllocator
from reference.tape import Tape
from spec import rules
from spec.versions import NEWEST
from spec.vocabulary import PRODUCER_ID_BLOCK

LATE_OF_VERSION_0: Final = WorldSetting(
    "requests that outlive their transaction under version 0", profiles=(NEWEST.under(0),), often=LATE
)

OF_STORY: Final = {
    "one transactional id, several instances": (rules.FENCE_ZOMBIE_CANNOT_COMMIT, rules.FENCE_EPOCH_EXHAUSTION),
    "several ids over shared partitions": (rules.IDS_UNIQUE, rules.TXN_EXPIRY, rules.TXN_ATOMIC),
    "consume, transform, produce": (rules.OFFSETS_GENERATION_FENCE, rules.OFFSETS_STABLE_FETCH, rules.OFFSETS_ATOMIC),
    "coordinators fail": (rules.TXN_FAILOVER, rules.FENCE_COORDINATOR_EPOCH, rules.TXN_ONE_OUTCOME),
}
"""The rules that each story is for."""

DURABLE_POINTS: Final = {
    *("EMPTY", "ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT", "COMPLETE_COMMIT", "COMPLETE_ABORT"),
    *("the log is ahead", "0 markers", "1 markers", "all markers"),
}
"""Where a coordinator may fail: what its log says of an id, and how many markers are written then."""


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_runs_of_a_story_keep_every_rule(story: WorldSetting) -> None:
    """Nothing breaks in runs from seeds, and the rules that the story is for are at stake in them."""
    ledger = Ledger()

    for seed in range(20):
        run_transactions(seed, ledger, (story,))

    assert [] == [str(broken) for broken in ledger.broken]
    assert [] == [rule.id for rule in OF_STORY[story.name] if ledger.at_stake[rule] < 20]


def test_every_rule_is_at_stake() -> None:
    """Runs of all stories ask about every rule more than once."""
    ledger = Ledger()

    for seed in range(40):
        run_transactions(seed, ledger)

    assert [] == [rule.id for rule in TRANSACTION_RULES if ledger.at_stake[rule] < 10]


def test_a_seed_is_a_run_of_transactions() -> None:
    """The same seed makes the same steps, with the same rules at stake."""
    first, second = Ledger(), Ledger()

    for ledger in (first, second):
        for seed in range(8):
            run_transactions(seed, ledger)

    assert first == second


def test_each_story_has_a_machine() -> None:
    """The machines differ in their stories alone."""
    assert list(STORIES) == [machine.story for machine in MACHINES]


def start_over(allocator: BlockAllocator) -> range:
    """Past the last block the first ones are given out again."""
    if allocator._next + PRODUCER_ID_BLOCK > 2**63 - 1:
        allocator._next = 0
    return _claim(allocator)


def go_beyond(allocator: BlockAllocator) -> range:
    """Ids go on past the last one."""
    first, allocator._next = allocator._next, allocator._next + PRODUCER_ID_BLOCK
    return range(first, first + PRODUCER_ID_BLOCK)


_claim = BlockAllocator.claim


def test_producer_ids_come_to_an_end() -> None:
    """Every id is given once, then there is an error; both happen in every run."""
    ledger = Ledger()

    for seed in range(5):
        use_up_producer_ids(seed, ledger)

    assert [] == ledger.broken
    assert ledger.at_stake[rules.IDS_EXHAUSTION] >= 5 * 20
    assert ledger.at_stake[rules.IDS_UNIQUE] > 300


@pytest.mark.parametrize("instead", [start_over, go_beyond], ids=lambda function: function.__name__)
def test_ids_past_the_last_one_are_noticed(instead: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that start over, or go on, break the rule of exhaustion."""
    ledger = Ledger()
    monkeypatch.setattr(BlockAllocator, "claim", instead)

    use_up_producer_ids(0, ledger)

    assert rules.IDS_EXHAUSTION in {broken.rule for broken in ledger.broken}


def test_coordinators_fail_at_every_durable_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Prepare, between Prepare and Complete with no, some and all markers, after it, and with a log ahead."""
    reached: Counter[str] = Counter()
    loads = IdHistory.loads

    def noted(history: IdHistory, coordinator_epoch: int) -> None:
        if history.state is not None:
            reached[history.state.name] += 1
        if history.ahead is not None:
            reached["the log is ahead"] += 1
        if history.state in DECIDED and history.current is not None:
            marked = len(history.current.marked & history.current.registered)
            reached[f"{'all' if marked == len(history.current.registered) else min(marked, 1)} markers"] += 1
        loads(history, coordinator_epoch)

    monkeypatch.setattr(IdHistory, "loads", noted)
    for seed in range(120):
        if reached.keys() >= DURABLE_POINTS:
            break
        run_transactions(seed, Ledger(), (FAILOVER,))

    assert reached.keys() >= DURABLE_POINTS


@pytest.mark.slow
def test_delayed_requests_break_rules_where_these_are_not_claimed() -> None:
    """Under version 0 the true reference ends a transaction with another's request (KAFKA-17754): a known limit."""
    ledger = Ledger()

    for seed in range(150):
        run_transactions(seed, ledger, (LATE_OF_VERSION_0,))

    assert [] == [str(broken) for broken in ledger.broken]
    assert ledger.known[rules.TXN_NO_CROSSTALK] > 0


def test_of_two_ids_that_time_out_one_append_is_in_doubt() -> None:
    """The log fails once, and has the record all the same: the other id's abort is known to its coordinator."""
    ledger, story = Ledger(), SharedPartitionsMachine.story
    world = TransactionRun(story.setting(Tape.of_number(200)), ledger)

    has_a_past(world, story, 545_319_638)
    world.run_until_idle()

    assert [] == ledger.broken
