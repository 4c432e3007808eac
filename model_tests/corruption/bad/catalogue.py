"""The bad traces: one for every rule that traces are checked by, how it was made, and what it was made of."""

from dataclasses import dataclass
from typing import Final

from model_tests.corruption.bad import edits
from model_tests.corruption.bad.made import Edit, Maker, by_defect, by_edit, by_false_step
from model_tests.corruption.catalogue import CORRUPTIONS
from model_tests.mutants.defects.of_replicas import OF_REPLICAS
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.reference import OF_TRANSACTIONS, PLANTED
from spec import rules
from spec.rules import Rule

_DEFECTS: Final = {planted.name: planted for planted in (*PLANTED, *OF_TRANSACTIONS, *OF_REPLICAS)}
_CORRUPTIONS: Final = {corruption.name: corruption for corruption in CORRUPTIONS}


@dataclass(frozen=True, slots=True)
class Bad:
    """A trace that breaks a rule.

    Attributes:
        how: what was done, in a sentence or the name of the defect.
        make: makes it.
    """

    rule: Rule
    how: str
    make: Maker


def _defect(rule: Rule, name: str) -> Bad:
    planted: Planted = _DEFECTS[name]
    return Bad(rule, f"the reference with the defect “{name}”", by_defect(planted))


def _step(rule: Rule, name: str) -> Bad:
    return Bad(rule, f"a true step made false: {name}", by_false_step(_CORRUPTIONS[name]))


def _history(rule: Rule, edit: Edit, workload: str = "transactions") -> Bad:
    return Bad(rule, str(edit.__doc__).partition("\n")[0], by_edit(edit, workload))


BAD: Final = (
    _history(rules.IDS_UNIQUE, edits.a_producer_id_twice),
    _defect(rules.IDS_IDENTITY_NEVER_REPEATS, "a new instance gets the epoch of the one before"),
    _defect(rules.SEQ_FIRST, "first sequence 0 in every version"),
    _defect(rules.SEQ_SUCCESSOR, "gap of one accepted"),
    _defect(rules.SEQ_EPOCH_RESET, "epoch reset not demanded"),
    _defect(rules.SEQ_DUPLICATE_WINDOW, "duplicate answered with the log end"),
    _history(rules.SEQ_EXACTLY_ONCE, edits.a_batch_read_twice),
    _step(rules.SEQ_ORDER, "a batch overtakes its verification"),
    _defect(rules.SEQ_REFUSAL_IS_PURE, "refused batch remembered"),
    _step(rules.SEQ_STATE_RECOVERABLE, "a log begins at another end"),
    _defect(rules.SEQ_WELL_FORMED, "two batches accepted"),
    _defect(rules.FENCE_STALE_EPOCH, "epoch check dropped"),
    _defect(rules.FENCE_EPOCH_MONOTONE, "epoch lowered"),
    _defect(rules.FENCE_ZOMBIE_CANNOT_COMMIT, "a new instance commits what the one before has left open"),
    _defect(rules.FENCE_COORDINATOR_EPOCH, "a replaced coordinator writes markers"),
    _defect(rules.FENCE_EPOCH_EXHAUSTION, "epochs are never used up"),
    _step(rules.TXN_LEGAL_TRANSITION, "a transaction is complete without markers"),
    _step(rules.TXN_ONE_OUTCOME, "an outcome is turned"),
    _history(rules.TXN_ATOMIC, edits.a_partition_left_out),
    _defect(rules.TXN_MARKER_ONCE, "late markers are taken (KAFKA-19446)"),
    _defect(rules.TXN_REGISTERED_BEFORE_DATA, "the transaction before counts as the present one (KAFKA-18575)"),
    _history(rules.TXN_NO_CROSSTALK, edits.a_request_of_the_transaction_before),
    _history(rules.TXN_CLIENT_VERDICT, edits.an_abort_that_was_visible),
    _defect(rules.TXN_TIMEOUT, "timeouts come early"),
    _defect(rules.TXN_FAILOVER, "a new coordinator leaves decisions alone"),
    _defect(rules.TXN_EXPIRY, "ids with open transactions are forgotten"),
    _step(rules.LSO_BOUNDS, "a watermark is beyond the log"),
    _step(rules.LSO_MONOTONE, "a stable offset falls"),
    _history(rules.LSO_DECIDED_BELOW, edits.an_undecided_record_below),
    _history(rules.LSO_READ_COMMITTED, edits.an_aborted_batch_delivered),
    _history(rules.LSO_ABORTED_INDEX, edits.an_aborted_batch_delivered),
    _history(rules.OFFSETS_ATOMIC, edits.an_offset_before_its_end),
    _history(rules.OFFSETS_STABLE_FETCH, edits.an_undecided_offset_reported),
    _history(rules.OFFSETS_GENERATION_FENCE, edits.a_past_member_commits),
    _step(rules.REPL_HW_BOUNDS, "a leader's watermark is too high"),
    _defect(rules.REPL_COMMITTED_SURVIVES, "acks=all without replication"),
    _step(rules.REPL_PREFIX_AGREEMENT, "a follower cuts too little"),
)
"""In the order of the registry, one for each rule that owes evidence from traces."""
