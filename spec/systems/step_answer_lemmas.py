"""Facts about the answer of a coordinator's step, for all inputs: a success is true.

A step is whole, as a trace records it; a record may be lost, and then no client gets a success.
"""

from dataclasses import replace

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol.coordinator import TransactionEntry, is_in
from spec.protocol.coordinator_steps import end, initialize, register
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
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode
from spec.vocabulary import TransactionState as State

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
