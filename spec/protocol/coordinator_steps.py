"""The result of each kind of step that a trace records at a coordinator, composed of its decisions.

A step is whole: the coordinator's own abort is part of the InitProducerId that fences. A record that the log
refuses leaves memory as it was, or with the fencing epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate, same
from spec.protocol import completing, ending, ids, registering
from spec.protocol.coordinator import (
    TransactionEntry,
    Transition,
    append_failed,
    choose_entry,
    completed,
    is_at_rest,
    is_preparing,
    is_unwritable,
    loaded,
    names_of,
    worded,
)
from spec.protocol.ending import EndRequest, IdAndEpoch
from spec.protocol.guards import Guard, number
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.versions import Profile
from spec.vocabulary import ABSENT, Api, ErrorCode

NO_IDENTITY: Final = IdAndEpoch(ABSENT, ABSENT)

LOGGED_AS: Final = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""The answer when the coordinator's log refuses the record with an error; any other error is passed on unchanged.

Source: TransactionStateManager.appendTransactionToLog, alike from 0.11 to 4.4; KAFKA_STORAGE_ERROR is of 1.0 and later.
"""

PASSED_ON: Final = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.INVALID_REQUIRED_ACKS,
)
"""Errors of a log that are not among them."""

NOT_LOGGED: Final = (*dict.fromkeys(LOGGED_AS.values()), *PASSED_ON)
"""The errors when the coordinator's log refuses the record."""

ELSEWHERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""The errors of a node that does not coordinate the id, or has not loaded its log."""


@dataclass(frozen=True, slots=True)
class StepInput:
    """The input of a step: a request's fields, or the time at which a coordinator acts by itself.

    Attributes:
        version: of the request.
        expected: the identity that InitProducerId expects.
        registered: every partition of the request is in the transaction.
    """

    version: Term
    now: Term
    producer: IdAndEpoch
    expected: IdAndEpoch
    timeout: Term
    commits: Term
    registered: Term


@dataclass(frozen=True, slots=True)
class CoordinatorStep:
    """One recorded step: the id before and after, how many partitions its transaction has, and the answer."""

    before: TransactionEntry
    inputs: StepInput
    error: Term
    answered: IdAndEpoch
    after: TransactionEntry
    partitions: Term
    partitions_after: Term
    registered_after: Term


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step by the decision.

    Attributes:
        branch: number of the guard that decides, 0 where none applies.
        checks: those guards.
        partitions: whether the partitions are what they should be.
    """

    branch: Term
    checks: tuple[Guard, ...]
    error: Term
    answered: IdAndEpoch
    entry: TransactionEntry
    partitions: Term = True

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every branch by its number."""
        return names_of(self.checks)


Decide: TypeAlias = Callable[[CoordinatorStep, Profile], StepResult]


# --- requests of clients and brokers --------------------------------------------------------------------------


def initialize(step: CoordinatorStep, profile: Profile) -> StepResult:
    """InitProducerId, with the abort of what it finds open."""
    inputs, before = step.inputs, step.before
    request = InitRequest(
        timeout=inputs.timeout,
        fresh_producer_id=step.after.producer_id,
        now=inputs.now,
        producer_id=inputs.expected.producer_id,
        producer_epoch=inputs.expected.producer_epoch,
    )
    transition = ids.initialize(before, request, profile)
    checks = ids.guards(ids.created(before, request), request, profile)
    fences = transition.branch == number(checks, "fences")
    aborted = abort(step, transition.entry, profile)
    handed = choose(aborted.error == ErrorCode.NONE.value, transition.error, aborted.error)
    plain = StepResult(
        transition.branch,
        checks,
        choose(fences, handed, worded(transition.error, inputs.version, ids.FENCED_SINCE)),
        handed_out(transition),
        choose_entry(fences, decided(aborted, inputs.now, profile), durable(transition, profile)),
        choose(transition.appends, step.partitions_after == 0, are_partitions_kept(step)),
    )
    rolled_back = choose_entry(
        fences,
        append_failed(transition.entry, aborted, profile),
        append_failed(transition.entry, transition, profile),
    )
    return unless_failed(step, plain, any_of(transition.appends, all_of(fences, aborted.appends)), rolled_back)


def register(step: CoordinatorStep, profile: Profile, *, verifies: bool = False) -> StepResult:
    """AddPartitionsToTxn and AddOffsetsToTxn: partitions are added, or verified."""
    inputs = step.inputs
    request = AddRequest(
        producer_id=inputs.producer.producer_id,
        producer_epoch=inputs.producer.producer_epoch,
        all_registered=inputs.registered,
        now=inputs.now,
        client_version=registering.client_version(inputs.version),
        verify_only=verifies,
    )
    transition = registering.register(step.before, request, profile)
    error = registering.verified(transition, inputs.registered, profile) if verifies else transition.error
    grown = choose(inputs.registered, step.partitions_after == step.partitions, step.partitions_after > step.partitions)
    joined = all_of(step.registered_after, grown)
    plain = StepResult(
        transition.branch,
        registering.guards(step.before, request, profile),
        worded(error, inputs.version, registering.FENCED_SINCE),
        NO_IDENTITY,
        durable(transition, profile),
        choose(transition.appends, joined, are_partitions_kept(step)),
    )
    return unless_failed(step, plain, transition.appends, append_failed(step.before, transition, profile))


def verify(step: CoordinatorStep, profile: Profile) -> StepResult:
    """A broker verifies that a partition is in the transaction."""
    return register(step, profile, verifies=True)


def add_offsets(step: CoordinatorStep, profile: Profile) -> StepResult:
    """AddOffsetsToTxn, which only clients without version 2 send, whatever the request's version."""
    of_client = replace(
        step, inputs=replace(step.inputs, version=choose(step.inputs.version >= 2, 2, step.inputs.version))
    )
    return register(of_client, profile)


def end(step: CoordinatorStep, profile: Profile) -> StepResult:
    """EndTxn of a client."""
    inputs = step.inputs
    request = EndRequest(
        producer_id=inputs.producer.producer_id,
        producer_epoch=inputs.producer.producer_epoch,
        commits=inputs.commits,
        bumps=inputs.version >= ending.BUMPS_SINCE,
        fresh_producer_id=step.after.next_producer_id,
        now=inputs.now,
    )
    transition = ending.end(step.before, request, profile)
    plain = StepResult(
        transition.branch,
        ending.guards(step.before, request, profile),
        worded(transition.error, inputs.version, ending.FENCED_SINCE),
        ending.answered(transition, request, profile),
        decided(transition, inputs.now, profile),
        are_partitions_kept(step),
    )
    return unless_failed(step, plain, transition.appends, append_failed(step.before, transition, profile))


# --- what coordinators do by themselves -----------------------------------------------------------------------


def time_out(step: CoordinatorStep, profile: Profile) -> StepResult:
    """The abort of a transaction past its timeout; a younger one stays as it is."""
    now, fencing = step.inputs.now, completing.fence(step.before)
    due = all_of(completing.is_timed_out(step.before, now), negate(ids.cannot_fence(step.before, profile)))
    aborted = abort(step, fencing, profile)
    logged = all_of(aborted.appends, is_preparing(step.after))
    unlogged = choose_entry(aborted.appends, append_failed(fencing, aborted, profile), aborted.entry)
    after = choose_entry(logged, decided(aborted, now, profile), unlogged)
    due_guard = Guard("timed_out", rules.TXN_TIMEOUT, True, ErrorCode.NONE.value)
    entry = choose_entry(due, after, step.before)
    return StepResult(1, (due_guard,), ErrorCode.NONE.value, NO_IDENTITY, entry, are_partitions_kept(step))


def marked(step: CoordinatorStep, profile: Profile) -> StepResult:
    """Partitions have their markers; with the last one the transaction completes.

    Its time is that at which the coordinator began to complete it, by its own clock: not after the present. It may be
    before the time in the Prepare record, which another coordinator may have written, by a clock that is ahead
    (loadTransactionsForTxnTopicPartition, prepareComplete).

    A record that cannot hold the client's version is not written: the transaction stays prepared, without partitions.
    """
    entry, after = step.before, step.after
    target = completing.prepare_complete(entry, after.update_time, profile).target
    is_owed = all_of(is_preparing(entry), entry.pending == target.state)
    timely = all_of(after.update_time >= 0, after.update_time <= step.inputs.now)
    written = negate(is_unwritable(target.client_version, profile))
    done = all_of(is_owed, timely, written, is_at_rest(after), step.partitions <= 1)
    ended = choose_entry(done, completed(entry, target, profile), entry)
    partitions = choose(done, step.partitions_after == 0, step.partitions_after < step.partitions)
    return StepResult(0, (), ErrorCode.NONE.value, NO_IDENTITY, ended, partitions)


def expire(step: CoordinatorStep, profile: Profile) -> StepResult:
    """An id at rest is removed; any other stays."""
    idle = completing.is_expired(step.before, step.inputs.now, expiration=0)
    guard = Guard("expired", rules.TXN_EXPIRY, True, ErrorCode.NONE.value)
    entry = choose_entry(idle, TransactionEntry(), step.before)
    return StepResult(1, (guard,), ErrorCode.NONE.value, NO_IDENTITY, entry, are_partitions_kept(step))


def load(step: CoordinatorStep, profile: Profile) -> StepResult:
    """A new coordinator loads a record and completes the transaction whose outcome the record holds."""
    record = loaded(replace(step.after, pending=ABSENT), profile)
    owing = completing.prepare_complete(record, step.inputs.now, profile).entry
    guard = Guard("loaded", rules.TXN_FAILOVER, True, ErrorCode.NONE.value)
    entry = choose_entry(is_preparing(record), owing, record)
    return StepResult(1, (guard,), ErrorCode.NONE.value, NO_IDENTITY, entry)


# --- parts of them --------------------------------------------------------------------------------------------


def abort(step: CoordinatorStep, fencing: TransactionEntry, profile: Profile) -> Transition:
    """The coordinator's own abort of the transaction that the step found open."""
    now, fresh = step.inputs.now, step.after.next_producer_id
    return ending.end(fencing, completing.fencing_abort(step.before, fresh, now, profile), profile)


def durable(transition: Transition, profile: Profile) -> TransactionEntry:
    """Memory after a transition whose record is in the log."""
    memory = completed(transition.entry, transition.target, profile)
    return choose_entry(transition.appends, memory, transition.entry)


def decided(transition: Transition, now: Term, profile: Profile) -> TransactionEntry:
    """Memory after a decision: its completion is pending from now on, unless no markers are sent."""
    written = durable(transition, profile)
    owing = completing.prepare_complete(written, now, profile).entry
    sends = all_of(transition.appends, transition.error == ErrorCode.NONE.value)
    return choose_entry(sends, owing, written)


def handed_out(transition: Transition) -> IdAndEpoch:
    """The identity that InitProducerId answers with."""
    target = transition.target
    return IdAndEpoch(
        choose(transition.appends, target.producer_id, ABSENT),
        choose(transition.appends, target.producer_epoch, ABSENT),
    )


def are_partitions_kept(step: CoordinatorStep) -> Term:
    """The transaction has as many partitions as before: none where its id is new, and no number where it is gone."""
    begun = choose(step.after.known, 0, ABSENT)
    alike = same(step.before.known, step.after.known)
    return step.partitions_after == choose(alike, step.partitions, begun)


def unless_failed(
    step: CoordinatorStep, outcome: StepResult, appends: Term, rolled_back: TransactionEntry
) -> StepResult:
    """The outcome, unless the log refused its record, or the node does not coordinate the id.

    Args:
        step: with the recorded error.
        outcome: the result without an error.
        appends: whether a record has to be written for it.
        rolled_back: memory where the log refuses the record.
    """
    failed = all_of(appends, is_one_of(step.error, NOT_LOGGED))
    elsewhere = all_of(negate(any_of(step.before.known, step.after.known)), is_one_of(step.error, ELSEWHERE))
    unreported = any_of(failed, elsewhere)
    return StepResult(
        outcome.branch,
        outcome.checks,
        choose(unreported, step.error, outcome.error),
        IdAndEpoch(
            choose(unreported, ABSENT, outcome.answered.producer_id),
            choose(unreported, ABSENT, outcome.answered.producer_epoch),
        ),
        choose_entry(elsewhere, step.before, choose_entry(failed, rolled_back, outcome.entry)),
        choose(unreported, are_partitions_kept(step), outcome.partitions),
    )


def not_logged(error: Term) -> Term:
    """The client's error for an error of the coordinator's log."""
    reported = error
    for met, known in LOGGED_AS.items():
        reported = choose(error == met.value, known.value, reported)
    return reported


def is_one_of(error: Term, errors: tuple[ErrorCode, ...]) -> Term:
    """The error is one of these."""
    return any_of(*(error == code.value for code in errors))


DECISIONS: Final[dict[str, Decide]] = {
    Api.INIT_PRODUCER_ID: initialize,
    Api.ADD_PARTITIONS_TO_TXN: register,
    Api.ADD_OFFSETS_TO_TXN: add_offsets,
    "VerifyPartitions": verify,
    Api.END_TXN: end,
    "TransactionTimeout": time_out,
    "MarkersSent": marked,
    "MarkerAnswered": marked,
    "TransactionalIdExpiry": expire,
    "CoordinatorLoad": load,
}
"""The decision of every kind of step."""
