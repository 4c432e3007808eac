"""Facts about answers for all inputs: a client can act rightly on each error, and a success is true.

The proofs of systems do not use them: each states what a rule requires of one decision. A step is whole, as a trace
records it. The log may lose a record, and then no client gets a success.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol import append, committing, completing, registering, verification
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import TransactionEntry, is_in
from spec.protocol.coordinator_steps import end, initialize, register
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.systems.decision_lemmas import About, Fact, stated
from spec.systems.step_lemmas import (
    ELSEWHERE,
    UNLOGGED,
    CoordinatorStepInput,
    is_of_somebody,
    is_one_of,
    is_raised,
    recorded,
)
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode
from spec.vocabulary import TransactionState as State


@dataclass(frozen=True, slots=True)
class VersionedError:
    """An error, and the version of the request that is answered."""

    error: Term = 0
    version: Term = 0


_RETRIED: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
"""Errors that a client retries (Kafka's RetriableException)."""

_OF_COORDINATORS: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)
"""Error codes without a meaning for a client that sends to a leader."""

_OF_LOGS: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)
"""Error codes without a meaning for a client that commits offsets."""

_TO_FIND_ANEW: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


def _is_one_of(error: Term, errors: Iterable[ErrorCode]) -> Term:
    return any_of(*(error == code.value for code in errors))


def _is_fatal(error: Term) -> Term:
    return _is_one_of(error, (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH))


def producer_understands(of: VersionedError) -> Term:
    """A producer can retry exactly where that helps: by the error code when data may not join its transaction.

    No version gets an error code that it does not know, or that belongs to coordinators.
    """
    reported = verification.reported(of.error, of.version)
    abortable = ErrorCode.TRANSACTION_ABORTABLE.value
    return all_of(
        same(_is_one_of(reported, _RETRIED), _is_one_of(of.error, _RETRIED)),
        same(reported == 0, of.error == 0),
        same(_is_fatal(reported), _is_fatal(of.error)),
        negate(_is_one_of(reported, _OF_COORDINATORS)),
        negate(reported == ErrorCode.PRODUCER_FENCED.value),
        implies(reported == abortable, of.version >= 11),
        implies(reported == ErrorCode.CONCURRENT_TRANSACTIONS.value, of.version >= 12),
        implies(all_of(of.error == abortable, of.version >= 11), reported == abortable),
    )


def committer_understands(profile: Profile, of: VersionedError) -> Term:
    """A consumer's client can retry exactly where that helps: by the error code when its offsets are refused.

    A client looks for the coordinator again only where the group has moved, or, since 4.0, where it was too slow.
    No version gets an error code that it does not know. None gets one of a log, except the one that 4.0 passes on.
    """
    reported = committing.reported(of.error, of.version, profile)
    abortable = ErrorCode.TRANSACTION_ABORTABLE.value
    through = () if profile.scala_group_errors else (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,)
    slow = () if profile.scala_group_errors else (ErrorCode.REQUEST_TIMED_OUT,)
    of_logs = tuple(code for code in _OF_LOGS if code not in through)
    moved = (
        *_TO_FIND_ANEW,
        *slow,
        *(code for code in of_logs if code in _RETRIED and code is not ErrorCode.NETWORK_EXCEPTION),
    )
    return all_of(
        same(_is_one_of(reported, _RETRIED), _is_one_of(of.error, _RETRIED)),
        same(_is_one_of(reported, _TO_FIND_ANEW), _is_one_of(of.error, moved)),
        same(reported == 0, of.error == 0),
        same(_is_fatal(reported), _is_fatal(of.error)),
        negate(_is_one_of(reported, (*of_logs, ErrorCode.PRODUCER_FENCED))),
        implies(reported == abortable, of.version >= 4),
        implies(all_of(of.error == abortable, of.version >= 4), reported == abortable),
    )


@dataclass(frozen=True, slots=True)
class Together:
    """The partitions of a request: whether one of them exists, and whether all do."""

    error: Term = 0
    exists: Term = True
    all_exist: Term = True


def partitions_are_reported_their_fate(of: Together) -> Term:
    """Partitions join a transaction together or not at all, while offsets are committed of those that are there.

    A request for an unknown partition gets that error for this partition.
    """
    joined = registering.refused_together(of.error, of.exists, of.all_exist)
    committed = committing.of_partition(of.error, of.exists)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value
    return implies(
        implies(of.all_exist, of.exists),
        all_of(
            implies(of.all_exist, joined == of.error),
            implies(negate(of.all_exist), negate(joined == 0)),
            implies(negate(of.exists), all_of(joined == unknown, committed == unknown)),
            implies(all_of(of.exists, negate(of.all_exist)), negate(_is_one_of(joined, _RETRIED))),
            implies(of.exists, committed == of.error),
        ),
    )


# --- markers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Marking:
    """A marker on its way to a partition: its producer, its coordinator, and how its partitions were added."""

    producer_id: Term = 0
    producer_epoch: Term = 0
    coordinator_epoch: Term = 0
    added_by_version: Term = 0
    log_end: Term = 0


def marker_is_taken_or_given_up(profile: Profile, entry: ProducerEntry, of: Marking) -> Term:
    """A partition takes a marker, and is done with it; or knows of something as new, and none is sent any more."""
    decided = append.append(entry, _marker(of), profile)
    taken, error = decided.reply.appended, decided.reply.error
    newer = any_of(entry.epoch >= of.producer_epoch, entry.coordinator_epoch > of.coordinator_epoch)
    return implies(
        of.producer_id >= 0,
        all_of(
            same(completing.is_done(error), taken),
            same(completing.is_given_up(error), negate(taken)),
            implies(negate(taken), newer),
            implies(taken, negate(decided.entry.in_transaction)),
        ),
    )


def marker_has_the_clients_version(profile: Profile, entry: ProducerEntry, of: Marking) -> Term:
    """A transaction whose partitions brokers have added ends with a higher epoch; any other one with its own."""
    decided = append.append(entry, _marker(of), profile)
    own = all_of(entry.in_transaction, entry.epoch == of.producer_epoch, of.producer_epoch < profile.max_epoch)
    current = all_of(of.producer_id >= 0, entry.coordinator_epoch <= of.coordinator_epoch)
    return implies(all_of(own, current), same(decided.reply.appended, of.added_by_version < 4))


def _marker(of: Marking) -> AppendRequest:
    version = registering.client_version(of.added_by_version)
    marker = MarkerRequest(of.producer_id, of.producer_epoch, of.coordinator_epoch, version)
    return completing.to_append(marker, of.log_end)


def answer_facts() -> tuple[Fact, ...]:
    """For the newest release; the ones about offsets also for the last release before 4.0."""
    marking: About = (("entry", ProducerEntry), ("of", Marking))
    refused: About = (("of", VersionedError),)
    return (
        stated(producer_understands, rules.TXN_REGISTERED_BEFORE_DATA, refused),
        stated(committer_understands, rules.TXN_REGISTERED_BEFORE_DATA, refused, NEWEST),
        stated(committer_understands, rules.TXN_REGISTERED_BEFORE_DATA, refused, KAFKA_3_9),
        stated(partitions_are_reported_their_fate, rules.TXN_REGISTERED_BEFORE_DATA, (("of", Together),)),
        stated(marker_is_taken_or_given_up, rules.TXN_MARKER_ONCE, marking, NEWEST),
        stated(marker_has_the_clients_version, rules.TXN_MARKER_ONCE, marking, NEWEST),
    )


_OF_COMMIT = (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
_OF_ABORT = (State.PREPARE_ABORT, State.COMPLETE_ABORT)


def end_is_as_requested(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A successful EndTxn means that the transaction is decided as requested; and a producer may end its open one.

    Since version 5 that raises its epoch; before, it does not. The markers are still to come.
    """
    outcome = end(recorded(before, step), profile)
    entry, reported = outcome.entry, negate(is_one_of(step.error, (*UNLOGGED, *ELSEWHERE)))
    committed, aborted = is_in(entry, *_OF_COMMIT), is_in(entry, *_OF_ABORT)
    as_asked = all_of(implies(step.commits, committed), implies(negate(step.commits), aborted))
    own = all_of(before.producer_id == step.producer_id, before.producer_epoch == step.producer_epoch)
    is_open = all_of(before.known, is_in(before, State.ONGOING), before.pending == ABSENT)
    usual = all_of(before.producer_epoch < profile.max_epoch - 1, step.version >= 0)
    known = step.version <= (5 if profile.transaction_version >= 2 else 4)
    raised = same(entry.producer_epoch > before.producer_epoch, step.version == 5)
    ends = all_of(outcome.error == 0, raised)
    markers_wait = implies(step.known_after, same(outcome.partitions, step.partitions_after == step.partitions))
    return implies(
        all_of(is_of_somebody(before), reported),
        all_of(
            implies(outcome.error == 0, as_asked),
            implies(all_of(own, is_open, usual, known), all_of(ends, markers_wait)),
        ),
    )


def open_transaction_is_aborted_first(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """InitProducerId with an open transaction gets a retriable error, and a higher epoch aborts the transaction.

    An answer with an identity means that no transaction is open.
    """
    outcome = initialize(recorded(before, step), profile)
    entry, reported = outcome.entry, negate(is_one_of(step.error, (*UNLOGGED, *ELSEWHERE)))
    is_open = all_of(before.known, is_in(before, State.ONGOING), before.pending == ABSENT)
    anew = all_of(step.expected_id == ABSENT, step.expected_epoch == ABSENT, step.timeout >= 1)
    usual = all_of(before.producer_epoch < profile.max_epoch - 1, step.timeout < 1000)
    waits = outcome.error == ErrorCode.CONCURRENT_TRANSACTIONS.value
    aborted = all_of(waits, is_in(entry, State.PREPARE_ABORT), is_raised(before, entry.producer_epoch))
    given = all_of(outcome.error == 0, negate(outcome.answered.producer_id == ABSENT))
    return implies(
        all_of(is_of_somebody(before), reported),
        all_of(implies(all_of(is_open, anew, usual), aborted), implies(given, is_in(entry, State.EMPTY))),
    )


def fenced_clients_know_the_word(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A client with another epoch is fenced, with an error code that its version of the request knows."""
    fenced, older = ErrorCode.PRODUCER_FENCED.value, ErrorCode.INVALID_PRODUCER_EPOCH.value
    recorded_step = recorded(before, step)
    added, ended, handed = (decide(recorded_step, profile).error for decide in (register, end, initialize))
    reported = negate(is_one_of(step.error, (*UNLOGGED, *ELSEWHERE)))
    stale = all_of(before.known, before.producer_id == step.producer_id, step.producer_epoch < before.producer_epoch)
    at_rest = all_of(before.pending == ABSENT, is_of_somebody(before), reported)
    return all_of(
        implies(all_of(reported, added == fenced), step.version >= 2),
        implies(all_of(reported, ended == fenced), step.version >= 2),
        implies(all_of(reported, handed == fenced), step.version >= 4),
        implies(all_of(at_rest, stale), any_of(added == fenced, all_of(added == older, step.version < 2))),
    )


def step_answer_facts() -> tuple[Fact, ...]:
    """Under both ways of ending a transaction."""
    about: About = (("before", TransactionEntry), ("step", CoordinatorStepInput))
    return tuple(
        stated(sentence, rule, about, profile)
        for profile in (replace(NEWEST.under(version), name=f"version {version}") for version in (1, 2))
        for sentence, rule in (
            (end_is_as_requested, rules.TXN_CLIENT_VERDICT),
            (open_transaction_is_aborted_first, rules.FENCE_ZOMBIE_CANNOT_COMMIT),
            (fenced_clients_know_the_word, rules.FENCE_STALE_EPOCH),
        )
    )
