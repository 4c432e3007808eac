"""Steps of a transaction coordinator that are judged, and what is found of them."""

from dataclasses import replace
from typing import Any

from model_tests.unit.spec.transactional import EPOCH, FRESH, PRODUCER, entry
from spec.judging.judge_coordinator import judge
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.coordinator_steps import DECISIONS, NO_IDENTITY, CoordinatorStep, StepInput
from spec.protocol.ending import IdAndEpoch
from spec.versions import NEWEST, Profile
from spec.vocabulary import TransactionState

EMPTY, ONGOING = entry(TransactionState.EMPTY, start_time=-1), entry(TransactionState.ONGOING)


COMMITTED = entry(TransactionState.COMPLETE_COMMIT)


COMMITTING = entry(TransactionState.PREPARE_COMMIT, pending=TransactionState.COMPLETE_COMMIT.value)


ASKED = StepInput(5, 200, IdAndEpoch(PRODUCER, EPOCH), NO_IDENTITY, 1000, commits=True, registered=False)


ADDED = replace(ASKED, version=4)


LATE = replace(ASKED, now=2000)


def step(before: TransactionEntry, request: StepInput, **fields: Any) -> CoordinatorStep:
    """A step of one partition, answered NONE without an identity, after which the id is as before."""
    plain = CoordinatorStep(before, request, 0, NO_IDENTITY, before, 1, 1, registered_after=True)
    return replace(plain, **fields)


def decided(api: str, found: CoordinatorStep, profile: Profile = NEWEST) -> CoordinatorStep:
    """The step with the answer and the state that the decision gives it."""
    drawn = replace(found.before, producer_id=FRESH, next_producer_id=FRESH, update_time=150)
    rest = {"MarkerAnswered": TransactionState.COMPLETE_COMMIT, "TransactionTimeout": TransactionState.PREPARE_ABORT}
    guess = replace(drawn, state=rest.get(api, TransactionState.EMPTY).value)
    outcome = DECISIONS[api](replace(found, after=guess, partitions_after=0), profile)
    return replace(found, error=outcome.error, answered=outcome.answered, after=outcome.entry)


def broken(api: str, found: CoordinatorStep, profile: Profile = NEWEST) -> set[str]:
    _, checks = judge(api, found, profile)
    return {check.rule.id for check in checks if check.at_stake and not check.holds}
