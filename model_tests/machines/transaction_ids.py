"""The last producer ids: brokers race for the last blocks, lose the rest of them as they restart, then none is left."""

from typing import Final
from unittest.mock import patch

from model_tests.machines.rule_counts import Ledger
from model_tests.verify.results import Control
from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.transaction_api import NO_IDENTITY, IdentityAnswer, handle_init_producer_id
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import TransactionLog
from reference.clock import Clock
from reference.tape import Tape
from spec import rules
from spec.evidence import Layer, evidences
from spec.versions import NEWEST
from spec.vocabulary import PRODUCER_ID_BLOCK, ErrorCode

PRODUCER_ID_RULES: Final = (rules.IDS_EXHAUSTION, rules.IDS_UNIQUE)

BROKERS: Final = 3
LAST: Final = 2**63 - 1
MOST_ASKED: Final = 10_000
"""Answers in a run, at most; the blocks that are left have fewer ids."""

AFTERWARDS: Final = 20
"""Answers once there are no ids left."""


def use_up_producer_ids(seed: int, ledger: Ledger) -> None:
    """One run: from some block before the last until every broker has said that there is none."""
    tape = Tape.seeded(seed)
    first = LAST - 1 - PRODUCER_ID_BLOCK * (1 + tape.below(4)) - tape.below(PRODUCER_ID_BLOCK)
    allocator = BlockAllocator(first)
    managers = [ProducerIdManager(allocator, NEWEST) for _ in range(BROKERS)]
    brokers = [coordinator_of(manager) for manager in managers]
    given: set[int] = set()
    refused = 0
    ledger.runs += 1
    for _ in range(MOST_ASKED):
        if refused == AFTERWARDS:
            break
        number = tape.below(BROKERS)
        if tape.happens(10):
            managers[number].restart()
        answer = handle_init_producer_id(brokers[number], 5, None, 0)
        ledger.steps += 1
        refused += answer.error is not ErrorCode.NONE
        holds_the_end(answer, first, given, ledger)
    ledger.expect(rules.IDS_EXHAUSTION, refused == AFTERWARDS, f"run {seed}: from {first} on ids never come to an end")


def claim_without_end(allocator: BlockAllocator) -> range:
    """After the last block come those of before again."""
    block = range(allocator._next, allocator._next + PRODUCER_ID_BLOCK)
    allocator._next = block.stop if block.stop + PRODUCER_ID_BLOCK <= LAST else 0
    return block


def exhaustion_control() -> Control:
    """Without the check of the last block, ids beyond the end are handed out."""
    ledger = Ledger()
    with patch.object(BlockAllocator, "claim", claim_without_end):
        use_up_producer_ids(0, ledger)
    broken = [str(each) for each in ledger.broken if each.rule == rules.IDS_EXHAUSTION]
    got = "violated" if broken else "holds"
    name = "producer ids never come to an end"
    return Control(name, rules.IDS_EXHAUSTION, "violated", got, broken[0] if broken else "")


@evidences(rules.IDS_EXHAUSTION, Layer.STATEFUL)
@evidences(rules.IDS_UNIQUE, Layer.STATEFUL)
def holds_the_end(answer: IdentityAnswer, first: int, given: set[int], ledger: Ledger) -> None:
    """An id is new and not beyond the last, or there is an error and no id.

    Args:
        answer: to the request.
        first: id of the block that the run begins with.
        given: ids that were handed out.
        ledger: where rules at stake are counted, and violations kept.
    """
    error, producer = answer
    if error is not ErrorCode.NONE:
        reported = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and producer == NO_IDENTITY
        ledger.expect(rules.IDS_EXHAUSTION, reported, f"past the last id a producer gets {answer}")
        return
    in_range = first <= producer.producer_id <= LAST
    if not in_range:
        ledger.expect(rules.IDS_EXHAUSTION, False, f"{producer.producer_id} is not among {first} to {LAST}")
    is_new = producer.producer_id not in given
    ledger.expect(rules.IDS_UNIQUE, is_new, f"producer id {producer.producer_id} is given again")
    given.add(producer.producer_id)


def coordinator_of(manager: ProducerIdManager) -> TransactionCoordinator:
    """A broker that hands out the ids of a manager."""
    return TransactionCoordinator(NEWEST, manager, TransactionLog(NEWEST, 1), lambda partition, marker: None, Clock())
