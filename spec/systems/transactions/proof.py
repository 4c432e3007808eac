"""The unbounded proof of transactions, under transaction version 2: theorems, lemmas, assumptions."""

from dataclasses import replace
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.language import Claim, Sort, State, System
from spec.systems.transactions import coordinator_lemmas as of_coordinator
from spec.systems.transactions import identity_lemmas as of_identities
from spec.systems.transactions import partition_lemmas as of_groups
from spec.systems.transactions import partition_lemmas as of_partitions
from spec.systems.transactions import partition_lemmas as of_readers
from spec.systems.transactions import partition_lemmas as of_sequences
from spec.systems.transactions.claims import Sentence
from spec.systems.transactions.decisions import ReleaseDecisions, decisions
from spec.systems.transactions.judged import judged_steps
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import (
    BATCH,
    COORDINATOR,
    DECISION,
    EXHAUSTED,
    INSTANCE,
    NUMBER,
    PARTITION,
    PRODUCER,
    READER,
    TRANSACTION,
    Bounds,
    TransactionKnobs,
)
from spec.versions import NEWEST

UNBOUNDED: Final = TransactionKnobs(
    profile=replace(NEWEST, max_sequence=None),
    compared=frozenset({EXHAUSTED}),
    commits_wait=False,
    other_ids=True,
    bounds=Bounds(instances=2, coordinators=2, producer_ids=2),
    limited=False,
)
"""The newest release with every fault: any number of transactional ids, and of everything that one of them meets."""

ONE_ID: Final = replace(UNBOUNDED, other_ids=False)
"""The same of one transactional id alone."""

PROVED: Final = (
    "ends_its_own",
    "joins_its_own",
    "decided_with_its_own",
    "same_outcome_everywhere",
    "outcome_is_kept",
    "marker_has_effect_once",
    "open_data_will_be_decided",
    "marker_leaves_next_guard",
    "client_was_reported_the_truth",
    "no_batch_is_skipped",
    "batch_is_in_the_log_once",
    "zombie_does_not_commit",
    "log_knows_the_decision",
    "identities_differ",
    "newest_is_not_fenced",
    "coordinator_epochs_never_fall",
    "markers_are_let_in",
    "complete_is_awaited",
    "open_can_be_ended",
    "last_epoch_is_the_coordinators",
    "one_fence_takes_one_epoch",
    "received_is_committed",
    "no_committed_record_is_skipped",
    "reader_sees_no_half",
    "reader_sees_what_the_client_was_reported",
    "offset_is_of_committed",
    "offsets_come_with_outputs",
    "outputs_come_with_offsets",
    "commit_is_of_its_generation",
    "stable_fetch_waits",
)
"""Names of the theorems that the lemmas carry.

That a client's late bump ends no other transaction is true of no release: it is searched where none is late.
"""

PROOF_ASSUMPTIONS: Final = (
    assume.NOTHING_IS_LOST,
    assume.PRODUCERS_ARE_REMEMBERED,
    assume.ONE_COPY_AT_A_TIME,
    assume.BATCHES_IN_ORDER,
    assume.NO_LATE_BUMP_AT_THE_LAST_EPOCH,
    assume.REPEATED_MARKER_TAKES_A_GUARD,
    assume.MARKERS_ARE_TAKEN_OVER,
    assume.NEWEST_RELEASE,
    assume.PRODUCER_IDS_ARE_UNIQUE,
    assume.NO_REQUEST_OUTLIVES_A_TURN,
    assume.READERS_KNOW_WHAT_IS_OPEN,
    assume.ONE_GROUP_MEMBER,
    assume.ONE_COORDINATOR_AT_A_TIME,
    assume.BUMPS_OUTSIDE_TRANSACTIONS,
    assume.INSTANCES_ARE_NUMBERED,
)
"""What the proof takes for granted; requests and markers of any transaction may be late here."""

_IDENTITIES, _CROSSTALK = rules.IDS_IDENTITY_NEVER_REPEATS, rules.TXN_NO_CROSSTALK
_MESSAGE = (TRANSACTION, PARTITION, BATCH)

LEMMAS: Final[tuple[tuple[Sentence, Rule, tuple[Sort, ...]], ...]] = (
    (of_coordinator.memory_is_of_a_state, rules.TXN_ONE_OUTCOME, ()),
    (of_coordinator.identity_is_in_range, rules.FENCE_EPOCH_EXHAUSTION, ()),
    (of_coordinator.carries_out_its_decision, rules.TXN_ONE_OUTCOME, ()),
    (of_coordinator.last_decision_is_remembered, rules.TXN_ONE_OUTCOME, ()),
    (of_coordinator.log_is_memory_or_ahead, rules.TXN_FAILOVER, ()),
    (of_coordinator.log_has_the_partitions, rules.TXN_FAILOVER, (PARTITION,)),
    (of_coordinator.complete_is_always_awaited, rules.TXN_COMPLETES, ()),
    (of_coordinator.coordinators_are_numbered, rules.FENCE_COORDINATOR_EPOCH, ()),
    (of_coordinator.senders_are_coordinators, rules.FENCE_COORDINATOR_EPOCH, (DECISION, COORDINATOR)),
    (of_coordinator.open_has_its_identity, _CROSSTALK, ()),
    (of_coordinator.no_bump_is_open, _CROSSTALK, ()),
    (of_coordinator.no_bump_is_decided, _CROSSTALK, (DECISION,)),
    (of_coordinator.registered_is_of_open, _CROSSTALK, (PARTITION,)),
    (of_coordinator.decisions_are_numbered, rules.TXN_ONE_OUTCOME, (DECISION,)),
    (of_coordinator.unmade_is_unmarked, rules.TXN_MARKER_ONCE, (DECISION, PARTITION)),
    (of_coordinator.decision_is_of_its_opener, _CROSSTALK, (DECISION,)),
    (of_coordinator.markers_rise, rules.TXN_MARKER_ONCE, (DECISION, DECISION)),
    (of_coordinator.markers_are_known, rules.TXN_MARKER_ONCE, (DECISION,)),
    (of_coordinator.marker_has_effect_only_first, rules.TXN_MARKER_ONCE, (DECISION, PARTITION)),
    (of_identities.given_is_known, _IDENTITIES, (INSTANCE,)),
    (of_identities.instances_are_in_order, _IDENTITIES, (INSTANCE, INSTANCE)),
    (of_identities.instance_has_its_transaction, _IDENTITIES, (INSTANCE,)),
    (of_identities.transaction_has_identity, _IDENTITIES, (TRANSACTION,)),
    (of_identities.ended_was_reported, _IDENTITIES, (TRANSACTION,)),
    (of_identities.reported_follows, _IDENTITIES, (TRANSACTION,)),
    (of_identities.newest_was_reported_to_the_last, _IDENTITIES, (TRANSACTION,)),
    (of_identities.newest_is_used_once_reported, _IDENTITIES, (TRANSACTION,)),
    (of_identities.reported_is_nobodys_else, _IDENTITIES, (TRANSACTION, TRANSACTION)),
    (of_identities.reported_was_not_given, _IDENTITIES, (TRANSACTION, INSTANCE)),
    (of_identities.given_is_used_by_its_first, _IDENTITIES, (TRANSACTION, INSTANCE)),
    (of_identities.reported_is_used_by_the_next, _IDENTITIES, (TRANSACTION, TRANSACTION)),
    (of_identities.identities_are_apart, _IDENTITIES, (TRANSACTION, TRANSACTION)),
    (of_identities.overtaken_was_given_and_used, rules.FENCE_STALE_EPOCH, (INSTANCE,)),
    (of_identities.overtaken_was_reported_and_used, rules.FENCE_STALE_EPOCH, (TRANSACTION,)),
    (of_identities.overtaken_requested_its_end, rules.FENCE_STALE_EPOCH, (TRANSACTION,)),
    (of_identities.epoch_before_is_one_lower, _IDENTITIES, ()),
    (of_identities.epoch_before_was_reported, _IDENTITIES, ()),
    (of_identities.no_current_identity_is_fenced, rules.FENCE_STALE_EPOCH, (TRANSACTION,)),
    (of_identities.earlier_instance_is_lower, rules.FENCE_ZOMBIE_CANNOT_COMMIT, (TRANSACTION, INSTANCE)),
    (of_partitions.sent_is_of_a_transaction, _CROSSTALK, _MESSAGE),
    (of_partitions.open_is_due, rules.TXN_ATOMIC, (PRODUCER, PARTITION)),
    (of_partitions.partition_knows_no_later_identity, rules.TXN_COMPLETES, (PRODUCER, PARTITION)),
    (of_partitions.coordinator_is_the_latest, rules.FENCE_COORDINATOR_EPOCH, (PRODUCER, PARTITION)),
    (of_partitions.open_data_is_of_entry, rules.TXN_ATOMIC, _MESSAGE),
    (of_partitions.consent_is_current, rules.TXN_REGISTERED_BEFORE_DATA, _MESSAGE),
    (of_partitions.queried_is_known, _CROSSTALK, (PRODUCER, PARTITION)),
    (of_partitions.guard_is_requested, _CROSSTALK, _MESSAGE),
    (of_partitions.taken_guard_is_stale, _CROSSTALK, _MESSAGE),
    (of_partitions.no_open_data_is_refused, _CROSSTALK, (TRANSACTION,)),
    (of_partitions.decided_by_its_own, _CROSSTALK, _MESSAGE),
    (of_groups.decided_is_stale, rules.TXN_ATOMIC, _MESSAGE),
    (of_partitions.answered_as_decided, rules.TXN_CLIENT_VERDICT, (TRANSACTION, DECISION)),
    (of_partitions.end_is_an_outcome, rules.TXN_CLIENT_VERDICT, (TRANSACTION,)),
    (of_partitions.ended_by_its_own, _CROSSTALK, (DECISION,)),
    (of_sequences.unended_is_current, rules.SEQ_ORDER, (TRANSACTION,)),
    (of_sequences.sequence_is_of_batch, rules.SEQ_ORDER, _MESSAGE),
    (of_sequences.sequence_is_next, rules.SEQ_ORDER, (INSTANCE, PARTITION, BATCH)),
    (of_sequences.sequence_is_of_appended, rules.SEQ_ORDER, (PRODUCER, PARTITION)),
    (of_sequences.log_has_the_sequences, rules.SEQ_ORDER, _MESSAGE),
    (of_sequences.log_has_no_gap, rules.SEQ_ORDER, _MESSAGE),
    (of_sequences.window_is_of_the_log, rules.SEQ_EXACTLY_ONCE, (PRODUCER, PARTITION)),
    (of_sequences.log_has_one_copy, rules.SEQ_EXACTLY_ONCE, _MESSAGE),
    (of_partitions.commits_before_the_next, rules.FENCE_ZOMBIE_CANNOT_COMMIT, (DECISION, INSTANCE)),
)
"""Each lemma, the rule that it serves most, and what it speaks of."""

LEMMAS_OF_READERS: Final[tuple[tuple[Sentence, Rule, tuple[Sort, ...]], ...]] = (
    (of_readers.log_is_numbered, rules.LSO_READ_COMMITTED, _MESSAGE),
    (of_readers.numbers_differ, rules.LSO_READ_COMMITTED, (TRANSACTION, BATCH, TRANSACTION, BATCH, PARTITION)),
    (of_readers.readers_are_within, rules.LSO_READ_COMMITTED, (READER, PARTITION)),
    (of_readers.received_was_committed, rules.LSO_READ_COMMITTED, (READER, *_MESSAGE)),
    (of_readers.passed_was_decided, rules.LSO_DECIDED_BELOW, (READER, *_MESSAGE)),
)
"""Those of a system with readers."""

LEMMAS_OF_OTHERS: Final[tuple[tuple[Sentence, Rule, tuple[Sort, ...]], ...]] = (
    (of_readers.numbers_are_of_one_id, rules.LSO_READ_COMMITTED, (*_MESSAGE, NUMBER)),
)
"""That of a system with other transactional ids."""


LEMMAS_OF_GROUPS: Final[tuple[tuple[Sentence, Rule, tuple[Sort, ...]], ...]] = (
    (of_groups.kind_is_of_what_was_sent, rules.OFFSETS_ATOMIC, _MESSAGE),
    (of_groups.pending_is_open, rules.OFFSETS_ATOMIC, (PRODUCER, PARTITION)),
    (of_groups.open_is_pending, rules.OFFSETS_ATOMIC, _MESSAGE),
    (of_groups.visible_was_committed, rules.OFFSETS_ATOMIC, (PARTITION,)),
    (of_groups.committed_was_visible, rules.OFFSETS_ATOMIC, _MESSAGE),
    (of_groups.written_is_of_its_generation, rules.OFFSETS_GENERATION_FENCE, (TRANSACTION, PARTITION)),
)
"""Those of a system in which transactions commit offsets."""


def proved(knobs: TransactionKnobs = UNBOUNDED, taken: ReleaseDecisions | None = None) -> System:
    """The transactions with the lemmas, and the theorems that follow from them.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        taken: the decisions, where they are to be remembered; by default those of the knobs.
    """
    of = taken or decisions(knobs)
    system = transactions(knobs, of)
    theorems = tuple(theorem for theorem in system.theorems if theorem.name in PROVED)
    steps = judged_steps(knobs, of)
    return replace(system, theorems=theorems, lemmas=lemmas(knobs, of), assumptions=assumed(knobs), steps=steps)


def assumed(knobs: TransactionKnobs = UNBOUNDED) -> tuple[assume.Assumption, ...]:
    """What the proof takes for granted; under an earlier transaction version it is tried without this one."""
    newest = knobs.profile.transaction_version == NEWEST.transaction_version
    alone = () if knobs.other_ids else (assume.ONE_TRANSACTIONAL_ID,)
    taken = (each for each in PROOF_ASSUMPTIONS if newest or each is not assume.NEWEST_RELEASE)
    return assume.in_order((*taken, *alone))


def lemmas(knobs: TransactionKnobs, taken: ReleaseDecisions) -> tuple[Claim, ...]:
    """What makes the theorems inductive in a system with these knobs."""
    of = partial(TransactionLemmaView, knobs, taken)

    def claim(sentence: Sentence, rule: Rule, over: tuple[Sort, ...]) -> Claim:
        def holds(state: State, *at: Term) -> Term:
            return sentence(of(state), *at)

        return Claim(sentence.__name__, rule, str(sentence.__doc__), over, holds)

    of_readers, of_groups = LEMMAS_OF_READERS * knobs.readers, LEMMAS_OF_GROUPS * knobs.groups
    of_others = LEMMAS_OF_OTHERS * (knobs.numbers and knobs.other_ids)
    return tuple(claim(*lemma) for lemma in (*LEMMAS, *of_readers, *of_groups, *of_others))
