"""Facts about whole steps of a coordinator, for all inputs: outcomes stay, identities are new, losses change nothing.

A step is what a trace records; `spec/protocol/coordinator_steps.py` composes it of the decisions. No proof of a system
takes these facts for granted.

Arguments:
    before: what the coordinator has in memory and in its log.
    step: the request, and how its append ends.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol.coordinator import TransactionEntry, is_at_rest, is_in, is_preparing
from spec.protocol.coordinator_steps import (
    CoordinatorStep,
    StepInput,
    StepResult,
    add_offsets,
    expire,
    initialize,
    load,
    marked,
    register,
    time_out,
    verify,
)
from spec.protocol.coordinator_steps import end as ended
from spec.protocol.ending import IdAndEpoch
from spec.rules import Rule
from spec.systems.coordinator_decision_lemmas import is_of_a_state
from spec.systems.decision_lemmas import About, Fact
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode
from spec.vocabulary import TransactionState as State


@dataclass(frozen=True, slots=True)
class CoordinatorStepInput:
    """A step of a coordinator but for the id before and after it, and the names of two producer ids that are new."""

    version: Term = 0
    now: Term = 0
    producer_id: Term = 0
    producer_epoch: Term = 0
    expected_id: Term = ABSENT
    expected_epoch: Term = ABSENT
    timeout: Term = 1
    commits: Term = False
    registered: Term = False
    error: Term = 0
    partitions: Term = 0
    partitions_after: Term = 0
    registered_after: Term = False
    known_after: Term = False
    state_after: Term = State.EMPTY.value
    fresh_id: Term = 0
    fresh_next_id: Term = 0
    client_version_after: Term = 0
    updated_after: Term = 0


Decide = Callable[[CoordinatorStep, Profile], StepResult]


def recorded(before: TransactionEntry, step: CoordinatorStepInput) -> CoordinatorStep:
    """The step as a trace has it; of the id afterwards only the fields that the decisions read."""
    after = replace(
        TransactionEntry(),
        known=step.known_after,
        state=step.state_after,
        producer_id=step.fresh_id,
        next_producer_id=step.fresh_next_id,
        client_version=step.client_version_after,
        update_time=step.updated_after,
    )
    inputs = StepInput(
        version=step.version,
        now=step.now,
        producer=IdAndEpoch(step.producer_id, step.producer_epoch),
        expected=IdAndEpoch(step.expected_id, step.expected_epoch),
        timeout=step.timeout,
        commits=step.commits,
        registered=step.registered,
    )
    no_identity = IdAndEpoch(ABSENT, ABSENT)
    return CoordinatorStep(
        before, inputs, step.error, no_identity, after, step.partitions, step.partitions_after, step.registered_after
    )


_OUTCOMES: Final = ((State.PREPARE_COMMIT, State.COMPLETE_COMMIT), (State.PREPARE_ABORT, State.COMPLETE_ABORT))
UNLOGGED: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.INVALID_REQUIRED_ACKS,
)
ELSEWHERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def outcome_is_kept(decide: Decide, profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A decided transaction stays decided, or is complete with that outcome; and a decision is to be completed."""
    entry = decide(recorded(before, step), profile).entry
    settled = all_of(*(implies(is_in(before, reported), is_in(entry, reported, done)) for reported, done in _OUTCOMES))
    owes = all_of(*(implies(is_in(entry, reported), entry.pending == done.value) for reported, done in _OUTCOMES))
    decides = all_of(is_preparing(entry), negate(is_preparing(before)))
    return implies(is_of_a_state(before), all_of(settled, implies(decides, owes)))


def loss_changes_nothing(
    decide: Decide, profile: Profile, before: TransactionEntry, step: CoordinatorStepInput
) -> Term:
    """A change that the log refused did not happen: the id is in its earlier state.

    An answer with the error has no identity. A node that does not coordinate the id refuses, and keeps no metadata.
    """
    outcome = decide(recorded(before, step), profile)
    lost = is_one_of(step.error, UNLOGGED)
    stranger = all_of(negate(before.known), negate(step.known_after), is_one_of(step.error, ELSEWHERE))
    state = before.state == outcome.entry.state
    reported = all_of(lost, outcome.error == step.error)
    return implies(
        is_of_a_state(before),
        all_of(
            implies(lost, state),
            implies(reported, outcome.answered.producer_id == ABSENT),
            implies(stranger, all_of(outcome.error == step.error, negate(outcome.entry.known))),
        ),
    )


def identity_is_new(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """InitProducerId returns the identity that the coordinator then has: another id, or a higher epoch than before.

    Only a client that expects the last one may get that once more. A fencing epoch whose record was lost is not given
    out yet.
    """
    outcome = initialize(recorded(before, step), profile)
    answered, entry = outcome.answered, outcome.entry
    given = all_of(outcome.error == 0, negate(answered.producer_id == ABSENT))
    known = all_of(entry.producer_id == answered.producer_id, entry.producer_epoch == answered.producer_epoch)
    other = negate(answered.producer_id == before.producer_id)
    once_more = step.expected_id >= 0
    fresh = negate(any_of(step.fresh_id == before.producer_id, step.fresh_id == before.previous_producer_id))
    return implies(
        all_of(is_of_somebody(before), fresh, step.fresh_id >= 0),
        implies(given, all_of(known, any_of(other, is_raised(before, answered.producer_epoch), once_more))),
    )


def verification_changes_nothing(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A broker's verification succeeds only for a partition in the open transaction of that producer.

    Nothing is different afterwards.
    """
    outcome = verify(recorded(before, step), profile)
    own = all_of(before.producer_id == step.producer_id, before.producer_epoch == step.producer_epoch)
    yes = all_of(before.known, own, negate(is_preparing(before)), step.registered)
    return all_of(implies(outcome.error == 0, yes), _is_same(outcome.entry, before))


def partitions_join_open_transaction(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A producer adds partitions to its own transaction, which is open then; AddOffsetsToTxn is never of version 2."""
    for_offsets, by_client = add_offsets(recorded(before, step), profile), register(recorded(before, step), profile)
    reported = negate(is_one_of(step.error, (*UNLOGGED, *ELSEWHERE)))
    own = all_of(before.producer_id == step.producer_id, before.producer_epoch == step.producer_epoch)
    joined = all_of(reported, any_of(by_client.error == 0, for_offsets.error == 0))
    adds = negate(_is_same(for_offsets.entry, before))
    return all_of(
        implies(joined, all_of(before.known, own)),
        implies(all_of(reported, by_client.error == 0), is_in(by_client.entry, State.ONGOING)),
        implies(all_of(reported, for_offsets.error == 0), is_in(for_offsets.entry, State.ONGOING)),
        implies(all_of(reported, adds, for_offsets.error == 0), for_offsets.entry.client_version == 0),
        same(by_client.error == 0, for_offsets.error == 0),
    )


def late_transactions_are_aborted(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """An open transaction past its timeout is aborted and its epoch raised, unless the log does not take it.

    One that is within its timeout, or of which something is under way, stays as it is.
    """
    outcome = time_out(recorded(before, step), profile)
    after = outcome.entry
    late = all_of(is_in(before, State.ONGOING), before.pending == ABSENT, before.start_time + before.timeout < step.now)
    limited, usual = before.timeout < 2**31 - 1, before.producer_epoch < profile.max_epoch - 1
    logged = is_in(replace(before, state=step.state_after), State.PREPARE_ABORT)
    fenced = all_of(is_in(after, State.PREPARE_ABORT), is_raised(before, after.producer_epoch))
    possible = all_of(is_of_somebody(before), before.known, before.start_time >= 0)
    return implies(
        possible,
        all_of(
            implies(all_of(late, limited, usual, logged), fenced),
            implies(negate(all_of(late, limited)), _is_same(after, before)),
            implies(negate(is_in(after, State.PREPARE_ABORT)), after.state == before.state),
        ),
    )


def last_marker_completes(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A transaction is complete once its last partition has its marker, and not before; and has no partitions then."""
    outcome = marked(recorded(before, step), profile)
    owed = any_of(*(all_of(is_in(before, reported), before.pending == done.value) for reported, done in _OUTCOMES))
    timely = all_of(step.updated_after >= 0, step.updated_after <= step.now)
    rests = is_at_rest(replace(before, state=step.state_after))
    done = all_of(owed, timely, rests, step.partitions <= 1)
    changed = negate(outcome.entry.state == before.state)
    return all_of(
        same(changed, done),
        implies(done, all_of(is_at_rest(outcome.entry), outcome.entry.pending == ABSENT)),
        same(all_of(done, outcome.partitions), all_of(done, step.partitions_after == 0)),
        implies(all_of(negate(done), outcome.partitions), step.partitions_after < step.partitions),
    )


def only_ids_at_rest_expire(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """An id that expires is at rest and idle, and is removed whole; any other stays as it is."""
    after = expire(recorded(before, step), profile).entry
    idle = all_of(before.known, is_at_rest(before), before.pending == ABSENT, before.update_time <= step.now)
    return all_of(same(idle, all_of(before.known, negate(after.known))), implies(negate(idle), _is_same(after, before)))


def new_coordinator_resumes(profile: Profile, before: TransactionEntry, step: CoordinatorStepInput) -> Term:
    """A new coordinator loads the state in the log, and continues with a decided transaction, and with nothing else."""
    entry = load(recorded(before, step), profile).entry
    owes = [all_of(step.state_after == reported.value, entry.pending == done.value) for reported, done in _OUTCOMES]
    decided = any_of(*(step.state_after == reported.value for reported, _ in _OUTCOMES))
    kept = all_of(entry.state == step.state_after, entry.producer_id == step.fresh_id, entry.last_epoch == ABSENT)
    return all_of(kept, implies(decided, any_of(*owes)), implies(negate(decided), entry.pending == ABSENT))


def is_of_somebody(entry: TransactionEntry) -> Term:
    """Memory as it can be: a known id has an identity."""
    has_one = all_of(entry.producer_id >= 0, entry.producer_epoch >= 0)
    return all_of(is_of_a_state(entry), implies(entry.known, has_one), entry.pending >= ABSENT)


def is_raised(before: TransactionEntry, epoch: Term) -> Term:
    """The epoch is higher than before, or was raised before by a fence of which the record was lost."""
    return any_of(epoch > before.producer_epoch, all_of(before.fence_failed, epoch == before.producer_epoch))


def is_one_of(error: Term, errors: Iterable[ErrorCode]) -> Term:
    """The error is one of these."""
    return any_of(*(error == code.value for code in errors))


def _is_same(one: TransactionEntry, other: TransactionEntry) -> Term:
    names = [name for name in TransactionEntry.__dataclass_fields__ if name not in _FACTS]
    alike = (getattr(one, name) == getattr(other, name) for name in names)
    return all_of(*alike, *(same(getattr(one, name), getattr(other, name)) for name in _FACTS))


_FACTS: Final = ("known", "fence_failed")
_ABOUT: Final[About] = (("before", TransactionEntry), ("step", CoordinatorStepInput))
_REQUESTS: Final[dict[str, Decide]] = {"initialize": initialize, "register": register, "end": ended}
_KEEPING: Final[dict[str, Decide]] = {**_REQUESTS, "add_offsets": add_offsets, "time_out": time_out, "marked": marked}


def step_facts() -> tuple[Fact, ...]:
    """Under both ways of ending a transaction; version 0 takes the decisions of version 1, but for its log's format."""
    return step_facts_of(NEWEST)


def step_facts_of(release: Profile) -> tuple[Fact, ...]:
    """The same facts of any release."""
    return tuple(fact for version in (1, 2) for fact in _of(release.under(version), f"[version {version}]"))


def _of(profile: Profile, version: str) -> Iterator[Fact]:
    """The facts about every decision, and those about one of them."""
    for sentence, rule, decisions in _OF_DECISIONS:
        for name, decide in decisions.items():
            holds = partial(sentence, decide, profile)
            yield Fact(f"{sentence.__name__}_{name}{version}", rule, str(sentence.__doc__), _ABOUT, holds)
    for sentence, rule in _OF_ONE:
        yield Fact(f"{sentence.__name__}{version}", rule, str(sentence.__doc__), _ABOUT, partial(sentence, profile))


_OF_DECISIONS: Final[tuple[tuple[Callable[..., Term], Rule, dict[str, Decide]], ...]] = (
    (outcome_is_kept, rules.TXN_ONE_OUTCOME, _KEEPING),
    (loss_changes_nothing, rules.TXN_FAILOVER, _REQUESTS),
)
_OF_ONE: Final = (
    (identity_is_new, rules.IDS_IDENTITY_NEVER_REPEATS),
    (verification_changes_nothing, rules.TXN_REGISTERED_BEFORE_DATA),
    (partitions_join_open_transaction, rules.TXN_REGISTERED_BEFORE_DATA),
    (late_transactions_are_aborted, rules.TXN_TIMEOUT),
    (last_marker_completes, rules.TXN_ATOMIC),
    (only_ids_at_rest_expire, rules.TXN_EXPIRY),
    (new_coordinator_resumes, rules.TXN_FAILOVER),
)
